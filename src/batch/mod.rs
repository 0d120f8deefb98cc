//! From a plan to a trace: schedules cases, gives each a workspace, runs the agent, judges with gates.
//!
//! Everything that a report needs goes to the store as it happens; nothing is kept for the end, so that memory
//! does not grow with finished cases and a killed batch loses nothing that was committed.

mod case;
mod error;
mod gates;
mod layout;
mod ledger;
mod policy;
mod prepare;
mod protect;
mod record;
mod schedule;
mod timing;

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use error::{BatchError, Problem};
pub use prepare::{Host, Prepared, Unavailable, prepare};
pub use record::{batch_record, plan_of};
pub use schedule::{BatchEnd, is_left, resume, run};

use crate::base::{Clock, Money, Redactor};
use crate::run::{Observer, StopSignal};
use crate::sandbox::Sandbox;
use crate::store::Store;

/// What a user may set for a whole batch, and what a resume takes over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchOptions {
    /// Cases at once; at least 1.
    pub jobs: usize,
    /// Whether no new case starts once one has failed or could not be judged.
    pub fail_fast: bool,
    /// No new case starts once the batch has cost this much.
    pub max_cost: Option<Money>,
    /// How often an errored case is started again.
    pub retries: u32,
    /// Which workspaces are kept for looking at.
    pub keep_workspaces: Keep,
}

/// Which workspaces are kept after their case has its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// Those of cases that did not pass.
    Failed,
    /// All.
    All,
    /// None.
    None,
}

/// What a batch works with.
#[derive(Clone)]
pub struct Surroundings {
    /// Where the trace goes.
    pub store: Store,
    /// Where commands run.
    pub sandbox: Arc<dyn Sandbox>,
    /// The host's environment, from which commands get an allow-list.
    pub host_env: Arc<Vec<(String, String)>>,
    /// A folder for workspaces; it is created where it is missing, and kept between a batch and its resume.
    pub work_dir: PathBuf,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Who watches.
    pub observer: Arc<dyn Observer>,
    /// Knows the secrets in use.
    pub redactor: Redactor,
    /// How the batch is stopped from outside.
    pub stop: StopSignal,
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings")
            .field("work_dir", &self.work_dir)
            .finish_non_exhaustive()
    }
}
