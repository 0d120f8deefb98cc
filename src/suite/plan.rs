//! Suites into cases, each with everything that running it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::diagnose::{Desk, Diagnostics, Problem, quoted, shown_path};
use super::matrix::Vars;
use super::resolve::{Resolved, resolve};
use super::schema::sorted;
use super::types::{Approve, Platform, PolicySpec, SandboxBackend};
use super::{Filter, Suite, SuiteBudget, TaskSpec};
use crate::base::{RelPath, sha256};
use crate::domain::{
    Budget, CaseId, CaseRecord, RetryPolicy, StallPolicy, SuiteRecord, Verification,
};
use crate::provider::{ProviderConfig, RetryConfig};

/// The most cases that a plan may have.
const MAX_CASES: usize = 200_000;

/// What the agent works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceSpec {
    /// A folder that is copied; absolute.
    Dir(PathBuf),
    /// A commit of a repository.
    Git {
        /// An absolute path or a `file://` address.
        location: String,
        /// The full commit id, in lower case.
        rev: String,
    },
    /// Texts by their paths.
    Files(BTreeMap<RelPath, String>),
    /// Nothing.
    Empty,
}

/// A command that prepares the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupSpec {
    /// Its name in reports.
    pub name: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Whether it may reach the network.
    pub network: bool,
    /// The longest time that it may take.
    pub timeout: Duration,
}

/// A check after the agent has stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateSpec {
    /// Its name in reports, unique in the task.
    pub name: String,
    /// The stage that it belongs to.
    pub phase: String,
    /// What is checked.
    pub check: Verification,
    /// What is laid in after the agent has stopped: an absolute source, a file or a folder, and its place below the workspace's root.
    pub files: Vec<(PathBuf, RelPath)>,
    /// Whether the agent's loop has the check as its own success criterion too.
    pub during: bool,
    /// Its line in the suite's file, from 1.
    pub line: u32,
}

/// How commands are confined; what is not given is left to the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// Which confinement is used.
    pub backend: SandboxBackend,
    /// Whether the agent's commands may reach the network.
    pub network: bool,
    /// Ceilings of each command.
    pub limits: SandboxLimitsSpec,
}

/// Ceilings of each command; `None` leaves a ceiling to the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SandboxLimitsSpec {
    /// Processor time.
    pub cpu: Option<Duration>,
    /// Wall time.
    pub wall: Option<Duration>,
    /// Memory of all processes together, in bytes.
    pub memory_bytes: Option<u64>,
    /// Processes at once.
    pub processes: Option<u32>,
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// The largest file that may be written, in bytes.
    pub file_bytes: Option<u64>,
    /// How much of each output stream is kept, in bytes.
    pub output_bytes: Option<u64>,
    /// How much output ends the command, in bytes.
    pub output_kill_bytes: Option<u64>,
}

/// One case with everything that running it needs: paths are absolute, the platform's forms are chosen, variables are
/// replaced. References to secrets stand as they were written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseSpec {
    /// The case's name.
    pub id: CaseId,
    /// The suite's name.
    pub suite: String,
    /// The suite's file as it was given.
    pub suite_file: PathBuf,
    /// The folder that holds the suite's file; absolute.
    pub base: PathBuf,
    /// The task's line in the suite's file, from 1.
    pub line: u32,
    /// The task's id.
    pub task: String,
    /// What the agent is asked to do.
    pub goal: String,
    /// Sentences that the agent is shown and nothing enforces.
    pub constraints: Vec<String>,
    /// What the agent works on.
    pub workspace: WorkspaceSpec,
    /// What the agent may do.
    pub policy: PolicySpec,
    /// What an act gets that the policy wants to be asked about.
    pub approve: Approve,
    /// Commands that prepare the workspace, in order.
    pub setup: Vec<SetupSpec>,
    /// The gates in the order in which they run: by the first appearance of their phase, then as they stand in the file.
    pub gates: Vec<GateSpec>,
    /// Globs of paths that the agent may not write and that are restored before the gates run.
    pub protect: Vec<String>,
    /// Ceilings of the run.
    pub budget: Budget,
    /// How failed model calls are tried again: the task's word, then the provider's.
    pub retry: RetryPolicy,
    /// When repetition ends the run.
    pub stall: StallPolicy,
    /// The longest time of one command of the agent's.
    pub exec_timeout: Duration,
    /// How commands are confined.
    pub sandbox: SandboxSpec,
    /// The provider's name in the suite.
    pub provider: String,
    /// The provider as it is declared; a script's path is absolute.
    pub provider_config: ProviderConfig,
    /// The assignment of the matrix's variables.
    pub vars: Vars,
    /// Counts from 1.
    pub trial: u32,
    /// The task's tags.
    pub tags: Vec<String>,
    /// Why the case is left out, where it is: the wrong platform.
    pub skip: Option<String>,
}

