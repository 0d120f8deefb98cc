//! How a test sees whether a process is there.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::alive;
#[cfg(windows)]
pub(crate) use windows::alive;
