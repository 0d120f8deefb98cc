//! What an agent can do: one table of tools, and one gate before all of them.
//!
//! A tool declares what it will do, as acts on targets; it never asks whether it may. The gate in
//! [`ToolContext::run`] asks the policy, and where the policy says so the approver, before anything happens.

mod builtin;
mod dispatch;
mod gate;
mod table;
#[cfg(test)]
mod tests;

pub use dispatch::ToolContext;
pub use table::{builtin_names, builtin_specs};

/// How much of one observation a model is shown, in characters.
pub(crate) const OBSERVATION_LIMIT: usize = 16_000;
