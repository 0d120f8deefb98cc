//! The machine that decides: it never waits, reads no clock, owns no handle and performs nothing.
//!
//! [`Machine::next`] says what has to be done; the driver does it and [`Machine::feed`]s what came of it.
//! Everything that decides how a run goes on is in the machine, and all of it is in its checkpoint:
//! restoring one at any commit point changes nothing about what follows.

mod budget;
mod finish;
mod stall;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::budget::Spent;
use self::stall::{Progress, Reaction};
use super::prompt;
use crate::base::{Money, millis};
use crate::domain::{
    Block, CompletionResponse, EventKind, FinishReason, Message, Overrun, ProviderCall,
    ProviderErrorKind, Role, RunOutcome, TaskContract, ToolCall, ToolOutput, Verdict, Verification,
};

/// What the driver must do now. Exhaustive on purpose: a new step must break every driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Call the model with [`Machine::messages`].
    CallModel {
        /// The attempt at this step, from 1.
        attempt: u32,
    },
    /// Wait before the next attempt.
    Wait(Duration),
    /// Run these tools, in order.
    RunTools(Vec<ToolCall>),
    /// Try the success criterion.
    Verify,
    /// Nothing: the run has ended.
    Done(RunOutcome),
}

/// What came of a [`Step`], or of the world meanwhile. Exhaustive on purpose.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The run begins.
    Begin,
    /// The run goes on from a checkpoint.
    Restored,
    /// What the ledger holds of the run: more than the checkpoint knows, where a paid step was not completed.
    Ledger {
        /// Tokens over all calls.
        tokens: u64,
        /// What the priced ones cost.
        cost: Money,
    },
    /// Time of driving passed: it counts against the wall budget.
    Tick(Duration),
    /// The model answered.
    Completion {
        /// The answer.
        response: CompletionResponse,
        /// Its row in the ledger.
        call: ProviderCall,
        /// Its cost; `None` where it has no price.
        cost: Option<Money>,
    },
    /// The model did not answer.
    CallFailed {
        /// The row in the ledger; its `failure` says why.
        call: ProviderCall,
        /// Between 0 and 1: where in its range the next wait lies.
        jitter: f64,
    },
    /// The wait is over.
    Waited,
    /// Every tool call of the step was answered, in order.
    ToolOutputs(Vec<ToolOutput>),
    /// The success criterion was tried.
    Verdict(Verdict),
    /// Stop for good.
    Cancel,
    /// The work as a whole is refused, for this reason.
    Refuse(String),
    /// Something that is not the agent's doing broke.
    Broken(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum State {
    Ready,
    Waiting { delay: Duration },
    AwaitingTools { calls: Vec<ToolCall>, tokens: u64 },
    Verifying { then: Otherwise },
    Done { outcome: RunOutcome },
}

/// How the run goes on where the criterion does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Otherwise {
    /// The model said that it was done: it is told what is missing.
    GoOn,
    /// A budget ran out.
    Exhausted,
    /// The agent repeated itself.
    Stalled,
}

/// The state of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    contract: TaskContract,
    messages: Vec<Message>,
    kept: Kept,
}

/// What a checkpoint holds: all that the contract and the conversation do not say already. It does not grow
/// with the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Kept {
    state: State,
    /// Steps that are complete.
    steps: u32,
    /// Failed attempts at the step that is due.
    failures: u32,
    spent: Spent,
    progress: Progress,
    overrun: Option<Overrun>,
    error: Option<String>,
    /// How many messages a checkpoint goes with.
    committed: usize,
}

impl Machine {
    /// A machine that waits for [`Input::Begin`].
    #[must_use]
    pub fn new(contract: TaskContract) -> Self {
        let kept = Kept {
            state: State::Ready,
            steps: 0,
            failures: 0,
            spent: Spent::default(),
            progress: Progress::default(),
            overrun: None,
            error: None,
            committed: 0,
        };
        Self {
            contract,
            messages: Vec::new(),
            kept,
        }
    }

