//! The tools themselves: what they take, and what they do once they may.

mod command;
mod files;
mod search;

pub(super) use command::Exec;
pub(super) use files::{EditFile, ListDir, ReadFile, WriteFile};
pub(super) use search::{Find, Grep};

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

    fn failed(decision: String, text: String) -> Self {
        Self {
            text,
            decision,
            ok: false,
            changed: false,
        }
    }
}
