//! A test file that no `mod` line leads to is never compiled, and nobody is told.

use std::collections::BTreeSet;

use super::scan::{Token, tokens};
use super::{Files, none, rust_files};

/// The files that `mod` lines reach from `path`, itself included.
fn reach(files: &Files, path: &str, reached: &mut BTreeSet<String>) {
    let Some(source) = files.get(path) else {
        return;
    };
    if !reached.insert(path.to_owned()) {
        return;
    }
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = match name {
        "main.rs" | "lib.rs" | "mod.rs" => folder.to_owned(),
        name => format!("{folder}/{}", name.trim_end_matches(".rs")),
    };
    modules(files, &tokens(source), &folder, reached);
}

/// Follows the `mod` lines among `tokens`, into inline modules too.
fn modules(files: &Files, tokens: &[Token<'_>], folder: &str, reached: &mut BTreeSet<String>) {
    let mut at = 0;
    while at + 2 < tokens.len() {
        let [keyword, name, mark] = [tokens[at].text, tokens[at + 1].text, tokens[at + 2].text];
        at += 1;
        match (keyword, mark) {
            ("mod", ";") => {
                reach(files, &format!("{folder}/{name}.rs"), reached);
                reach(files, &format!("{folder}/{name}/mod.rs"), reached);
            }
            ("mod", "{") => {
                let start = at + 2;
                let mut open = 1;
                at = start;
                while open > 0 && at < tokens.len() {
                    match tokens[at].text {
                        "{" => open += 1,
                        "}" => open -= 1,
                        _ => {}
                    }
                    at += 1;
                }
                modules(
                    files,
                    &tokens[start..at],
                    &format!("{folder}/{name}"),
                    reached,
                );
            }
            _ => {}
        }
    }
}

fn forgotten(files: &Files, main: &str) -> Vec<String> {
    let mut reached = BTreeSet::new();
    reach(files, main, &mut reached);
    files
        .keys()
        .filter(|path| !reached.contains(*path))
        .map(|path| format!("{path}: no `mod` line leads to it"))
        .collect()
}

#[test]
fn no_test_file_is_forgotten() {
    none(
        "files",
        &forgotten(&rust_files(&["tests/it"]), "tests/it/main.rs"),
    );
}

#[test]
fn no_source_file_is_forgotten() {
    let mut files = rust_files(&["src"]);
    files.remove("src/main.rs");
    none("files", &forgotten(&files, "src/lib.rs"));
}

#[test]
fn forgotten_files_are_found() {
    let files: Files = [
        ("t/main.rs", "mod a; mod b { mod c; fn f() {} } mod d;"),
        ("t/a.rs", "mod deep; // mod lost;"),
        ("t/a/deep.rs", ""),
        ("t/b/c.rs", ""),
        ("t/d/mod.rs", "mod e;"),
        ("t/d/e.rs", ""),
        ("t/a/lost.rs", ""),
        ("t/c.rs", ""),
    ]
    .map(|(path, source)| (path.to_owned(), source.to_owned()))
    .into();
    assert_eq!(
        forgotten(&files, "t/main.rs"),
        [
            "t/a/lost.rs: no `mod` line leads to it",
            "t/c.rs: no `mod` line leads to it"
        ]
    );
}
