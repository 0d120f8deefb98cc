//! Trees that somebody built to lead a reader astray: links, pipes, names that are no text, permissions.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::super::tests::{at, fill, get, names, put, workspace};
use super::super::*;
use crate::base::RelPath;
use crate::domain::TamperKind;

fn link(root: &Path, target: &str, path: &str) {
    symlink(target, root.join(path)).expect("a link");
}

fn pipe(path: &Path) {
    mkfifo(path, Mode::S_IRWXU).expect("a pipe");
}

fn bits(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").mode() & 0o777
}

fn rel(path: &str) -> RelPath {
    RelPath::parse(path).expect("a path")
}

#[test]
fn links_are_followed_as_far_as_the_root() {
    let (folder, workspace) = workspace(&[("real/file", "text"), ("other", "")]);
    let root = folder.path();
    let inside = workspace.root().join("real");
    link(root, "real", "to_folder");
    link(root, "real/file", "to_file");
    link(root, "to_folder/file", "to_link");
    link(root, "real/new", "to_new");
    link(root, inside.to_str().expect("text"), "absolute");
    link(root, "../real", "real/up");
    let back = format!(
        "../{}/real",
        workspace
            .root()
            .file_name()
            .and_then(OsStr::to_str)
            .expect("text")
    );
    link(root, &back, "out_and_back");
    for (path, canonical) in [
        ("to_folder/file", "real/file"),
        ("to_folder/new/deep", "real/new/deep"),
        ("to_file", "real/file"),
        ("to_link", "real/file"),
        ("to_new", "real/new"),
        ("absolute/file", "real/file"),
        ("real/up/up/up/file", "real/file"),
        ("to_folder/../other", "other"),
        ("out_and_back/file", "real/file"),
    ] {
        let resolved = workspace.resolve(path).expect(path);
        assert_eq!(resolved.canonical.as_str(), canonical, "{path}");
        assert_eq!(resolved.absolute, workspace.root().join(canonical));
    }
    assert_eq!(
        at(&workspace, "to_folder/file").lexical.as_str(),
        "to_folder/file"
    );
}

#[test]
fn links_out_of_the_root_lead_nowhere() {
    let outside = tempfile::tempdir().expect("a folder");
    put(outside.path(), "secret", b"secret");
    let out = outside.path().to_str().expect("text");
    let (folder, workspace) = workspace(&[("real/file", "text")]);
    let root = folder.path();
    link(root, out, "folder");
    link(root, &format!("{out}/secret"), "file");
    link(root, &format!("{out}/nothing"), "dangling");
    link(root, "..", "parent");
    link(root, "../../../../../../../../etc", "climbing");
    link(root, "folder/secret", "twice");
    link(root, "/proc/self/root/etc", "magic");
    link(root, "/", "slash");
    for path in [
        "folder",
        "folder/secret",
        "folder/new",
        "folder/new/deep/file",
        "file",
        "dangling",
        "dangling/below",
        "parent/x",
        "climbing/passwd",
        "twice",
        "magic/passwd",
        "slash/etc/passwd",
        "file/below",
    ] {
        let error = workspace.resolve(path).expect_err(path);
        assert!(
            matches!(error, WorkspaceError::Outside { .. }),
            "{path}: {error}"
        );
    }
    assert_eq!(names(outside.path()), ["secret"]);
}

#[test]
fn links_without_an_end_and_files_on_the_way_are_said() {
    let (folder, workspace) = workspace(&[("file", "")]);
    link(folder.path(), "loop", "loop");
    link(folder.path(), "b", "a");
    link(folder.path(), "a", "b");
    link(folder.path(), "grow/x", "grow");
    for path in ["loop", "a/x", "grow"] {
        let error = workspace.resolve(path).expect_err(path);
        assert!(
            matches!(error, WorkspaceError::Loop { .. }),
            "{path}: {error}"
        );
    }
    let error = workspace
        .resolve("file/below")
        .expect_err("a file on the way");
    assert!(
        matches!(error, WorkspaceError::NotADirectory { .. }),
        "{error}"
    );
}

