//! Signals, where a system has them.

#[cfg(unix)]
mod unix;
