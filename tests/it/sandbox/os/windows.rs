//! Windows: the list of processes.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the list is another program's"
)]

/// Whether a process is there.
pub(crate) fn alive(pid: i32) -> bool {
    let output = std::process::Command::new("tasklist")
        .args(["/FI", &format!("PID eq {pid}"), "/NH"])
        .output()
        .expect("a list of processes");
    String::from_utf8_lossy(&output.stdout).contains(&pid.to_string())
}