#[test]
fn a_folder_that_became_a_link_is_not_written_through() {
    let outside = tempfile::tempdir().expect("a folder");
    let (folder, workspace) = workspace(&[]);
    let resolved = at(&workspace, "new/file");
    symlink(outside.path(), folder.path().join("new")).expect("a link");
    let error = workspace.write(&resolved, b"x").expect_err("a link");
    assert!(matches!(error, WorkspaceError::Outside { .. }), "{error}");
    assert_eq!(names(outside.path()), [""; 0]);
    let resolved = Resolved {
        absolute: workspace.root().join("late"),
        ..at(&workspace, "late")
    };
    symlink(outside.path().join("x"), folder.path().join("late")).expect("a link");
    for error in [
        workspace
            .write(&resolved, b"x")
            .map(drop)
            .expect_err("a link"),
        workspace
            .read_bytes(&resolved)
            .map(drop)
            .expect_err("a link"),
    ] {
        assert!(matches!(error, WorkspaceError::NotAFile { .. }), "{error}");
    }
}

#[test]
fn a_write_keeps_permissions_and_the_link_that_led_to_the_file() {
    let (folder, workspace) = workspace(&[("run.sh", "1"), ("locked", "1")]);
    let root = folder.path();
    for (path, mode) in [("run.sh", 0o755), ("locked", 0o440)] {
        fs::set_permissions(root.join(path), Permissions::from_mode(mode)).expect("permissions");
        workspace
            .write(&at(&workspace, path), b"2")
            .expect("written");
        assert_eq!(bits(&root.join(path)), mode, "{path}");
    }
    link(root, "run.sh", "alias");
    workspace
        .edit(&at(&workspace, "alias"), "2", "3")
        .expect("edited");
    assert_eq!(get(root, "run.sh"), "3");
    assert!(root.join("alias").is_symlink());
    workspace
        .write(&at(&workspace, "new"), b"")
        .expect("written");
    put(root, "reference", b"");
    assert_eq!(bits(&root.join("new")), bits(&root.join("reference")));
}

#[test]
fn pipes_are_never_waited_for() {
    let (folder, workspace) = workspace(&[("file", "needle\n")]);
    let root = folder.path();
    pipe(&root.join("pipe"));
    let resolved = at(&workspace, "pipe");
    for error in [
        workspace
            .read_bytes(&resolved)
            .map(drop)
            .expect_err("a pipe"),
        workspace
            .write(&resolved, b"x")
            .map(drop)
            .expect_err("a pipe"),
        workspace
            .edit(&resolved, "x", "y")
            .map(drop)
            .expect_err("a pipe"),
    ] {
        assert!(error.to_string().contains("a special file"), "{error}");
    }
    let query = GrepQuery {
        pattern: "needle".into(),
        glob: None,
        limit: 9,
    };
    assert_eq!(workspace.grep(&query, &|_| true).expect("hits").total, 1);
    let found = workspace.find("*", 9, &|_| true).expect("paths");
    assert_eq!(found.paths, [rel("file")]);
    let listed = workspace
        .list_dir(&at(&workspace, "."), &|_| true)
        .expect("entries");
    assert_eq!(listed[1].kind, EntryKind::Other);

    let tree = snapshot(root).expect("a tree");
    assert_eq!(
        tree.get(&rel("pipe")).map(|entry| entry.kind),
        Some(NodeKind::Special)
    );
    let copy = tempfile::tempdir().expect("a folder");
    copy_tree(root, copy.path()).expect("copied");
    assert_eq!(names(copy.path()), ["file"]);
    let into = copy.path().join("into");
    let error = materialise(&Source::Dir(root.into()), &into).expect_err("a pipe");
    assert!(matches!(error, WorkspaceError::Special { .. }), "{error}");
    let created = changes(&snapshot(copy.path()).expect("a tree"), &tree);
    let made = patch(copy.path(), root, &created, 1_000);
    assert!(
        made.text
            .text
            .contains("not shown: nothing -> special file"),
        "{:?}",
        made.text
    );
    write_output(&root.join("file"), b"x").expect("an output");
    write_output(Path::new("/dev/null"), b"x").expect("an output that goes nowhere");
    remove_tree(&root.join("pipe")).expect("removed");
}

