//! The embedded provider: it plays a script, needs no key and no network, and keeps nothing between two calls.

mod script;

pub use script::{AfterLast, Script, ScriptError, ScriptUsage};

use std::sync::Arc;
use std::time::Duration;

use script::{Failure, Turn};

use super::Provider;
use crate::base::{BoxFuture, Clock};
use crate::domain::{
    Block, CompletionRequest, CompletionResponse, DeltaSink, FinishReason, ProviderError,
    ProviderErrorKind, ToolCall, Usage,
};

/// What is said where a script has come to its end.
const LAST_WORDS: &str = "Done.";

/// The model's name where neither the suite nor the script gives one.
const UNNAMED: &str = "scripted";

/// A script and everything else that a provider needs; each case gets its own view of it.
#[derive(Clone)]
pub struct Scripted {
    name: Arc<str>,
    model: Arc<str>,
    script: Arc<Script>,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scripted")
            .field("name", &self.name)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl Scripted {
    /// A provider called `name` that plays `script` and waits through `clock`.
    #[must_use]
    pub fn new(name: &str, script: Arc<Script>, clock: Arc<dyn Clock>) -> Self {
        Self {
            name: name.into(),
            model: script.model.as_deref().unwrap_or(UNNAMED).into(),
            script,
            clock,
        }
    }

    /// The same, asked for a model that need not be the one that the script serves.
    #[must_use]
    pub fn asking_for(mut self, model: &str) -> Self {
        self.model = model.into();
        self
    }

    /// The provider as one case calls it: with the first list of turns that was written for it.
    #[must_use]
    pub fn for_case(&self, task: &str, trial: u32) -> Arc<dyn Provider> {
        Arc::new(Playing {
            part: self.script.part_for(task, trial),
            whose: format!("task `{task}`, trial {trial}"),
            scripted: self.clone(),
        })
    }
}

/// A script as one case hears it.
struct Playing {
    scripted: Scripted,
    /// Which list of turns is played: a script's own number, or the turns for everybody.
    part: Option<usize>,
    whose: String,
}

impl Provider for Playing {
    fn name(&self) -> &str {
        &self.scripted.name
    }

    fn model(&self) -> &str {
        &self.scripted.model
    }

    fn endpoints(&self) -> Vec<String> {
        Vec::new()
    }

    fn complete<'a>(
        &'a self,
        request: CompletionRequest<'a>,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<CompletionResponse, ProviderError>> {
        Box::pin(self.play(request.step, request.attempt, sink))
    }
}

impl Playing {
    async fn play(
        &self,
        step: u32,
        attempt: u32,
        sink: &dyn DeltaSink,
    ) -> Result<CompletionResponse, ProviderError> {
        let script = &self.scripted.script;
        let turns = script.turns(self.part);
        let position = usize::try_from(step.saturating_sub(1)).unwrap_or(usize::MAX);
        let turn = match (turns.get(position), turns.last(), script.after) {
            (Some(turn), ..) | (None, Some(turn), AfterLast::Repeat) => turn,
            (None, Some(last), AfterLast::Stop) => return Ok(self.last_words(last, sink)),
            (None, None, _) => {
                return Err(ProviderError::new(
                    ProviderErrorKind::Request,
                    format!("the script has no turns for {}", self.whose),
                ));
            }
        };
        let clock = &self.scripted.clock;
        let began = clock.monotonic();
        if let Some(delay) = turn.delay {
            clock.sleep(delay.0).await;
        }
        if let Some(failure) = &turn.error
            && failure.times.is_none_or(|times| attempt <= times)
        {
            return Err(failed(failure));
        }
        let ttft = clock.monotonic().saturating_sub(began);
        if let Some(text) = &turn.text {
            sink.text(text);
        }
        Ok(self.answer(turn, step, ttft))
    }

    fn answer(&self, turn: &Turn, step: u32, ttft: Duration) -> CompletionResponse {
        let calls = turn.calls.iter().zip(1_u32..).map(|(call, number)| {
            Block::ToolCall(ToolCall {
                id: format!("call_{step}_{number}"),
                name: call.tool.clone(),
                arguments: call.arguments(),
            })
        });
        let text = turn
            .text
            .iter()
            .map(|text| Block::Text { text: text.clone() });
        let blocks: Vec<Block> = text.chain(calls).collect();
        let finish_reason = match turn.finish.as_deref() {
            None if turn.calls.is_empty() => FinishReason::Stop,
            None | Some("tool_calls") => FinishReason::ToolCalls,
            Some("stop") => FinishReason::Stop,
            Some("length") => FinishReason::Length,
            Some("refusal") => FinishReason::Refusal,
            Some("pause") => FinishReason::Pause,
            Some(other) => FinishReason::Other(other.to_owned()),
        };
        CompletionResponse {
            ttft: (!blocks.is_empty()).then_some(ttft),
            blocks,
            usage: turn.usage.as_ref().map(ScriptUsage::counts),
            model: Some(self.served()),
            fingerprint: None,
            finish_reason,
        }
    }

    /// A script that reports usage reports it to the end: the words past its last turn cost nothing.
    fn last_words(&self, last: &Turn, sink: &dyn DeltaSink) -> CompletionResponse {
        sink.text(LAST_WORDS);
        CompletionResponse {
            blocks: vec![Block::Text {
                text: LAST_WORDS.to_owned(),
            }],
            usage: last.usage.as_ref().map(|_| Usage::default()),
            model: Some(self.served()),
            fingerprint: None,
            finish_reason: FinishReason::Stop,
            ttft: Some(Duration::ZERO),
        }
    }

    fn served(&self) -> String {
        let script = &self.scripted.script;
        script
            .model
            .clone()
            .unwrap_or_else(|| self.scripted.model.to_string())
    }
}

fn failed(failure: &Failure) -> ProviderError {
    ProviderError {
        kind: failure.kind.into(),
        status: failure.status,
        retry_after: failure.retry_after.map(|span| span.0),
        message: failure
            .message
            .clone()
            .unwrap_or_else(|| "as the script says".to_owned()),
    }
}

#[cfg(test)]
mod tests;
