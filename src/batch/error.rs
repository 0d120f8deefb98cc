//! What stops a batch. What stops a case is its outcome.

use std::path::PathBuf;

use crate::store::StoreError;

/// A batch could not be begun or recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The trace could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder for workspaces could not be made.
    #[error("the folder for workspaces {path} cannot be made: {error}")]
    WorkDir {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Something that the plan needs is missing; everything that is, is named.
    #[error("the batch cannot start: {}", .problems.iter().map(|problem| problem.text.as_str()).collect::<Vec<_>>().join("; "))]
    Unavailable {
        /// One for each thing that is missing.
        problems: Vec<Problem>,
    },
    /// The trace holds a plan that this version cannot read.
    #[error("the plan in the trace cannot be read ({0}): the trace was made by another version")]
    Plan(String),
}

/// Something that is missing before anything starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Suite and provider, where the problem is a provider's.
    pub provider: Option<(String, String)>,
    /// What is wrong.
    pub text: String,
    /// What to do about it.
    pub help: Option<String>,
}
