//! Snapshots, changes, patches, restoring, laying in, copying, removing.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::{fill, get, names, put};
use crate::base::RelPath;
use crate::domain::TamperKind;
use crate::workspace::{
    Change, NodeKind, WorkspaceError, changes, copy_tree, lay_in, patch, remove_tree,
    restore_paths, snapshot,
};

fn rel(path: &str) -> RelPath {
    RelPath::parse(path).expect("a path")
}

fn differences(before: &Path, after: &Path) -> Vec<Change> {
    changes(
        &snapshot(before).expect("a tree"),
        &snapshot(after).expect("a tree"),
    )
}

fn said(changes: &[Change]) -> Vec<String> {
    changes
        .iter()
        .map(|change| format!("{} {}", change.how.as_str(), change.path))
        .collect()
}

/// A tree and a copy of it.
fn pair(files: &[(&str, &str)]) -> (tempfile::TempDir, std::path::PathBuf, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let (pristine, work) = (folder.path().join("pristine"), folder.path().join("work"));
    fs::create_dir(&pristine).expect("a folder");
    fill(&pristine, files);
    copy_tree(&pristine, &work).expect("a copy");
    (folder, pristine, work)
}

#[test]
fn a_snapshot_names_everything() {
    let (_folder, pristine, work) = pair(&[("a/b.txt", "text"), ("c", "")]);
    fs::create_dir(work.join("empty")).expect("a folder");
    fs::create_dir(pristine.join("empty")).expect("a folder");
    put(&work, ".taskgate-0123456789abcdef.tmp", b"left by a crash");
    let (first, second) = (
        snapshot(&pristine).expect("a tree"),
        snapshot(&work).expect("a tree"),
    );
    let kinds: Vec<(&str, NodeKind)> = first
        .entries()
        .map(|(path, entry)| (path.as_str(), entry.kind))
        .collect();
    assert_eq!(
        kinds,
        [
            ("a", NodeKind::Dir),
            ("a/b.txt", NodeKind::File),
            ("c", NodeKind::File),
            ("empty", NodeKind::Dir)
        ]
    );
    assert_eq!(first.files(), 2);
    assert_eq!(first, second);
    assert_eq!(first.digest(), second.digest());
    let file = first.get(&rel("a/b.txt")).expect("an entry");
    assert_eq!(file.size, 4);
    assert_eq!(file.sha256, Some(crate::base::sha256("text")));
    put(&work, "c", b"x");
    assert_ne!(snapshot(&work).expect("a tree").digest(), first.digest());
    let json = serde_json::to_value(&first).expect("plain data");
    assert_eq!(json["a/b.txt"]["kind"], "file");
}

#[test]
fn a_large_file_has_the_address_of_its_pieces() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, size) in [("one", 8 << 20), ("two", (8 << 20) + 1)] {
        let file = fs::File::create(folder.path().join(name)).expect("a file");
        file.set_len(size).expect("a sparse file");
    }
    let tree = snapshot(folder.path()).expect("a tree");
    let address = |name| {
        let entry = tree.get(&rel(name)).expect("an entry");
        entry.sha256.clone().expect("an address")
    };
    assert_eq!(address("one"), crate::base::sha256(vec![0; 8 << 20]));
    assert_ne!(address("one"), address("two"));
}

#[test]
fn every_kind_of_change_is_noticed() {
    let (_folder, pristine, work) = pair(&[
        ("changed", "1"),
        ("gone/a", ""),
        ("gone/b", ""),
        ("same", ""),
        ("folder/x", ""),
        ("file", ""),
    ]);
    put(&work, "changed", b"2");
    remove_tree(&work.join("gone")).expect("removed");
    put(&work, "new/deep/file", b"");
    fs::create_dir(work.join("bare")).expect("a folder");
    remove_tree(&work.join("folder")).expect("removed");
    put(&work, "folder", b"now a file");
    fs::remove_file(work.join("file")).expect("removed");
    put(&work, "file/y", b"now a folder");
    let found = differences(&pristine, &work);
    assert_eq!(
        said(&found),
        [
            "created bare",
            "changed changed",
            "changed file",
            "created file/y",
            "changed folder",
            "removed folder/x",
            "removed gone/a",
            "removed gone/b",
            "created new/deep/file",
        ]
    );
    let paths: Vec<RelPath> = found.into_iter().map(|change| change.path).collect();
    restore_paths(&pristine, &work, &paths).expect("restored");
    assert_eq!(differences(&pristine, &work), []);
}

#[test]
fn restoring_leaves_everything_else_alone() {
    let (_folder, pristine, work) = pair(&[("tests/a.rs", "a"), ("src/lib.rs", "old")]);
    put(&work, "tests/a.rs", b"tampered");
    put(&work, "tests/extra/b.rs", b"planted");
    put(&work, "src/lib.rs", b"new");
    let paths = [
        rel("tests/a.rs"),
        rel("tests/extra/b.rs"),
        rel("never/there"),
        RelPath::root(),
    ];
    restore_paths(&pristine, &work, &paths).expect("restored");
    assert_eq!(get(&work, "tests/a.rs"), "a");
    assert_eq!(get(&work, "src/lib.rs"), "new");
    assert_eq!(names(&work.join("tests")), ["a.rs"]);
    assert_eq!(names(&work), ["src", "tests"]);
}

