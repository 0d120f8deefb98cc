//! Removing trees that somebody else made.

use std::io;
use std::path::{Path, PathBuf};
use std::{fs, mem};

use super::os;
use super::tree::is_absence;

/// How much longer than the tree's own path a path in it may get, in bytes, before its folder is moved up:
/// with the longest name added, the shortest limit of any platform is not reached.
const MAX_LENGTH: usize = 400;

/// Removes whatever is at `path`, with everything in it, and never through a link. What is marked read-only
/// goes, too, and a tree may be deeper than a path can say. Nothing there is fine.
///
/// # Errors
/// Where the operating system refuses.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absence(&error) => return Ok(()),
        Err(error) => return Err(error),
    };
    if !metadata.is_dir() {
        return remove_leaf(path, &metadata);
    }
    let mut serial = 0;
    let mut pending = vec![path.to_path_buf()];
    let mut emptied = Vec::new();
    while let Some(folder) = pending.pop() {
        os::make_removable(&folder, &fs::symlink_metadata(&folder)?)?;
        for child in children(&folder)? {
            let metadata = fs::symlink_metadata(&child)?;
            if !metadata.is_dir() {
                remove_leaf(&child, &metadata)?;
            } else if child.as_os_str().len() > path.as_os_str().len() + MAX_LENGTH {
                os::make_removable(&child, &metadata)?;
                let up = unused(path, &mut serial);
                fs::rename(&child, &up)?;
                pending.push(up);
            } else {
                pending.push(child);
            }
        }
        emptied.push(folder);
    }
    emptied.iter().rev().try_for_each(fs::remove_dir)
}

/// Makes a folder and those above it; one that is there already is fine.
///
/// # Errors
/// Where the operating system refuses.
pub fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Removes a folder in which nothing is left; any other stays.
pub fn remove_folder_if_empty(path: &Path) {
    // The operating system refuses to remove a folder that holds something.
    drop(fs::remove_dir(path));
}

fn children(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect()
}

/// Removes a file or a link. A link to a folder may count as one where folders have links of their own kind.
fn remove_leaf(path: &Path, metadata: &fs::Metadata) -> io::Result<()> {
    os::make_removable(path, metadata)?;
    match fs::remove_file(path) {
        Err(_) if metadata.is_symlink() => fs::remove_dir(path),
        result => result,
    }
}

/// A name in the tree's own folder that nothing has.
fn unused(folder: &Path, serial: &mut u64) -> PathBuf {
    loop {
        let at = mem::replace(serial, *serial + 1);
        let path = folder.join(format!(".taskgate-deep-{at}"));
        if fs::symlink_metadata(&path).is_err() {
            return path;
        }
    }
}
