//! What must not stand in the sources, and what must agree between documents.

use super::scan::{Token, is_test_file, production, tokens};
use super::{Files, none, read, root, rust_files};

/// Waiting in a test is either too short or too long: time enters through a clock. The helper programs below
/// `tests/fakes/` are no tests: one of them hangs because that is its part.
fn sleeps(files: &Files) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, source) in files {
        let tests = if path.starts_with("tests/it/") || is_test_file(path) {
            source.as_str()
        } else {
            &source[production(source).len()..]
        };
        let before = source.len() - tests.len();
        let skipped = source[..before].matches('\n').count();
        let tokens = tokens(tests);
        for at in 0..tokens.len() {
            let previous = at.checked_sub(1).map_or("", |at| tokens[at].text);
            // A clock's own method and its definition are how tests avoid to wait.
            if tokens[at].text == "sleep"
                && tokens.get(at + 1).is_some_and(|token| token.text == "(")
                && !matches!(previous, "." | "fn")
            {
                let line = tokens[at].line + skipped;
                findings.push(format!("{path}:{line}: a test must not sleep"));
            }
        }
    }
    findings
}

fn allows(files: &Files) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, source) in files {
        let tokens = tokens(source);
        let text = |at: usize| tokens.get(at).map_or("", |token: &Token<'_>| token.text);
        for (at, token) in tokens.iter().enumerate() {
            let open = at + 1 + usize::from(text(at + 1) == "!");
            if token.text == "#" && text(open) == "[" && text(open + 1) == "allow" {
                findings.push(format!(
                    "{path}:{}: say `expect` with a reason, which ends when its cause does",
                    token.line
                ));
            }
        }
    }
    findings
}

fn leftovers(files: &Files) -> Vec<String> {
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
    ];
    let mut findings = Vec::new();
    for (path, source) in files {
        for (at, line) in source.lines().enumerate() {
            let mut words = line.split(|c: char| !c.is_alphanumeric());
            if let Some(mark) = words.find(|word| marks.contains(word)) {
                findings.push(format!("{path}:{}: {mark}", at + 1));
            }
        }
    }
    findings
}

/// The version of the first section of a changelog that is not *Unreleased*.
fn released(changelog: &str) -> Option<&str> {
    changelog
        .lines()
        .filter_map(|line| line.strip_prefix("## ["))
        .filter_map(|line| line.split(']').next())
        .find(|version| *version != "Unreleased")
}

/// The version after `Rust ` in a text, as in *needs Rust 1.89 or newer*.
fn stated_rust(text: &str) -> Option<&str> {
    text.match_indices("Rust ").find_map(|(at, word)| {
        let rest = &text[at + word.len()..];
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let version = rest[..end].trim_end_matches('.');
        version.contains('.').then_some(version)
    })
}

fn manifest() -> toml::Table {
    read("Cargo.toml").parse().expect("Cargo.toml is TOML")
}

fn package(key: &str) -> String {
    manifest()["package"][key]
        .as_str()
        .expect("a text")
        .to_owned()
}

#[test]
fn no_test_sleeps() {
    none("sleep", &sleeps(&rust_files(&["src", "tests", "benches"])));
}

#[test]
fn no_lint_is_silenced_without_a_reason() {
    none("allow", &allows(&rust_files(&["src", "tests", "benches"])));
}

#[test]
fn nothing_is_left_for_later() {
    none(
        "leftovers",
        &leftovers(&rust_files(&["src", "tests", "benches"])),
    );
}

#[test]
fn the_changelog_speaks_of_this_version() {
    let changelog = read("CHANGELOG.md");
    assert_eq!(released(&changelog), Some(package("version").as_str()));
    assert!(
        changelog.contains("## [Unreleased]"),
        "a section for what comes next"
    );
}

#[test]
fn the_readme_states_the_oldest_rust() {
    assert_eq!(
        stated_rust(&read("README.md")),
        Some(package("rust-version").as_str())
    );
}

#[test]
fn the_license_is_there() {
    assert_eq!(package("license"), "Apache-2.0");
    assert!(read("LICENSE").contains("Apache License"));
    assert!(root().join("LICENSE").is_file());
}

#[test]
fn the_default_build_has_no_optional_part() {
    assert_eq!(
        manifest()["features"]["default"].as_array().map(Vec::len),
        Some(0)
    );
}

#[test]
fn the_architecture_fits_its_page() {
    let lines = read("ARCHITECTURE.md").lines().count();
    assert!(lines <= 250, "{lines} lines");
}

fn one(path: &str, source: &str) -> Files {
    [(path.to_owned(), source.to_owned())].into()
}

#[test]
fn waiting_is_found_in_tests_alone() {
    for (path, source, expected) in [
        ("tests/it/a.rs", "fn f() { std::thread::sleep(X); }", 1),
        ("tests/it/a.rs", "tokio::time::sleep(X).await; sleep(X)", 2),
        (
            "tests/it/a.rs",
            "clock.sleep(X).await; // sleep(\nfn sleep() {}",
            0,
        ),
        ("src/a.rs", "tokio::time::sleep(X)", 0),
        ("tests/fakes/main.rs", "sleep(X)", 0),
        (
            "src/a.rs",
            "fn f() {}\n#[cfg(test)]\nmod tests { fn g() { sleep(X) } }",
            1,
        ),
        ("src/a/tests.rs", "sleep(X)", 1),
    ] {
        let found = sleeps(&one(path, source));
        assert_eq!(found.len(), expected, "{path}: {source}: {found:?}");
    }
    let found = sleeps(&one(
        "src/a.rs",
        "//\n//\n#[cfg(test)]\nmod tests { fn g() { sleep(X) } }",
    ));
    assert!(found[0].starts_with("src/a.rs:4:"), "{found:?}");
}

#[test]
fn silenced_lints_are_found() {
    for (source, expected) in [
        ("#[allow(dead_code)] fn f() {}", 1),
        ("#![allow(dead_code)]", 1),
        ("#[expect(dead_code, reason = \"r\")] fn allow() {}", 0),
        ("// #[allow(x)]", 0),
    ] {
        assert_eq!(allows(&one("src/a.rs", source)).len(), expected, "{source}");
    }
}

#[test]
fn leftovers_are_found() {
    let mark = concat!("TO", "DO");
    assert_eq!(
        leftovers(&one("a.rs", &format!("a\n// {mark}: b"))),
        [format!("a.rs:2: {mark}")]
    );
    assert!(leftovers(&one("a.rs", "// mastodon, todo_write")).is_empty());
}

#[test]
fn statements_are_read() {
    assert_eq!(
        released("# C\n## [Unreleased]\n## [1.2.3] - 2026-01-01\n## [1.0.0]"),
        Some("1.2.3")
    );
    assert_eq!(released("# C\n## [Unreleased]"), None);
    assert_eq!(
        stated_rust("The Rust book. Needs Rust 1.89. Or newer."),
        Some("1.89")
    );
    assert_eq!(stated_rust("Rust is nice"), None);
}
