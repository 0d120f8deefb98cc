//! What a well-formed suite can still get wrong: names, references, ranges, contradictions.

use std::collections::{BTreeMap, BTreeSet};

use super::diagnose::{Desk, did_you_mean, listed, quoted};
use super::matrix::{Expansion, MAX_CELLS, Matrix, is_dimension};
use super::node::At;
use super::types::{GateFile, MatrixFile, PassRate, SuiteFile, TaskFile};
use super::vars::is_name;
use crate::base::Span;

/// Checks everything that needs neither the file system nor the variables' values. Says whether the matrix names
/// nothing that is not there, so that what it unfolds to means something.
pub(crate) fn suite(file: &SuiteFile, at: At<'_>, desk: &mut Desk<'_>) -> bool {
    name(&file.name, "a suite's name", at.key("name"), desk);
    if file
        .description
        .as_deref()
        .is_some_and(|text| text.trim_end().contains('\n'))
    {
        let mark = at.key("description").mark();
        desk.say(mark, "a description of several lines", "one line is shown");
    }
    let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, task) in file.tasks.iter().enumerate() {
        let here = at.key("tasks").item(index);
        if let Some(id) = task.id.as_deref() {
            name(id, "a task's id", here.key("id"), desk);
            if let Some(first) = ids.insert(id, index) {
                let earlier = at.key("tasks").item(first).key("id").mark();
                let problem = desk.at(
                    here.key("id").mark(),
                    format!("two tasks are named {}", quoted(id)),
                    "again here",
                );
                let problem = match desk.source(earlier) {
                    Some(source) => problem.also(source, earlier, "first here"),
                    None => problem,
                };
                desk.add(problem);
                ids.insert(id, first);
            }
        }
        self::task(task, here, desk);
    }
    let budget = at.key("budget");
    positive(
        file.budget.and_then(|budget| budget.wall),
        budget.key("wall"),
        desk,
    );
    thresholds(file, at.key("thresholds"), desk);
    let before = desk.count();
    matrix(file, at.key("matrix"), desk);
    desk.count() == before && !file.providers.is_empty()
}

fn name(text: &str, what: &str, at: At<'_>, desk: &mut Desk<'_>) {
    let fits = !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !fits {
        desk.say(
            at.mark(),
            format!("{} is not {what}", quoted(text)),
            "lower-case letters, digits and `-`",
        );
    } else if text.len() > 100 {
        desk.say(
            at.mark(),
            format!("{what} is too long"),
            "at most 100 characters",
        );
    }
}

/// A name that only reports read.
fn label(text: &str, what: &str, at: At<'_>, desk: &mut Desk<'_>) {
    let fits = !text.trim().is_empty()
        && text.chars().count() <= 100
        && !text.contains(|c: char| c.is_control() || c == '/');
    if !fits {
        desk.say(
            at.mark(),
            format!("{} is not {what}", quoted(text)),
            "one line of at most 100 characters without `/`",
        );
    }
}

fn positive(span: Option<Span>, at: At<'_>, desk: &mut Desk<'_>) {
    if span.is_some_and(|span| span.0.is_zero()) {
        desk.say(at.mark(), "a time of nothing", "must be more than 0s");
    }
}

fn at_least_one(count: Option<u64>, what: &str, at: At<'_>, desk: &mut Desk<'_>) {
    if count == Some(0) {
        desk.say(
            at.mark(),
            format!("{what} cannot be 0"),
            "at least 1 is needed",
        );
    }
}

