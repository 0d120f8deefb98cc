//! Chunks of a chat completion, put together.

use std::time::Duration;

use serde_json::{Map, Value};

use super::classify::Described;
use super::tool_calls::Calls;
use crate::base::{one_line, printable};
use crate::domain::{
    Block, CompletionResponse, DeltaSink, FinishReason, ProviderError, ProviderErrorKind, Usage,
};

/// The largest answer, in bytes of text, reasoning and arguments.
const LARGEST_ANSWER: usize = 32 << 20;

/// A count beyond this is no count of tokens.
const MOST_TOKENS: u64 = 1_000_000_000_000;

/// The keys under which servers send a model's reasoning. It goes back to the vendor under the same key.
const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];

/// Puts an answer together from the chunks of a stream, or takes it whole.
pub(crate) struct Assembler<'a> {
    sink: &'a dyn DeltaSink,
    text: String,
    refusal: bool,
    reasoning: Map<String, Value>,
    reasoning_bytes: usize,
    calls: Calls,
    usage: Option<Usage>,
    model: Option<String>,
    fingerprint: Option<String>,
    finish: Option<FinishReason>,
    done: bool,
    chunks: u64,
}

impl<'a> Assembler<'a> {
    /// An answer of which nothing has come yet; its text goes to `sink` while it arrives.
    pub(crate) fn new(sink: &'a dyn DeltaSink) -> Self {
        Self {
            sink,
            text: String::new(),
            refusal: false,
            reasoning: Map::new(),
            reasoning_bytes: 0,
            calls: Calls::default(),
            usage: None,
            model: None,
            fingerprint: None,
            finish: None,
            done: false,
            chunks: 0,
        }
    }

    /// Whether text or a tool call has come.
    pub(crate) const fn has_content(&self) -> bool {
        !self.text.is_empty() || !self.calls.is_empty()
    }

    /// Whether anything of the answer has come.
    pub(crate) const fn has_events(&self) -> bool {
        self.chunks > 0 || self.done
    }

    /// Whether the stream said that nothing follows.
    pub(crate) const fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the answer has all its content, whatever becomes of the connection.
    pub(crate) const fn is_complete(&self) -> bool {
        self.done || self.finish.is_some()
    }

    /// Takes the data of one event.
    pub(crate) fn event(&mut self, name: &str, data: &str) -> Result<(), ProviderError> {
        let data = data.trim();
        if data.is_empty() || self.done {
            return Ok(());
        }
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk: Value = serde_json::from_str(data).map_err(|error| {
            malformed(format!(
                "event {} of the stream is no JSON ({error}): {}",
                self.chunks + 1,
                one_line(data, 200)
            ))
        })?;
        if name == "error" {
            return Err(Described::read(&chunk)
                .unwrap_or_else(|| Described::of(&chunk))
                .in_answer());
        }
        self.chunk(&chunk)
    }

    /// The event that stood at the end without the blank line that completes it: taken where it is whole by itself.
    pub(crate) fn unfinished_event(&mut self, name: &str, data: &str) -> Result<(), ProviderError> {
        let whole = data.trim() == "[DONE]" || serde_json::from_str::<Value>(data).is_ok();
        if whole {
            self.event(name, data)
        } else {
            Ok(())
        }
    }

    /// Takes an answer that came in one piece.
    pub(crate) fn whole(&mut self, body: &[u8]) -> Result<(), ProviderError> {
        let answer: Value = serde_json::from_slice(body)
            .map_err(|error| malformed(format!("the answer is no JSON: {error}")))?;
        self.chunk(&answer)?;
        if answer
            .get("choices")
            .and_then(Value::as_array)
            .is_none_or(Vec::is_empty)
        {
            return Err(malformed("the answer has no `choices`"));
        }
        self.done = true;
        Ok(())
    }

