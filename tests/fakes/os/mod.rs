//! Processes that start others, which systems do differently.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{
    fork_child, fork_daemon, fork_hopper, fork_stranger, ignore, replace_by_link,
};
#[cfg(windows)]
pub(crate) use windows::{
    fork_child, fork_daemon, fork_hopper, fork_stranger, ignore, replace_by_link,
};
