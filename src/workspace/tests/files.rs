//! Paths, reading, writing, editing.

use std::fs;

use super::{at, get, names, put, workspace};
use crate::workspace::{
    MAX_READ, TextSlice, Workspace, WorkspaceError, Wrote, create_temp_root, write_output,
};

#[test]
fn paths_below_the_root_are_understood() {
    let (folder, workspace) = workspace(&[("src/lib.rs", "")]);
    let canonical = workspace.root().join("src").join("lib.rs");
    let given = folder.path().join("src").join("lib.rs");
    for (path, expected) in [
        ("src/lib.rs", "src/lib.rs"),
        ("./src//lib.rs", "src/lib.rs"),
        ("src/../src/lib.rs", "src/lib.rs"),
        ("not/../there/yet", "there/yet"),
        (".", ""),
        ("", ""),
        (canonical.to_str().expect("text"), "src/lib.rs"),
        (given.to_str().expect("text"), "src/lib.rs"),
    ] {
        let resolved = workspace.resolve(path).expect(path);
        assert_eq!(resolved.lexical.as_str(), expected, "{path:?}");
        assert_eq!(resolved.canonical.as_str(), expected, "{path:?}");
        assert_eq!(
            resolved.absolute,
            resolved.canonical.below(workspace.root()),
            "{path:?}"
        );
    }
}

#[test]
fn paths_elsewhere_are_refused() {
    let (folder, workspace) = workspace(&[("src/lib.rs", "")]);
    let beside = folder.path().with_extension("beside");
    for path in [
        "..",
        "../x",
        "src/../../x",
        "/etc/passwd",
        "C:\\Windows\\win.ini",
        "\\\\host\\share\\x",
        folder
            .path()
            .parent()
            .and_then(|path| path.to_str())
            .expect("text"),
        beside.to_str().expect("text"),
    ] {
        let error = workspace.resolve(path).expect_err(path);
        assert!(
            matches!(error, WorkspaceError::Outside { .. }),
            "{path:?}: {error}"
        );
    }
    assert!(matches!(
        workspace.resolve("a\0b"),
        Err(WorkspaceError::Path(_))
    ));
    assert!(matches!(
        workspace.resolve("src/.taskgate-0123456789abcdef.tmp"),
        Err(WorkspaceError::Name { .. })
    ));
}

#[test]
fn a_root_must_be_a_folder() {
    let (folder, _workspace) = workspace(&[("file", "")]);
    assert!(matches!(
        Workspace::open(&folder.path().join("nothing")),
        Err(WorkspaceError::NotFound { .. })
    ));
    assert!(matches!(
        Workspace::open(&folder.path().join("file")),
        Err(WorkspaceError::NotADirectory { .. })
    ));
}

#[test]
fn lines_are_counted_from_one() {
    let (_folder, workspace) = workspace(&[("a.txt", "one\ntwo\nthree\nfour"), ("empty", "")]);
    let slice = |text: &str, first_line, lines, total_lines| TextSlice {
        text: text.to_owned(),
        first_line,
        lines,
        total_lines,
    };
    for (path, offset, limit, expected) in [
        ("a.txt", None, None, slice("one\ntwo\nthree\nfour", 1, 4, 4)),
        ("a.txt", Some(2), Some(2), slice("two\nthree\n", 2, 2, 4)),
        ("a.txt", Some(4), Some(9), slice("four", 4, 1, 4)),
        ("a.txt", Some(0), Some(1), slice("one\n", 1, 1, 4)),
        ("a.txt", Some(5), None, slice("", 5, 0, 4)),
        (
            "a.txt",
            Some(u64::MAX),
            Some(u64::MAX),
            slice("", u64::MAX, 0, 4),
        ),
        ("a.txt", None, Some(0), slice("", 1, 0, 4)),
        ("empty", None, None, slice("", 1, 0, 0)),
    ] {
        let read = workspace.read_text(&at(&workspace, path), offset, limit);
        assert_eq!(read.expect(path), expected, "{path} {offset:?} {limit:?}");
    }
}

#[test]
fn what_is_no_text_is_called_so() {
    let (folder, workspace) = workspace(&[("bom.txt", "\u{feff}a\r\nb\r\n")]);
    put(folder.path(), "zero", b"abc\0def");
    put(folder.path(), "latin1", b"gr\xfc\xdfe");
    for (path, message) in [
        ("zero", "`zero` is a binary file of 7 B"),
        ("latin1", "`latin1` is a binary file of 5 B"),
        (".", "`.` is a folder, not a file"),
    ] {
        let at = at(&workspace, path);
        for error in [
            workspace.read_text(&at, None, None).expect_err(path),
            workspace.edit(&at, "a", "b").expect_err(path),
        ] {
            assert!(error.to_string().starts_with(message), "{error}");
        }
    }
    let read = workspace.read_text(&at(&workspace, "bom.txt"), None, None);
    assert_eq!(read.expect("text").text, "a\nb\n");
}