#[test]
fn a_patch_shows_text_and_names_the_rest() {
    let (_folder, pristine, work) = pair(&[
        ("a.txt", "one\ntwo\nthree\n"),
        ("gone.txt", "bye\n"),
        ("bin", "\u{0}1"),
    ]);
    put(&work, "a.txt", b"one\n2\nthree");
    fs::remove_file(work.join("gone.txt")).expect("removed");
    put(&work, "new.txt", b"hello\n");
    put(&work, "bin", b"\x002");
    fs::create_dir(work.join("bare")).expect("a folder");
    let found = differences(&pristine, &work);
    let made = patch(&pristine, &work, &found, 10_000);
    assert_eq!((made.files, made.added, made.removed), (4, 3, 3));
    insta::assert_snapshot!(made.text.text, @r"
    diff --git a/a.txt b/a.txt
    --- a/a.txt
    +++ b/a.txt
    @@ -1,3 +1,3 @@
     one
    -two
    -three
    +2
    +three
    \ No newline at end of file
    diff --git a/bin b/bin
    not shown: binary file of 2 B -> binary file of 2 B
    diff --git a/gone.txt b/gone.txt
    deleted file mode 100644
    --- a/gone.txt
    +++ /dev/null
    @@ -1 +0,0 @@
    -bye
    diff --git a/new.txt b/new.txt
    new file mode 100644
    --- /dev/null
    +++ b/new.txt
    @@ -0,0 +1 @@
    +hello
    ");
    let clipped = patch(&pristine, &work, &found, 40);
    assert_eq!((clipped.files, clipped.added), (4, 3));
    assert!(clipped.text.cut > 0 && clipped.text.text.len() < 100);
}

#[test]
fn held_out_files_are_laid_in_over_whatever_is_there() {
    let (folder, _pristine, work) = pair(&[("tests", "a file in the way"), ("b/held.rs/x", "")]);
    put(folder.path(), "held/one.rs", b"one");
    let source = folder.path().join("held/one.rs");
    lay_in(
        &[
            (source.clone(), rel("tests/one.rs")),
            (source, rel("b/held.rs")),
        ],
        &work,
    )
    .expect("laid in");
    assert_eq!(get(&work, "tests/one.rs"), "one");
    assert_eq!(get(&work, "b/held.rs"), "one");
    lay_in(&[(folder.path().join("held"), rel("tests"))], &work).expect("a folder, file by file");
    assert_eq!(get(&work, "tests/one.rs"), "one");
    let files = [(folder.path().join("held/none.rs"), rel("x"))];
    let error = lay_in(&files, &work).expect_err("a missing source");
    assert!(matches!(error, WorkspaceError::NotFound { .. }), "{error}");
}

#[test]
fn nothing_to_remove_is_fine() {
    let folder = tempfile::tempdir().expect("a folder");
    put(folder.path(), "a/b/c", b"");
    put(folder.path(), "file", b"");
    for path in ["a", "file", "nothing"] {
        remove_tree(&folder.path().join(path)).expect(path);
    }
    assert_eq!(names(folder.path()), [""; 0]);
}

/// One thing that an agent does to a tree of few names.
fn act(root: &Path, (path, action): &(String, u8)) {
    let path = root.join(path);
    match action {
        0 => remove_tree(&path).expect("removed"),
        1 => {
            let _refused = fs::create_dir_all(&path);
        }
        content => {
            let _refused = fs::create_dir_all(path.parent().expect("a parent"))
                .and_then(|()| fs::File::create(&path))
                .and_then(|mut file| std::io::Write::write_all(&mut file, &[*content]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_was_done_is_noticed_and_undone(
        first in prop::collection::vec(("[ab](/[ab]){0,2}", 0_u8..4), 0..8),
        second in prop::collection::vec(("[ab](/[ab]){0,2}", 0_u8..4), 0..8),
    ) {
        let (_folder, pristine, work) = pair(&[]);
        for action in &first {
            act(&pristine, action);
            act(&work, action);
        }
        prop_assert_eq!(differences(&pristine, &work), vec![]);
        for action in &second {
            act(&work, action);
        }
        let found = differences(&pristine, &work);
        let (before, after) = (snapshot(&pristine).expect("a tree"), snapshot(&work).expect("a tree"));
        prop_assert_eq!(found.is_empty(), before.digest() == after.digest());
        let backwards: BTreeSet<(RelPath, &str)> = changes(&after, &before)
            .into_iter()
            .map(|change| (change.path, change.how.as_str()))
            .collect();
        for change in &found {
            let how = match change.how {
                TamperKind::Created => "removed",
                TamperKind::Removed => "created",
                TamperKind::Changed => "changed",
            };
            prop_assert!(backwards.contains(&(change.path.clone(), how)));
        }
        let paths: Vec<RelPath> = found.into_iter().map(|change| change.path).collect();
        restore_paths(&pristine, &work, &paths).expect("restored");
        prop_assert_eq!(said(&differences(&pristine, &work)), Vec::<String>::new());
    }
}