fn task(task: &TaskFile, at: At<'_>, desk: &mut Desk<'_>) {
    match task.goal.as_deref() {
        None => desk.say(at.mark(), "a task without `goal`", "`goal` is required"),
        Some(goal) if goal.trim().is_empty() => {
            desk.say(
                at.key("goal").mark(),
                "an empty goal",
                "say what is to be done",
            );
        }
        Some(_) => {}
    }
    workspace(task, at.key("workspace"), desk);
    let mut names = BTreeSet::new();
    for (index, setup) in task.setup.iter().flatten().enumerate() {
        let here = at.key("setup").item(index);
        label(
            &setup.name,
            "a setup command's name",
            here.key("name"),
            desk,
        );
        positive(setup.timeout, here.key("timeout"), desk);
        if !names.insert(&setup.name) {
            let title = format!("two setup commands are named {}", quoted(&setup.name));
            desk.say(here.key("name").mark(), title, "again here");
        }
    }
    match &task.gates {
        None => {
            let problem = desk
                .at(at.mark(), "a task without `gates`", "`gates` is required")
                .help("`gates: []` says that nothing is to be checked");
            desk.add(problem);
        }
        Some(gates) => {
            let mut names = BTreeSet::new();
            for (index, one) in gates.iter().enumerate() {
                let here = at.key("gates").item(index);
                gate(one, here, desk);
                if !names.insert(&one.name) {
                    let title = format!("two gates of a task are named {}", quoted(&one.name));
                    desk.say(here.key("name").mark(), title, "again here");
                }
            }
        }
    }
    limits(task, at, desk);
    for (index, tag) in task.tags.iter().flatten().enumerate() {
        label(tag, "a tag", at.key("tags").item(index), desk);
    }
    if task.platforms.as_ref().is_some_and(Vec::is_empty) {
        desk.say(
            at.key("platforms").mark(),
            "no platform is left",
            "name at least one",
        );
    }
}

/// Ceilings of a task that must be more than nothing.
fn limits(task: &TaskFile, at: At<'_>, desk: &mut Desk<'_>) {
    let budget = at.key("budget");
    let file = task.budget.unwrap_or_default();
    positive(file.wall, budget.key("wall"), desk);
    at_least_one(
        file.tokens.map(|size| size.0),
        "`tokens`",
        budget.key("tokens"),
        desk,
    );
    positive(task.exec_timeout, at.key("exec_timeout"), desk);
    let retry = task.retry.unwrap_or_default();
    at_least_one(
        retry.attempts.map(u64::from),
        "`attempts`",
        at.key("retry").key("attempts"),
        desk,
    );
    let limits = at.key("sandbox").key("limits");
    let file = task
        .sandbox
        .as_ref()
        .and_then(|sandbox| sandbox.limits)
        .unwrap_or_default();
    positive(file.cpu, limits.key("cpu"), desk);
    positive(file.wall, limits.key("wall"), desk);
    for (key, bytes) in [
        ("memory", file.memory),
        ("file_size", file.file_size),
        ("output", file.output),
        ("output_kill", file.output_kill),
    ] {
        at_least_one(
            bytes.map(|bytes| bytes.0),
            &format!("`{key}`"),
            limits.key(key),
            desk,
        );
    }
}

fn workspace(task: &TaskFile, at: At<'_>, desk: &mut Desk<'_>) {
    let Some(file) = &task.workspace else {
        return;
    };
    let sources = [
        ("dir", file.dir.is_some()),
        ("git", file.git.is_some()),
        ("files", file.files.is_some()),
    ];
    let given: Vec<&str> = sources
        .iter()
        .filter(|one| one.1)
        .map(|one| one.0)
        .collect();
    match given.as_slice() {
        [_] => {}
        [] => {
            let problem = desk
                .at(
                    at.mark(),
                    "a workspace without a source",
                    "one of `dir`, `git` and `files` is needed",
                )
                .help("leave `workspace` out where the agent is to begin with nothing");
            desk.add(problem);
        }
        [_, second, ..] => desk.say(
            at.key_name(second).mark(),
            format!(
                "a workspace with several sources: {}",
                listed(given.iter().copied())
            ),
            "exactly one is needed",
        ),
    }
    if let Some(git) = &file.git {
        let at = at.key("git");
        match (&git.path, &git.url) {
            (Some(_), Some(_)) => desk.say(
                at.key_name("url").mark(),
                "a repository with both `path` and `url`",
                "exactly one is needed",
            ),
            (None, None) => {
                desk.say(
                    at.mark(),
                    "a repository without `path`",
                    "`path` or `url` is needed",
                );
            }
            _ => {}
        }
    }
}

