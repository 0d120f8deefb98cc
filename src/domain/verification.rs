//! What decides that a goal is reached, as data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::{Bounded, RelPath};

/// A success criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "check", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verification {
    /// Nothing is checked: the run ends when the model answers without a tool call.
    None,
    /// A command ends with exactly this status. A signal or a cap is never a match.
    Command {
        /// Program and arguments; no shell reads it.
        argv: Vec<String>,
        /// The status that passes.
        expect_exit: i32,
        /// The longest time that it may take.
        timeout: Duration,
        /// Whether it may reach the network.
        network: bool,
    },
    /// A file holds a text.
    WorkspaceFileContains {
        /// The file.
        file: RelPath,
        /// The text; never empty.
        needle: String,
    },
    /// A file is exactly this text.
    WorkspaceFileEquals {
        /// The file.
        file: RelPath,
        /// The whole text.
        text: String,
    },
    /// The text of a spreadsheet, Word, PowerPoint or PDF file holds a text.
    DocumentContains {
        /// The file.
        file: RelPath,
        /// The text; never empty.
        needle: String,
    },
    /// Each file compiles on its own as a Rust library.
    EachCompilesRust {
        /// The files; at least one.
        files: Vec<RelPath>,
    },
    /// All of these hold, tried in order until one does not.
    All {
        /// The criteria.
        of: Vec<Self>,
    },
}

impl Verification {
    /// The criterion as the model is shown it.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::Command {
                argv, expect_exit, ..
            } => format!("`{}` exits with {expect_exit}", argv.join(" ")),
            Self::WorkspaceFileContains { file, needle }
            | Self::DocumentContains { file, needle } => {
                format!("{file} contains {needle:?}")
            }
            Self::WorkspaceFileEquals { file, .. } => {
                format!("{file} has exactly the expected content")
            }
            Self::EachCompilesRust { files } => {
                let files: Vec<&str> = files.iter().map(RelPath::as_str).collect();
                format!("each of {} compiles as Rust on its own", files.join(", "))
            }
            Self::All { of } => of
                .iter()
                .map(Self::describe)
                .collect::<Vec<_>>()
                .join("; and "),
        }
    }
}

/// What a criterion said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether it held.
    pub passed: bool,
    /// One line: `exit 101 (expected 0)`, `timed out after 2m`, `README.md does not contain "## Errors"`.
    pub reason: String,
    /// The exit status of a command that ended by itself.
    pub exit_code: Option<i32>,
    /// What a command printed: standard error first, since a tool's chatter goes there and its verdict to standard output.
    pub output: Bounded,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
}

impl Verdict {
    /// A verdict that needed no command.
    #[must_use]
    pub fn of(passed: bool, reason: impl Into<String>) -> Self {
        Self {
            passed,
            reason: reason.into(),
            exit_code: None,
            output: Bounded::default(),
            duration_ms: 0,
        }
    }
}
