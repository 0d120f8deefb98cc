//! Who a process is, and whether it still lives.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{birth, host, is_alive};
#[cfg(windows)]
pub(super) use windows::{birth, host, is_alive};
