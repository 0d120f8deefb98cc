//! Processes on Unix.

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// The name of this machine, or of this container.
#[expect(unsafe_code, reason = "the C library alone knows the name everywhere")]
pub(in crate::store) fn host() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: the pointer and the length describe `name`, which outlives the call.
    let status = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) };
    if status != 0 {
        return String::new();
    }
    let end = name
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

/// Whether a process with this number exists. A process that only waits to be reaped does not count.
pub(in crate::store) fn is_alive(pid: u32) -> bool {
    let Ok(raw) = i32::try_from(pid) else {
        return false;
    };
    // Zero and below address groups of processes.
    if raw <= 0 {
        return false;
    }
    let exists = !matches!(kill(Pid::from_raw(raw), None), Err(Errno::ESRCH));
    exists && !stat(pid).is_some_and(|fields| fields.first().is_some_and(|state| state == "Z"))
}

/// Something that tells two processes of the same number apart: the moment of its start and of the machine's.
/// Empty where the system does not say.
pub(in crate::store) fn birth(pid: u32) -> String {
    // The fields count from the state, which is the third of all: the start is the 22nd.
    let Some(start) = stat(pid).and_then(|fields| fields.get(19).cloned()) else {
        return String::new();
    };
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{start}@{}", boot.trim())
}

/// The fields of `/proc/PID/stat` after the program's name, which may itself hold spaces and parentheses.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::{birth, host, is_alive};

    #[test]
    fn the_parent_lives_and_has_one_birth() {
        let parent = std::os::unix::process::parent_id();
        assert!(is_alive(parent));
        assert_eq!(birth(parent), birth(parent));
        if !birth(parent).is_empty() {
            assert_ne!(birth(parent), birth(std::process::id()));
        }
        assert!(!host().is_empty());
    }
}
