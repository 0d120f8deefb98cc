//! The conversation, with the ids that bind a tool's result to its call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The harness: goals, tool results, notes.
    User,
    /// The model.
    Assistant,
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub blocks: Vec<Block>,
}

impl Message {
    /// A turn of the harness that is plain text.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            blocks: vec![Block::Text { text: text.into() }],
        }
    }

    /// A turn of the model's.
    #[must_use]
    pub const fn assistant(blocks: Vec<Block>) -> Self {
        Self {
            role: Role::Assistant,
            blocks,
        }
    }
}

/// A part of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// The model wants a tool to run.
    ToolCall(ToolCall),
    /// What a tool answered.
    ToolResult {
        /// The id of the call.
        call_id: String,
        /// What the model is told.
        text: String,
        /// Whether the tool did what was asked.
        ok: bool,
    },
    /// Something only the vendor understands: kept as it came, and echoed back to that vendor alone.
    Opaque {
        /// The vendor.
        vendor: String,
        /// The block as it came.
        value: Value,
    },
}

impl Block {
    /// The text of a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }
}

/// A tool call as the model made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Binds the result to the call; unique in its message.
    pub id: String,
    /// The tool, as the model named it.
    pub name: String,
    /// Its arguments.
    pub arguments: Arguments,
}

/// The arguments of a call, or the text that should have been arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// A JSON value.
    Json(Value),
    /// What the model wrote is no JSON: it is told so, and nothing runs.
    Invalid {
        /// What it wrote.
        raw: String,
        /// What is wrong with it.
        error: String,
    },
}

impl Arguments {
    /// Reads what a model wrote; nothing at all is an empty object.
    ///
    /// ```
    /// use taskgate::domain::Arguments;
    ///
    /// assert!(matches!(Arguments::parse(r#"{"path": "a"}"#), Arguments::Json(_)));
    /// assert!(matches!(Arguments::parse(r#"{"path": "a"#), Arguments::Invalid { .. }));
    /// ```
    #[must_use]
    pub fn parse(raw: &str) -> Self {
        if raw.trim().is_empty() {
            return Self::Json(Value::Object(serde_json::Map::new()));
        }
        match serde_json::from_str(raw) {
            Ok(value) => Self::Json(value),
            Err(error) => Self::Invalid {
                raw: raw.to_owned(),
                error: error.to_string(),
            },
        }
    }
}