#[test]
fn names_that_are_no_text_are_seen_and_undone() {
    let (folder, workspace) = workspace(&[]);
    let root = folder.path();
    let copy = tempfile::tempdir().expect("a folder");
    // A name, and whether a reader of Rust files would want it.
    let odd: [(&[u8], bool); 6] = [
        (b"bad\xff.rs", true),
        (b"bad\xfe.rs", true),
        (b"back\\slash.rs", true),
        (b"..\\..\\up", false),
        (b"C:drive", false),
        (b"line\nfeed", false),
    ];
    let (mut made, mut rust) = (0, 0);
    for (name, is_rust) in odd {
        let inside = root.join(OsStr::from_bytes(name));
        if let Err(error) = fs::File::create(inside) {
            eprintln!("skipped {name:?}: this file system has no such names ({error})");
            continue;
        }
        made += 1;
        rust += usize::from(is_rust);
    }
    let nested = root.join(OsStr::from_bytes(b"dir\xfe"));
    if fs::create_dir(&nested).is_ok() {
        fs::File::create(nested.join(OsStr::from_bytes(b"x\xfd.rs"))).expect("a file");
        made += 1;
        rust += 1;
    }
    let created = changes(
        &snapshot(copy.path()).expect("a tree"),
        &snapshot(root).expect("a tree"),
    );
    assert_eq!(created.len(), made, "{created:?}");
    assert!(
        created
            .iter()
            .all(|change| change.how == TamperKind::Created)
    );
    assert_eq!(
        patch(copy.path(), root, &created, 10_000).files,
        made as u64
    );
    let found = workspace.find("*.rs", 9, &|_| true).expect("paths");
    assert_eq!(found.total, rust);
    let listed = workspace.list_dir(&at(&workspace, "."), &|_| true);
    assert_eq!(listed.expect("entries").len(), made);
    let paths: Vec<RelPath> = created.into_iter().map(|change| change.path).collect();
    restore_paths(copy.path(), root, &paths).expect("restored");
    assert_eq!(names(root), [""; 0]);
}

#[test]
fn restoring_and_laying_in_never_write_through_a_link() {
    let outside = tempfile::tempdir().expect("a folder");
    put(outside.path(), "a.rs", b"precious");
    let (folder, _workspace) = workspace(&[("pristine/tests/a.rs", "a"), ("held", "held")]);
    let (pristine, work) = (folder.path().join("pristine"), folder.path().join("work"));
    let tampered = || {
        remove_tree(&work).expect("removed");
        fs::create_dir(&work).expect("a folder");
        symlink(outside.path(), work.join("tests")).expect("a link");
    };
    tampered();
    let found = changes(
        &snapshot(&pristine).expect("a tree"),
        &snapshot(&work).expect("a tree"),
    );
    let said: Vec<&str> = found.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(said, ["tests", "tests/a.rs"]);
    // A pattern like `tests/**` fits the file alone.
    restore_paths(&pristine, &work, &[rel("tests/a.rs"), rel("tests/extra")]).expect("restored");
    assert_eq!(get(&work, "tests/a.rs"), "a");
    assert!(!work.join("tests").is_symlink());

    tampered();
    restore_paths(&pristine, &work, &[rel("tests/extra/a.rs")]).expect("nothing there");
    assert!(work.join("tests").is_symlink());
    lay_in(&[(folder.path().join("held"), rel("tests/a.rs"))], &work).expect("laid in");
    assert_eq!(get(&work, "tests/a.rs"), "held");
    remove_tree(&work.join("tests")).expect("removed");

    symlink(outside.path().join("a.rs"), work.join("direct")).expect("a link");
    lay_in(&[(folder.path().join("held"), rel("direct"))], &work).expect("laid in");
    assert_eq!(get(&work, "direct"), "held");
    assert_eq!(get(outside.path(), "a.rs"), "precious");
}