fn gate(gate: &GateFile, at: At<'_>, desk: &mut Desk<'_>) {
    label(&gate.name, "a gate's name", at.key("name"), desk);
    if let Some(phase) = &gate.phase {
        label(phase, "a phase", at.key("phase"), desk);
    }
    positive(gate.timeout, at.key("timeout"), desk);
    let kinds = [
        ("command", gate.command.is_some()),
        ("file_contains", gate.file_contains.is_some()),
        ("file_equals", gate.file_equals.is_some()),
        ("document_contains", gate.document_contains.is_some()),
        ("compiles_rust", gate.compiles_rust.is_some()),
    ];
    let given: Vec<&str> = kinds.iter().filter(|one| one.1).map(|one| one.0).collect();
    match given.as_slice() {
        [_] => {}
        [] => desk.say(
            at.mark(),
            format!("the gate {} checks nothing", quoted(&gate.name)),
            format!("one of {} is needed", listed(kinds.iter().map(|one| one.0))),
        ),
        [_, second, ..] => desk.say(
            at.key_name(second).mark(),
            format!(
                "the gate {} checks several things: {}",
                quoted(&gate.name),
                listed(given.iter().copied())
            ),
            "exactly one is needed: make two gates of it",
        ),
    }
    if gate.command.is_none() && !given.is_empty() {
        for (key, given) in [
            ("expect_exit", gate.expect_exit.is_some()),
            ("timeout", gate.timeout.is_some()),
            ("network", gate.network.is_some()),
        ] {
            if given {
                desk.say(
                    at.key_name(key).mark(),
                    format!("`{key}` on a gate that runs no command"),
                    "only `command` takes it",
                );
            }
        }
    }
    if gate.during == Some(true) && gate.files.as_ref().is_some_and(|files| !files.is_empty()) {
        let problem = desk
            .at(
                at.key_name("during").mark(),
                format!(
                    "the gate {} would show its `files` to the agent",
                    quoted(&gate.name)
                ),
                "such a gate runs while the agent works",
            )
            .help("leave `during` out, or make a second gate of it without `files`");
        desk.add(problem);
    }
}

fn thresholds(file: &SuiteFile, at: At<'_>, desk: &mut Desk<'_>) {
    let Some(thresholds) = &file.thresholds else {
        return;
    };
    positive(thresholds.p95_wall, at.key("p95_wall"), desk);
    if let Some(PassRate::ByProvider(rates)) = &thresholds.pass_rate {
        for name in rates.keys() {
            let mark = at.key("pass_rate").key_name(name).mark();
            known_provider(name, file, mark, desk);
        }
    }
}

fn known_provider(
    name: &str,
    file: &SuiteFile,
    mark: super::node::Mark,
    desk: &mut Desk<'_>,
) -> bool {
    // Without any provider something worse is said already.
    let known = file.providers.contains_key(name) || file.providers.is_empty();
    if !known {
        let names = || file.providers.keys().map(String::as_str);
        let problem = desk
            .at(
                mark,
                format!("unknown provider {}", quoted(name)),
                did_you_mean(name, names()),
            )
            .help(format!(
                "declared are: {}",
                names().collect::<Vec<_>>().join(", ")
            ));
        desk.add(problem);
    }
    known
}

