//! Laying out commits of repositories that are made here.

use std::fs;
use std::path::Path;

use git2::{ObjectType, Oid, Repository, Signature, Time};

use super::{fill, get, put};
use crate::workspace::{Source, WorkspaceError, materialise, snapshot};

const FILE: i32 = 0o100_644;
const SCRIPT: i32 = 0o100_755;
const SUBMODULE: i32 = 0o160_000;
const FOLDER: i32 = 0o040_000;

/// A tree with entries as they are given: git itself would refuse some.
fn tree(repository: &Repository, entries: &[(i32, &str, Oid)]) -> Oid {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend(format!("{mode:o} {name}\0").bytes());
        bytes.extend(id.as_bytes());
    }
    let odb = repository.odb().expect("objects");
    odb.write(ObjectType::Tree, &bytes).expect("a tree")
}

fn blob(repository: &Repository, text: &str) -> Oid {
    repository.blob(text.as_bytes()).expect("a blob")
}

fn commit(repository: &Repository, tree: Oid) -> String {
    let who = Signature::new("a", "a@example.invalid", &Time::new(0, 0)).expect("a signature");
    let text = format!("tree {tree}\nauthor {who} 0 +0000\ncommitter {who} 0 +0000\n\nmessage\n",);
    let odb = repository.odb().expect("objects");
    let id = odb.write(ObjectType::Commit, text.as_bytes());
    id.expect("a commit").to_string()
}

/// A repository with one commit of several kinds of entries.
fn sample(path: &Path, bare: bool) -> String {
    let repository = if bare {
        Repository::init_bare(path)
    } else {
        Repository::init(path)
    }
    .expect("a repository");
    let text = |text| blob(&repository, text);
    let src = tree(&repository, &[(FILE, "lib.rs", text("fn a() {}\r\n"))]);
    let module = Oid::from_str("1111111111111111111111111111111111111111").expect("an id");
    let root = tree(
        &repository,
        &[
            (FILE, ".gitattributes", text("* text eol=lf filter=evil\n")),
            (FILE, "README.md", text("read\n")),
            (SCRIPT, "run.sh", text("#!/bin/sh\n")),
            (FOLDER, "src", src),
            (SUBMODULE, "vendored", module),
        ],
    );
    commit(&repository, root)
}

fn lay_out(location: &str, rev: &str, into: &Path) -> Result<(), WorkspaceError> {
    let source = Source::Git {
        location: location.to_owned(),
        rev: rev.to_owned(),
    };
    materialise(&source, into)
}

fn text(path: &Path) -> String {
    path.to_str().expect("text").replace('\\', "/")
}

fn address(path: &Path) -> String {
    format!("file:///{}", text(path).trim_start_matches('/'))
}

#[test]
fn a_commit_is_laid_out_as_plain_files_wherever_its_objects_lie() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |path: &str| folder.path().join(path);
    let rev = sample(&at("plain"), false);
    assert_eq!(sample(&at("bare.git"), true), rev);
    // A work tree of its own beside the repository, and a clone that borrows its objects.
    fill(
        folder.path(),
        &[
            ("linked/.git", "gitdir: ../plain/.git/worktrees/linked\n"),
            ("plain/.git/worktrees/linked/commondir", "../..\n"),
        ],
    );
    Repository::init_bare(at("borrowing.git")).expect("a repository");
    put(
        folder.path(),
        "borrowing.git/objects/info/alternates",
        text(&at("bare.git/objects")).as_bytes(),
    );
    fs::rename(at("bare.git"), at("with space.git")).expect("moved");
    fs::create_dir(at("bare.git")).expect("a folder");
    fs::rename(at("with space.git/objects"), at("bare.git/objects")).expect("moved");
    fs::create_dir(at("with space.git/objects")).expect("a folder");
    put(folder.path(), "bare.git/HEAD", b"ref: refs/heads/main\n");
    let address = address(&at("plain"));
    let locations: [(&str, String); 5] = [
        ("plain", text(&at("plain"))),
        ("bare", text(&at("bare.git"))),
        ("linked", text(&at("linked"))),
        ("borrowing", text(&at("borrowing.git"))),
        ("address", address),
    ];
    let mut digests = Vec::new();
    for (name, location) in &locations {
        let into = at("out").join(name);
        lay_out(location, &rev, &into).expect(name);
        assert_eq!(get(&into, "src/lib.rs"), "fn a() {}\r\n");
        assert_eq!(get(&into, "README.md"), "read\n");
        assert!(into.join("vendored").is_dir());
        assert!(!into.join(".git").exists());
        digests.push(snapshot(&into).expect("a tree").digest());
    }
    digests.dedup();
    assert_eq!(digests.len(), 1);
}

