//! One direction between rooms, one room for each dangerous thing.

use std::collections::BTreeSet;

use super::scan::{Token, is_test_file, production, tokens};
use super::{Files, none, rust_files};

/// The rooms from low to high. A room uses rooms of lower rows; rooms of one row do not see each other.
const LAYERS: [&[&str]; 11] = [
    &["base"],
    &["domain"],
    &["policy"],
    &["net", "workspace", "sandbox", "store"],
    &["provider"],
    &["tools", "verify"],
    &["run"],
    &["suite"],
    &["batch"],
    &["report"],
    &["cli"],
];

/// Edges that the rows forbid and that are wanted all the same: from, to, why. One that nothing uses any more
/// is a finding too.
const DECLARED: &[(&str, &str, &str)] = &[];

/// Crates and the rooms that may name them.
const CRATES: &[(&str, &[&str])] = &[
    ("rusqlite", &["store", "report"]),
    ("reqwest", &["net"]),
    ("rustls", &["net"]),
    ("git2", &["workspace"]),
    ("process_wrap", &["sandbox"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("indicatif", &["cli"]),
];

/// Crates of one operating system alone.
const SYSTEM_CRATES: [&str; 3] = ["libc", "nix", "windows"];

fn row(room: &str) -> Option<usize> {
    LAYERS.iter().position(|rooms| rooms.contains(&room))
}

/// The room that a file below `src` belongs to; none for `lib.rs` and `main.rs`.
fn room_of(path: &str) -> Option<&str> {
    let (room, _) = path.strip_prefix("src/")?.split_once('/')?;
    Some(room)
}

/// What a file names directly below the crate's root, with the line. A run of `super` counts where it reaches
/// the root and names a room: an inline module makes the same run end one lower.
fn named(path: &str, tokens: &[Token<'_>]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let depth = path.split('/').count() - 1;
    for (at, token) in tokens.iter().enumerate() {
        let after = match token.text {
            "crate" => Some(at + 1),
            "super" if at == 0 || tokens[at - 1].text != "::" => climbs(tokens, at, depth),
            _ => None,
        };
        let Some(mut next) = after.filter(|next| text(tokens, *next) == "::") else {
            continue;
        };
        next += 1;
        let mut push = |name: &str, line| {
            if token.text == "crate" || row(name).is_some() {
                found.push((name.to_owned(), line));
            }
        };
        if text(tokens, next) != "{" {
            push(text(tokens, next), token.line);
            continue;
        }
        // A group: the first word of each of its items.
        let (mut open, mut first) = (1, true);
        while open > 0 && next + 1 < tokens.len() {
            next += 1;
            match tokens[next].text {
                "{" => open += 1,
                "}" => open -= 1,
                "," if open == 1 => first = true,
                word if first && open == 1 => {
                    push(word, tokens[next].line);
                    first = false;
                }
                _ => {}
            }
        }
    }
    found
}

/// The position after a run of `super` that reaches the crate's root, where it does.
fn climbs(tokens: &[Token<'_>], mut at: usize, depth: usize) -> Option<usize> {
    let mut count = 1;
    while text(tokens, at + 1) == "::" && text(tokens, at + 2) == "super" {
        count += 1;
        at += 2;
    }
    (count >= depth.max(1)).then_some(at + 1)
}

fn text<'a>(tokens: &[Token<'a>], at: usize) -> &'a str {
    tokens.get(at).map_or("", |token| token.text)
}

/// The module depth of a file counts from the crate's root: `src/net/mod.rs` is 1, `src/net/client.rs` 2.
fn module_path(path: &str) -> String {
    path.strip_suffix("/mod.rs")
        .map_or_else(|| path.to_owned(), str::to_owned)
}

fn edges(files: &Files, declared: &[(&str, &str, &str)]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut used = BTreeSet::new();
    for (path, source) in files {
        let Some(from) = room_of(path) else { continue };
        let Some(from_row) = row(from) else {
            findings.push(format!("{path}: the room `{from}` has no row in the table"));
            continue;
        };
        for (to, line) in named(&module_path(path), &tokens(source)) {
            if to == from {
                continue;
            }
            match row(&to) {
                None => findings.push(format!(
                    "{path}:{line}: `crate::{to}` is no room: name the room that has it"
                )),
                Some(to_row) if to_row < from_row => {}
                Some(_)
                    if declared
                        .iter()
                        .any(|edge| (edge.0, edge.1) == (from, to.as_str())) =>
                {
                    used.insert((from.to_owned(), to));
                }
                Some(to_row) => {
                    let way = if to_row == from_row {
                        "sideways"
                    } else {
                        "upward"
                    };
                    findings.push(format!("{path}:{line}: {from} -> {to} is an edge {way}"));
                }
            }
        }
    }
    for (from, to, _) in declared {
        if !used.contains(&((*from).to_owned(), (*to).to_owned())) {
            findings.push(format!("the declared edge {from} -> {to} is not in use"));
        }
    }
    findings
}

fn crates(files: &Files) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, source) in files.iter().filter(|(path, _)| !is_test_file(path)) {
        let Some(room) = room_of(path) else { continue };
        let tokens = tokens(production(source));
        for (at, token) in tokens.iter().enumerate() {
            if text(&tokens, at + 1) != "::" || is_below_another(&tokens[..at]) {
                continue;
            }
            let (name, line) = (token.text, token.line);
            if let Some((_, rooms)) = CRATES.iter().find(|(known, _)| *known == name)
                && !rooms.contains(&room)
            {
                findings.push(format!(
                    "{path}:{line}: `{name}` belongs to {}",
                    rooms.join(" and ")
                ));
            }
            if SYSTEM_CRATES.contains(&name) && !is_os(path) {
                findings.push(format!(
                    "{path}:{line}: `{name}` belongs below an os/ folder"
                ));
            }
        }
    }
    findings
}

