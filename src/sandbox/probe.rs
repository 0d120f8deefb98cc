//! What this machine offers to confine commands with, for people who ask.

use serde::Serialize;

use super::os;

/// One thing that a machine has or lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What was looked for.
    pub name: &'static str,
    /// Whether it is there.
    pub available: bool,
    /// What was found, in a few words; may be empty.
    pub detail: String,
}

impl Fact {
    pub(super) fn new(name: &'static str, available: bool, detail: impl Into<String>) -> Self {
        Self {
            name,
            available,
            detail: detail.into(),
        }
    }
}

/// What a machine offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// The operating system.
    pub os: &'static str,
    /// The processor's architecture.
    pub arch: &'static str,
    /// The kernel's release, where the system tells it.
    pub kernel: Option<String>,
    /// What was found, in a fixed order.
    pub facts: Vec<Fact>,
}

/// Looks at the machine. Nothing is started and nothing is changed.
#[must_use]
pub fn probe() -> Probe {
    Probe {
        os: std::env::consts::OS,
        arch: std::env::consts::ARCH,
        kernel: os::kernel(),
        facts: os::facts(),
    }
}
