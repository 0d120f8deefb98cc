//! A provider as it is declared.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::{Size, Span};
use crate::domain::RetryPolicy;

/// Whose wire format a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Vendor {
    /// OpenAI's Chat Completions.
    OpenAi,
    /// Any server that speaks OpenAI's Chat Completions; `base_url` names it.
    Compatible,
    /// The embedded provider that plays a script: needs no key and no network.
    Scripted,
}

impl Vendor {
    /// The name as it is written in a suite.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Compatible => "compatible",
            Self::Scripted => "scripted",
        }
    }
}

/// A pinned provider. Texts may hold `${env:NAME}` and `${file:path}`; they are kept as written, so that no
/// secret stands in a plan or a trace, and are resolved when the provider is built.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// Whose wire format it speaks.
    pub vendor: Vendor,
    /// The exact id of the model. Optional for `scripted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The address below which the endpoints lie, for instance `http://127.0.0.1:8080/v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The key. Without it the vendor's usual environment variable is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// Headers sent with every request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The longest answer, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<Size>,
    /// Sampling temperature, from 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// A seed, where the vendor takes one. `{{trial}}` is not replaced here: equal seeds make equal trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Texts that end an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The script of a `scripted` provider, relative to the suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<PathBuf>,
    /// Limits that hold over all cases of a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsConfig>,
    /// How a failed call is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryConfig>,
    /// The longest time that a call may take in all. Default: 10m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// The longest silence between two parts of an answer, and before the first. Default: 2m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Span>,
    /// Accepts a model name that is known to float, such as `*-latest`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub floating: bool,
}

/// What a provider may be asked at once and per minute, over all cases of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsConfig {
    /// Calls at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Calls that may begin within a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Tokens that may be used within a minute, as the provider reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<Size>,
}

/// How a failed call is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryConfig {
    /// Calls in all for one step. Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// The longest wait before the second attempt. Default: 500ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Span>,
    /// The longest wait before any attempt. Default: 30s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Span>,
}

impl RetryConfig {
    /// What is said here, over what holds where nothing is said.
    #[must_use]
    pub fn over(self, otherwise: RetryPolicy) -> RetryPolicy {
        RetryPolicy {
            attempts: self.attempts.unwrap_or(otherwise.attempts),
            base: self.base.map_or(otherwise.base, |span| span.0),
            max: self.max.map_or(otherwise.max, |span| span.0),
        }
    }
}
