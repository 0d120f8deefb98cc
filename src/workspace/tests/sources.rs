//! Laying out folders and inline files.

use std::fs;
use std::path::Path;

use super::{fill, get, names};
use crate::base::RelPath;
use crate::workspace::{Source, WorkspaceError, materialise, snapshot};

fn paths(root: &Path) -> Vec<String> {
    snapshot(root)
        .expect("a tree")
        .entries()
        .map(|(path, _)| path.to_string())
        .collect()
}

#[test]
fn a_folder_is_copied_without_what_it_ignores() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, into) = (folder.path().join("from"), folder.path().join("new/into"));
    fill(
        &from,
        &[
            (".gitignore", "target/\n*.log\n!keep.log\n"),
            (".hidden/file", "1"),
            (".git/config", "2"),
            ("src/lib.rs", "3"),
            ("src/.git", "gitdir: elsewhere"),
            ("target/debug/out", "4"),
            ("a.log", "5"),
            ("keep.log", "6"),
            ("sub/.ignore", "skipped\n"),
            ("sub/skipped", "7"),
        ],
    );
    // What stands above the folder has no say.
    fill(
        folder.path(),
        &[(".gitignore", "src/\n"), (".ignore", "*\n")],
    );
    fs::create_dir(from.join("empty")).expect("a folder");
    materialise(&Source::Dir(from), &into).expect("laid out");
    assert_eq!(
        paths(&into),
        [
            ".gitignore",
            ".hidden",
            ".hidden/file",
            "empty",
            "keep.log",
            "src",
            "src/lib.rs",
            "sub",
            "sub/.ignore",
        ]
    );
    assert_eq!(get(&into, "src/lib.rs"), "3");
}

#[test]
fn a_workspace_within_its_own_source_does_not_copy_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path(), &[("a", "1"), ("work/old", "2")]);
    let into = folder.path().join("work/into");
    materialise(&Source::Dir(folder.path().to_path_buf()), &into).expect("laid out");
    assert_eq!(paths(&into), ["a", "work", "work/old"]);
}

#[test]
fn inline_files_and_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let into = folder.path().join("files");
    let file = |path: &str, text: &str| (RelPath::parse(path).expect("a path"), text.to_owned());
    let files = [file("a/b.txt", "b"), file("c", "")].into();
    materialise(&Source::Files(files), &into).expect("laid out");
    assert_eq!(paths(&into), ["a", "a/b.txt", "c"]);
    assert_eq!(get(&into, "a/b.txt"), "b");
    let empty = folder.path().join("empty");
    materialise(&Source::Empty, &empty).expect("laid out");
    assert_eq!(names(&empty), [""; 0]);

    let clash = [file("a", ""), file("a/b", "")].into();
    materialise(&Source::Files(clash), &empty).expect_err("a file cannot be a folder");
    assert_eq!(names(&empty), [""; 0], "what was laid out is removed again");
}

#[test]
fn what_cannot_be_laid_out_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path(), &[("file", ""), ("full/x", "")]);
    let at = |path: &str| folder.path().join(path);
    for (source, into, expected) in [
        (Source::Dir(at("none")), "into", "does not exist"),
        (Source::Dir(at("file")), "into", "is not a folder"),
        (Source::Empty, "full", "is not empty"),
    ] {
        let error = materialise(&source, &at(into))
            .expect_err(expected)
            .to_string();
        assert!(
            error.ends_with(expected) || error.contains(&format!("{expected}:")),
            "{error}"
        );
    }
    assert_eq!(names(&at("full")), ["x"], "a folder that was full stays so");
    let error = materialise(&Source::Empty, &at("full"));
    assert!(matches!(error, Err(WorkspaceError::NotEmpty { .. })));
}