#[test]
fn permission_bits_are_changes_and_come_back() {
    let (folder, _workspace) = workspace(&[("pristine/run.sh", "x"), ("pristine/shut/file", "x")]);
    let (pristine, work) = (folder.path().join("pristine"), folder.path().join("work"));
    let set = |path: &Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("permissions");
    };
    set(&pristine.join("run.sh"), 0o755);
    copy_tree(&pristine, &work).expect("copied");
    assert_eq!(bits(&work.join("run.sh")), 0o755);
    set(&work.join("run.sh"), 0o644);
    let before = snapshot(&pristine).expect("a tree");
    let after = snapshot(&work).expect("a tree");
    assert_ne!(before.digest(), after.digest());
    let found = changes(&before, &after);
    assert_eq!(found.len(), 1);
    let made = patch(&pristine, &work, &found, 1_000);
    insta::assert_snapshot!(made.text.text, @r"
    diff --git a/run.sh b/run.sh
    old mode 100755
    new mode 100644
    ");
    // A folder that may not be entered or changed is no obstacle.
    set(&work.join("shut"), 0o000);
    let paths: Vec<RelPath> = found.into_iter().map(|change| change.path).collect();
    restore_paths(
        &pristine,
        &work,
        &[&paths[..], &[rel("shut/file"), rel("shut/new")]].concat(),
    )
    .expect("restored");
    assert_eq!(bits(&work.join("run.sh")), 0o755);
    set(&work.join("shut"), 0o500);
    set(&work.join("shut/file"), 0o400);
    remove_tree(&work).expect("removed");
    assert!(!work.exists());
}

#[test]
fn removing_never_follows_a_link_and_knows_no_depth() {
    let outside = tempfile::tempdir().expect("a folder");
    put(outside.path(), "keep", b"");
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    fs::create_dir(root.join("tree")).expect("a folder");
    symlink(outside.path(), root.join("tree/out")).expect("a link");
    symlink(outside.path(), root.join("direct")).expect("a link");
    remove_tree(&root.join("direct")).expect("removed");

    // Each turn puts what there is one level deeper, beyond what a path can say.
    let (mut inner, mut outer) = (root.join("x"), root.join("y"));
    fs::create_dir(&inner).expect("a folder");
    let name = "d".repeat(120);
    for _ in 0..60 {
        fs::create_dir(&outer).expect("a folder");
        fs::rename(&inner, outer.join(&name)).expect("moved");
        std::mem::swap(&mut inner, &mut outer);
    }
    fs::rename(&inner, root.join("tree/deep")).expect("moved");
    let tree = snapshot(&root.join("tree")).expect("a tree");
    let unreadable = tree
        .entries()
        .any(|(_, entry)| entry.kind == NodeKind::Unreadable);
    assert!(unreadable, "the bottom is out of reach, and said to be");
    remove_tree(&root.join("tree")).expect("removed");
    assert_eq!(names(root), [""; 0]);
    assert_eq!(names(outside.path()), ["keep"]);
}