impl CaseSpec {
    /// All of it as JSON, keys in the order of their names.
    #[must_use]
    pub(crate) fn to_json(&self) -> Value {
        sorted(serde_json::to_value(self).expect("paths were checked to be text"))
    }

    /// The case as a trace keeps it.
    #[must_use]
    pub fn record(&self) -> CaseRecord {
        CaseRecord {
            spec: self.to_json(),
            ..self.outline()
        }
    }

    /// [`record`](Self::record) without the spec, which is null.
    pub(crate) fn outline(&self) -> CaseRecord {
        CaseRecord {
            id: self.id.clone(),
            suite: self.suite.clone(),
            task: self.task.clone(),
            provider: self.provider.clone(),
            model: self
                .provider_config
                .model
                .clone()
                .unwrap_or_else(|| self.provider_config.vendor.as_str().to_owned()),
            vars: self.vars.clone(),
            trial: self.trial,
            tags: self.tags.clone(),
            line: self.line,
            gates: self
                .gates
                .iter()
                .map(|gate| (gate.phase.clone(), gate.name.clone()))
                .collect(),
            digest: sha256(portable(self.to_json(), &self.base).to_string()),
            spec: Value::Null,
            skip: self.skip.clone(),
        }
    }
}

/// The spec without what differs between two checkouts of one suite: where it lies, and line numbers.
fn portable(mut spec: Value, base: &Path) -> Value {
    if let Some(spec) = spec.as_object_mut() {
        for key in ["base", "suite_file", "line", "skip"] {
            spec.remove(key);
        }
        for gate in spec
            .get_mut("gates")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            gate.remove("line");
            for pair in gate
                .get_mut("files")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                relative(pair.get_mut(0), base);
            }
        }
        relative(
            spec.get_mut("workspace").and_then(|all| all.get_mut("dir")),
            base,
        );
        relative(
            spec.get_mut("workspace")
                .and_then(|all| all.get_mut("git"))
                .and_then(|all| all.get_mut("location")),
            base,
        );
        relative(
            spec.get_mut("provider_config")
                .and_then(|all| all.get_mut("script")),
            base,
        );
    }
    spec
}

fn relative(path: Option<&mut Value>, base: &Path) {
    if let Some(Value::String(text)) = path
        && let Ok(rest) = Path::new(text.as_str()).strip_prefix(base)
    {
        *text = shown_path(rest);
    }
}

/// A suite as batch and reports need it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteInfo {
    /// The suite's name.
    pub name: String,
    /// One line for the reports.
    pub description: String,
    /// The suite's file as it was given.
    pub file: PathBuf,
    /// The thresholds as JSON, with the keys of the suite's file.
    pub thresholds: Value,
    /// What a reader of every report must know.
    pub warnings: Vec<String>,
    /// Ceilings of the whole suite.
    pub budget: SuiteBudget,
    /// Price tables; absolute, the first is the one that cost ceilings are kept under.
    pub prices: Vec<PathBuf>,
}

impl SuiteInfo {
    /// The suite as a trace keeps it.
    #[must_use]
    pub fn record(&self) -> SuiteRecord {
        SuiteRecord {
            name: self.name.clone(),
            description: self.description.clone(),
            file: shown_path(&self.file),
            thresholds: self.thresholds.clone(),
            warnings: self.warnings.clone(),
        }
    }
}

/// What is to be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The suites, also those of which no case was selected.
    pub suites: Vec<SuiteInfo>,
    /// The cases: by suite, task, provider, values and trial. None where a filter selects none.
    pub cases: Vec<CaseSpec>,
}

/// What a plan depends on beside its suites.
#[derive(Debug, Clone)]
pub struct PlanOptions {
    /// The platform that the cases will run on.
    pub platform: Platform,
    /// Which cases are meant; all where there is none.
    pub filter: Option<Filter>,
    /// How often each case is tried, instead of what the suites say.
    pub trials: Option<u32>,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            platform: Platform::host(),
            filter: None,
            trials: None,
        }
    }
}

