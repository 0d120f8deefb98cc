//! Listing one folder.

use std::{fs, io};

use super::{Resolved, Workspace, WorkspaceError, names};
use crate::base::RelPath;

/// How many entries of one folder are listed.
const MAX_ENTRIES: usize = 50_000;

/// What an entry of a folder is. A link is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Dir,
    /// A symbolic link.
    Symlink,
    /// A pipe, a socket or a device.
    Other,
}

impl EntryKind {
    /// The name as a model is shown it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Dir => "dir",
            Self::Symlink => "symlink",
            Self::Other => "other",
        }
    }
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
    /// The size of a file in bytes; 0 for anything else.
    pub size: u64,
}

impl Workspace {
    /// The entries of a folder that `visible` lets through, in the order of their names. Ignored and hidden
    /// ones count.
    ///
    /// # Errors
    /// Where it is missing, is no folder, or holds too many.
    pub fn list_dir(
        &self,
        at: &Resolved,
        visible: &dyn Fn(&RelPath) -> bool,
    ) -> Result<Vec<DirEntry>, WorkspaceError> {
        let path = at.lexical.to_string();
        let entries = fs::read_dir(&at.absolute).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => WorkspaceError::NotFound {
                path: path.clone(),
                near: self.similar(at),
            },
            io::ErrorKind::NotADirectory => WorkspaceError::NotADirectory { path: path.clone() },
            _ if !at.absolute.is_dir() => WorkspaceError::NotADirectory { path: path.clone() },
            _ => WorkspaceError::io("listing", path.clone())(error),
        })?;
        let mut listed = Vec::new();
        for entry in entries.flatten() {
            let below = names::child(&at.canonical, &entry.file_name());
            let name = names::shown(&entry.file_name());
            if names::is_temporary(&name) || !visible(&below) {
                continue;
            }
            // What vanished meanwhile is not there.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            let kind = if metadata.is_symlink() {
                EntryKind::Symlink
            } else if metadata.is_dir() {
                EntryKind::Dir
            } else if metadata.is_file() {
                EntryKind::File
            } else {
                EntryKind::Other
            };
            let size = match kind {
                EntryKind::File => metadata.len(),
                _ => 0,
            };
            if listed.len() == MAX_ENTRIES {
                return Err(WorkspaceError::TooMany {
                    path,
                    limit: MAX_ENTRIES,
                });
            }
            listed.push(DirEntry { name, kind, size });
        }
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listed)
    }
}
