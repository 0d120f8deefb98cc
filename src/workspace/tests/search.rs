//! Searching, finding, listing.

use std::fs;

use super::{at, put, workspace};
use crate::base::RelPath;
use crate::workspace::{EntryKind, GrepHits, GrepQuery, Workspace, WorkspaceError};

const FILES: [(&str, &str); 7] = [
    ("src/lib.rs", "fn alpha() {}\r\nfn beta() {}\r\n"),
    ("src/deep/mod.rs", "fn alpha() {}\n"),
    (".github/ci.yml", "alpha: true\n"),
    ("target/out.rs", "fn alpha() {}\n"),
    (".gitignore", "target/\n"),
    (".git/config", "alpha\n"),
    ("secret.env", "alpha=1\n"),
];

fn all(_: &RelPath) -> bool {
    true
}

fn open(path: &RelPath) -> bool {
    !path.as_str().ends_with(".env")
}

fn grep(workspace: &Workspace, pattern: &str, glob: Option<&str>, limit: usize) -> GrepHits {
    let query = GrepQuery {
        pattern: pattern.to_owned(),
        glob: glob.map(str::to_owned),
        limit,
    };
    workspace.grep(&query, &open).expect(pattern)
}

fn lines(hits: &GrepHits) -> Vec<String> {
    hits.hits
        .iter()
        .map(|hit| format!("{}:{}: {}", hit.path, hit.line, hit.text))
        .collect()
}

#[test]
fn grep_looks_where_a_person_would_and_only_at_what_is_visible() {
    let (_folder, workspace) = workspace(&FILES);
    let hits = grep(&workspace, "alpha", None, 10);
    assert_eq!(
        lines(&hits),
        [
            ".github/ci.yml:1: alpha: true",
            "src/deep/mod.rs:1: fn alpha() {}",
            "src/lib.rs:1: fn alpha() {}",
        ]
    );
    assert_eq!((hits.total, hits.files, hits.truncated), (3, 3, false));
    for (pattern, glob, expected) in [
        ("^fn .*\\{\\}$", None, 3),
        ("alpha", Some("*.rs"), 2),
        ("alpha", Some("src/*.rs"), 1),
        ("alpha", Some("src/**"), 2),
        ("alpha", Some("**/*.{rs,yml}"), 3),
        ("(?i)ALPHA", None, 3),
        ("gamma", None, 0),
    ] {
        let hits = grep(&workspace, pattern, glob, 10);
        assert_eq!(
            hits.total,
            expected,
            "{pattern} {glob:?} {:?}",
            lines(&hits)
        );
    }
    let hits = grep(&workspace, "fn", None, 2);
    assert_eq!((hits.hits.len(), hits.total, hits.truncated), (2, 3, true));
}

#[test]
fn grep_is_bounded() {
    let (folder, workspace) = workspace(&[]);
    put(folder.path(), "binary", b"needle\0needle\n");
    put(
        folder.path(),
        "long",
        format!("needle{}\n", "ü".repeat(10_000)).as_bytes(),
    );
    let huge = fs::File::create(folder.path().join("huge")).expect("a file");
    huge.set_len((16 << 20) + 1).expect("a sparse file");
    let hits = grep(&workspace, "needle", None, 10);
    assert_eq!((hits.total, hits.skipped), (1, 1));
    assert_eq!(hits.hits[0].text.chars().count(), 401);
    assert!(hits.hits[0].text.ends_with("ü…"));
    for pattern in ["(", "a{1000}{1000}{1000}", "a\nb", &"a".repeat(5_000)] {
        let query = GrepQuery {
            pattern: pattern.to_owned(),
            glob: None,
            limit: 1,
        };
        let error = workspace.grep(&query, &all).expect_err(pattern);
        assert!(matches!(error, WorkspaceError::Pattern { .. }), "{error}");
    }
}

#[test]
fn find_fits_names_and_paths() {
    let (_folder, workspace) = workspace(&FILES);
    for (glob, expected) in [
        ("*.rs", &["src/deep/mod.rs", "src/lib.rs"][..]),
        ("./src/*.rs", &["src/lib.rs"]),
        ("**/mod.rs", &["src/deep/mod.rs"]),
        ("**/*.yml", &[".github/ci.yml"]),
        ("lib.rs", &["src/lib.rs"]),
        ("secret.*", &[]),
        ("out.rs", &[]),
        ("config", &[]),
    ] {
        let found = workspace.find(glob, 10, &open).expect(glob);
        let paths: Vec<&str> = found.paths.iter().map(RelPath::as_str).collect();
        assert_eq!(paths, expected, "{glob}");
        assert!(!found.truncated);
    }
    let found = workspace.find("*", 1, &open).expect("a glob");
    assert_eq!((found.paths.len(), found.total), (1, 4));
    assert!(found.truncated);
    for glob in ["", "[", &"a".repeat(2_000)] {
        let error = workspace.find(glob, 1, &all).expect_err(glob);
        assert!(matches!(error, WorkspaceError::Glob { .. }), "{error}");
    }
}

#[test]
fn a_folder_is_listed_with_what_is_hidden_but_not_what_is_invisible() {
    let (_folder, workspace) = workspace(&FILES);
    let listed = workspace
        .list_dir(&at(&workspace, "."), &open)
        .expect("a folder");
    let listed: Vec<(&str, EntryKind, u64)> = listed
        .iter()
        .map(|entry| (entry.name.as_str(), entry.kind, entry.size))
        .collect();
    assert_eq!(
        listed,
        [
            (".git", EntryKind::Dir, 0),
            (".github", EntryKind::Dir, 0),
            (".gitignore", EntryKind::File, 8),
            ("src", EntryKind::Dir, 0),
            ("target", EntryKind::Dir, 0),
        ]
    );
    for (path, missing) in [("nothing", true), ("secret.env", false)] {
        let error = workspace
            .list_dir(&at(&workspace, path), &all)
            .expect_err(path);
        assert_eq!(
            matches!(error, WorkspaceError::NotFound { .. }),
            missing,
            "{error}"
        );
    }
}
