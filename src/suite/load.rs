//! Files and folders into suites.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::diagnose::{Diagnostics, Problem, quoted, shown_path};
use super::{Suite, read};

/// Folders that hold what suites are made of, or what builds leave: no suite is looked for in them.
const CLOSED: [&str; 6] = [
    "fixtures",
    "held-out",
    "scripts",
    "target",
    "node_modules",
    ".git",
];
/// The keys that a suite begins with; two of them make a file one.
const TELLING: [&str; 3] = ["version", "name", "tasks"];
const MAX_DEPTH: usize = 16;

/// Reads suites.
///
/// A path of a file is a suite, whatever it is named. Of a folder these are suites:
/// - `suite.yaml`, `suite.yml` and every `*.suite.yaml` and `*.suite.yml`, in the folder itself or at any depth below
///   it, but not in folders named `fixtures`, `held-out`, `scripts`, `target` or `node_modules`, nor in hidden ones;
/// - every other `*.yaml` and `*.yml` in the folder itself that has at least two of the keys `version`, `name` and
///   `tasks` at the beginning of a line. A suite that is broken elsewhere, or has one of them misspelt, is therefore
///   found and complained about, while price tables, scripts and maps of providers are passed over.
///
/// Symbolic links to folders are not followed. Suites of a folder come in the order of their paths. A file that is
/// named twice is read once.
///
/// # Errors
/// Everything that is wrong with any of the suites: see [`Diagnostics`].
pub fn load(paths: &[PathBuf]) -> Result<Vec<Suite>, Diagnostics> {
    let mut problems = Diagnostics::default();
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                let mut below = Vec::new();
                if let Err(problem) = discover(path, 0, &mut below) {
                    problems.push(problem);
                }
                if below.is_empty() {
                    problems.push(none_below(path));
                }
                below.sort();
                files.extend(below);
            }
            Ok(_) => files.push(path.clone()),
            Err(error) => {
                let title = if error.kind() == std::io::ErrorKind::NotFound {
                    "there is no such file or folder".to_owned()
                } else {
                    format!("the path cannot be read: {error}")
                };
                problems.push(Problem::of_file(shown_path(path), title));
            }
        }
    }
    let mut seen = BTreeSet::new();
    files.retain(|file| seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())));
    let mut suites = Vec::new();
    let mut names: BTreeMap<String, PathBuf> = BTreeMap::new();
    for file in files {
        match read::suite(&file) {
            Ok(suite) => {
                if let Some(other) = names.get(&suite.name) {
                    problems.push(same_name(&suite, other));
                } else {
                    names.insert(suite.name.clone(), file);
                    suites.push(suite);
                }
            }
            Err(found) => problems.extend(found),
        }
    }
    problems.or(suites)
}

fn same_name(suite: &Suite, other: &Path) -> Problem {
    let title = format!(
        "two suites are named {}: {} and {}",
        quoted(&suite.name),
        shown_path(other),
        shown_path(&suite.file)
    );
    Problem::of_file(shown_path(&suite.file), title)
        .help("a suite's name is unique in a batch: rename one, or run them apart")
}

fn none_below(path: &Path) -> Problem {
    Problem::of_file(shown_path(path), "no suite is found below this folder")
        .help("looked for `suite.yaml` and `*.suite.yaml` at any depth, and for `*.yaml` in the folder itself with two of the keys `version`, `name` and `tasks`")
        .help(format!("passed over: folders named {}", CLOSED.join(", ")))
}

fn discover(folder: &Path, depth: usize, into: &mut Vec<PathBuf>) -> Result<(), Problem> {
    let failed = |error: std::io::Error| {
        Problem::of_file(
            shown_path(folder),
            format!("the folder cannot be read: {error}"),
        )
    };
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            let closed = CLOSED.contains(&name.as_str()) || name.starts_with('.');
            if !closed && depth < MAX_DEPTH {
                discover(&path, depth + 1, into)?;
            }
            continue;
        }
        let Some(stem) = name
            .strip_suffix(".yaml")
            .or_else(|| name.strip_suffix(".yml"))
            .filter(|stem| !stem.starts_with('.'))
        else {
            continue;
        };
        let named = stem == "suite" || stem.ends_with(".suite");
        if path.is_file() && (named || (depth == 0 && looks_like_a_suite(&path))) {
            into.push(path);
        }
    }
    Ok(())
}

/// Looks at the text alone: a suite that is broken is to be found all the same.
fn looks_like_a_suite(path: &Path) -> bool {
    let Ok(bytes) = read::bytes(path) else {
        // Whatever keeps it from being read is said when it is read.
        return true;
    };
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{feff}');
    let found = TELLING.iter().filter(|key| {
        text.lines().any(|line| {
            let line = line.trim_start_matches(['"', '\'']);
            line.strip_prefix(**key)
                .is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
        })
    });
    found.count() >= 2
}
