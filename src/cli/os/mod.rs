//! Signals, where a system has them.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(super) use other::terminated;
#[cfg(unix)]
pub(super) use unix::terminated;
