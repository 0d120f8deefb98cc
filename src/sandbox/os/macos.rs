//! macOS, and other Unix systems without a list of processes in the file system.

use std::io;
use std::path::Path;

use nix::sys::resource::Resource;
use nix::unistd::Pid;
use process_wrap::tokio::ChildWrapper;
use std::time::Duration;

use crate::sandbox::{Fact, LayerName, LayerState, SandboxLimits};

/// No limit of memory is kept by this system, though it takes one.
pub(super) const MEMORY: Option<Resource> = None;

/// There is nothing to do once for the process.
pub(super) const fn prepare() {}

/// There is nothing more to do in a child.
#[expect(
    clippy::unnecessary_wraps,
    reason = "other systems can fail at this point"
)]
pub(super) const fn confine_self() -> io::Result<()> {
    Ok(())
}

/// The descendants of a command. Beyond its group there is no way to find them.
pub(super) struct Family;

impl Family {
    /// Starts a command.
    pub(super) fn of(
        _marker: &str,
        spawn: impl FnOnce() -> io::Result<(Box<dyn ChildWrapper>, Pid)>,
    ) -> io::Result<(Box<dyn ChildWrapper>, Pid, Self)> {
        let (child, pid) = spawn()?;
        Ok((child, pid, Self))
    }

    /// Whether the end was seen; it cannot be without taking the status.
    #[expect(clippy::unused_async, reason = "other systems wait here")]
    pub(super) async fn ended(&self) -> io::Result<bool> {
        Ok(false)
    }

    /// The group is all there is, and it is dead already.
    #[expect(clippy::unused_async, reason = "other systems wait here")]
    pub(super) async fn sweep(&self) -> usize {
        0
    }

    /// As [`Family::sweep`].
    pub(super) const fn sweep_now(&self) {}

    /// What the first process used is gone with it.
    pub(super) const fn processor_time(&self) -> Option<Duration> {
        None
    }

    /// There is nothing to forget.
    pub(super) const fn release(&self) {}
}

/// What holds here beyond what holds everywhere.
pub(super) fn layers(_limits: &SandboxLimits) -> Vec<(LayerName, LayerState)> {
    vec![
        (
            LayerName::Cpu,
            LayerState::partial(
                "RLIMIT_CPU",
                &["each process has its own limit, and only the first one's end is named"],
            ),
        ),
        (
            LayerName::Disk,
            LayerState::partial(
                "RLIMIT_FSIZE",
                &["each file has its own limit, and only the first process's end is named"],
            ),
        ),
        (
            LayerName::KillTree,
            LayerState::partial(
                "signals to the process group",
                &[
                    "a process that left the group survives",
                    "when the runner itself is killed, its commands go on",
                ],
            ),
        ),
        (
            LayerName::Tty,
            LayerState::partial(
                "a session of its own",
                &["the terminal's device file can still be opened by its path"],
            ),
        ),
    ]
}

/// What the machine offers.
pub(in crate::sandbox) fn facts() -> Vec<Fact> {
    let wrapper = std::path::Path::new("/usr/bin/sandbox-exec").is_file();
    vec![Fact::new(
        "sandbox-exec",
        wrapper,
        "write and network confinement for native backends",
    )]
}

/// What a runner that is gone had started cannot be found here.
pub(in crate::sandbox) const fn end_leftovers(_home: &Path) -> usize {
    0
}

/// The system's release, where it is known.
pub(in crate::sandbox) const fn kernel() -> Option<String> {
    None
}