    /// A machine as it was when its checkpoint was made. `messages` beyond the checkpoint's are ignored.
    ///
    /// # Errors
    /// Where the checkpoint is not one of this machine's, or has fewer messages than it went with.
    pub fn restore(
        contract: TaskContract,
        checkpoint: &str,
        mut messages: Vec<Message>,
    ) -> Result<Self, RestoreError> {
        let kept: Kept = serde_json::from_str(checkpoint)?;
        if messages.len() < kept.committed {
            return Err(RestoreError::Messages {
                found: messages.len(),
                expected: kept.committed,
            });
        }
        messages.truncate(kept.committed);
        Ok(Self {
            contract,
            messages,
            kept,
        })
    }

    /// The checkpoint, and the messages that are new since the one before: what one transaction stores.
    /// Its size does not grow with the run.
    pub fn checkpoint(&mut self) -> (String, &[Message]) {
        let first = std::mem::replace(&mut self.kept.committed, self.messages.len());
        let state =
            serde_json::to_string(&self.kept).expect("a machine holds nothing that JSON cannot");
        (state, &self.messages[first..])
    }

    /// The position of the first message that the next checkpoint brings.
    #[must_use]
    pub const fn committed_messages(&self) -> usize {
        self.kept.committed
    }

    /// Whether everything that happened so far may be committed: a step is never stored half-done.
    #[must_use]
    pub const fn at_commit_point(&self) -> bool {
        !matches!(self.kept.state, State::AwaitingTools { .. })
    }

    /// What has to be done.
    #[must_use]
    pub fn next(&self) -> Step {
        match &self.kept.state {
            State::Ready => Step::CallModel {
                attempt: self.kept.failures + 1,
            },
            State::Waiting { delay } => Step::Wait(*delay),
            State::AwaitingTools { calls, .. } => Step::RunTools(calls.clone()),
            State::Verifying { .. } => Step::Verify,
            State::Done { outcome } => Step::Done(outcome.clone()),
        }
    }

    /// Takes what came of a step. An input that does not fit the state is ignored.
    pub fn feed(&mut self, input: Input) -> Vec<EventKind> {
        let mut events = Vec::new();
        match (input, std::mem::replace(&mut self.kept.state, State::Ready)) {
            (_, done @ State::Done { .. }) => self.kept.state = done,
            (Input::Begin, State::Ready) if self.messages.is_empty() => {
                self.messages
                    .push(Message::user(prompt::opening(&self.contract)));
            }
            (Input::Restored, state) => {
                // The wait belonged to a process that is gone.
                self.kept.state = if matches!(state, State::Waiting { .. }) {
                    State::Ready
                } else {
                    state
                };
                events.push(EventKind::Resumed {
                    after_step: self.kept.steps,
                });
            }
            (Input::Ledger { tokens, cost }, state) => {
                let ready = matches!(state, State::Ready);
                self.kept.state = state;
                self.kept.spent.tokens = self.kept.spent.tokens.max(tokens);
                self.kept.spent.cost = self.kept.spent.cost.max(cost);
                if ready && self.note_spending(&mut events) {
                    self.stop(Otherwise::Exhausted, &mut events);
                }
            }
            (Input::Tick(passed), state) => {
                self.kept.state = state;
                self.kept.spent.wall += passed;
                self.check_wall(&mut events);
            }
            (
                Input::Completion {
                    response,
                    call,
                    cost,
                },
                State::Ready,
            ) => self.answered(response, call, cost, &mut events),
            (Input::CallFailed { call, jitter }, State::Ready) => {
                self.call_failed(call, jitter, &mut events)
            }
            (Input::ToolOutputs(outputs), State::AwaitingTools { calls, tokens }) => {
                self.tools_ran(&calls, tokens, outputs, &mut events);
            }
            (Input::Verdict(verdict), State::Verifying { then }) => {
                self.judged(verdict, then, &mut events)
            }
            (Input::Cancel, _) => self.end(RunOutcome::Cancelled, &mut events),
            (Input::Refuse(reason), _) => {
                self.kept.error = Some(reason);
                self.end(RunOutcome::Refused, &mut events);
            }
            (Input::Broken(error), _) => {
                self.kept.error = Some(error);
                self.end(RunOutcome::Errored, &mut events);
            }
            (Input::Waited, State::Waiting { .. }) => {}
            (
                Input::Begin
                | Input::Waited
                | Input::Completion { .. }
                | Input::CallFailed { .. }
                | Input::ToolOutputs(_)
                | Input::Verdict(_),
                state,
            ) => self.kept.state = state,
        }
        events
    }

