//! The repository's own rules, as tests. Each rule is a function from text to findings, so that it can be
//! shown to find something.

mod files;
mod layers;
mod scan;
mod sizes;
mod suites;
mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files by their path below the repository's root, with `/` between names.
type Files = BTreeMap<String, String>;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    let text = std::fs::read_to_string(root().join(path));
    text.unwrap_or_else(|error| panic!("{path}: {error}"))
        .replace("\r\n", "\n")
}

/// Every Rust file below these folders.
fn rust_files(folders: &[&str]) -> Files {
    let mut found = Files::new();
    for folder in folders {
        walk(&root().join(folder), &mut found);
    }
    found
}

fn walk(folder: &Path, found: &mut Files) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let names: Vec<_> = path
                .strip_prefix(root())
                .expect("below the root")
                .iter()
                .map(|name| name.to_string_lossy())
                .collect();
            let name = names.join("/");
            let text = read(&name);
            found.insert(name, text);
        }
    }
}

/// Fails with all findings, one a line.
fn none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}
