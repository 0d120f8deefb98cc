//! What is run, under which caps, and how it ended.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Backend, Environment};
use crate::base::Bounded;

/// The caps of one command; `None` is no cap. What a machine cannot enforce is absent in
/// [`Selected`](super::Selected).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// Processor time of each process, rounded up to whole seconds.
    pub cpu: Option<Duration>,
    /// Real time from the start to the end of the command.
    pub wall: Duration,
    /// Private memory of each process, in bytes.
    pub memory_bytes: Option<u64>,
    /// Processes at one time.
    pub processes: Option<u32>,
    /// Open files of each process.
    pub open_files: Option<u64>,
    /// The size that one file may grow to, in bytes.
    pub file_bytes: Option<u64>,
    /// How many bytes of each output stream are kept: the first half and the last half of this.
    pub output_bytes: usize,
    /// How many bytes both output streams together may bring before the command is killed.
    pub output_kill_bytes: u64,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            cpu: Some(Duration::from_secs(3_600)),
            wall: Duration::from_secs(600),
            memory_bytes: Some(4 << 30),
            processes: None,
            open_files: Some(4_096),
            file_bytes: Some(4 << 30),
            output_bytes: 256 << 10,
            output_kill_bytes: 64 << 20,
        }
    }
}

/// What a sandbox is chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SandboxConfig {
    /// The caps that the record of layers is about. Every run brings its own, often these.
    pub limits: SandboxLimits,
    /// Whether commands may reach the network unless they say otherwise: what the record of layers is about.
    pub network: bool,
    /// Leaves native confinement out even where there is some.
    pub force_floor: bool,
}

/// One command.
#[derive(Debug, Clone, Copy)]
pub struct RunSpec<'a> {
    /// Program and arguments. A program without a separator is looked up on the sandbox's `PATH`, any other is
    /// relative to `workdir`.
    pub argv: &'a [String],
    /// Where it starts.
    pub workdir: &'a Path,
    /// Its variables.
    pub env: &'a Environment,
    /// Its caps.
    pub limits: SandboxLimits,
    /// Whether it may reach the network.
    pub network: bool,
}

/// A cap that ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cap {
    /// [`SandboxLimits::cpu`]
    Cpu,
    /// [`SandboxLimits::memory_bytes`]
    Memory,
    /// [`SandboxLimits::wall`]
    Wall,
    /// [`SandboxLimits::processes`]
    Processes,
    /// [`SandboxLimits::file_bytes`]
    Disk,
    /// [`SandboxLimits::output_kill_bytes`]
    Output,
}

impl Cap {
    /// The name as it is written in traces and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Wall => "wall",
            Self::Processes => "processes",
            Self::Disk => "disk",
            Self::Output => "output",
        }
    }
}

impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "ending", content = "value", rename_all = "snake_case")]
pub enum Ending {
    /// By itself, with this status.
    Exited(i32),
    /// By a signal that no cap of ours sent.
    Signalled(i32),
    /// By a cap.
    Cap(Cap),
    /// There is no such program.
    NotFound {
        /// The program as it was asked for.
        program: String,
    },
    /// The program is there and did not start: not executable, of another machine, its folder gone.
    NotStarted {
        /// What was being done: `workdir`, `spawn`.
        stage: &'static str,
        /// The system's own words.
        error: String,
    },
}

/// What became of one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxOutcome {
    /// How it ended.
    pub ending: Ending,
    /// What it printed, also where a cap ended it.
    pub stdout: Bounded,
    /// What it printed as errors, also where a cap ended it.
    pub stderr: Bounded,
    /// From before its start until nothing of it was left.
    pub duration: Duration,
    /// What ran it.
    pub backend: Backend,
}

impl SandboxOutcome {
    /// Whether it ended by itself with status 0.
    #[must_use]
    pub const fn success(&self) -> bool {
        matches!(self.ending, Ending::Exited(0))
    }
}

/// Why a command could not be run to an end that says anything about the command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// There is nothing to run.
    #[error("a command needs a program: its list of arguments is empty")]
    NoProgram,
    /// The system refused something that every run needs.
    #[error("cannot {stage} of `{program}`")]
    Io {
        /// What was being done, for instance `wait for the end`.
        stage: &'static str,
        /// The program as it was asked for.
        program: String,
        /// The system's own words.
        source: std::io::Error,
    },
    /// Processes of the command are still there after they were killed again and again.
    #[error(
        "{count} processes that `{program}` started could not be killed: what they do now is not confined to this run"
    )]
    Survivors {
        /// How many there were when the sweep gave up.
        count: usize,
        /// The program as it was asked for.
        program: String,
    },
}
