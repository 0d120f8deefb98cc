//! A batch evaluation runner for LLM agents, and the agent harness beneath it.

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
