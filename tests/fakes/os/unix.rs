//! Unix: fork, fork again, leave the session.
#![expect(unsafe_code, reason = "to fork is what these verbs are for")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    reason = "this is what the sandbox has to catch"
)]

use nix::sys::signal::{SigHandler, Signal, signal};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, fork, setsid};

/// Ignores the signal behind a name.
pub(crate) fn ignore(name: &str) {
    let which = if name == "cpu" {
        Signal::SIGXCPU
    } else {
        Signal::SIGTERM
    };
    // SAFETY: no handler is installed, so that none can run anything.
    unsafe { signal(which, SigHandler::SigIgn) }.expect("a signal that can be ignored");
}

/// Starts a child in the same group, which writes its number to `path` and then does `then`. Returns once the file
/// is there.
pub(crate) fn fork_child(path: &str, then: fn() -> !) {
    // SAFETY: this process has one thread.
    if matches!(unsafe { fork() }.expect("a child"), ForkResult::Child) {
        crate::write(path, &std::process::id().to_string());
        then();
    }
    wait_for(path);
}

/// Starts a grandchild in a session of its own whose parent is gone, as daemons do. It holds standard output.
pub(crate) fn fork_daemon(path: &str, then: fn() -> !) {
    daemon(|| {
        crate::write(path, &std::process::id().to_string());
        then();
    });
    wait_for(path);
}

/// As [`fork_daemon`], and it throws all of its variables away: nothing but its parent tells where it is from.
pub(crate) fn fork_stranger(path: &str) {
    let program = std::env::current_exe().expect("this program");
    daemon(|| {
        use std::os::unix::process::CommandExt as _;
        let error = std::process::Command::new(&program)
            .args(["fork-child", path])
            .env_clear()
            .exec();
        eprintln!("cannot start {}: {error}", program.display());
    });
    wait_for(path);
}

/// Starts some that leave their session, fork and end, and so do their children, without an end. Each step leaves its
/// mark in `path`, so that a test sees whether there are more.
pub(crate) fn fork_hopper(path: &str) {
    use std::io::Write as _;
    for _ in 0..3 {
        daemon(|| {
            loop {
                let mut file = std::fs::File::options()
                    .append(true)
                    .create(true)
                    .open(path)
                    .expect("a file");
                file.write_all(b".").expect("a file");
                // It may be a leader already.
                let _leader = setsid();
                // SAFETY: this process has one thread.
                match unsafe { fork() } {
                    Ok(ForkResult::Child) => {}
                    // SAFETY: nothing of this process is left to clean up.
                    _ => unsafe { libc::_exit(0) },
                }
            }
        });
    }
    wait_for(path);
}

fn daemon(then: impl FnOnce()) {
    // SAFETY: this process has one thread.
    match unsafe { fork() }.expect("a child") {
        ForkResult::Parent { child } => {
            waitpid(child, None).expect("the child's end");
        }
        ForkResult::Child => {
            setsid().expect("a session");
            // SAFETY: this process has one thread.
            if matches!(unsafe { fork() }.expect("a child"), ForkResult::Child) {
                then();
            }
            // SAFETY: nothing of this process is left to clean up.
            unsafe { libc::_exit(0) }
        }
    }
}

/// Puts a link to `target` where `path` stood.
pub(crate) fn replace_by_link(target: &str, path: &str) {
    std::fs::remove_dir_all(path).expect("a folder that is there");
    std::os::unix::fs::symlink(target, path).expect("a link");
}

fn wait_for(path: &str) {
    while !std::path::Path::new(path).exists() {
        std::thread::yield_now();
    }
}
