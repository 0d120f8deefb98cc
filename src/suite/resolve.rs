//! A task under one assignment of variables, on one platform: texts filled in, paths found.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::TaskSpec;
use super::diagnose::{Desk, position, quoted, shown_path};
use super::matrix::Vars;
use super::node::{At, Mark};
use super::plan::{GateSpec, SetupSpec, WorkspaceSpec};
use super::types::{
    Command, FileText, GateFile, GitFile, Platform, PolicySpec, Text, WorkspaceFile,
};
use super::vars::substitute;
use crate::base::RelPath;
use crate::domain::Verification;

/// The longest time of a gate or a setup command that says nothing of it.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);
/// The phase of a gate that names none.
pub(crate) const DEFAULT_PHASE: &str = "accept";

/// The parts of a case that depend on its variables.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    pub vars: Vars,
    pub goal: String,
    pub constraints: Vec<String>,
    pub workspace: WorkspaceSpec,
    pub policy: PolicySpec,
    pub setup: Vec<SetupSpec>,
    pub gates: Vec<GateSpec>,
    pub protect: Vec<String>,
}

/// Fills a task in; what is wrong is written down on the desk, and a stand-in is used.
pub(crate) fn resolve(
    base: &Path,
    task: &TaskSpec,
    vars: &Vars,
    platform: Platform,
    desk: &mut Desk<'_>,
) -> Resolved {
    let at = At::root(&task.node);
    let mut resolver = Resolver {
        base,
        vars,
        platform,
        desk,
    };
    let file = &task.file;
    let empty = Vec::new();
    let lines = |list: &Option<Vec<String>>, key: &str, resolver: &mut Resolver<'_, '_>| {
        resolver.texts(list.as_ref().unwrap_or(&empty), at.key(key))
    };
    Resolved {
        vars: vars.clone(),
        goal: resolver.text(file.goal.as_deref().unwrap_or_default(), at.key("goal")),
        constraints: lines(&file.constraints, "constraints", &mut resolver),
        protect: lines(&file.protect, "protect", &mut resolver),
        workspace: resolver.workspace(file.workspace.as_ref(), at.key("workspace")),
        policy: resolver.policy(file.policy.as_ref(), at.key("policy")),
        setup: resolver.setup(task, at.key("setup")),
        gates: resolver.gates(task, at.key("gates")),
    }
}

struct Resolver<'a, 'd> {
    base: &'a Path,
    vars: &'a Vars,
    platform: Platform,
    desk: &'a mut Desk<'d>,
}

impl Resolver<'_, '_> {
    fn text(&mut self, raw: &str, at: At<'_>) -> String {
        match substitute(raw, self.vars) {
            Ok(text) => text,
            Err(missing) => {
                for one in missing {
                    let written = raw.get(one.range).unwrap_or_default();
                    let mark = self.inside(at.mark(), written);
                    let label = super::diagnose::did_you_mean(
                        &one.name,
                        self.vars.keys().map(String::as_str),
                    );
                    let problem = self
                        .desk
                        .at(mark, format!("{} has no value", quoted(written)), label)
                        .help(format!(
                            "give `{}` values under `matrix.vars`, or write `{{{{{{{{{}}}}}}}}}` for the text itself",
                            one.name, one.name
                        ));
                    self.desk.add(problem);
                }
                String::new()
            }
        }
    }

    /// The mark of a part of a scalar, where the part stands in the source as it is.
    fn inside(&self, mark: Mark, part: &str) -> Mark {
        let start = mark.start as usize;
        let found = self
            .desk
            .source(mark)
            .and_then(|source| source.text.get(start..))
            .and_then(|rest| rest.find(part));
        match found {
            Some(at) => {
                let start = u32::try_from(start + at).unwrap_or(u32::MAX);
                let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
                Mark {
                    start,
                    end: start.saturating_add(length),
                    ..mark
                }
            }
            None => mark,
        }
    }

    fn texts<T: AsRef<str>>(&mut self, list: &[T], at: At<'_>) -> Vec<String> {
        list.iter()
            .enumerate()
            .map(|(index, raw)| {
                let text = self.text(raw.as_ref(), at.item(index));
                if raw.as_ref().trim().is_empty() {
                    self.desk.say(
                        at.item(index).mark(),
                        "an empty text in a list",
                        "says nothing",
                    );
                }
                text
            })
            .collect()
    }

    /// A path beside the suite; it must exist.
    fn path(&mut self, raw: &str, at: At<'_>, what: Wanted) -> PathBuf {
        let text = self.text(raw, at);
        let path = self.base.join(&text);
        if raw.trim().is_empty() {
            self.desk
                .say(at.mark(), "an empty path", "name a file or a folder");
        } else if !text.is_empty() {
            exists(self.desk, at.mark(), &text, &path, what);
        }
        path
    }

