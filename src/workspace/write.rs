//! Writing a file whole.

use std::{fs, io};

use super::atomic::replace_file;
use super::{Resolved, Workspace, WorkspaceError, os, read};

/// What a write came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrote {
    /// There was no such file.
    Created,
    /// The file's content is another one now.
    Changed,
    /// The file had this content already; it was not touched.
    Unchanged,
}

impl Wrote {
    /// Whether the workspace is another one than before.
    #[must_use]
    pub const fn changed(self) -> bool {
        !matches!(self, Self::Unchanged)
    }
}

impl Workspace {
    /// Puts `text` into a file in one step: whoever reads it, and whatever ends this process, finds the old
    /// content or the new. Permission bits are kept, folders on the way are made.
    ///
    /// # Errors
    /// Where the path is no regular file, or the operating system refuses.
    pub fn write(&self, at: &Resolved, text: &[u8]) -> Result<Wrote, WorkspaceError> {
        let path = at.lexical.to_string();
        let before = match fs::symlink_metadata(&at.absolute) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(WorkspaceError::io("writing", path)(error)),
        };
        let Some(metadata) = before else {
            self.make_parents(at)?;
            replace_file(&at.absolute, text, None).map_err(WorkspaceError::io("writing", path))?;
            return Ok(Wrote::Created);
        };
        read::expect_file(&metadata, &path)?;
        if metadata.len() == text.len() as u64 && self.read_bytes(at).is_ok_and(|old| old == text) {
            return Ok(Wrote::Unchanged);
        }
        replace_file(&at.absolute, text, Some(os::mode(&metadata)))
            .map_err(WorkspaceError::io("writing", path))?;
        Ok(Wrote::Changed)
    }

    /// Makes the folders above a file one by one, so that none of them is made through a link that was not
    /// there when the path was resolved.
    fn make_parents(&self, at: &Resolved) -> Result<(), WorkspaceError> {
        let path = || at.lexical.to_string();
        let Ok(below) = at.absolute.strip_prefix(&self.root) else {
            return Err(WorkspaceError::Outside { path: path() });
        };
        let mut folder = self.root.clone();
        for name in below.parent().into_iter().flatten() {
            folder.push(name);
            match fs::create_dir(&folder) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let found = fs::symlink_metadata(&folder)
                        .map_err(WorkspaceError::io("writing", path()))?;
                    if found.is_symlink() {
                        return Err(WorkspaceError::Outside { path: path() });
                    }
                    if !found.is_dir() {
                        return Err(WorkspaceError::NotADirectory { path: path() });
                    }
                }
                Err(error) => return Err(WorkspaceError::io("writing", path())(error)),
            }
        }
        Ok(())
    }
}
