//! One file into a [`Suite`]: parse, check keys and types, lay defaults beneath, read, check the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::decode::decode;
use super::diagnose::{Desk, Diagnostics, Problem, Source, position, quoted, shown_path};
use super::matrix::Matrix;
use super::node::{At, Entry, Kind, Mark, Node, Number, Scalar};
use super::parse::{MAX_BYTES, parse};
use super::plan::{SandboxLimitsSpec, SandboxSpec};
use super::resolve::{Wanted, exists, resolve};
use super::schema::Table;
use super::types::{Platform, SandboxFile, SuiteFile, TaskFile, VERSION};
use super::{Suite, SuiteBudget, TaskSpec, check, keys, providers};
use crate::domain::{Budget, StallPolicy};

/// The time of one command of the agent's where the task says nothing of it.
const EXEC_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(900);

/// Reads a file up to a byte more than is allowed.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| {
            Problem::of_file(
                shown_path(path),
                format!("the file cannot be read: {error}"),
            )
        })?;
    Ok(bytes)
}

/// Reads and checks one suite.
pub(crate) fn suite(path: &Path) -> Result<Suite, Diagnostics> {
    let mut problems = Diagnostics::default();
    let (source, mut root) = match bytes(path).and_then(|bytes| parse(path, &bytes, 0)) {
        Ok(read) => read,
        Err(problem) => {
            problems.push(problem);
            return Err(problems);
        }
    };
    if let Some(problem) = wrong_top(&source, &root) {
        problems.push(problem);
        return Err(problems);
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let base = absolute.parent().map(Path::to_path_buf).unwrap_or_default();
    if absolute.to_str().is_none() || path.to_str().is_none() {
        problems.push(Problem::of_file(
            source.name.clone(),
            "the suite's path is not UTF-8",
        ));
        return Err(problems);
    }
    let mut sources = vec![Arc::clone(&source)];
    keys::check(&root, Table::suite(), &source, &mut problems);
    prune(&mut root, Table::suite());
    let provider_folder = external_providers(&mut root, &base, &mut sources, &mut problems);
    lay_defaults(&mut root);
    let file: SuiteFile = match decode(&root) {
        Ok(file) => file,
        Err(error) => {
            // What the walk found says it better.
            if problems.is_empty() {
                let desk = Desk::new(&sources);
                problems.push(desk.at(error.mark.unwrap_or(root.mark), error.message, ""));
            }
            problems.sort();
            return Err(problems);
        }
    };
    let mut desk = Desk::new(&sources);
    let at = At::root(&root);
    let meant = check::suite(&file, at, &mut desk);
    let mut suite = assemble(file, &root, path, base);
    providers::check(
        &mut suite.providers,
        &provider_folder,
        at.key("providers"),
        &mut desk,
    );
    prices(&mut suite, at.key("prices"), &mut desk);
    unfold(&mut suite, &root, meant, &mut desk);
    problems.extend(desk.finish());
    suite.sources = sources;
    problems.or(suite)
}

/// A file that is no suite of this version is not checked further.
fn wrong_top(source: &Arc<Source>, root: &Node) -> Option<Problem> {
    match &root.kind {
        Kind::Scalar(Scalar::Null, _) => {
            return Some(Problem::of_file(source.name.clone(), "the file is empty"));
        }
        Kind::Map(_) => {}
        _ => {
            let found = root.noun();
            return Some(Problem::at(
                source,
                root.mark,
                format!("a suite is a mapping, found {found}"),
                "expected `version: 1` and further keys",
            ));
        }
    }
    let version = root.get("version")?;
    match version.kind {
        Kind::Scalar(Scalar::Number(Number::Whole(VERSION)), _) => None,
        Kind::Scalar(Scalar::Number(Number::Whole(found)), _) if found > VERSION => Some(
            Problem::at(
                source,
                version.mark,
                format!("the suite has version {found} of the format"),
                format!(
                    "taskgate {} reads version {VERSION}",
                    env!("CARGO_PKG_VERSION")
                ),
            )
            .help(format!("use a taskgate that reads version {found}")),
        ),
        _ => Some(Problem::at(
            source,
            version.mark,
            "the suite's version is not one that there is",
            format!("expected the number {VERSION}"),
        )),
    }
}

/// Takes out what the walk has complained about already, so that the rest can be checked in the same go.
fn prune(node: &mut Node, table: Table<'static>) {
    let table = table
        .forms()
        .find(|form| match node.kind {
            Kind::Map(_) => form.is("object"),
            Kind::Seq(_) => form.is("array"),
            Kind::Scalar(..) => false,
        })
        .unwrap_or(table);
    match &mut node.kind {
        Kind::Map(entries) => {
            let mut seen = BTreeSet::new();
            entries.retain(|entry| {
                let known = table.properties().next().is_none()
                    || table.property(&entry.key).is_some()
                    || table.additional().is_some();
                known
                    && !matches!(entry.value.kind, Kind::Scalar(Scalar::Null, _))
                    && seen.insert(entry.key.clone())
            });
            for entry in entries {
                if let Some(inner) = table.property(&entry.key).or_else(|| table.additional()) {
                    prune(&mut entry.value, inner);
                }
            }
        }
        Kind::Seq(items) => {
            if let Some(each) = table.items() {
                items.iter_mut().for_each(|item| prune(item, each));
            }
        }
        Kind::Scalar(..) => {}
    }
}

/// Puts the map of another file in the place of its path; says which folder its paths begin at.
fn external_providers(
    root: &mut Node,
    base: &Path,
    sources: &mut Vec<Arc<Source>>,
    problems: &mut Diagnostics,
) -> PathBuf {
    let Kind::Map(entries) = &mut root.kind else {
        return base.to_path_buf();
    };
    let Some(entry) = entries.iter_mut().find(|entry| entry.key == "providers") else {
        return base.to_path_buf();
    };
    let Kind::Scalar(_, written) = &entry.value.kind else {
        return base.to_path_buf();
    };
    let path = base.join(written);
    let shown = Path::new(&sources[0].name)
        .parent()
        .map_or_else(|| PathBuf::from(written), |folder| folder.join(written));
    let mut desk = Desk::new(sources);
    exists(
        &mut desk,
        entry.value.mark,
        written,
        &path,
        Wanted::File("providers file"),
    );
    let missing = desk.finish();
    if missing.is_empty() {
        match bytes(&path).and_then(|bytes| parse(&shown, &bytes, 1)) {
            Ok((source, mut node)) => {
                if matches!(node.kind, Kind::Map(_)) {
                    keys::check(&node, Table::providers(), &source, problems);
                    prune(&mut node, Table::providers());
                } else {
                    problems.push(Problem::at(
                        &source,
                        node.mark,
                        format!("a file of providers is a mapping, found {}", node.noun()),
                        "expected the providers by name",
                    ));
                    node.kind = Kind::Map(Vec::new());
                }
                sources.push(source);
                entry.value = node;
            }
            Err(problem) => {
                problems.push(problem);
                entry.value.kind = Kind::Map(Vec::new());
            }
        }
    } else {
        problems.extend(missing);
        entry.value.kind = Kind::Map(Vec::new());
    }
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Lays `defaults` beneath every task: a key of the task's own wins, but `budget` is taken key by key.
fn lay_defaults(root: &mut Node) {
    let Kind::Map(entries) = &mut root.kind else {
        return;
    };
    let Some(at) = entries.iter().position(|entry| entry.key == "defaults") else {
        return;
    };
    let defaults = entries.remove(at).value;
    let tasks = entries.iter_mut().find(|entry| entry.key == "tasks");
    if let Some(Entry {
        value: Node {
            kind: Kind::Seq(tasks),
            ..
        },
        ..
    }) = tasks
    {
        for task in tasks {
            lay_beneath(task, &defaults, true);
        }
    }
}

fn lay_beneath(node: &mut Node, defaults: &Node, outer: bool) {
    let Kind::Map(entries) = &mut node.kind else {
        return;
    };
    for default in defaults.entries() {
        match entries.iter_mut().find(|entry| entry.key == default.key) {
            None => entries.push(default.clone()),
            Some(own) if outer && own.key == "budget" => {
                lay_beneath(&mut own.value, &default.value, false);
            }
            Some(_) => {}
        }
    }
}

fn assemble(file: SuiteFile, root: &Node, path: &Path, base: PathBuf) -> Suite {
    let matrix = file.matrix.unwrap_or_default();
    let texts = |line: BTreeMap<String, super::types::Text>| {
        line.into_iter()
            .map(|(name, text)| (name, text.0))
            .collect()
    };
    let nodes = root.get("tasks").map(Node::items).unwrap_or_default();
    Suite {
        name: file.name,
        description: file.description.unwrap_or_default().trim().to_owned(),
        file: path.to_path_buf(),
        base,
        matrix: Matrix {
            providers: matrix
                .providers
                .unwrap_or_else(|| file.providers.keys().cloned().collect()),
            trials: matrix.trials.unwrap_or(1),
            vars: matrix
                .vars
                .into_iter()
                .map(|(name, values)| (name, values.into_iter().map(|text| text.0).collect()))
                .collect(),
            exclude: matrix.exclude.into_iter().map(texts).collect(),
            include: matrix.include.into_iter().map(texts).collect(),
        },
        providers: file.providers,
        prices: file.prices.iter().map(PathBuf::from).collect(),
        tasks: file
            .tasks
            .into_iter()
            .zip(nodes)
            .map(|(file, node)| task(file, node))
            .collect(),
        budget: SuiteBudget {
            cost_usd: file
                .budget
                .and_then(|budget| budget.cost_usd)
                .map(|cost| cost.0),
            wall: file.budget.and_then(|budget| budget.wall),
        },
        thresholds: file.thresholds.unwrap_or_default(),
        warnings: Vec::new(),
        cells: Vec::new(),
        sources: Vec::new(),
    }
}

fn task(file: TaskFile, node: &Node) -> TaskSpec {
    let ceilings = file.budget.unwrap_or_default();
    let stall = file.stall.unwrap_or_default();
    TaskSpec {
        id: file.id.clone().unwrap_or_default(),
        tags: file.tags.clone().unwrap_or_default(),
        line: 0,
        mark: node.mark,
        platforms: match &file.platforms {
            Some(platforms) => platforms.clone(),
            None => Platform::ALL.to_vec(),
        },
        approve: file.approve.unwrap_or_default(),
        budget: Budget {
            steps: ceilings.steps.unwrap_or(Budget::default().steps),
            tokens: ceilings.tokens.map(|size| size.0),
            wall: ceilings.wall.map(|span| span.0),
            cost: ceilings.cost_usd.map(|cost| cost.0),
        },
        stall: StallPolicy {
            window: stall.window.unwrap_or(StallPolicy::default().window),
            max_replans: stall
                .max_replans
                .unwrap_or(StallPolicy::default().max_replans),
        },
        exec_timeout: file.exec_timeout.map_or(EXEC_TIMEOUT, |span| span.0),
        sandbox: sandbox(file.sandbox.as_ref()),
        node: node.clone(),
        file,
    }
}

fn sandbox(file: Option<&SandboxFile>) -> SandboxSpec {
    let Some(file) = file else {
        return SandboxSpec::default();
    };
    let limits = file.limits.unwrap_or_default();
    SandboxSpec {
        backend: file.backend.unwrap_or_default(),
        network: file.network.unwrap_or(false),
        limits: SandboxLimitsSpec {
            cpu: limits.cpu.map(|span| span.0),
            wall: limits.wall.map(|span| span.0),
            memory_bytes: limits.memory.map(|bytes| bytes.0),
            processes: limits.processes,
            open_files: limits.open_files,
            file_bytes: limits.file_size.map(|bytes| bytes.0),
            output_bytes: limits.output.map(|bytes| bytes.0),
            output_kill_bytes: limits.output_kill.map(|bytes| bytes.0),
        },
    }
}

fn prices(suite: &mut Suite, at: At<'_>, desk: &mut Desk<'_>) {
    let mut names = BTreeSet::new();
    for (index, path) in suite.prices.iter_mut().enumerate() {
        let mark = at.item(index).mark();
        let written = path.to_string_lossy().into_owned();
        *path = suite.base.join(&*path);
        exists(desk, mark, &written, path, Wanted::File("price table"));
        if let Some(name) = path.file_stem()
            && !names.insert(name.to_owned())
        {
            let name = name.to_string_lossy();
            desk.say(
                mark,
                format!("two price tables are named {}", quoted(&name)),
                "a table is named by its file",
            );
        }
    }
}

/// Unfolds the matrix, fills every task in under every assignment on each of its platforms, and collects warnings.
fn unfold(suite: &mut Suite, root: &Node, meant: bool, desk: &mut Desk<'_>) {
    for task in &mut suite.tasks {
        task.line = line(desk, task.mark);
    }
    let at = At::root(root);
    let here = if at.key("matrix").is_present() {
        at.key("matrix")
    } else {
        at.key("tasks")
    };
    let ids: Vec<String> = suite.tasks.iter().map(|task| task.id.clone()).collect();
    let expansion = suite.matrix.expand(&ids);
    if meant {
        check::expansion(&suite.matrix, &expansion, here, desk);
    }
    suite.cells = expansion.cells;
    let mut seen = BTreeSet::new();
    for cell in &suite.cells {
        if !seen.insert((cell.task, &cell.vars)) {
            continue;
        }
        let Some(task) = suite.tasks.get(cell.task) else {
            continue;
        };
        for platform in &task.platforms {
            drop(resolve(&suite.base, task, &cell.vars, *platform, desk));
        }
    }
    suite.warnings = warnings(suite);
}

fn line(desk: &Desk<'_>, mark: Mark) -> u32 {
    desk.source(mark).map_or(1, |source| {
        u32::try_from(position(&source.text, mark.start as usize).0).unwrap_or(u32::MAX)
    })
}

fn warnings(suite: &Suite) -> Vec<String> {
    let mut warnings = Vec::new();
    for name in suite.matrix.vars.keys() {
        let used = suite
            .tasks
            .iter()
            .any(|task| super::vars::uses(&task.node, name));
        if !used {
            warnings.push(format!(
                "no task uses the variable `{name}`: its values make equal cases"
            ));
        }
    }
    for task in &suite.tasks {
        if task.file.gates.as_ref().is_some_and(Vec::is_empty) {
            warnings.push(format!(
                "the task `{}` has no gates: its cases pass when the agent finishes",
                task.id
            ));
        }
    }
    let ceiling = suite.budget.cost_usd.is_some()
        || suite.tasks.iter().any(|task| task.budget.cost.is_some());
    if ceiling && suite.prices.is_empty() {
        warnings.push(
            "a cost ceiling is set and the suite names no price table: without one nothing enforces it"
                .to_owned(),
        );
    }
    warnings
}
