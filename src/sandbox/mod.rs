//! The only place where processes start. A command runs without a shell, with an environment built from an allow
//! list, with nothing on its standard input, under caps that are named when they fire, and ends with everything
//! that it started.
//!
//! How much of that the machine enforces differs: [`select`] picks the strongest backend there is, and
//! [`Selected`] says layer by layer what holds and what does not.

mod environment;
mod exec;
mod locate;
mod os;
mod probe;
mod select;
mod selected;
mod spec;

#[cfg(test)]
mod tests;

pub use environment::Environment;
pub use probe::{Fact, Probe, probe};
pub use select::select;
pub use selected::{Backend, LayerName, LayerState, Selected};
pub use spec::{Cap, Ending, RunSpec, SandboxConfig, SandboxError, SandboxLimits, SandboxOutcome};

use crate::base::BoxFuture;

/// Ends commands that were started with `home` as their home by a runner that was killed, and says how many there were.
/// Only Linux lets them be found; elsewhere it is 0.
pub fn end_leftovers(home: &std::path::Path) -> usize {
    os::end_leftovers(home)
}

/// Runs commands under confinement.
pub trait Sandbox: Send + Sync {
    /// Runs one command to its end, its own or the one that a cap brings. When this returns, nothing that the
    /// command started is left; dropping the future kills all of it at once.
    ///
    /// # Errors
    /// Where the machine would not do what a run needs. Whatever the command did is in [`Ending`], not here.
    fn run<'a>(&'a self, spec: RunSpec<'a>) -> BoxFuture<'a, Result<SandboxOutcome, SandboxError>>;

    /// What is enforced here.
    fn selected(&self) -> &Selected;
}