    /// A path below the workspace's root.
    fn target(&mut self, raw: &str, at: At<'_>) -> RelPath {
        let text = self.text(raw, at);
        match RelPath::parse(&text) {
            Ok(path) if path.is_root() && (!text.is_empty() || raw.trim().is_empty()) => {
                self.desk.say(
                    at.mark(),
                    format!("{} is the workspace's root", quoted(raw)),
                    "name a file below it",
                );
                path
            }
            Ok(path) => path,
            Err(error) => {
                self.desk.say(at.mark(), error.to_string(), "");
                RelPath::root()
            }
        }
    }

    fn workspace(&mut self, file: Option<&WorkspaceFile>, at: At<'_>) -> WorkspaceSpec {
        let Some(file) = file else {
            return WorkspaceSpec::Empty;
        };
        if let Some(dir) = &file.dir {
            return WorkspaceSpec::Dir(self.path(dir, at.key("dir"), Wanted::Fixture));
        }
        if let Some(git) = &file.git {
            return self.git(git, at.key("git"));
        }
        let mut files = std::collections::BTreeMap::new();
        for (path, text) in file.files.iter().flatten() {
            let key = at.key("files");
            let target = self.target(path, key.key_name(path));
            let text = self.text(&text.0, key.key(path));
            let nowhere = target.is_root();
            if files.insert(target, text).is_some() && !nowhere {
                self.desk.say(
                    key.key_name(path).mark(),
                    format!("{} names a file that another key names too", quoted(path)),
                    "the same file",
                );
            }
        }
        if files.is_empty() {
            WorkspaceSpec::Empty
        } else {
            WorkspaceSpec::Files(files)
        }
    }

    fn git(&mut self, git: &GitFile, at: At<'_>) -> WorkspaceSpec {
        let location = match (&git.path, &git.url) {
            (Some(path), _) => {
                let path = self.path(path, at.key("path"), Wanted::Repository);
                path.to_string_lossy().into_owned()
            }
            (None, Some(url)) => {
                let url = self.text(url, at.key("url"));
                if !url.starts_with("file://") {
                    let problem = self
                        .desk
                        .at(
                            at.key("url").mark(),
                            "a repository that is not on this machine",
                            "only `file://` addresses are read",
                        )
                        .help("clone it in an earlier step, and name the clone with `path`");
                    self.desk.add(problem);
                }
                url
            }
            (None, None) => String::new(),
        };
        let rev = self.text(&git.rev, at.key("rev"));
        let full = rev.len() == 40 && rev.bytes().all(|b| b.is_ascii_hexdigit());
        if !full && !rev.is_empty() {
            let problem = self
                .desk
                .at(
                    at.key("rev").mark(),
                    format!("{} is not a full commit id", quoted(&rev)),
                    "40 hexadecimal digits are needed",
                )
                .help("a branch, a tag or a short id may come to mean another commit: `git rev-parse` prints the full one");
            self.desk.add(problem);
        }
        WorkspaceSpec::Git {
            location,
            rev: rev.to_ascii_lowercase(),
        }
    }

    fn policy(&mut self, file: Option<&PolicySpec>, at: At<'_>) -> PolicySpec {
        let mut policy = file.cloned().unwrap_or_default();
        for (key, list) in policy.lists_mut() {
            if let Some(list) = list {
                *list = self.texts(list, at.key(key));
            }
        }
        policy
    }

    fn argv(&mut self, command: &Command, at: At<'_>) -> Vec<String> {
        let Some((argv, form)) = command.on(self.platform) else {
            let problem = self
                .desk
                .at(
                    at.mark(),
                    format!("a command without a form for {}", self.platform.as_str()),
                    "no form fits",
                )
                .help("add `default`, or name the platforms on which the task makes sense under `platforms`");
            self.desk.add(problem);
            return Vec::new();
        };
        let at = form.map_or(at, |form| at.key(form));
        let argv: Vec<String> = argv
            .iter()
            .enumerate()
            .map(|(index, Text(raw))| {
                let text = self.text(raw, at.item(index));
                if index == 0 && raw.trim().is_empty() {
                    self.desk
                        .say(at.item(0).mark(), "a command without a program", "name one");
                }
                if text.contains('\0') {
                    let mark = at.item(index).mark();
                    self.desk.say(
                        mark,
                        "an argument holds a NUL character",
                        "no program can take it",
                    );
                }
                text
            })
            .collect();
        if argv.is_empty() {
            self.desk.say(
                at.mark(),
                "an empty command",
                "name a program and its arguments",
            );
        }
        argv
    }

    fn setup(&mut self, task: &TaskSpec, at: At<'_>) -> Vec<SetupSpec> {
        let commands = task.file.setup.as_deref().unwrap_or_default();
        commands
            .iter()
            .enumerate()
            .map(|(index, setup)| SetupSpec {
                name: setup.name.clone(),
                argv: self.argv(&setup.command, at.item(index).key("command")),
                network: setup.network.unwrap_or(false),
                timeout: setup.timeout.map_or(DEFAULT_TIMEOUT, |span| span.0),
            })
            .collect()
    }

