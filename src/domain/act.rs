//! What a policy decides about.

use serde::{Deserialize, Serialize};

/// A kind of action that an agent may want to take.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Read a file; the target is its path.
    Read,
    /// Create, change or remove a file; the target is its path.
    Write,
    /// Start a program; the target is its argv, joined with spaces.
    Exec,
    /// Reach a host; the target is `host:port`.
    Net,
}

impl Act {
    /// All acts, in the order in which they are documented.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Exec, Self::Net];

    /// The name as it is written in suites, traces and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Exec => "exec",
            Self::Net => "net",
        }
    }
}

/// What a policy answers. Of two answers the greater one is the stricter.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Go on.
    Allow,
    /// Ask the approver first.
    Ask,
    /// Refuse.
    Deny,
}

impl Effect {
    /// The name as it is written in suites, traces and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}
