//! Files stay small enough to be read in one go.

use super::scan::{is_test_file, production};
use super::{Files, none, rust_files};

/// Lines of a file, its unit tests apart.
const LIMIT: usize = 800;

/// Files over the limit and their lines: a number goes down, never up.
const RATCHET: &[(&str, usize)] = &[];

fn oversized(files: &Files, ratchet: &[(&str, usize)]) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, source) in files.iter().filter(|(path, _)| !is_test_file(path)) {
        let lines = production(source).lines().count();
        let known = ratchet.iter().find(|(known, _)| known == path);
        match known.map(|(_, most)| *most) {
            None if lines > LIMIT => {
                findings.push(format!(
                    "{path} has {lines} lines: split it at {LIMIT} or before"
                ));
            }
            Some(most) if lines > most => {
                findings.push(format!("{path} has grown from {most} to {lines} lines"));
            }
            Some(most) if lines <= LIMIT => {
                findings.push(format!(
                    "{path} is down to {lines} lines: take it ({most}) off the ratchet"
                ));
            }
            Some(most) if lines < most => {
                findings.push(format!(
                    "{path} is down to {lines} lines: lower the ratchet from {most}"
                ));
            }
            _ => {}
        }
    }
    for (path, _) in ratchet {
        if !files.contains_key(*path) {
            findings.push(format!("{path} is gone: take it off the ratchet"));
        }
    }
    findings
}

#[test]
fn files_are_no_longer_than_the_limit() {
    none(
        "sizes",
        &oversized(&rust_files(&["src", "tests", "benches"]), RATCHET),
    );
}

#[test]
fn long_files_are_found_and_the_ratchet_only_goes_down() {
    let lines = |count: usize| "//\n".repeat(count);
    let tested = format!(
        "{}#[cfg(test)]\nmod tests {{\n{}}}\n",
        lines(LIMIT),
        lines(500)
    );
    for (source, ratchet, expected) in [
        (lines(LIMIT), &[][..], ""),
        (tested, &[], ""),
        (
            lines(LIMIT + 1),
            &[],
            "src/a.rs has 801 lines: split it at 800 or before",
        ),
        (lines(900), &[("src/a.rs", 900)], ""),
        (
            lines(901),
            &[("src/a.rs", 900)],
            "src/a.rs has grown from 900 to 901 lines",
        ),
        (
            lines(899),
            &[("src/a.rs", 900)],
            "src/a.rs is down to 899 lines: lower the ratchet from 900",
        ),
        (
            lines(10),
            &[("src/a.rs", 900)],
            "src/a.rs is down to 10 lines: take it (900) off the ratchet",
        ),
        (
            String::new(),
            &[("src/b.rs", 900)],
            "src/b.rs is gone: take it off the ratchet",
        ),
    ] {
        let files = [("src/a.rs".to_owned(), source)].into();
        assert_eq!(oversized(&files, ratchet).join("\n"), expected);
    }
    let files = [("src/a/tests.rs".to_owned(), lines(900))].into();
    assert!(oversized(&files, &[]).is_empty());
}
