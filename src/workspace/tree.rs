//! Copying trees as they are.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::{WorkspaceError, os};

/// Copies everything below a folder into another one, which is made where it is missing: links as links,
/// files with their permission bits (but their owner may always write), pipes and the like not at all.
///
/// # Errors
/// Where something is in the way, cannot be read or cannot be written.
pub fn copy_tree(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    fs::create_dir_all(to).map_err(WorkspaceError::io_at("making the folder", to))?;
    let mut pending: Vec<(PathBuf, PathBuf)> = vec![(from.to_path_buf(), to.to_path_buf())];
    while let Some((source, target)) = pending.pop() {
        let entries = fs::read_dir(&source).map_err(WorkspaceError::io_at("listing", &source))?;
        for entry in entries {
            let entry = entry.map_err(WorkspaceError::io_at("listing", &source))?;
            let (source, target) = (entry.path(), target.join(entry.file_name()));
            let metadata = fs::symlink_metadata(&source)
                .map_err(WorkspaceError::io_at("looking at", &source))?;
            if metadata.is_dir() {
                fs::create_dir(&target)
                    .map_err(WorkspaceError::io_at("making the folder", &target))?;
                pending.push((source, target));
            } else if metadata.is_symlink() {
                copy_link(&source, &target)?;
            } else if metadata.is_file() {
                copy_file(&source, &target, &metadata)?;
            }
        }
    }
    Ok(())
}

/// Copies what is at a path, if it is anything that is copied.
pub(super) fn copy_any(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    let metadata = fs::symlink_metadata(from).map_err(WorkspaceError::io_at("looking at", from))?;
    if metadata.is_dir() {
        copy_tree(from, to)
    } else if metadata.is_symlink() {
        copy_link(from, to)
    } else if metadata.is_file() {
        copy_file(from, to, &metadata)
    } else {
        Ok(())
    }
}

pub(super) fn copy_file(from: &Path, to: &Path, metadata: &Metadata) -> Result<(), WorkspaceError> {
    let copy = || -> io::Result<()> {
        let mut source = os::open_regular(from)?;
        let mut target = File::create_new(to)?;
        io::copy(&mut source, &mut target)?;
        os::set_mode(&target, os::mode(metadata) | 0o600)
    };
    copy().map_err(WorkspaceError::io_at("copying", from))
}

pub(super) fn copy_link(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    let target = fs::read_link(from).map_err(WorkspaceError::io_at("reading the link", from))?;
    os::make_link(&target, to, from.is_dir()).map_err(WorkspaceError::io_at("making the link", to))
}
