//! The shipped suites and their scripts belong together: what a suite names is there, and what a script
//! edits stands in the fixture exactly once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{none, root};

fn yaml(path: &Path) -> Value {
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn suites() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("tasks")).expect("the folder of the suites");
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path().join("suite.yaml"))
        .filter(|path| path.is_file())
        .collect();
    found.sort();
    found
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// A task's own key, or the one of the suite's defaults.
fn of<'a>(suite: &'a Value, task: &'a Value, key: &str) -> &'a Value {
    task.get(key).unwrap_or(&suite["defaults"][key])
}

fn missing(suite: &Value, folder: &Path) -> Vec<String> {
    let mut named: Vec<&str> = list(&suite["prices"])
        .iter()
        .filter_map(Value::as_str)
        .collect();
    named.extend(
        suite["providers"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(_, provider)| provider["script"].as_str()),
    );
    for task in list(&suite["tasks"]) {
        let workspace = of(suite, task, "workspace");
        named.extend(workspace["dir"].as_str());
        named.extend(workspace["git"]["path"].as_str());
        for gate in list(&task["gates"]) {
            let files = gate["files"].as_object().into_iter().flatten();
            named.extend(files.filter_map(|(_, source)| source.as_str()));
        }
    }
    named
        .into_iter()
        .filter(|name| !folder.join(name).exists())
        .map(|name| format!("{} is not there", folder.join(name).display()))
        .collect()
}

/// Plays the edits of a script's turns on the texts that `read` gives.
fn misfits(turns: &[Value], read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut findings = Vec::new();
    let mut changed: BTreeMap<String, String> = BTreeMap::new();
    for call in turns.iter().flat_map(|turn| list(&turn["calls"])) {
        if let Some(raw) = call["raw_arguments"].as_str() {
            if serde_json::from_str::<Value>(raw).is_ok() {
                findings.push(format!("`{raw}` is whole, and is meant to be broken"));
            }
            continue;
        }
        let arguments = &call["arguments"];
        let path = text(arguments, "path");
        if text(call, "tool") != "edit_file" {
            continue;
        }
        let Some(before) = changed.get(path).cloned().or_else(|| read(path)) else {
            findings.push(format!("{path} is not there"));
            continue;
        };
        let search = text(arguments, "search");
        let count = before.matches(search).count();
        if search.is_empty() || count != 1 {
            findings.push(format!("{path} holds {search:?} {count} times"));
        }
        changed.insert(
            path.to_owned(),
            before.replacen(search, text(arguments, "replace"), 1),
        );
    }
    findings
}

/// The turns that a script plays for a task.
fn turns<'a>(script: &'a Value, task: &str) -> &'a [Value] {
    let own = list(&script["scripts"])
        .iter()
        .find(|own| text(own, "task") == task);
    own.map_or_else(|| list(&script["turns"]), |own| list(&own["turns"]))
}

/// The text of a file by its path.
type Reader = Box<dyn Fn(&str) -> Option<String>>;

/// Reads files of a workspace as a case would find them.
fn workspace(suite: &Value, task: &Value, folder: &Path) -> Reader {
    let workspace = of(suite, task, "workspace").clone();
    let folder = folder.to_owned();
    Box::new(move |path| {
        if let Some(dir) = workspace["dir"].as_str() {
            let text = std::fs::read_to_string(folder.join(dir).join(path)).ok()?;
            return Some(text.replace("\r\n", "\n"));
        }
        let repository =
            git2::Repository::open_bare(folder.join(text(&workspace["git"], "path"))).ok()?;
        let id = git2::Oid::from_str(text(&workspace["git"], "rev")).ok()?;
        let tree = repository.find_commit(id).ok()?.tree().ok()?;
        let blob = tree
            .get_path(Path::new(path))
            .ok()?
            .to_object(&repository)
            .ok()?;
        String::from_utf8(blob.as_blob()?.content().to_vec()).ok()
    })
}

#[test]
fn what_a_suite_names_is_there() {
    let suites = suites();
    assert!(suites.len() >= 4, "{suites:?}");
    for path in suites {
        let folder = path.parent().expect("a suite lies in a folder");
        none("suite", &missing(&yaml(&path), folder));
    }
}

#[test]
fn what_a_script_edits_stands_in_its_workspace_once() {
    let mut played = 0;
    for path in suites() {
        let (suite, folder) = (
            yaml(&path),
            path.parent().expect("a suite lies in a folder"),
        );
        for (name, provider) in suite["providers"].as_object().expect("providers") {
            let Some(script) = provider["script"].as_str() else {
                continue;
            };
            let script = yaml(&folder.join(script));
            assert_eq!(script["model"], provider["model"], "{name}");
            for task in list(&suite["tasks"]) {
                let turns = turns(&script, text(task, "id"));
                assert!(!turns.is_empty(), "{name} has no turn for {}", task["id"]);
                none(name, &misfits(turns, &*workspace(&suite, task, folder)));
                played += 1;
            }
        }
    }
    assert!(played >= 11, "{played} scripts were played");
}

#[test]
fn missing_files_are_found() {
    let suite = serde_json::json!({
        "prices": ["prices.toml"],
        "providers": { "a": { "script": "a.yaml" } },
        "defaults": { "workspace": { "dir": "w" } },
        "tasks": [{ "gates": [{ "files": { "t.rs": "held-out.rs" } }] }, { "workspace": { "git": { "path": "r.git" } } }],
    });
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert_eq!(missing(&suite, folder.path()).len(), 5);
    std::fs::create_dir(folder.path().join("w")).expect("a folder");
    assert_eq!(missing(&suite, folder.path()).len(), 4);
}

#[test]
fn misfits_are_found() {
    let edit = |search: &str| serde_json::json!({ "calls": [{ "tool": "edit_file", "arguments": { "path": "f", "search": search, "replace": "x" } }] });
    let read = |path: &str| (path == "f").then(|| "a b b".to_owned());
    for (search, expected) in [("a", 0), ("b", 1), ("c", 1), ("", 1)] {
        assert_eq!(misfits(&[edit(search)], &read).len(), expected, "{search}");
    }
    // The second edit meets what the first one left.
    assert_eq!(misfits(&[edit("a"), edit("a")], &read).len(), 1);
    assert_eq!(misfits(&[edit("a")], &|_| None), ["f is not there"]);
    let whole = serde_json::json!({ "calls": [{ "tool": "read_file", "raw_arguments": "{}" }] });
    assert_eq!(misfits(&[whole], &read).len(), 1);
}
