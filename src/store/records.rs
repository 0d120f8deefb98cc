//! What goes into a trace and what comes back.

use serde_json::Value;

use crate::base::Timestamp;
use crate::domain::{CaseId, CaseOutcome, CaseRef, CaseTimes, Message, RunEvent, RunId, Usage};

/// Everything that happened in one step, or between two: stored together or not at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Commit {
    /// In order. Those that [`crate::domain::EventKind::is_recorded`] leaves out are passed over.
    pub events: Vec<RunEvent>,
    /// New turns of conversations. One at a position that is taken replaces what stood there.
    pub messages: Vec<StoredMessage>,
    /// The state of the run after all of it; replaces the one before.
    pub checkpoint: Option<StoredCheckpoint>,
}

/// A turn of a run's conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// The run.
    pub run_id: RunId,
    /// Its place in the conversation, from 0.
    pub position: u32,
    /// What was said.
    pub message: Message,
}

/// The state that a run goes on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCheckpoint {
    /// The run.
    pub run_id: RunId,
    /// [`super::CHECKPOINT_FORMAT`] of the program that wrote it.
    pub format: u32,
    /// The last step that the state knows of.
    pub step: u32,
    /// The state, as JSON; small, for it is written anew with each step.
    pub state: String,
}

/// What a suite has used up so far, as far as a ceiling needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteSpent {
    /// The suite.
    pub suite: String,
    /// When its first case began, in milliseconds from the batch's beginning; none where none has.
    pub began_after_ms: Option<u64>,
    /// Reported tokens by the model that served them, over all calls of all attempts.
    pub calls: Vec<(String, Usage)>,
}

/// A run at its beginning.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// Comes from [`super::Store::next_run_id`].
    pub id: RunId,
    /// The case that it works on, in a batch.
    pub case: Option<CaseRef>,
    /// The contract as JSON.
    pub contract: Value,
    /// The policy that it runs under, as JSON.
    pub policy: Value,
    /// The provider's name.
    pub provider: String,
    /// The model asked for.
    pub model: String,
    /// When it began.
    pub started_at: Timestamp,
}

/// How far a batch has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BatchStatus {
    /// It runs, or its process died.
    Running,
    /// Every case has an outcome.
    Finished,
    /// It was stopped before.
    Interrupted,
}

impl BatchStatus {
    /// The name as it is written in traces.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
        }
    }
}

/// How far a planned case has come: what a resume decides by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseProgress {
    /// The case.
    pub id: CaseId,
    /// Why the plan leaves it out, where it does.
    pub skip: Option<String>,
    /// The verdict of the last attempt, where it has one.
    pub outcome: Option<CaseOutcome>,
    /// How many attempts have begun.
    pub attempts: u32,
    /// The last attempt, where it has no verdict yet.
    pub current: Option<CurrentAttempt>,
}

/// An attempt in the middle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentAttempt {
    /// Counts from 1.
    pub attempt: u32,
    /// Where it works, once that was recorded.
    pub workspace: Option<String>,
    /// Its latest run, and whether that has ended.
    pub run: Option<(RunId, bool)>,
    /// When it began.
    pub started_at: Timestamp,
    /// The address of the workspace that it began with, once that was recorded.
    pub fixture: Option<String>,
    /// Where its time went as far as that was recorded; the time between its processes does not count.
    pub times: CaseTimes,
}

/// A run as the trace holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    /// The run.
    pub run_id: RunId,
    /// The contract as JSON.
    pub contract: Value,
    /// The policy as JSON.
    pub policy: Value,
    /// The provider's name.
    pub provider: String,
    /// The model asked for.
    pub model: String,
    /// How it ended, by [`crate::domain::RunOutcome::as_str`]; `None` while it has not.
    pub outcome: Option<String>,
    /// The state to go on from, where a step was committed.
    pub checkpoint: Option<StoredCheckpoint>,
    /// The whole conversation, oldest first.
    pub messages: Vec<Message>,
    /// Reported usage of all its calls, by the model that served them.
    pub usage: Vec<(String, Usage)>,
}

/// What a file says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceInfo {
    /// The format of the trace, at most [`super::SCHEMA_VERSION`].
    pub version: u32,
    /// Who writes it now, as far as the trace knows: a process that died without a word is still named.
    pub holder: Option<String>,
}
