//! What the workspace does on every platform. What needs links and pipes is tested in `os/`.

mod files;
mod git;
mod search;
mod sources;
mod trees;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use tempfile::TempDir;

use super::{Resolved, Workspace};

/// A workspace with files in it.
pub(super) fn workspace(files: &[(&str, &str)]) -> (TempDir, Workspace) {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path(), files);
    let workspace = Workspace::open(folder.path()).expect("a workspace");
    (folder, workspace)
}

pub(super) fn fill(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        put(root, path, text.as_bytes());
    }
}

pub(super) fn put(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    File::create(path)
        .and_then(|mut file| file.write_all(bytes))
        .expect("a file");
}

pub(super) fn get(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).expect(path)
}

pub(super) fn at(workspace: &Workspace, path: &str) -> Resolved {
    workspace.resolve(path).expect(path)
}

/// The names in a folder, in order.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}
