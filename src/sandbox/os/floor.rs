//! The floor: what every platform has.

use std::sync::Arc;

use super::system;
use crate::base::{BoxFuture, Clock};
use crate::sandbox::{
    Backend, LayerName, LayerState, RunSpec, Sandbox, SandboxConfig, SandboxError, SandboxLimits,
    SandboxOutcome, Selected, exec,
};

/// A session or job of its own, resource limits, a deadline, a bounded output and a scrubbed environment.
pub(in crate::sandbox) struct Floor {
    selected: Selected,
    clock: Arc<dyn Clock>,
}

impl Floor {
    /// Says what holds here under the configured caps.
    pub(in crate::sandbox) fn new(config: &SandboxConfig, clock: Arc<dyn Clock>) -> Self {
        let mut layers: std::collections::BTreeMap<LayerName, LayerState> = LayerName::ALL
            .into_iter()
            .map(|name| (name, common(name)))
            .collect();
        layers.extend(system::layers(&config.limits));
        layers.extend(unlimited(&config.limits));
        Self {
            selected: Selected {
                backend: Backend::PortableFloor,
                tier: "T0".to_owned(),
                os: std::env::consts::OS.to_owned(),
                layers,
            },
            clock,
        }
    }
}

impl Sandbox for Floor {
    fn run<'a>(&'a self, spec: RunSpec<'a>) -> BoxFuture<'a, Result<SandboxOutcome, SandboxError>> {
        Box::pin(exec::run(&*self.clock, self.selected.backend, spec))
    }

    fn selected(&self) -> &Selected {
        &self.selected
    }
}

/// What holds on every platform.
fn common(name: LayerName) -> LayerState {
    match name {
        LayerName::FsWrite => LayerState::absent(
            "the floor does not confine writes: a command writes wherever its user may",
        ),
        LayerName::FsRead => LayerState::absent(
            "the floor does not confine reads: a command reads what its user may, credentials in files such as \
             those in CARGO_HOME included",
        ),
        LayerName::FsMeta => LayerState::absent("the floor does not confine access to metadata"),
        LayerName::NetIp => LayerState::absent(
            "the floor does not confine the network; without network, proxies are hidden and package managers are \
             told to stay offline",
        ),
        LayerName::NetUnix => {
            LayerState::absent("the floor does not confine connections to socket files")
        }
        LayerName::ProcView => LayerState::absent("a command sees the other processes of its user"),
        LayerName::Signals => {
            LayerState::absent("a command may signal the other processes of its user")
        }
        LayerName::Syscalls => LayerState::absent("the floor filters no system calls"),
        LayerName::Pids => LayerState::absent("the floor does not limit the number of processes"),
        LayerName::Memory => LayerState::absent("the floor does not limit memory on this system"),
        LayerName::Cpu => {
            LayerState::absent("the floor does not limit processor time on this system")
        }
        LayerName::Disk => {
            LayerState::absent("the floor does not limit the use of the disk on this system")
        }
        LayerName::Output => {
            LayerState::enforced("bounded collection, and a kill beyond the ceiling")
        }
        LayerName::Wall => LayerState::enforced("a deadline in the runner"),
        LayerName::KillTree => LayerState::absent("nothing finds what a command leaves behind"),
        LayerName::Env => LayerState::enforced("an allow list of variables"),
        LayerName::Tty => LayerState::absent("the floor does not hide the terminal on this system"),
    }
}

/// A cap that nobody asked for holds nothing.
fn unlimited(limits: &SandboxLimits) -> Vec<(LayerName, LayerState)> {
    [
        (LayerName::Memory, limits.memory_bytes.is_none()),
        (LayerName::Cpu, limits.cpu.is_none()),
        (LayerName::Disk, limits.file_bytes.is_none()),
    ]
    .into_iter()
    .filter(|(_, open)| *open)
    .map(|(name, _)| (name, LayerState::absent("no limit is set")))
    .collect()
}