/// Unfolds suites into cases. Nothing but the existence of named files is looked at.
///
/// # Errors
/// Where a file that the suites name is gone, two cases have one name, there are more than 200 000 cases, or no trial
/// is asked for.
pub fn plan(suites: &[Suite], options: &PlanOptions) -> Result<Plan, Diagnostics> {
    let mut problems = Diagnostics::default();
    if options.trials == Some(0) {
        problems.push(Problem::of_file(
            "",
            "0 trials make no case: ask for at least 1",
        ));
    }
    let mut cases: Vec<CaseSpec> = Vec::new();
    let mut ids: BTreeSet<CaseId> = BTreeSet::new();
    for suite in suites {
        let trials = options.trials.unwrap_or(suite.matrix.trials);
        let mut desk = Desk::new(&suite.sources);
        let mut last: Option<(usize, Vars, Arc<Resolved>)> = None;
        let mut known: BTreeMap<(usize, Vars), Arc<Resolved>> = BTreeMap::new();
        for cell in &suite.cells {
            let Some(task) = suite.tasks.get(cell.task) else {
                continue;
            };
            let resolved = match &last {
                Some((number, vars, resolved)) if (*number, vars) == (cell.task, &cell.vars) => {
                    Arc::clone(resolved)
                }
                _ => Arc::clone(
                    known
                        .entry((cell.task, cell.vars.clone()))
                        .or_insert_with(|| {
                            let platform = form(task, options.platform);
                            Arc::new(resolve(&suite.base, task, &cell.vars, platform, &mut desk))
                        }),
                ),
            };
            last = Some((cell.task, cell.vars.clone(), Arc::clone(&resolved)));
            let Some(config) = suite.providers.get(&cell.provider) else {
                continue;
            };
            for trial in 1..=trials {
                let case = case(
                    suite,
                    task,
                    &resolved,
                    (&cell.provider, config),
                    trial,
                    options,
                );
                if options
                    .filter
                    .as_ref()
                    .is_some_and(|filter| !filter.matches(&case))
                {
                    continue;
                }
                if !ids.insert(case.id.clone()) {
                    let title = format!("two cases are named {}", quoted(case.id.as_str()));
                    let label = "values with `,`, `=`, `/` or `#` make names that are alike";
                    desk.add(desk.at(task.mark, title, label));
                } else if cases.len() >= MAX_CASES {
                    problems.push(Problem::of_file(
                        shown_path(&suite.file),
                        format!(
                            "the plan has more than {MAX_CASES} cases: select some with a filter"
                        ),
                    ));
                    return problems.or(Plan {
                        suites: Vec::new(),
                        cases: Vec::new(),
                    });
                } else {
                    cases.push(case);
                }
            }
        }
        problems.extend(desk.finish());
    }
    problems.or(Plan {
        suites: suites.iter().map(info).collect(),
        cases,
    })
}

/// The platform whose forms are shown: where a case is skipped, one that its task has.
fn form(task: &TaskSpec, platform: Platform) -> Platform {
    match task.platforms.as_slice() {
        [first, ..] if !task.platforms.contains(&platform) => *first,
        _ => platform,
    }
}

fn info(suite: &Suite) -> SuiteInfo {
    SuiteInfo {
        name: suite.name.clone(),
        description: suite.description.clone(),
        file: suite.file.clone(),
        thresholds: serde_json::to_value(&suite.thresholds)
            .map(sorted)
            .expect("thresholds are finite numbers and texts"),
        warnings: suite.warnings.clone(),
        budget: suite.budget,
        prices: suite.prices.clone(),
    }
}

fn case(
    suite: &Suite,
    task: &TaskSpec,
    resolved: &Resolved,
    provider: (&String, &ProviderConfig),
    trial: u32,
    options: &PlanOptions,
) -> CaseSpec {
    let (name, config) = provider;
    let skip = (!task.platforms.contains(&options.platform)).then(|| {
        let names: Vec<&str> = task.platforms.iter().map(|one| one.as_str()).collect();
        format!(
            "runs on {}, this is {}",
            names.join(", "),
            options.platform.as_str()
        )
    });
    CaseSpec {
        id: CaseId::new(&suite.name, &task.id, name, &resolved.vars, trial),
        suite: suite.name.clone(),
        suite_file: suite.file.clone(),
        base: suite.base.clone(),
        line: task.line,
        task: task.id.clone(),
        goal: resolved.goal.clone(),
        constraints: resolved.constraints.clone(),
        workspace: resolved.workspace.clone(),
        policy: resolved.policy.clone(),
        approve: task.approve,
        setup: resolved.setup.clone(),
        gates: resolved.gates.clone(),
        protect: resolved.protect.clone(),
        budget: task.budget,
        retry: retry(task.file.retry, config.retry),
        stall: task.stall,
        exec_timeout: task.exec_timeout,
        sandbox: task.sandbox.clone(),
        provider: name.clone(),
        provider_config: config.clone(),
        vars: resolved.vars.clone(),
        trial,
        tags: task.tags.clone(),
        skip,
    }
}

/// Key by key: the task's word, then the provider's, then the default.
fn retry(task: Option<RetryConfig>, provider: Option<RetryConfig>) -> RetryPolicy {
    let (task, provider) = (task.unwrap_or_default(), provider.unwrap_or_default());
    let default = RetryPolicy::default();
    let span = |of: fn(&RetryConfig) -> Option<crate::base::Span>| {
        of(&task).or_else(|| of(&provider)).map(|span| span.0)
    };
    RetryPolicy {
        attempts: task
            .attempts
            .or(provider.attempts)
            .unwrap_or(default.attempts),
        base: span(|retry| retry.base).unwrap_or(default.base),
        max: span(|retry| retry.max).unwrap_or(default.max),
    }
}
