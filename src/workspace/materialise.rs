//! Laying out a workspace from what a suite names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::atomic::replace_file;
use super::tree::{copy_file, copy_link};
use super::{WorkspaceError, git, remove_tree, resolve, walk};
use crate::base::RelPath;

/// Where the files of a workspace come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A folder, copied. Left out are `.git` at any depth, and what the folder's own `.gitignore` and `.ignore`
    /// files leave out, so that build products of the source do not become part of the task; ignore files
    /// above the folder, and the user's own, do not count. Hidden files are copied. Links are copied as links,
    /// and must lead to something in the folder by a relative path.
    Dir(PathBuf),
    /// A commit of a repository on this machine, as plain files: no hook, filter or setting of the repository
    /// has a part in it, and a file that lies elsewhere (large file storage) stays the pointer that it is.
    /// A submodule becomes an empty folder, as in a clone without its submodules.
    Git {
        /// The path of the repository, bare or not, or a `file://` address.
        location: String,
        /// The full id of the commit: 40 hexadecimal characters.
        rev: String,
    },
    /// Text files with their content.
    Files(BTreeMap<RelPath, String>),
    /// Nothing.
    Empty,
}

/// Lays out a workspace in `into`, which is made where it is missing and must be empty otherwise. Where that
/// fails, what was laid out so far is removed again.
///
/// # Errors
/// Where the source is missing or not what it should be, holds a link that leads out or a pipe, or where the
/// operating system refuses.
pub fn materialise(source: &Source, into: &Path) -> Result<(), WorkspaceError> {
    fs::create_dir_all(into).map_err(WorkspaceError::io_at("making the folder", into))?;
    let into = &fs::canonicalize(into).map_err(WorkspaceError::io_at("opening", into))?;
    let mut present = fs::read_dir(into).map_err(WorkspaceError::io_at("listing", into))?;
    if present.next().is_some() {
        return Err(WorkspaceError::NotEmpty {
            path: into.display().to_string(),
        });
    }
    let laid_out = match source {
        Source::Dir(folder) => lay_out_folder(folder, into),
        Source::Git { location, rev } => git::lay_out(location, rev, into),
        Source::Files(files) => lay_out_files(files, into),
        Source::Empty => Ok(()),
    };
    if laid_out.is_err() {
        // The first error is the one to tell.
        let _ignored = remove_tree(into).and_then(|()| fs::create_dir(into));
    }
    laid_out
}

fn lay_out_folder(folder: &Path, into: &Path) -> Result<(), WorkspaceError> {
    let shown = || folder.display().to_string();
    let root = fs::canonicalize(folder).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => WorkspaceError::NotFound {
            path: shown(),
            near: Vec::new(),
        },
        _ => WorkspaceError::io_at("opening", folder)(error),
    })?;
    if !root.is_dir() {
        return Err(WorkspaceError::NotADirectory { path: shown() });
    }
    let mut links = Vec::new();
    for entry in walk::builder(&root).build() {
        let entry = entry.map_err(|error| {
            WorkspaceError::io_at("reading", folder)(io::Error::other(error.to_string()))
        })?;
        let Ok(below) = entry.path().strip_prefix(&root) else {
            continue;
        };
        // The root itself; and where the workspace lies in its own source, the workspace.
        if below.as_os_str().is_empty() || entry.path().starts_with(into) {
            continue;
        }
        let target = into.join(below);
        let metadata = fs::symlink_metadata(entry.path())
            .map_err(WorkspaceError::io_at("reading", entry.path()))?;
        if metadata.is_dir() {
            fs::create_dir(&target).map_err(WorkspaceError::io_at("making the folder", &target))?;
        } else if metadata.is_symlink() {
            copy_link(entry.path(), &target)?;
            links.push(below.to_path_buf());
        } else if metadata.is_file() {
            copy_file(entry.path(), &target, &metadata)?;
        } else {
            return Err(WorkspaceError::Special {
                path: below.display().to_string(),
            });
        }
    }
    links.iter().try_for_each(|link| check_link(into, link))
}

/// Refuses a link that leads out of the tree, or would if the tree lay elsewhere.
pub(super) fn check_link(root: &Path, link: &Path) -> Result<(), WorkspaceError> {
    let absolute = root.join(link);
    if resolve::stays_inside(root, &absolute) {
        return Ok(());
    }
    Err(WorkspaceError::LinkOut {
        path: link.display().to_string(),
        target: fs::read_link(&absolute)
            .map_or_else(|_| String::new(), |target| target.display().to_string()),
    })
}

fn lay_out_files(files: &BTreeMap<RelPath, String>, into: &Path) -> Result<(), WorkspaceError> {
    for (path, text) in files {
        let target = path.below(into);
        let parent = target.parent().unwrap_or(into);
        fs::create_dir_all(parent)
            .and_then(|()| match fs::symlink_metadata(&target) {
                Ok(_) => Err(io::Error::from(io::ErrorKind::AlreadyExists)),
                Err(_) => replace_file(&target, text.as_bytes(), None),
            })
            .map_err(WorkspaceError::io("writing", path.to_string()))?;
    }
    Ok(())
}