    fn gates(&mut self, task: &TaskSpec, at: At<'_>) -> Vec<GateSpec> {
        let gates = task.file.gates.as_deref().unwrap_or_default();
        let mut resolved: Vec<GateSpec> = gates
            .iter()
            .enumerate()
            .map(|(index, gate)| self.gate(gate, at.item(index)))
            .collect();
        let mut phases: Vec<String> = Vec::new();
        for gate in &resolved {
            if !phases.contains(&gate.phase) {
                phases.push(gate.phase.clone());
            }
        }
        resolved.sort_by_key(|gate| phases.iter().position(|phase| *phase == gate.phase));
        resolved
    }

    fn gate(&mut self, gate: &GateFile, at: At<'_>) -> GateSpec {
        let mut files: Vec<(PathBuf, RelPath)> = Vec::new();
        for (target, source) in gate.files.iter().flatten() {
            let key = at.key("files");
            let target_path = self.target(target, key.key_name(target));
            let source = self.path(source, key.key(target), Wanted::Any);
            let again = files.iter().any(|(_, known)| *known == target_path);
            if again && !target_path.is_root() {
                self.desk.say(
                    key.key_name(target).mark(),
                    format!("{} names a file that another key names too", quoted(target)),
                    "the same file",
                );
            }
            files.push((source, target_path));
        }
        let line = self.desk.source(at.mark()).map_or(1, |source| {
            position(&source.text, at.mark().start as usize).0
        });
        GateSpec {
            name: gate.name.clone(),
            phase: gate
                .phase
                .clone()
                .unwrap_or_else(|| DEFAULT_PHASE.to_owned()),
            check: self.check(gate, at),
            files,
            during: gate.during.unwrap_or(false),
            line: u32::try_from(line).unwrap_or(u32::MAX),
        }
    }

    fn check(&mut self, gate: &GateFile, at: At<'_>) -> Verification {
        if let Some(command) = &gate.command {
            return Verification::Command {
                argv: self.argv(command, at.key("command")),
                expect_exit: gate.expect_exit.unwrap_or(0),
                timeout: gate.timeout.map_or(DEFAULT_TIMEOUT, |span| span.0),
                network: gate.network.unwrap_or(false),
            };
        }
        if let Some(wanted) = &gate.file_contains {
            let (file, needle) = self.file_text(wanted, at.key("file_contains"), true);
            return Verification::WorkspaceFileContains { file, needle };
        }
        if let Some(wanted) = &gate.file_equals {
            let (file, text) = self.file_text(wanted, at.key("file_equals"), false);
            return Verification::WorkspaceFileEquals { file, text };
        }
        if let Some(wanted) = &gate.document_contains {
            let (file, needle) = self.file_text(wanted, at.key("document_contains"), true);
            return Verification::DocumentContains { file, needle };
        }
        let list = at.key("compiles_rust");
        let files = gate.compiles_rust.as_deref().unwrap_or_default();
        if list.is_present() && files.is_empty() {
            self.desk.say(
                list.mark(),
                "`compiles_rust` names no file",
                "at least one is needed",
            );
        }
        Verification::EachCompilesRust {
            files: files
                .iter()
                .enumerate()
                .map(|(index, file)| self.target(file, list.item(index)))
                .collect(),
        }
    }

    fn file_text(&mut self, wanted: &FileText, at: At<'_>, non_empty: bool) -> (RelPath, String) {
        let file = self.target(&wanted.path, at.key("path"));
        let text = self.text(&wanted.text.0, at.key("text"));
        if non_empty && wanted.text.0.is_empty() {
            self.desk.say(
                at.key("text").mark(),
                "an empty text is in every file",
                "name what the file must hold",
            );
        }
        (file, text)
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// What a path must lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Fixture,
    Repository,
    File(&'static str),
    Any,
}

/// Writes down where a path leads to nothing, or to the wrong thing.
pub(crate) fn exists(desk: &mut Desk<'_>, mark: Mark, written: &str, path: &Path, what: Wanted) {
    let found = std::fs::metadata(path);
    let noun = match what {
        Wanted::Fixture => "fixture",
        Wanted::Repository => "repository",
        Wanted::File(noun) => noun,
        Wanted::Any => "file",
    };
    let wrong = match (&found, what) {
        (Err(_), _) => Some((
            format!("a missing {noun}: {}", quoted(written)),
            "nothing is there",
        )),
        (Ok(found), Wanted::Fixture | Wanted::Repository) if !found.is_dir() => Some((
            format!("the {noun} {} is not a folder", quoted(written)),
            "a folder is needed",
        )),
        (Ok(found), Wanted::File(_)) if !found.is_file() => Some((
            format!("the {noun} {} is not a file", quoted(written)),
            "a file is needed",
        )),
        _ => None,
    };
    if let Some((title, label)) = wrong {
        let problem = desk
            .at(mark, title, label)
            .help(format!("looked for {}", shown_path(path)));
        desk.add(problem);
    }
}
