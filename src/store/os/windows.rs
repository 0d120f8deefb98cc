//! Processes on Windows.

use windows::Win32::Foundation::{CloseHandle, FILETIME, HANDLE};
use windows::Win32::System::Threading::{
    GetExitCodeProcess, GetProcessTimes, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION,
};

/// What a process that still runs has for an exit code.
const STILL_ACTIVE: u32 = 259;

/// The moment at which a process was created tells machines apart well enough.
pub(in crate::store) fn host() -> String {
    "windows".to_owned()
}

/// Whether a process with this number runs.
#[expect(unsafe_code, reason = "the system has no other way to ask")]
pub(in crate::store) fn is_alive(pid: u32) -> bool {
    with_process(pid, |process| {
        let mut code = 0;
        // SAFETY: the handle is open, and the pointer is to a local variable.
        unsafe { GetExitCodeProcess(process, &raw mut code) }.is_ok() && code == STILL_ACTIVE
    })
    .unwrap_or(false)
}

/// Something that tells two processes of the same number apart: the moment of its start, in units of 100 ns.
/// Empty where the system does not say.
#[expect(unsafe_code, reason = "the system has no other way to ask")]
pub(in crate::store) fn birth(pid: u32) -> String {
    with_process(pid, |process| {
        let mut times = [FILETIME::default(); 4];
        let [created, exited, kernel, user] = &mut times;
        // SAFETY: the handle is open, and the pointers are to distinct elements of a local array.
        unsafe { GetProcessTimes(process, created, exited, kernel, user) }
            .is_ok()
            .then(|| format!("{}:{}", times[0].dwHighDateTime, times[0].dwLowDateTime))
    })
    .flatten()
    .unwrap_or_default()
}

#[expect(unsafe_code, reason = "handles are opened and closed by hand")]
fn with_process<T>(pid: u32, look: impl FnOnce(HANDLE) -> T) -> Option<T> {
    // SAFETY: plain values go in; the handle that comes back is closed below.
    let process = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, false, pid) }.ok()?;
    let seen = look(process);
    // SAFETY: the handle was opened above and is used no more.
    let _closed = unsafe { CloseHandle(process) };
    Some(seen)
}
