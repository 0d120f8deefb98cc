//! Who watches a run while it goes on.

use crate::domain::RunEvent;

/// Whether the run may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// End the run for good, as soon as nothing is half-done.
    Cancel,
}

/// Sees every event as it happens, before it is committed.
pub trait Observer: Send + Sync {
    /// Called on the run's own task: it must not block.
    fn event(&self, event: &RunEvent) -> Flow;
}

/// An observer that looks away.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ignore;

impl Observer for Ignore {
    fn event(&self, _event: &RunEvent) -> Flow {
        Flow::Continue
    }
}
