//! The only place that writes files: a workspace's own, the trees that it is laid out from and restored
//! from, and the outputs of this program.
//!
//! A [`Workspace`] is a folder that an agent works in. [`Workspace::resolve`] turns a path that a model wrote
//! into a [`Resolved`] one that is below the root whatever links there are, and every other operation takes
//! that. What is in the folder is not trusted: links are never followed out of it, pipes are never waited for,
//! sizes are bounded, names need not be text. Nobody asks a policy here; that is the caller's part, for the
//! path as written and for where it leads.
//!
//! What happens between two looks at the same path cannot be excluded while a command of the agent's still
//! runs: what confines commands is the sandbox.
//!
//! ```
//! use taskgate::workspace::{Workspace, Wrote};
//!
//! # fn main() -> Result<(), taskgate::workspace::WorkspaceError> {
//! let folder = tempfile::tempdir().expect("a folder");
//! let workspace = Workspace::open(folder.path())?;
//! let file = workspace.resolve("src/lib.rs")?;
//! assert_eq!(workspace.write(&file, b"one\ntwo\n")?, Wrote::Created);
//! assert_eq!(workspace.edit(&file, "two", "three")?, Wrote::Changed);
//! assert_eq!(workspace.read_text(&file, Some(2), None)?.text, "three\n");
//! assert!(workspace.resolve("../elsewhere").is_err());
//! # Ok(())
//! # }
//! ```

mod atomic;
mod diff;
mod edit;
mod error;
mod find;
mod git;
mod list;
mod materialise;
mod names;
mod os;
mod read;
mod remove;
mod resolve;
mod restore;
mod search;
mod snapshot;
mod tree;
mod walk;
mod write;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

pub use atomic::{TempRoot, create_temp_root, write_output};
pub use diff::{Patch, patch};
pub use error::WorkspaceError;
pub use find::Found;
pub use list::{DirEntry, EntryKind};
pub use materialise::{Source, materialise};
pub use read::{MAX_READ, TextSlice};
pub use remove::{create_folder, remove_folder_if_empty, remove_tree};
pub use resolve::Resolved;
pub use restore::{lay_in, restore_paths};
pub use search::{GrepHits, GrepQuery, Hit};
pub use snapshot::{Change, Entry, NodeKind, Snapshot, changes, snapshot};
pub use tree::copy_tree;
pub use write::Wrote;

/// A folder that an agent works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Canonical.
    root: PathBuf,
    /// As it was given: an absolute path below it is understood, too.
    given: PathBuf,
}

impl Workspace {
    /// Takes a folder that exists.
    ///
    /// # Errors
    /// Where it does not exist, or is no folder.
    pub fn open(root: &Path) -> Result<Self, WorkspaceError> {
        let shown = || root.display().to_string();
        let canonical = std::fs::canonicalize(root).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => WorkspaceError::NotFound {
                path: shown(),
                near: Vec::new(),
            },
            _ => WorkspaceError::io_at("opening", root)(error),
        })?;
        if !canonical.is_dir() {
            return Err(WorkspaceError::NotADirectory { path: shown() });
        }
        Ok(Self {
            root: canonical,
            given: root.to_path_buf(),
        })
    }

    /// The folder, canonical.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}