/// Whether a path's earlier part stands right before: `a::` does, a leading `::` does not.
fn is_below_another(before: &[Token<'_>]) -> bool {
    matches!(before, [.., name, colons] if colons.text == "::" && name.text.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn is_os(path: &str) -> bool {
    path.split('/').any(|name| name == "os" || name == "os.rs")
}

fn systems(files: &Files) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, source) in files {
        if is_os(path) || is_test_file(path) {
            continue;
        }
        let tokens = tokens(production(source));
        for (at, token) in tokens.iter().enumerate() {
            let line = token.line;
            let what = match token.text {
                "unsafe" => "`unsafe`",
                "std" if text(&tokens, at + 1) == "::" && text(&tokens, at + 2) == "os" => {
                    "`std::os`"
                }
                "cfg" | "cfg_attr" if names_a_system(&tokens[at + 1..]) => {
                    "a condition on the system"
                }
                _ => continue,
            };
            findings.push(format!("{path}:{line}: {what} belongs below an os/ folder"));
        }
    }
    findings
}

/// Whether the parenthesis that follows `cfg` names an operating system.
fn names_a_system(after: &[Token<'_>]) -> bool {
    let mut open = 0;
    for token in after.iter().skip_while(|token| token.text == "!") {
        match token.text {
            "(" => open += 1,
            ")" => open -= 1,
            "unix" | "windows" | "target_os" | "target_family" => return true,
            _ => {}
        }
        if open == 0 {
            return false;
        }
    }
    false
}

#[test]
fn rooms_use_lower_rooms_only() {
    none("layers", &edges(&rust_files(&["src"]), DECLARED));
}

#[test]
fn dangerous_crates_stay_in_their_rooms() {
    none("crates", &crates(&rust_files(&["src"])));
}

#[test]
fn systems_are_told_apart_below_os_folders_only() {
    none("systems", &systems(&rust_files(&["src"])));
}

fn one(path: &str, source: &str) -> Files {
    [(path.to_owned(), source.to_owned())].into()
}

#[test]
fn edges_are_found() {
    for (path, source, expected) in [
        ("src/net/a.rs", "use crate::base::Span;", vec![]),
        ("src/net/a.rs", "use crate::net::b; use super::b;", vec![]),
        (
            "src/net/a.rs",
            "// use crate::cli;\nconst A: &str = \"crate::cli\"; pub(crate) fn f() {}",
            vec![],
        ),
        (
            "src/net/a.rs",
            "use crate::provider::X;",
            vec!["src/net/a.rs:1: net -> provider is an edge upward"],
        ),
        (
            "src/net/a.rs",
            "fn f() { crate::store::g() }",
            vec!["src/net/a.rs:1: net -> store is an edge sideways"],
        ),
        (
            "src/net/a.rs",
            "use crate::{\n  base::{Span, run},\n  run::X,\n  cli,\n};",
            vec![
                "src/net/a.rs:3: net -> run is an edge upward",
                "src/net/a.rs:4: net -> cli is an edge upward",
            ],
        ),
        (
            "src/net/a.rs",
            "use super::super::cli::X;",
            vec!["src/net/a.rs:1: net -> cli is an edge upward"],
        ),
        (
            "src/net/mod.rs",
            "use super::{base, cli};",
            vec!["src/net/mod.rs:1: net -> cli is an edge upward"],
        ),
        ("src/net/b/c.rs", "use super::super::run;", vec![]),
        (
            "src/net/a.rs",
            "mod tests { use super::super::Client; }",
            vec![],
        ),
        (
            "src/net/a.rs",
            "use crate::Facade;",
            vec!["src/net/a.rs:1: `crate::Facade` is no room: name the room that has it"],
        ),
        (
            "src/attic/a.rs",
            "",
            vec!["src/attic/a.rs: the room `attic` has no row in the table"],
        ),
        ("src/lib.rs", "pub use crate::cli::X;", vec![]),
    ] {
        assert_eq!(edges(&one(path, source), &[]), expected, "{path}: {source}");
    }
}

#[test]
fn a_declared_edge_is_allowed_while_it_is_used() {
    let declared = [("net", "sandbox", "a reason")];
    assert!(edges(&one("src/net/a.rs", "use crate::sandbox::X;"), &declared).is_empty());
    assert_eq!(
        edges(&one("src/net/a.rs", ""), &declared),
        ["the declared edge net -> sandbox is not in use"]
    );
}

#[test]
fn crates_outside_of_their_rooms_are_found() {
    for (path, source, expected) in [
        ("src/store/a.rs", "use rusqlite::Connection;", 0),
        ("src/batch/a.rs", "use rusqlite::Connection;", 1),
        ("src/batch/a.rs", "fn f() -> ::reqwest::Client {}", 1),
        ("src/batch/a.rs", "use crate::net::reqwest::Client;", 0),
        ("src/suite/a.rs", "#[derive(clap::Args)] struct A;", 1),
        (
            "src/run/a.rs",
            "fn f() {}\n#[cfg(test)]\nmod tests { use git2::Repository; }",
            0,
        ),
        ("src/sandbox/a.rs", "use nix::sys;", 1),
        ("src/sandbox/os/a.rs", "use nix::sys;", 0),
    ] {
        let found = crates(&one(path, source));
        assert_eq!(found.len(), expected, "{path}: {source}: {found:?}");
    }
}

#[test]
fn systems_outside_of_os_folders_are_found() {
    for (source, expected) in [
        ("unsafe { f() }", 1),
        ("#[cfg(unix)] fn f() {}", 1),
        ("#[cfg(any(test, target_os = \"macos\"))] fn f() {}", 1),
        ("if cfg!(windows) {}", 1),
        ("use std::os::unix::fs;", 1),
        ("#[cfg(feature = \"x\")] fn unix() {}", 0),
        ("// unsafe\n#![deny(unsafe_code)]", 0),
    ] {
        assert_eq!(
            systems(&one("src/run/a.rs", source)).len(),
            expected,
            "{source}"
        );
        assert!(
            systems(&one("src/run/os/a.rs", source)).is_empty(),
            "{source}"
        );
    }
}