#[test]
fn a_source_keeps_its_links_only_where_they_stay_inside() {
    let folder = tempfile::tempdir().expect("a folder");
    let from = folder.path().join("from");
    fill(&from, &[("a/file", "text"), ("run.sh", "")]);
    fs::set_permissions(from.join("run.sh"), Permissions::from_mode(0o755)).expect("permissions");
    link(&from, "a/file", "good");
    link(&from, "../run.sh", "a/up");
    link(&from, "nothing/yet", "dangling");
    let lay_out = |into: &str| {
        let into = folder.path().join(into);
        materialise(&Source::Dir(from.clone()), &into).map(|()| into)
    };
    let into = lay_out("good").expect("laid out");
    assert_eq!(
        fs::read_link(into.join("a/up")).expect("a link"),
        Path::new("../run.sh")
    );
    assert_eq!(bits(&into.join("run.sh")), 0o755);
    assert_eq!(
        snapshot(&from).expect("a tree").digest(),
        snapshot(&into).expect("a tree").digest()
    );

    let absolute = from.join("run.sh");
    for (target, path) in [
        ("/etc/passwd", "bad"),
        ("../elsewhere", "bad"),
        (absolute.to_str().expect("text"), "bad"),
        ("../from/run.sh", "bad"),
        ("../bad/run.sh", "bad"),
        ("a/../../x", "bad"),
        ("bad", "bad"),
        ("../../x", "a/bad"),
    ] {
        link(&from, target, path);
        match lay_out("bad") {
            Err(WorkspaceError::LinkOut {
                path: said,
                target: held,
            }) => {
                assert_eq!((said.as_str(), held.as_str()), (path, target));
            }
            other => panic!("{target}: {other:?}"),
        }
        assert_eq!(names(&folder.path().join("bad")), [""; 0]);
        fs::remove_file(from.join(path)).expect("removed");
    }
}

#[test]
fn links_and_scripts_of_a_commit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("repo");
    let repository = git2::Repository::init(&path).expect("a repository");
    let commit = |entries: &[(&str, &str, i32)]| {
        let mut builder = repository.treebuilder(None).expect("a tree");
        for (name, text, mode) in entries {
            let id = repository.blob(text.as_bytes()).expect("a blob");
            builder.insert(name, id, *mode).expect("an entry");
        }
        let tree = repository
            .find_tree(builder.write().expect("a tree"))
            .expect("a tree");
        let who = git2::Signature::new("a", "a@b", &git2::Time::new(0, 0)).expect("a signature");
        let id = repository
            .commit(None, &who, &who, "m", &tree, &[])
            .expect("a commit");
        Source::Git {
            location: path.to_str().expect("text").to_owned(),
            rev: id.to_string(),
        }
    };
    let (file, script, to) = (0o100_644, 0o100_755, 0o120_000);
    let into = folder.path().join("good");
    let good = commit(&[
        ("file", "text", file),
        ("run", "", script),
        ("link", "file", to),
    ]);
    materialise(&good, &into).expect("laid out");
    assert_eq!(
        fs::read_link(into.join("link")).expect("a link"),
        Path::new("file")
    );
    assert_eq!(bits(&into.join("run")) & 0o100, 0o100);
    assert_eq!(bits(&into.join("file")) & 0o111, 0);
    for target in ["/etc/passwd", "../x", "link2/../../x"] {
        let bad = commit(&[("link", target, to), ("link2", ".", to)]);
        let error = materialise(&bad, &folder.path().join("bad")).expect_err(target);
        assert!(matches!(error, WorkspaceError::LinkOut { .. }), "{error}");
    }
}

#[test]
fn a_link_that_changed_is_shown_as_a_link() {
    let (folder, _workspace) = workspace(&[("old/x", "1\n"), ("new/x", "1\n")]);
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    link(&old, "x", "l");
    link(&new, "/etc/passwd", "l");
    let found = changes(
        &snapshot(&old).expect("a tree"),
        &snapshot(&new).expect("a tree"),
    );
    let made = patch(&old, &new, &found, 1_000);
    insta::assert_snapshot!(made.text.text, @r"
    diff --git a/l b/l
    --- a/l
    +++ b/l
    @@ -1 +1 @@
    -x
    \ No newline at end of file
    +/etc/passwd
    \ No newline at end of file
    ");
}

#[test]
fn an_output_through_a_link_changes_what_it_leads_to() {
    let folder = tempfile::tempdir().expect("a folder");
    put(folder.path(), "real.md", b"old");
    link(folder.path(), "real.md", "latest.md");
    write_output(&folder.path().join("latest.md"), b"new").expect("an output");
    assert_eq!(get(folder.path(), "real.md"), "new");
    assert!(folder.path().join("latest.md").is_symlink());
}
