//! What can go wrong around a run. What goes wrong within one is an outcome.

use crate::domain::RunId;
use crate::store::StoreError;

/// A run could not be begun, continued or recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The trace could not be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What the trace holds of a run cannot be continued.
    #[error("{run} cannot be resumed: {reason}")]
    Resume {
        /// The run.
        run: RunId,
        /// Why.
        reason: String,
    },
}

/// A harness lacks parts; all of them are named at once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the harness is incomplete: {}", .missing.join(", "))]
#[non_exhaustive]
pub struct BuildError {
    /// The parts that are missing.
    pub missing: Vec<&'static str>,
}