fn matrix(file: &SuiteFile, at: At<'_>, desk: &mut Desk<'_>) {
    let Some(matrix) = &file.matrix else {
        return;
    };
    let mut seen = BTreeSet::new();
    for (index, provider) in matrix.providers.iter().flatten().enumerate() {
        let mark = at.key("providers").item(index).mark();
        if known_provider(provider, file, mark, desk) && !seen.insert(provider) {
            desk.say(
                mark,
                format!("{} stands twice in the list", quoted(provider)),
                "again here",
            );
        }
    }
    for (name, values) in &matrix.vars {
        let here = at.key("vars");
        let mark = here.key_name(name).mark();
        if !is_name(name) || is_dimension(name) {
            desk.say(
                mark,
                format!("{} cannot be the name of a variable", quoted(name)),
                "letters, digits, `_` and `-`, beginning with a letter; not `task` or `provider`",
            );
        }
        if values.is_empty() {
            desk.say(
                mark,
                format!("the variable {} has no value", quoted(name)),
                "at least one is needed",
            );
        }
        let mut seen = BTreeSet::new();
        for (index, value) in values.iter().enumerate() {
            let mark = here.key(name).item(index).mark();
            var_value(&value.0, mark, desk);
            if !seen.insert(&value.0) {
                let title = format!(
                    "{} stands twice among the values of {}",
                    quoted(&value.0),
                    quoted(name)
                );
                desk.say(mark, title, "again here");
            }
        }
    }
    for (key, lines) in [("exclude", &matrix.exclude), ("include", &matrix.include)] {
        for (index, line) in lines.iter().enumerate() {
            let here = at.key(key).item(index);
            if line.is_empty() {
                desk.say(
                    here.mark(),
                    format!("an empty line of `{key}`"),
                    "name what is meant",
                );
            }
            for (dimension, value) in line {
                selector(file, matrix, (key, dimension, &value.0), here, desk);
            }
        }
    }
}

fn var_value(value: &str, mark: super::node::Mark, desk: &mut Desk<'_>) {
    if value.chars().count() > 200 || value.contains(char::is_control) {
        desk.say(
            mark,
            "a variable's value is part of the case's name",
            "one line of at most 200 characters",
        );
    }
}

/// One key of a line of `exclude` or `include`.
fn selector(
    file: &SuiteFile,
    matrix: &MatrixFile,
    (list, dimension, value): (&str, &str, &str),
    at: At<'_>,
    desk: &mut Desk<'_>,
) {
    let mark = at.key(dimension).mark();
    match dimension {
        "provider" => {
            known_provider(value, file, mark, desk);
        }
        "task" => {
            let ids = || file.tasks.iter().filter_map(|task| task.id.as_deref());
            if !ids().any(|id| id == value) {
                let title = format!("unknown task {}", quoted(value));
                desk.say(mark, title, did_you_mean(value, ids()));
            }
        }
        // `include` may bring a variable of its own.
        name if list == "include" && is_name(name) => var_value(value, mark, desk),
        name if matrix.vars.contains_key(name) => {}
        name => {
            let names = || {
                ["task", "provider"]
                    .into_iter()
                    .chain(matrix.vars.keys().map(String::as_str))
            };
            let problem = desk
                .at(
                    at.key_name(name).mark(),
                    format!("unknown dimension {} in `{list}`", quoted(name)),
                    did_you_mean(name, names()),
                )
                .help(format!(
                    "the matrix has: {}",
                    names().collect::<Vec<_>>().join(", ")
                ));
            desk.add(problem);
        }
    }
}

/// What the unfolded matrix shows.
pub(crate) fn expansion(matrix: &Matrix, expansion: &Expansion, at: At<'_>, desk: &mut Desk<'_>) {
    if expansion.too_many {
        desk.say(
            at.mark(),
            format!("the matrix unfolds to more than {MAX_CELLS} combinations"),
            "too many",
        );
        return;
    }
    for index in &expansion.idle_excludes {
        let mark = at.key("exclude").item(*index).mark();
        desk.say(
            mark,
            "a line of `exclude` leaves nothing out",
            "no combination of the matrix fits",
        );
    }
    for index in &expansion.idle_includes {
        let mark = at.key("include").item(*index).mark();
        desk.say(
            mark,
            "a line of `include` adds nothing",
            "the matrix has it already",
        );
    }
    if expansion.cells.is_empty() {
        let label = if matrix.providers.is_empty() {
            "`providers` is empty and nothing is included"
        } else {
            "everything is left out"
        };
        desk.say(at.mark(), "the matrix is empty", label);
    }
}