#[test]
fn an_address_may_hold_escapes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("with space");
    let rev = sample(&path, false);
    let whole = address(&path).replace(' ', "%20");
    lay_out(&whole, &rev, &folder.path().join("out")).expect("laid out");
    let broken = address(&path) + "%2";
    assert!(matches!(
        lay_out(&broken, &rev, &folder.path().join("out2")),
        Err(WorkspaceError::Remote { .. })
    ));
}

#[test]
fn what_is_no_commit_of_a_repository_here_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |path: &str| folder.path().join(path);
    let rev = sample(&at("repo"), false);
    let repository = Repository::open(at("repo")).expect("a repository");
    let file = blob(&repository, "read\n").to_string();
    fill(
        folder.path(),
        &[("a.bundle", "# v2 git bundle\n"), ("plain/x", "")],
    );
    let other = "2".repeat(40);
    let here = text(&at("repo"));
    for (location, rev, expected) in [
        (here.clone(), &rev[..7], "is not a full commit"),
        (here.clone(), "main", "is not a full commit"),
        (here.clone(), "v1.0", "is not a full commit"),
        (here.clone(), "", "is not a full commit"),
        (here.clone(), &other, "has no commit 2222"),
        (here.clone(), &file, "is a blob, not a commit"),
        (text(&at("none")), &rev, "nothing is there"),
        (text(&at("plain")), &rev, "is not a git repository"),
        (text(&at("a.bundle")), &rev, "`git clone` reads bundles"),
        (
            "https://user:word@example.invalid/x.git".into(),
            &rev,
            "`https://example.invalid/x.git` is not on this machine: clone it in an earlier step",
        ),
        (
            "ssh://git@example.invalid/x".into(),
            &rev,
            "`ssh://example.invalid/x` is not on",
        ),
        (
            "git@example.invalid:x.git".into(),
            &rev,
            "is not on this machine",
        ),
        (
            "file://server/share/x".into(),
            &rev,
            "is not on this machine",
        ),
    ] {
        let error = lay_out(&location, rev, &at("out")).expect_err(expected);
        assert!(error.to_string().contains(expected), "{location}: {error}");
        assert_eq!(super::names(&at("out")), [""; 0], "{location}");
    }
}

#[test]
fn hostile_trees_are_refused_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("repo");
    let repository = Repository::init(&path).expect("a repository");
    let file = blob(&repository, "evil");
    let inner = tree(&repository, &[(FILE, "config", file)]);
    let long = "3".repeat(40);
    let missing = Oid::from_str(&long).expect("an id");
    for (name, entries) in [
        (".git", vec![(FOLDER, ".git", inner)]),
        (".GIT", vec![(FOLDER, ".GIT", inner)]),
        (".git with a dot", vec![(FOLDER, ".git.", inner)]),
        ("git~1", vec![(FOLDER, "git~1", inner)]),
        (".g\u{200c}it", vec![(FOLDER, ".g\u{200c}it", inner)]),
        ("..", vec![(FOLDER, "..", inner)]),
        (".", vec![(FILE, ".", file)]),
        ("slash", vec![(FILE, "../../out", file)]),
        ("backslash", vec![(FILE, "..\\out", file)]),
        ("two of a name", vec![(FILE, "a", file), (FILE, "a", file)]),
        (
            "a file and a folder",
            vec![(FILE, "a", file), (FOLDER, "a", inner)],
        ),
        ("a missing file", vec![(FILE, "a", missing)]),
        ("a missing folder", vec![(FOLDER, "a", missing)]),
    ] {
        let rev = commit(&repository, tree(&repository, &entries));
        let into = folder.path().join("out");
        lay_out(&text(&path), &rev, &into).expect_err(name);
        assert_eq!(super::names(&into), [""; 0], "{name}");
        assert_eq!(super::names(folder.path()), ["out", "repo"], "{name}");
    }
}
