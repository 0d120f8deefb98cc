//! How a run ends.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{BudgetKind, Overrun, ProviderError};

/// A run's number in its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub i64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {}", self.0)
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunOutcome {
    /// The success criterion held.
    Success,
    /// The model answered without a tool call, and there was no criterion.
    Finished,
    /// The ceiling of steps was reached.
    StepCapReached,
    /// The ceiling of time was reached.
    TimeBudgetExceeded,
    /// The ceiling of tokens was reached.
    TokenBudgetExceeded,
    /// The ceiling of money was reached.
    CostBudgetExceeded,
    /// The agent repeated itself after it had been told.
    Stalled,
    /// The provider or the policy refused the work as a whole.
    Refused,
    /// Stopped from outside.
    Cancelled,
    /// The provider did not answer, and will not or was tried often enough.
    Escalated {
        /// The last failure.
        failure: ProviderError,
    },
    /// Stopped from outside at a committed step; a resume goes on from there. Never stored as an ending.
    Suspended,
    /// Something of ours broke: the sandbox, the store, the disk.
    Errored,
}

impl RunOutcome {
    /// The ending that a ceiling brings.
    #[must_use]
    pub const fn exhausted(kind: BudgetKind) -> Self {
        match kind {
            BudgetKind::Steps => Self::StepCapReached,
            BudgetKind::Tokens => Self::TokenBudgetExceeded,
            BudgetKind::Wall => Self::TimeBudgetExceeded,
            BudgetKind::Cost => Self::CostBudgetExceeded,
        }
    }

    /// The name as it is written in traces and reports.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Finished => "finished",
            Self::StepCapReached => "step_cap_reached",
            Self::TimeBudgetExceeded => "time_budget_exceeded",
            Self::TokenBudgetExceeded => "token_budget_exceeded",
            Self::CostBudgetExceeded => "cost_budget_exceeded",
            Self::Stalled => "stalled",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
            Self::Escalated { failure } if failure.kind.is_retryable() => "escalated_retryable",
            Self::Escalated { .. } => "escalated_terminal",
            Self::Suspended => "suspended",
            Self::Errored => "errored",
        }
    }
}

/// What a run came to. There is one for every run that began, whatever broke.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    /// The run.
    pub run_id: RunId,
    /// How it ended.
    pub outcome: RunOutcome,
    /// Steps that were committed.
    pub steps: u32,
    /// Tokens that the provider reported, over all calls.
    pub tokens: u64,
    /// A ceiling that was reached, also where the criterion held all the same.
    pub overrun: Option<Overrun>,
    /// The model's last text.
    pub reply: Option<String>,
    /// What broke, where something did.
    pub error: Option<String>,
}