#[test]
fn a_missing_file_names_its_neighbours() {
    let (_folder, workspace) = workspace(&[
        ("src/lib.rs", ""),
        ("src/main.rs", ""),
        ("src/library.rs", ""),
        ("README.md", ""),
    ]);
    for (path, expected) in [
        ("src/lbi.rs", &["src/lib.rs", "src/main.rs"][..]),
        ("readme.md", &["README.md"]),
        ("scr/lib.rs", &["src"]),
        ("zzzzzzzzz", &[]),
        ("src/README.md/x", &[]),
    ] {
        match workspace.read_bytes(&at(&workspace, path)) {
            Err(WorkspaceError::NotFound { near, .. }) => {
                let near: Vec<&str> = near
                    .iter()
                    .take(expected.len())
                    .map(String::as_str)
                    .collect();
                assert_eq!(near, expected, "{path}");
            }
            other => panic!("{path}: {other:?}"),
        }
    }
    let error = workspace
        .read_bytes(&at(&workspace, "readme.md"))
        .expect_err("missing");
    assert_eq!(
        error.to_string(),
        "`readme.md` does not exist; similar names: `README.md`"
    );
}

#[test]
fn a_huge_file_is_refused_by_its_size() {
    let (folder, workspace) = workspace(&[]);
    let file = fs::File::create(folder.path().join("huge")).expect("a file");
    file.set_len(MAX_READ + 1).expect("a sparse file");
    let error = workspace.read_bytes(&at(&workspace, "huge"));
    assert!(matches!(error, Err(WorkspaceError::TooLarge { .. })));
}

#[test]
fn writing_says_what_it_came_to() {
    let (folder, workspace) = workspace(&[("old.txt", "old")]);
    for (path, text, expected) in [
        ("new/deep/file.txt", "text", Wrote::Created),
        ("new/deep/file.txt", "text", Wrote::Unchanged),
        ("old.txt", "new", Wrote::Changed),
        ("old.txt", "", Wrote::Changed),
        ("old.txt", "", Wrote::Unchanged),
    ] {
        let wrote = workspace.write(&at(&workspace, path), text.as_bytes());
        assert_eq!(wrote.expect(path), expected, "{path} {text:?}");
        assert_eq!(get(folder.path(), path), text);
    }
    for path in [".", "new", "new/deep"] {
        let error = workspace.write(&at(&workspace, path), b"").expect_err(path);
        assert!(matches!(error, WorkspaceError::NotAFile { .. }), "{error}");
    }
    assert_eq!(names(folder.path()), ["new", "old.txt"]);
    assert_eq!(names(&folder.path().join("new/deep")), ["file.txt"]);
}

#[test]
fn an_edit_keeps_the_mark_and_the_line_ends() {
    let (folder, workspace) = workspace(&[
        ("plain", "fn a() {}\nfn b() {}\n"),
        ("dos", "\u{feff}one\r\ntwo\r\nthree\r\n"),
    ]);
    for (path, search, replace, expected) in [
        ("plain", "fn b() {}", "fn c() {}", "fn a() {}\nfn c() {}\n"),
        (
            "dos",
            "two\nthree",
            "2\n3\n4",
            "\u{feff}one\r\n2\r\n3\r\n4\r\n",
        ),
        ("dos", "one", "1", "\u{feff}1\r\n2\r\n3\r\n4\r\n"),
    ] {
        let wrote = workspace.edit(&at(&workspace, path), search, replace);
        assert_eq!(wrote.expect(path), Wrote::Changed);
        assert_eq!(get(folder.path(), path), expected);
    }
    for (path, search, message) in [
        ("plain", "", "the search text is empty"),
        ("plain", "fn x", "the search text was not found in `plain`"),
        ("plain", "fn ", "the search text occurs 2 times in `plain`"),
        ("none", "x", "`none` does not exist"),
    ] {
        let error = workspace
            .edit(&at(&workspace, path), search, "y")
            .expect_err(message);
        assert!(error.to_string().starts_with(message), "{error}");
    }
    assert_eq!(
        workspace
            .edit(&at(&workspace, "plain"), "fn a", "fn a")
            .expect("an edit"),
        Wrote::Unchanged
    );
    assert_eq!(get(folder.path(), "plain"), "fn a() {}\nfn c() {}\n");
}

#[test]
fn outputs_appear_whole_in_folders_that_are_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("reports/deep/report.md");
    for text in ["first", "second"] {
        write_output(&path, text.as_bytes()).expect("an output");
        assert_eq!(get(folder.path(), "reports/deep/report.md"), text);
    }
    assert_eq!(names(&folder.path().join("reports/deep")), ["report.md"]);
    write_output(folder.path(), b"x").expect_err("a folder is in the way");
    write_output(&path.join("below-a-file"), b"x").expect_err("a file is in the way");
    assert_eq!(names(folder.path()), ["reports"]);
}

#[test]
fn a_failed_replacement_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(folder.path().join("taken/full")).expect("folders");
    let result =
        crate::workspace::atomic::replace_file(&folder.path().join("taken"), b"text", None);
    result.expect_err("a folder is in the way");
    assert_eq!(names(folder.path()), ["taken"]);
}

#[test]
fn a_temporary_root_goes_unless_it_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let parent = folder.path().join("work");
    let root = create_temp_root(&parent, "case-").expect("a root");
    put(root.path(), "a/b", b"text");
    let path = root.path().to_path_buf();
    assert!(path.starts_with(fs::canonicalize(&parent).expect("a path")));
    drop(root);
    assert!(!path.exists());
    let kept = create_temp_root(&parent, "case-").expect("a root").keep();
    assert!(kept.is_dir());
    let removed = create_temp_root(&parent, "case-").expect("a root");
    removed.remove().expect("nothing in the way");
    assert_eq!(names(&parent).len(), 1);
}
