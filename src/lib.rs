//! A batch evaluation runner for LLM agents, and the agent harness beneath it.
//!
//! The program reads suites, plans their cases, runs an agent on each in a workspace of its own, asks gates what came
//! of it, and reports from the trace; [`suite`], [`batch`] and [`report`] are its halves. The harness, [`run`], is
//! the part that drives one agent: a model, tools behind one policy, a sandbox for commands, a criterion that decides
//! when the goal is reached, and a trace.
//!
//! This agent plays a script, so that it needs no key and no network:
//!
//! ```
//! use std::sync::Arc;
//!
//! use taskgate::base::{RelPath, SystemClock};
//! use taskgate::domain::{RunOutcome, TaskContract, Verification};
//! use taskgate::policy::Policy;
//! use taskgate::provider::{Script, Scripted};
//! use taskgate::run::Harness;
//! use taskgate::sandbox::{Environment, SandboxConfig, select};
//! use taskgate::store::Store;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let script = Script::parse(
//!     r#"
//! version: 1
//! turns:
//!   - calls:
//!       - tool: write_file
//!         arguments: {path: greeting.txt, content: "Good morning!\n"}
//!   - text: I wrote the greeting.
//! "#,
//!     "greeting.yaml",
//! )?;
//! let folder = tempfile::tempdir()?;
//! let clock = Arc::new(SystemClock::default());
//! let harness = Harness::builder()
//!     .provider(Scripted::new("local", Arc::new(script), clock.clone()).for_case("greeting", 1))
//!     .store(Store::memory()?)
//!     .policy(Policy::ci_default().layer("example").deny_write("*.rs"))
//!     .sandbox(select(&SandboxConfig::default(), clock).into())
//!     .environment(Arc::new(Environment::empty()))
//!     .build()?;
//!
//! let verify = Verification::WorkspaceFileContains {
//!     file: RelPath::parse("greeting.txt")?,
//!     needle: "Good morning".to_owned(),
//! };
//! let contract = TaskContract::workspace("Write a greeting.", folder.path(), verify);
//! let result = harness.start(contract).await?;
//!
//! assert_eq!(result.outcome, RunOutcome::Success);
//! assert_eq!(result.steps, 2);
//! assert_eq!(result.reply.as_deref(), Some("I wrote the greeting."));
//! # Ok(())
//! # }
//! ```

pub mod base;
pub mod batch;
pub mod cli;
pub mod domain;
pub mod net;
pub mod policy;
pub mod provider;
pub mod report;
pub mod run;
pub mod sandbox;
pub mod store;
pub mod suite;
pub mod tools;
pub mod verify;
pub mod workspace;
