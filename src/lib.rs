//! A batch evaluation runner for LLM agents, and the agent harness beneath it.

pub mod base;
pub mod domain;
pub mod provider;
pub mod report;
pub mod store;
