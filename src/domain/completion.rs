//! One call of a model: what is sent, what comes back, what it used, how it fails.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Block, Message, ToolSpec};

/// What a model is asked. It borrows the conversation, so that a call costs no copy of it.
#[derive(Debug, Clone, Copy)]
pub struct CompletionRequest<'a> {
    /// The instructions that stand before the conversation.
    pub system: &'a str,
    /// The conversation so far, oldest first.
    pub messages: &'a [Message],
    /// The tools on offer.
    pub tools: &'a [ToolSpec],
    /// Whether a tool must be called.
    pub tool_choice: ToolChoice,
    /// The number of the step that the call belongs to, from 1.
    pub step: u32,
    /// The number of the attempt at this step, from 1.
    pub attempt: u32,
}

/// Whether the model may, must or must not call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// It must call one.
    Required,
    /// It must not call any.
    None,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompletionResponse {
    /// Text, tool calls and blocks that only the vendor understands, in the vendor's order.
    pub blocks: Vec<Block>,
    /// What the vendor says the call used; `None` where it said nothing, which is not zero.
    pub usage: Option<Usage>,
    /// The model that the vendor says it served.
    pub model: Option<String>,
    /// The vendor's fingerprint of what it served, where it gives one.
    pub fingerprint: Option<String>,
    /// Why the answer ended.
    pub finish_reason: FinishReason,
    /// Time from sending the request to the first delta with content; `None` where nothing measured it.
    pub ttft: Option<Duration>,
}

impl CompletionResponse {
    /// The answer's text, its parts joined.
    #[must_use]
    pub fn text(&self) -> String {
        self.blocks.iter().filter_map(Block::as_text).collect()
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model had no more to say.
    Stop,
    /// It waits for the results of its tool calls.
    ToolCalls,
    /// The output limit cut it off.
    Length,
    /// The vendor or the model refused.
    Refusal,
    /// The vendor paused a long turn and wants it continued.
    Pause,
    /// A reason that the vendor documents and this program has no word for.
    Other(String),
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::Refusal => "refusal",
            Self::Pause => "pause",
            Self::Other(reason) => reason,
        })
    }
}

/// Token counts as the vendor reported them. Cache and reasoning counts are parts of the prompt and completion
/// counts, never additions to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// All prompt tokens, cached ones included.
    pub prompt_tokens: u64,
    /// All completion tokens, reasoning included.
    pub completion_tokens: u64,
    /// The vendor's total, taken as reported.
    pub total_tokens: u64,
    /// Prompt tokens read from the vendor's cache.
    pub cache_read_tokens: u64,
    /// Prompt tokens written to the vendor's cache.
    pub cache_write_tokens: u64,
    /// Completion tokens spent on reasoning.
    pub reasoning_tokens: u64,
    /// Requests of tools that the vendor runs.
    pub server_tool_requests: u64,
}

/// How a call failed: what code decides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProviderErrorKind {
    /// No connection, or a connection that broke.
    Transport,
    /// No answer within the time limit, or a stream that went silent.
    Timeout,
    /// Too many requests.
    RateLimited,
    /// The vendor has no capacity now.
    Overloaded,
    /// The vendor failed.
    Server,
    /// The key is missing, wrong or not allowed to do this.
    Auth,
    /// The vendor does not accept the request.
    Request,
    /// The answer does not follow the protocol, or ended before its end.
    Malformed,
    /// The conversation is longer than the model takes.
    ContextOverflow,
    /// The run's own budget or an interrupt ended the call.
    Cancelled,
}

impl ProviderErrorKind {
    /// The name as it is written in traces and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transport => "transport",
            Self::Timeout => "timeout",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::Auth => "auth",
            Self::Request => "request",
            Self::Malformed => "malformed",
            Self::ContextOverflow => "context_overflow",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::Transport
            | Self::Timeout
            | Self::RateLimited
            | Self::Overloaded
            | Self::Server
            | Self::Malformed => true,
            Self::Auth | Self::Request | Self::ContextOverflow | Self::Cancelled => false,
        }
    }

    /// The kind of an HTTP status that is no success.
    #[must_use]
    pub const fn from_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::Auth,
            408 => Self::Timeout,
            429 => Self::RateLimited,
            503 | 529 => Self::Overloaded,
            500..=599 => Self::Server,
            _ => Self::Request,
        }
    }
}

/// A call that brought no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}{}: {message}", kind.as_str(), status.map(|code| format!(" (HTTP {code})")).unwrap_or_default())]
pub struct ProviderError {
    /// What code decides by.
    pub kind: ProviderErrorKind,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// How long the vendor asks to wait.
    pub retry_after: Option<Duration>,
    /// What a person reads: bounded, and without any key.
    pub message: String,
}

impl ProviderError {
    /// An error without a status.
    #[must_use]
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: None,
            retry_after: None,
            message: message.into(),
        }
    }
}

/// Takes an answer's text while it arrives. What it is told is provisional until the call returns.
pub trait DeltaSink: Send + Sync {
    /// More text of the answer.
    fn text(&self, delta: &str);
}

/// A sink that lets everything pass by.
#[derive(Debug, Clone, Copy, Default)]
pub struct IgnoreDeltas;

impl DeltaSink for IgnoreDeltas {
    fn text(&self, _delta: &str) {}
}

/// The record of one call, answered or failed: a row of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderCall {
    /// The attempt at its step, from 1.
    pub attempt: u32,
    /// The provider's name.
    pub provider: String,
    /// The model asked for.
    pub requested_model: String,
    /// The model that the vendor says it served.
    pub served_model: Option<String>,
    /// The vendor's fingerprint of what it served.
    pub fingerprint: Option<String>,
    /// What the vendor says the call used.
    pub usage: Option<Usage>,
    /// Our wall time from request to the end of the answer, in milliseconds.
    pub latency_ms: u64,
    /// Time to the first content, in milliseconds; `None` where nothing measured it.
    pub ttft_ms: Option<u64>,
    /// Why the answer ended.
    pub finish_reason: Option<String>,
    /// How the call failed.
    pub failure: Option<ProviderError>,
    /// Tool calls whose arguments were not valid JSON.
    pub malformed_calls: u32,
    /// How long the call waited for a rate limit before it was sent, in milliseconds.
    pub queued_ms: u64,
}
