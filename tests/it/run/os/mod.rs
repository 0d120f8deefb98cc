//! How a test makes a link.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::link;
#[cfg(windows)]
pub(crate) use windows::link;
