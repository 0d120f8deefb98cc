//! The tools themselves: what they take, and what they do once they may.

mod command;
mod files;
mod search;

pub(super) use command::Exec;
pub(super) use files::{EditFile, ListDir, ReadFile, WriteFile};
pub(super) use search::{Find, Grep};

use crate::base::clip_head;

/// How much of what went wrong a model is told, in characters: it may repeat names of any length that the model
/// made up.
const FAILURE_LIMIT: usize = 2_000;

/// What came of a call that was performed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Observation {
    /// What the model is told.
    pub(super) text: String,
    /// A short phrase for the trace.
    pub(super) decision: String,
    pub(super) ok: bool,
    pub(super) changed: bool,
}

impl Observation {
    fn ok(decision: String, text: String) -> Self {
        Self {
            text,
            decision,
            ok: true,
            changed: false,
        }
    }

    pub(super) fn failed(decision: impl Into<String>, text: impl AsRef<str>) -> Self {
        Self {
            text: clip_head(text.as_ref(), FAILURE_LIMIT).into_owned(),
            decision: decision.into(),
            ok: false,
            changed: false,
        }
    }
}