    fn chunk(&mut self, chunk: &Value) -> Result<(), ProviderError> {
        self.chunks += 1;
        if let Some(error) = Described::read(chunk) {
            return Err(error.in_answer());
        }
        let text = |key: &str| {
            let text = chunk.get(key)?.as_str()?;
            (!text.is_empty()).then(|| one_line(&printable(text), 200))
        };
        self.model = self.model.take().or_else(|| text("model"));
        self.fingerprint = self
            .fingerprint
            .take()
            .or_else(|| text("system_fingerprint"));
        if let Some(usage) = chunk.get("usage").and_then(usage) {
            self.usage = Some(usage);
        }
        let choice = chunk
            .get("choices")
            .and_then(Value::as_array)
            .and_then(|choices| {
                choices
                    .iter()
                    .find(|choice| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0)
            });
        let Some(choice) = choice else { return Ok(()) };
        let delta = ["delta", "message"]
            .iter()
            .find_map(|key| choice.get(key).filter(|delta| delta.is_object()));
        if let Some(delta) = delta {
            self.delta(delta)?;
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str)
            && !reason.is_empty()
        {
            self.finish = Some(finish_reason(reason));
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value) -> Result<(), ProviderError> {
        for key in REASONING {
            if let Some(more) = delta.get(key).and_then(Value::as_str)
                && !more.is_empty()
            {
                self.reasoning_bytes += more.len();
                match self.reasoning.get_mut(key) {
                    Some(Value::String(text)) => text.push_str(more),
                    _ => drop(self.reasoning.insert(key.to_owned(), more.into())),
                }
            }
        }
        match delta.get("content") {
            Some(Value::String(more)) => self.more_text(more),
            Some(Value::Array(parts)) => {
                for part in parts {
                    if let Some(more) = part.get("text").and_then(Value::as_str) {
                        self.more_text(more);
                    }
                }
            }
            _ => {}
        }
        if let Some(more) = delta.get("refusal").and_then(Value::as_str)
            && !more.is_empty()
        {
            self.refusal = true;
            self.more_text(more);
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        let older = delta.get("function_call").filter(|call| call.is_object());
        for fragment in calls.into_iter().flatten().chain(older) {
            if !self.calls.push(fragment) {
                return Err(malformed("the answer holds too many tool calls"));
            }
        }
        if self.text.len() + self.reasoning_bytes + self.calls.bytes() > LARGEST_ANSWER {
            return Err(malformed(format!(
                "the answer is larger than {LARGEST_ANSWER} bytes"
            )));
        }
        Ok(())
    }

    fn more_text(&mut self, more: &str) {
        if !more.is_empty() {
            self.text.push_str(more);
            self.sink.text(more);
        }
    }

    /// The answer, once nothing more comes. `vendor` names the opaque blocks, `step` the ids that a server left out.
    pub(crate) fn finish(
        self,
        vendor: &str,
        step: u32,
        ttft: Option<Duration>,
    ) -> Result<CompletionResponse, ProviderError> {
        if self.chunks == 0 {
            return Err(malformed("the answer is empty"));
        }
        if !self.is_complete() {
            return Err(malformed(
                "the stream ended before the answer did: neither a finish reason nor [DONE] came",
            ));
        }
        let calls = self
            .calls
            .finish(step)
            .ok_or_else(|| malformed("a tool call of the answer has no name"))?;
        if self.finish.is_none() && self.text.is_empty() && calls.is_empty() && self.usage.is_none()
        {
            return Err(malformed("the answer is empty"));
        }
        if matches!(&self.finish, Some(FinishReason::Other(reason)) if reason == "error") {
            return Err(ProviderError::new(
                ProviderErrorKind::Server,
                "the vendor ended the answer with an error and did not say which",
            ));
        }
        let finish_reason = match self.finish {
            _ if self.refusal => FinishReason::Refusal,
            // Some servers say `stop` whatever they send.
            None | Some(FinishReason::Stop) if !calls.is_empty() => FinishReason::ToolCalls,
            None => FinishReason::Stop,
            Some(reason) => reason,
        };
        let mut blocks = Vec::with_capacity(calls.len() + 2);
        if !self.reasoning.is_empty() {
            blocks.push(Block::Opaque {
                vendor: vendor.to_owned(),
                value: Value::Object(self.reasoning),
            });
        }
        if !self.text.is_empty() {
            blocks.push(Block::Text { text: self.text });
        }
        blocks.extend(calls.into_iter().map(Block::ToolCall));
        Ok(CompletionResponse {
            blocks,
            usage: self.usage,
            model: self.model,
            fingerprint: self.fingerprint,
            finish_reason,
            ttft,
        })
    }
}

pub(super) fn malformed(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Malformed, message)
}

fn finish_reason(reason: &str) -> FinishReason {
    match reason {
        "stop" => FinishReason::Stop,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "length" => FinishReason::Length,
        "content_filter" | "refusal" => FinishReason::Refusal,
        other => FinishReason::Other(one_line(&printable(other), 64)),
    }
}

/// What the vendor says the call used. An object without a count says nothing, and one with an impossible count
/// says nothing that could be believed.
fn usage(usage: &Value) -> Option<Usage> {
    let count = |pointer: &str| -> Result<Option<u64>, ()> {
        match usage.pointer(pointer) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value
                .as_u64()
                .filter(|count| *count <= MOST_TOKENS)
                .map(Some)
                .ok_or(()),
        }
    };
    let read = || -> Result<Option<Usage>, ()> {
        let (prompt, completion) = (count("/prompt_tokens")?, count("/completion_tokens")?);
        let total = count("/total_tokens")?;
        if prompt.is_none() && completion.is_none() && total.is_none() {
            return Ok(None);
        }
        let (prompt, completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
        Ok(Some(Usage {
            prompt_tokens: prompt,
            completion_tokens: completion,
            total_tokens: total.unwrap_or(prompt + completion),
            cache_read_tokens: count("/prompt_tokens_details/cached_tokens")?.unwrap_or(0),
            cache_write_tokens: 0,
            reasoning_tokens: count("/completion_tokens_details/reasoning_tokens")?.unwrap_or(0),
            server_tool_requests: count("/server_tool_use/web_search_requests")?.unwrap_or(0),
        }))
    };
    read().ok().flatten()
}

#[cfg(test)]
mod tests;
