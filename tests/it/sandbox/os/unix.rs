//! Unix: a signal that is none.

use nix::sys::signal::kill;
use nix::unistd::Pid;

/// Whether a process is there, ended or not.
pub(crate) fn alive(pid: i32) -> bool {
    kill(Pid::from_raw(pid), None).is_ok()
}
