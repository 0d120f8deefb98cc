//! The loop: a pure machine decides, one driver acts.
//!
//! [`Harness::builder`] takes what a run works with; [`Harness::start`] begins one and [`Harness::resume`] goes on
//! with one. Both end in the same [`RunResult`](crate::domain::RunResult). What goes wrong within a run is its
//! outcome; an error means that there is no trace of it to speak of.
//!
//! A run that is stopped goes on where it was, with the contract and the policy that it began with:
//!
//! ```
//! # use std::sync::Arc;
//! # use taskgate::base::SystemClock;
//! # use taskgate::domain::{RunOutcome, TaskContract, Verification};
//! # use taskgate::provider::{Script, Scripted};
//! # use taskgate::run::{Harness, StopSignal};
//! # use taskgate::sandbox::{Environment, SandboxConfig, select};
//! # use taskgate::store::Store;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let clock = Arc::new(SystemClock::default());
//! # let script = Script::parse("version: 1\nturns: [{text: Nothing to do.}]", "example")?;
//! # let provider = Scripted::new("local", Arc::new(script), clock.clone()).for_case("example", 1);
//! let harness = Harness::builder()
//!     .provider(provider)
//!     .store(Store::memory()?)
//!     .sandbox(select(&SandboxConfig::default(), clock).into())
//!     .environment(Arc::new(Environment::empty()))
//!     .build()?;
//! let contract = TaskContract::workspace("Look around.", folder.path(), Verification::None);
//!
//! let stop = StopSignal::default();
//! stop.stop_gently();
//! let stopped = harness.start(contract).stop(stop).await?;
//! assert_eq!(stopped.outcome, RunOutcome::Suspended);
//!
//! let result = harness.resume(stopped.run_id).await?;
//! assert_eq!(result.outcome, RunOutcome::Finished);
//! assert_eq!(result.reply.as_deref(), Some("Nothing to do."));
//!
//! // What has ended stays as it ended.
//! assert_eq!(harness.resume(result.run_id).await?, result);
//! # Ok(())
//! # }
//! ```
//!
//! What a harness lacks is named all at once, before anything is billed:
//!
//! ```
//! let error = taskgate::run::Harness::builder().build().unwrap_err();
//! assert_eq!(error.missing, ["provider", "store", "sandbox", "environment"]);
//! ```

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
