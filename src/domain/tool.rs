//! Tools as a model sees them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool on offer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name that the model calls it by.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// A JSON Schema of its arguments.
    pub parameters: Value,
}

/// What a tool call came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The id of the call.
    pub call_id: String,
    /// What the model is told, bounded.
    pub text: String,
    /// Whether the tool did what was asked.
    pub ok: bool,
    /// Whether it changed the workspace.
    pub changed: bool,
    /// Whether it may have changed something that nobody looked at: a command may.
    pub unseen: bool,
}
