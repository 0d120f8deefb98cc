//! Windows: there is no fork, so that a child is this program again.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is what the sandbox has to catch"
)]

/// There is nothing to ignore.
pub(crate) fn ignore(_name: &str) {}

/// Starts a child that hangs, and writes its number to `path`.
pub(crate) fn fork_child(path: &str, _then: fn() -> !) {
    let program = std::env::current_exe().expect("this program");
    let child = std::process::Command::new(program)
        .arg("hang")
        .spawn()
        .expect("a child");
    crate::write(path, &child.id().to_string());
}

/// As [`fork_child`].
pub(crate) fn fork_daemon(path: &str, then: fn() -> !) {
    fork_child(path, then);
}

/// As [`fork_child`].
pub(crate) fn fork_hopper(path: &str) {
    fork_stranger(path);
}

/// As [`fork_child`].
pub(crate) fn fork_stranger(path: &str) {
    fork_child(path, || {
        loop {
            std::thread::park();
        }
    });
}

/// A link needs a right that few have: nothing is done.
pub(crate) fn replace_by_link(_target: &str, _path: &str) {}
