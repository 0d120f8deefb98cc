//! The record of what a sandbox enforces: one word would be wrong somewhere, so every layer has its own.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What runs commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Backend {
    /// What every platform has: an own session or job, resource limits, a deadline, a bounded output.
    PortableFloor,
}

impl Backend {
    /// The name as it is written in traces and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PortableFloor => "portable_floor",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that a sandbox may keep a command from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LayerName {
    /// Writing files outside of the working folder.
    FsWrite,
    /// Reading files that are none of its business.
    FsRead,
    /// Asking for or changing a file's metadata outside of the working folder.
    FsMeta,
    /// Reaching other machines, and this one over IP.
    NetIp,
    /// Reaching servers on this machine through socket files.
    NetUnix,
    /// Looking into other processes.
    ProcView,
    /// Signalling other processes.
    Signals,
    /// Calling into the kernel where ordinary programs do not.
    Syscalls,
    /// Starting any number of processes.
    Pids,
    /// Using any amount of memory.
    Memory,
    /// Using any amount of processor time.
    Cpu,
    /// Filling the disk.
    Disk,
    /// Printing without end.
    Output,
    /// Running without end.
    Wall,
    /// Leaving processes behind.
    KillTree,
    /// Seeing variables of the runner, keys among them.
    Env,
    /// Reaching the terminal that the runner was started from.
    Tty,
}

impl LayerName {
    /// All layers, in the order in which they are listed.
    pub const ALL: [Self; 17] = [
        Self::FsWrite,
        Self::FsRead,
        Self::FsMeta,
        Self::NetIp,
        Self::NetUnix,
        Self::ProcView,
        Self::Signals,
        Self::Syscalls,
        Self::Pids,
        Self::Memory,
        Self::Cpu,
        Self::Disk,
        Self::Output,
        Self::Wall,
        Self::KillTree,
        Self::Env,
        Self::Tty,
    ];

    /// The name as it is written in suites, traces and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FsWrite => "fs_write",
            Self::FsRead => "fs_read",
            Self::FsMeta => "fs_meta",
            Self::NetIp => "net_ip",
            Self::NetUnix => "net_unix",
            Self::ProcView => "proc_view",
            Self::Signals => "signals",
            Self::Syscalls => "syscalls",
            Self::Pids => "pids",
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Disk => "disk",
            Self::Output => "output",
            Self::Wall => "wall",
            Self::KillTree => "kill_tree",
            Self::Env => "env",
            Self::Tty => "tty",
        }
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How far a layer holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LayerState {
    /// The system or the runner keeps it, without a known gap.
    Enforced {
        /// What keeps it.
        by: String,
    },
    /// The runner looks at intervals, and acts on what it sees.
    Polled {
        /// What is looked at.
        by: String,
        /// The interval in milliseconds.
        period_ms: u64,
    },
    /// It is kept, with gaps.
    Partial {
        /// What keeps it.
        by: String,
        /// Each way around it that is known.
        gaps: Vec<String>,
    },
    /// Nothing keeps it.
    Absent {
        /// Why not.
        reason: String,
    },
}

impl LayerState {
    /// The state's name as it is written in traces and reports.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Enforced { .. } => "enforced",
            Self::Polled { .. } => "polled",
            Self::Partial { .. } => "partial",
            Self::Absent { .. } => "absent",
        }
    }

    pub(crate) fn enforced(by: &str) -> Self {
        Self::Enforced { by: by.to_owned() }
    }

    pub(crate) fn partial(by: &str, gaps: &[&str]) -> Self {
        Self::Partial {
            by: by.to_owned(),
            gaps: gaps.iter().map(|&gap| gap.to_owned()).collect(),
        }
    }

    pub(crate) fn absent(reason: &str) -> Self {
        Self::Absent {
            reason: reason.to_owned(),
        }
    }
}

/// One line for a person: what keeps the layer and around which gaps, or why nothing does.
impl fmt::Display for LayerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enforced { by } => write!(f, "enforced by {by}"),
            Self::Polled { by, period_ms } => write!(f, "polled every {period_ms} ms by {by}"),
            Self::Partial { by, gaps } => write!(f, "partial by {by}: {}", gaps.join("; ")),
            Self::Absent { reason } => write!(f, "absent: {reason}"),
        }
    }
}

/// What was chosen, and how far each layer holds with it. Every layer is in the map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    /// What runs commands.
    pub backend: Backend,
    /// How much confinement that is, from `T0`, the floor, upwards.
    pub tier: String,
    /// The operating system.
    pub os: String,
    /// The layers.
    pub layers: BTreeMap<LayerName, LayerState>,
}

impl Selected {
    /// How far a layer holds.
    #[must_use]
    pub fn layer(&self, name: LayerName) -> Option<&LayerState> {
        self.layers.get(&name)
    }
}
