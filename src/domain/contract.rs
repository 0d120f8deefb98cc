//! What an agent is asked to do, and when it is done.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Budget, RetryPolicy, StallPolicy, Verification};

/// A task: the goal, where to work, what holds while working, and what decides that it is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskContract {
    /// Free text, shown to the model first.
    pub goal: String,
    /// The folder that the agent works in.
    pub root: PathBuf,
    /// Prose that the model is shown and nothing enforces.
    pub constraints: Vec<String>,
    /// What decides that the goal is reached.
    pub verify: Verification,
    /// Ceilings of the run.
    pub budget: Budget,
    /// How failed model calls are tried again.
    pub retry: RetryPolicy,
    /// When repetition ends the run.
    pub stall: StallPolicy,
    /// The longest time that one command of the agent's may take.
    pub exec_timeout: Duration,
}

impl TaskContract {
    /// A contract over a folder, with the defaults of every other field.
    #[must_use]
    pub fn workspace(
        goal: impl Into<String>,
        root: impl Into<PathBuf>,
        verify: Verification,
    ) -> Self {
        Self {
            goal: goal.into(),
            root: root.into(),
            constraints: Vec::new(),
            verify,
            budget: Budget::default(),
            retry: RetryPolicy::default(),
            stall: StallPolicy::default(),
            exec_timeout: Duration::from_secs(900),
        }
    }

    /// Adds a sentence that the model is shown.
    #[must_use]
    pub fn with_constraint(mut self, constraint: impl Into<String>) -> Self {
        self.constraints.push(constraint.into());
        self
    }

    /// Sets all ceilings at once.
    #[must_use]
    pub const fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Sets the ceiling of steps.
    #[must_use]
    pub const fn with_max_steps(mut self, steps: u32) -> Self {
        self.budget.steps = steps;
        self
    }

    /// Sets how failed model calls are tried again.
    #[must_use]
    pub const fn with_retry_policy(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Sets when repetition ends the run.
    #[must_use]
    pub const fn with_stall_policy(mut self, stall: StallPolicy) -> Self {
        self.stall = stall;
        self
    }

    /// Sets the longest time of one command.
    #[must_use]
    pub const fn with_exec_timeout(mut self, timeout: Duration) -> Self {
        self.exec_timeout = timeout;
        self
    }
}
