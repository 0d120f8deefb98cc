//! The loop: a pure machine decides, one driver acts.
//!
//! [`Harness::builder`] takes what a run works with; [`Harness::start`] begins one and [`Harness::resume`] goes on
//! with one. Both end in the same [`RunResult`](crate::domain::RunResult).

mod driver;
mod entry;
mod error;
mod harness;
mod journal;
pub mod machine;
mod model_call;
mod observer;
mod prompt;
mod stop;

pub use driver::Pace;
pub use entry::RunRequest;
pub use error::{BuildError, RunError};
pub use harness::{Harness, HarnessBuilder};
pub use observer::{Flow, Ignore, Observer};
pub use stop::StopSignal;
