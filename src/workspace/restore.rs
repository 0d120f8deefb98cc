//! Putting back what must not have changed, and laying in what the agent must not have seen.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::tree::{copy_any, copy_file, is_absence};
use super::{WorkspaceError, names, os, remove_tree};
use crate::base::RelPath;

/// Makes each path in `workspace` what it is in `pristine`: put back where it is there, removed where it is not.
/// Whatever stands in the way, for instance a link in the place of a folder, gives way. Nothing is written
/// through a link.
///
/// # Errors
/// Where the operating system refuses.
pub fn restore_paths(
    pristine: &Path,
    workspace: &Path,
    paths: &[RelPath],
) -> Result<(), WorkspaceError> {
    let mut paths: Vec<&RelPath> = paths.iter().filter(|path| !path.is_root()).collect();
    paths.sort();
    paths.dedup();
    for path in paths {
        let source = names::true_path(pristine, path);
        let target = names::true_path(workspace, path);
        match fs::symlink_metadata(&source) {
            Ok(wanted) => {
                make_folders(workspace, &target)?;
                let folder = fs::symlink_metadata(&target).is_ok_and(|found| found.is_dir());
                if wanted.is_dir() && folder {
                    continue;
                }
                remove(&target)?;
                copy_any(&source, &target)?;
            }
            Err(error) if is_absence(&error) => {
                withdraw(pristine, workspace, path, &target)?;
            }
            Err(error) => return Err(WorkspaceError::io_at("looking at", &source)(error)),
        }
    }
    Ok(())
}

/// Removes what was not there, and the folders above it that were not there and are empty now.
fn withdraw(
    pristine: &Path,
    workspace: &Path,
    path: &RelPath,
    target: &Path,
) -> Result<(), WorkspaceError> {
    let Some(parent) = target.parent() else {
        return Ok(());
    };
    if !is_plain(workspace, parent) {
        // Below a link, or below something that is no folder, nothing is the workspace's own.
        return Ok(());
    }
    allow_changes(parent)?;
    remove(target)?;
    let mut above = path.as_str();
    let mut folder = target;
    while let Some((parent, _)) = above.rsplit_once('/') {
        above = parent;
        folder = folder.parent().unwrap_or(workspace);
        let known = RelPath::parse(above)
            .is_ok_and(|parent| fs::symlink_metadata(names::true_path(pristine, &parent)).is_ok());
        if known || fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

/// Copies each source to its target in the workspace, with its permission bits; of a folder, every file in it. What
/// stands there, or in the place of a folder above it, gives way. Nothing is written through a link.
///
/// # Errors
/// Where a source is neither a regular file nor a folder of such, or the operating system refuses.
pub fn lay_in(files: &[(PathBuf, RelPath)], workspace: &Path) -> Result<(), WorkspaceError> {
    let mut pending: Vec<(PathBuf, RelPath)> = files.iter().rev().cloned().collect();
    while let Some((source, path)) = pending.pop() {
        let source = source.as_path();
        if source.is_dir() {
            pending.extend(inside(source, &path)?);
            continue;
        }
        let shown = || source.display().to_string();
        let metadata = fs::metadata(source).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => WorkspaceError::NotFound {
                path: shown(),
                near: Vec::new(),
            },
            _ => WorkspaceError::io_at("reading", source)(error),
        })?;
        super::read::expect_file(&metadata, &shown())?;
        let true_source =
            fs::canonicalize(source).map_err(WorkspaceError::io_at("reading", source))?;
        let target = path.below(workspace);
        make_folders(workspace, &target)?;
        remove(&target)?;
        copy_file(&true_source, &target, &metadata)?;
    }
    Ok(())
}

/// What is in a folder that is laid in, with the place of each.
fn inside(folder: &Path, at: &RelPath) -> Result<Vec<(PathBuf, RelPath)>, WorkspaceError> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut found = Vec::new();
    for entry in entries.map_err(WorkspaceError::io_at("reading", folder))? {
        let name = entry.file_name();
        let place = RelPath::parse(&format!("{}/{}", at.as_str(), name.to_string_lossy()))
            .map_err(|error| {
                WorkspaceError::io_at("reading", &entry.path())(io::Error::other(error.to_string()))
            })?;
        found.push((entry.path(), place));
    }
    // A stack hands out its last first.
    found.sort_by(|one, other| other.1.cmp(&one.1));
    Ok(found)
}

/// Makes every parent of `target` below `root` a plain folder of which the owner may change the entries.
fn make_folders(root: &Path, target: &Path) -> Result<(), WorkspaceError> {
    let below = target.strip_prefix(root).unwrap_or(Path::new(""));
    let mut folder = root.to_path_buf();
    allow_changes(&folder)?;
    for name in below.parent().into_iter().flatten() {
        folder.push(name);
        match fs::symlink_metadata(&folder) {
            Ok(found) if found.is_dir() => {
                allow_changes(&folder)?;
                continue;
            }
            Ok(_) => remove(&folder)?,
            Err(error) if is_absence(&error) => {}
            Err(error) => return Err(WorkspaceError::io_at("looking at", &folder)(error)),
        }
        fs::create_dir(&folder).map_err(WorkspaceError::io_at("making the folder", &folder))?;
    }
    Ok(())
}

/// Whether every name from `root` to `folder` is a plain folder.
fn is_plain(root: &Path, folder: &Path) -> bool {
    folder
        .ancestors()
        .take_while(|above| *above != root)
        .all(|above| fs::symlink_metadata(above).is_ok_and(|found| found.is_dir()))
}

fn allow_changes(folder: &Path) -> Result<(), WorkspaceError> {
    fs::symlink_metadata(folder)
        .and_then(|metadata| os::make_removable(folder, &metadata))
        .map_err(WorkspaceError::io_at("opening", folder))
}

fn remove(path: &Path) -> Result<(), WorkspaceError> {
    remove_tree(path).map_err(WorkspaceError::io_at("removing", path))
}
