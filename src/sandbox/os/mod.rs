//! What differs between operating systems. Everything here has the same names on each of them.

mod floor;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(all(unix, not(target_os = "linux")))]
mod macos;
#[cfg(target_os = "linux")]
mod sweep;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::path::Path;

use super::{Ending, Environment};

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(all(unix, not(target_os = "linux")))]
use macos as system;
#[cfg(unix)]
use unix as platform;
#[cfg(windows)]
use windows as platform;
#[cfg(windows)]
use windows as system;

pub(super) use floor::Floor;
pub(super) use platform::{
    HOME, KEPT, Tree, has_separator, is_program, places, plain, same_name, spellings,
};
pub(super) use system::{end_leftovers, facts, kernel};

/// What a process is started from.
pub(super) struct Launch<'a> {
    /// The program's file.
    pub(super) file: &'a Path,
    /// The program as it was asked for, and its arguments.
    pub(super) argv: &'a [String],
    /// Where it starts; absolute.
    pub(super) workdir: &'a Path,
    /// All of its variables, the marker of the run among them.
    pub(super) env: &'a Environment,
}

/// How a command ended once nothing more is to come.
pub(super) struct End {
    /// How its first process ended.
    pub(super) ending: Ending,
    /// Processes that are still there all the same.
    pub(super) survivors: usize,
}