    /// The conversation so far.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// What the run is about.
    #[must_use]
    pub const fn contract(&self) -> &TaskContract {
        &self.contract
    }

    /// Steps that are complete.
    #[must_use]
    pub const fn steps(&self) -> u32 {
        self.kept.steps
    }

    /// The number of the step that is due, from 1.
    #[must_use]
    pub const fn current_step(&self) -> u32 {
        self.kept.steps + 1
    }

    /// Tokens that the provider reported so far.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.kept.spent.tokens
    }

    /// What the priced calls cost so far.
    #[must_use]
    pub const fn cost(&self) -> Money {
        self.kept.spent.cost
    }

    /// How much driving time is left; `None` is no ceiling.
    #[must_use]
    pub fn wall_left(&self) -> Option<Duration> {
        self.contract
            .budget
            .wall
            .map(|limit| limit.saturating_sub(self.kept.spent.wall))
    }

    /// A ceiling that was reached.
    #[must_use]
    pub const fn overrun(&self) -> Option<&Overrun> {
        self.kept.overrun.as_ref()
    }

    /// The model's last text.
    #[must_use]
    pub fn reply(&self) -> Option<String> {
        let spoken = self
            .messages
            .iter()
            .rev()
            .filter(|message| message.role == Role::Assistant);
        let texts = spoken.map(|message| {
            message
                .blocks
                .iter()
                .filter_map(Block::as_text)
                .collect::<String>()
        });
        texts.into_iter().find(|text| !text.trim().is_empty())
    }

    /// What broke.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.kept.error.as_deref()
    }

    fn answered(
        &mut self,
        response: CompletionResponse,
        call: ProviderCall,
        cost: Option<Money>,
        events: &mut Vec<EventKind>,
    ) {
        self.kept.failures = 0;
        let tokens = call.usage.map_or(0, |usage| usage.total_tokens);
        self.kept.spent.tokens += tokens;
        self.kept.spent.cost += cost.unwrap_or(Money::ZERO);
        events.push(EventKind::ModelCalled(call));
        let calls: Vec<ToolCall> = response
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::ToolCall(call) => Some(call.clone()),
                Block::Text { .. } | Block::ToolResult { .. } | Block::Opaque { .. } => None,
            })
            .collect();
        // A vendor refuses an assistant turn without content.
        if !response.blocks.is_empty() {
            self.messages.push(Message::assistant(response.blocks));
        }
        if !calls.is_empty() {
            self.kept.state = State::AwaitingTools { calls, tokens };
            return;
        }
        match response.finish_reason {
            FinishReason::Refusal => {
                self.complete_step(0, tokens, false, events);
                self.end(RunOutcome::Refused, events);
            }
            FinishReason::Pause => self.step_ended(&[], tokens, (false, false), None, events),
            FinishReason::Length => {
                self.step_ended(&[], tokens, (false, false), Some(prompt::CUT_OFF), events)
            }
            FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other(_) => {
                self.claimed(tokens, events)
            }
        }
    }

    /// The model says that it is done.
    fn claimed(&mut self, tokens: u64, events: &mut Vec<EventKind>) {
        self.complete_step(0, tokens, false, events);
        self.note_spending(events);
        if matches!(self.contract.verify, Verification::None) {
            self.end(RunOutcome::Finished, events);
        } else {
            self.kept.state = State::Verifying {
                then: Otherwise::GoOn,
            };
        }
    }

    fn call_failed(&mut self, call: ProviderCall, jitter: f64, events: &mut Vec<EventKind>) {
        let attempt = call.attempt;
        let failure = call.failure.clone();
        events.push(EventKind::ModelCalled(call));
        // The run's own ceiling ended the call: the tick that follows says so.
        let Some(failure) = failure.filter(|failure| failure.kind != ProviderErrorKind::Cancelled)
        else {
            self.check_wall(events);
            return;
        };
        self.kept.failures = attempt;
        if !failure.kind.is_retryable() || attempt >= self.contract.retry.attempts {
            self.kept.error = Some(failure.to_string());
            self.end(RunOutcome::Escalated { failure }, events);
            return;
        }
        let delay = self
            .contract
            .retry
            .delay(attempt, failure.retry_after, jitter);
        if self.wall_left().is_some_and(|left| left <= delay) {
            // Waiting longer than the run may take helps nobody.
            self.kept.error = Some(format!("{failure} (no time is left to try again)"));
            self.end(RunOutcome::Escalated { failure }, events);
            return;
        }
        events.push(EventKind::Retry {
            kind: failure.kind,
            attempt,
            delay_ms: millis(delay),
        });
        self.kept.state = State::Waiting { delay };
    }

    fn tools_ran(
        &mut self,
        calls: &[ToolCall],
        tokens: u64,
        outputs: Vec<ToolOutput>,
        events: &mut Vec<EventKind>,
    ) {
        let changed = outputs.iter().any(|output| output.changed);
        // A command may have changed something: that it does not count as a change must not make a stall of work.
        let progress = changed || outputs.iter().any(|output| output.unseen);
        let blocks = outputs
            .into_iter()
            .map(|output| Block::ToolResult {
                call_id: output.call_id,
                text: output.text,
                ok: output.ok,
            })
            .collect();
        self.messages.push(Message {
            role: Role::User,
            blocks,
        });
        self.step_ended(calls, tokens, (changed, progress), None, events);
    }

    /// A step is complete and the agent wants to go on.
    fn step_ended(
        &mut self,
        calls: &[ToolCall],
        tokens: u64,
        (changed, progress): (bool, bool),
        note: Option<&str>,
        events: &mut Vec<EventKind>,
    ) {
        let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        self.complete_step(count, tokens, changed, events);
        if let Some(note) = note {
            self.say(note);
        }
        let reaction =
            self.kept
                .progress
                .step(self.contract.stall, &stall::signature(calls), progress);
        if self.note_budgets(events) {
            self.stop(Otherwise::Exhausted, events);
            return;
        }
        match reaction {
            Reaction::GoOn => {}
            Reaction::Replan => {
                events.push(EventKind::Replan {
                    window: self.contract.stall.window,
                });
                self.say(prompt::REPLAN);
            }
            Reaction::Stop => {
                events.push(EventKind::Stalled);
                self.stop(Otherwise::Stalled, events);
            }
        }
    }

    fn complete_step(
        &mut self,
        calls: u32,
        tokens: u64,
        changed: bool,
        events: &mut Vec<EventKind>,
    ) {
        self.kept.steps += 1;
        events.push(EventKind::Step {
            calls,
            tokens,
            changed,
        });
    }

    /// Adds a note of the harness to the conversation, into the turn that is the model's to answer.
    fn say(&mut self, text: &str) {
        let block = Block::Text {
            text: text.to_owned(),
        };
        // A message that is stored already must not change.
        let open = self.messages.len() > self.kept.committed;
        match self
            .messages
            .last_mut()
            .filter(|last| open && last.role == Role::User)
        {
            Some(last) => last.blocks.push(block),
            None => self.messages.push(Message {
                role: Role::User,
                blocks: vec![block],
            }),
        }
    }
}

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The checkpoint is not one of this machine's.
    #[error("the checkpoint cannot be read: {0}")]
    Format(#[from] serde_json::Error),
    /// Messages are missing.
    #[error("the checkpoint goes with {expected} messages, and {found} are stored")]
    Messages {
        /// How many there are.
        found: usize,
        /// How many there must be.
        expected: usize,
    },
}
