//! One case, from its workspace to its verdict.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;

use super::gates::{GatesEnd, run_gates};
use super::layout::Layout;
use super::policy::{policy_of, protected_patterns};
use super::prepare::ReadyProvider;
use super::protect::Aftermath;
use super::timing::CaseWatch;
use super::{Keep, Surroundings};
use crate::base::{Digest, RelPath, millis};
use crate::domain::{
    ApproveAll, Approver, BudgetKind, CaseOutcome, CaseRef, CaseTimes, DenyAll, EventKind,
    PriceTable, ProviderError, RunEvent, RunId, RunOutcome, RunResult, TamperKind, TaskContract,
    Verdict, Verification,
};
use crate::run::{Harness, Observer, RunError, StopSignal};
use crate::sandbox::{Environment, SandboxLimits, end_leftovers};
use crate::store::{Commit, CurrentAttempt, StoreError};
use crate::suite::{Approve, CaseSpec, SandboxLimitsSpec, SetupSpec};
use crate::verify::{self, CommandRunner};
use crate::workspace::{
    Change, Snapshot, Workspace, copy_tree, create_folder, patch, remove_tree, snapshot,
};

/// How much of a patch the trace keeps, in bytes.
const PATCH_LIMIT: usize = 256 * 1024;

/// What became of an attempt at a case.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CaseEnd {
    /// It has a verdict, and perhaps a provider that failed.
    Finished {
        outcome: CaseOutcome,
        failure: Option<ProviderError>,
    },
    /// It was stopped from outside and can go on.
    Suspended,
}

/// A verdict with its reason.
struct Judged {
    outcome: CaseOutcome,
    reason: String,
    run: Option<RunResult>,
    /// What happened last, to be stored together with the verdict.
    last: Vec<EventKind>,
}

impl Judged {
    fn errored(reason: impl Into<String>) -> Self {
        Self {
            outcome: CaseOutcome::Errored,
            reason: reason.into(),
            run: None,
            last: Vec::new(),
        }
    }
}

/// A fixture, laid out once for all cases that begin with it.
#[derive(Debug)]
pub(super) struct Pristine {
    pub(super) dir: PathBuf,
    pub(super) snapshot: Arc<Snapshot>,
    /// The address of the whole, and how many files it has.
    pub(super) digest: Digest,
    pub(super) files: u64,
}

/// Everything that one attempt at a case works with.
pub(super) struct CaseRun<'a> {
    pub(super) around: &'a Surroundings,
    pub(super) spec: &'a CaseSpec,
    pub(super) case: CaseRef,
    pub(super) provider: &'a ReadyProvider,
    pub(super) prices: Option<&'a Arc<PriceTable>>,
    pub(super) fixture: Result<Arc<Pristine>, String>,
    pub(super) watch: Arc<CaseWatch>,
    pub(super) keep: Keep,
}

/// What the agent works in, and what it was before.
struct Ground {
    layout: Layout,
    environment: Arc<Environment>,
    pristine: PathBuf,
    before: Arc<Snapshot>,
    /// What happened last, to be stored together with the beginning of the run.
    last: Vec<EventKind>,
}

impl CaseRun<'_> {
    /// Runs the attempt, or goes on with it where `current` says that it had begun.
    pub(super) async fn run(
        &self,
        current: Option<&CurrentAttempt>,
    ) -> Result<CaseEnd, StoreError> {
        let start = self.around.clock.monotonic();
        // What an earlier process did for this attempt counts as well.
        let mut times = current.map_or_else(CaseTimes::default, |current| current.times);
        let Some(mut judged) = self.judge(current, &mut times).await? else {
            return Ok(CaseEnd::Suspended);
        };
        self.watch.fill(&mut times);
        times.wall += millis(self.since(start));
        let (outcome, overrun) = (
            judged.outcome,
            judged.run.as_ref().and_then(|run| run.overrun.clone()),
        );
        let reason = self.around.redactor.clean(&judged.reason).into_owned();
        judged.last.push(EventKind::CaseFinished {
            outcome,
            reason,
            overrun,
            times,
        });
        self.commit(judged.last).await?;
        self.clean_up(outcome);
        let failure = judged.run.and_then(|run| match run.outcome {
            RunOutcome::Escalated { failure } => Some(failure),
            _ => None,
        });
        Ok(CaseEnd::Finished { outcome, failure })
    }

    /// The verdict; `None` where everything is to stop.
    async fn judge(
        &self,
        current: Option<&CurrentAttempt>,
        times: &mut CaseTimes,
    ) -> Result<Option<Judged>, StoreError> {
        let start = self.around.clock.monotonic();
        let layout = Layout::of(&self.around.work_dir, &self.case);
        if current.is_some() {
            // What a killed runner had started may still write to the workspace.
            blocking(|| [&layout.home, &layout.gate_home].map(|home| end_leftovers(home)));
        }
        // A workspace that is gone cannot be gone on with: the attempt begins anew, and what it cost stays on record.
        let run = current
            .and_then(|current| current.run)
            .filter(|_| layout.workspace.is_dir());
        let mut ground = match self
            .prepare_ground(layout, current.filter(|_| run.is_some()))
            .await?
        {
            Ok(Some(ground)) => ground,
            Ok(None) => return Ok(None),
            Err(judged) => return Ok(Some(judged)),
        };
        let last = std::mem::take(&mut ground.last);
        times.setup += millis(self.since(start));
        let (stored, result) = join(self.commit(last), self.run_agent(&ground, run)).await;
        stored?;
        let result = match result? {
            Ok(result) if result.outcome == RunOutcome::Suspended => return Ok(None),
            Ok(result) => result,
            Err(judged) => return Ok(Some(judged)),
        };
        let unjudged = match &result.outcome {
            RunOutcome::Refused => Some(CaseOutcome::Refused),
            RunOutcome::Cancelled => Some(CaseOutcome::Interrupted),
            RunOutcome::Escalated { .. } | RunOutcome::Errored => Some(CaseOutcome::Errored),
            // Not one answer came in time: that says nothing about what the model can do.
            RunOutcome::TimeBudgetExceeded if result.steps == 0 => Some(CaseOutcome::Errored),
            _ => None,
        };
        if let Some(outcome) = unjudged {
            let reason = result.error.clone().unwrap_or_else(|| describe(&result));
            return Ok(Some(Judged {
                outcome,
                reason,
                run: Some(result),
                last: Vec::new(),
            }));
        }
        let start = self.around.clock.monotonic();
        let judged = self.run_gates(&ground, result).await?;
        times.gates += millis(self.since(start));
        Ok(judged)
    }

    /// Lays out the workspace and runs the setup commands, unless that was done before.
    async fn prepare_ground(
        &self,
        layout: Layout,
        current: Option<&CurrentAttempt>,
    ) -> Result<Result<Option<Ground>, Judged>, StoreError> {
        let fixture = match &self.fixture {
            Ok(fixture) => Arc::clone(fixture),
            Err(error) => {
                self.commit(vec![EventKind::CaseStarted {
                    workspace: path_text(&layout.workspace),
                }])
                .await?;
                return Ok(Err(Judged::errored(format!(
                    "the workspace cannot be laid out: {error}"
                ))));
            }
        };
        let host = self.around.host_env.iter().cloned();
        let environment = Arc::new(Environment::from_host(host, &layout.home, &layout.tmp));
        if let Some(current) = current {
            if current
                .fixture
                .as_ref()
                .is_some_and(|digest| digest != fixture.digest.as_str())
            {
                let reason =
                    "the task's workspace was changed after the case had begun: run the suite anew";
                return Ok(Err(Judged::errored(reason)));
            }
            let set_up = layout.pristine.is_dir();
            let pristine = if set_up {
                layout.pristine.clone()
            } else {
                fixture.dir.clone()
            };
            let before = if set_up {
                snapshot(&pristine).map(Arc::new)
            } else {
                Ok(Arc::clone(&fixture.snapshot))
            };
            return Ok(match before {
                Ok(before) => Ok(Some(Ground {
                    layout,
                    environment,
                    pristine,
                    before,
                    last: Vec::new(),
                })),
                Err(error) => Err(Judged::errored(format!(
                    "the workspace cannot be read: {error}"
                ))),
            });
        }
        let started = self.commit(vec![EventKind::CaseStarted {
            workspace: path_text(&layout.workspace),
        }]);
        let (stored, laid_out) = join(started, async {
            blocking(|| lay_out(&layout, &fixture.dir))
        })
        .await;
        stored?;
        if let Err(error) = laid_out {
            return Ok(Err(Judged::errored(format!(
                "the workspace cannot be laid out: {error}"
            ))));
        }
        let materialised = vec![EventKind::Materialised {
            digest: fixture.digest.clone(),
            files: fixture.files,
        }];
        if self.spec.setup.is_empty() {
            let (pristine, before) = (fixture.dir.clone(), Arc::clone(&fixture.snapshot));
            return Ok(Ok(Some(Ground {
                layout,
                environment,
                pristine,
                before,
                last: materialised,
            })));
        }
        self.commit(materialised).await?;
        for setup in &self.spec.setup {
            let Some(done) = self
                .around
                .stop
                .unless_now(self.set_up(setup, &layout, &environment))
                .await
            else {
                return Ok(Ok(None));
            };
            let failed = match &done {
                EventKind::SetupFinished {
                    ok: false,
                    name,
                    reason,
                    ..
                } => Some(format!("setup {name}: {reason}")),
                _ => None,
            };
            self.commit(vec![done]).await?;
            if let Some(reason) = failed {
                return Ok(Err(Judged::errored(reason)));
            }
        }
        // What setup made is the task's, not the agent's.
        let before = blocking(|| {
            copy_tree(&layout.home, &layout.home_before)?;
            copy_tree(&layout.workspace, &layout.pristine)?;
            snapshot(&layout.pristine)
        });
        Ok(match before {
            Ok(before) => Ok(Some(Ground {
                pristine: layout.pristine.clone(),
                layout,
                environment,
                before: Arc::new(before),
                last: Vec::new(),
            })),
            Err(error) => Err(Judged::errored(format!(
                "the workspace cannot be read: {error}"
            ))),
        })
    }

    /// A setup command is a check that has to hold before anything is worth checking.
    async fn set_up(
        &self,
        setup: &SetupSpec,
        layout: &Layout,
        environment: &Environment,
    ) -> EventKind {
        let SetupSpec {
            name,
            argv,
            network,
            timeout,
        } = setup.clone();
        let check = Verification::Command {
            argv,
            expect_exit: 0,
            timeout,
            network,
        };
        let start = self.around.clock.monotonic();
        let verdict = match Workspace::open(&layout.workspace) {
            Err(error) => Verdict::of(false, error.to_string()),
            Ok(workspace) => verify::check(&check, &workspace, &self.runner(environment))
                .await
                .unwrap_or_else(|error| Verdict::of(false, error.to_string())),
        };
        let Verdict {
            passed: ok,
            reason,
            output,
            ..
        } = verdict;
        EventKind::SetupFinished {
            name,
            ok,
            reason,
            duration_ms: millis(self.since(start)),
            output,
        }
    }

    fn runner<'r>(&'r self, environment: &'r Environment) -> CommandRunner<'r> {
        CommandRunner {
            sandbox: &*self.around.sandbox,
            environment,
            limits: limits_of(&self.spec.sandbox.limits),
        }
    }

    async fn run_agent(
        &self,
        ground: &Ground,
        run: Option<(RunId, bool)>,
    ) -> Result<Result<RunResult, Judged>, StoreError> {
        let provider = self
            .provider
            .built
            .for_case(&self.spec.task, self.spec.trial);
        let policy = policy_of(self.spec, &provider.endpoints());
        let approver: Arc<dyn Approver> = match self.spec.approve {
            Approve::Allow => Arc::new(ApproveAll),
            Approve::Deny => Arc::new(DenyAll),
        };
        let harness = Harness::builder()
            .provider(provider)
            .store(self.around.store.clone())
            .policy(policy)
            .approver(approver)
            .observer(Arc::clone(&self.watch) as Arc<dyn Observer>)
            .sandbox(Arc::clone(&self.around.sandbox))
            .environment(Arc::clone(&ground.environment))
            .limits(limits_of(&self.spec.sandbox.limits))
            .network(self.spec.sandbox.network)
            .shared_prices(self.prices.map(Arc::clone))
            .throttle(self.provider.throttle.clone())
            .clock(Arc::clone(&self.around.clock))
            .redactor(self.around.redactor.clone())
            .build();
        let harness = match harness {
            Ok(harness) => harness,
            Err(error) => return Ok(Err(Judged::errored(error.to_string()))),
        };
        let request = match run {
            Some((run, _)) => harness.resume(run),
            None => harness.start(self.contract(&ground.layout.workspace)),
        };
        match request
            .case(self.case.clone())
            .stop(self.around.stop.clone())
            .await
        {
            Ok(result) => Ok(Ok(result)),
            Err(RunError::Store(error)) => Err(error),
            Err(error @ RunError::Resume { .. }) => Ok(Err(Judged::errored(error.to_string()))),
        }
    }

    fn contract(&self, root: &Path) -> TaskContract {
        let spec = self.spec;
        let during: Vec<Verification> = spec
            .gates
            .iter()
            .filter(|gate| gate.during)
            .map(|gate| gate.check.clone())
            .collect();
        let verify = if during.is_empty() {
            Verification::None
        } else {
            Verification::All { of: during }
        };
        TaskContract {
            goal: spec.goal.clone(),
            root: root.to_owned(),
            constraints: spec.constraints.clone(),
            verify,
            budget: spec.budget,
            retry: spec.retry,
            stall: spec.stall,
            exec_timeout: spec.exec_timeout,
        }
    }

    /// Puts back what is protected, records what the agent changed, and runs the gates.
    async fn run_gates(
        &self,
        ground: &Ground,
        result: RunResult,
    ) -> Result<Option<Judged>, StoreError> {
        let root = &ground.layout.workspace;
        let patterns = protected_patterns(self.spec);
        let broken = |what: &str, error: &dyn std::fmt::Display| {
            Some(Judged::errored(format!("{what}: {error}")))
        };
        let workspace = match Workspace::open(root) {
            Ok(workspace) => workspace,
            Err(error) => return Ok(broken("the workspace cannot be opened", &error)),
        };
        let aftermath = match blocking(|| Aftermath::of(&ground.before, root, &patterns)) {
            Ok(aftermath) => aftermath,
            Err(error) => return Ok(broken("the workspace cannot be read", &error)),
        };
        // Where the gates had begun before a restart, what differs now is theirs, and the agent's part is on record.
        let judging = &ground.layout.judging;
        let first = !judging.is_dir();
        if first {
            // On record before it is undone, so that a batch that is killed between the two has seen it.
            self.commit(aftermath.tampered()).await?;
        }
        if let Err(error) = blocking(|| aftermath.restore(&ground.pristine, root)) {
            return Ok(broken("what is protected cannot be restored", &error));
        }
        if first {
            let kept = without_ignored(&workspace, aftermath.kept);
            let changed = blocking(|| patch(&ground.pristine, root, &kept, PATCH_LIMIT));
            self.commit(vec![EventKind::Patched {
                files: changed.files,
                added: changed.added,
                removed: changed.removed,
                patch: changed.text,
            }])
            .await?;
            if let Err(error) = create_folder(judging) {
                return Ok(broken("the gates cannot begin", &error));
            }
        }
        let environment = match self.gate_environment(&ground.layout) {
            Ok(environment) => environment,
            Err(error) => return Ok(broken("the gates cannot begin", &error)),
        };
        let (end, last) = run_gates(self, &workspace, &self.runner(&environment)).await?;
        let (outcome, reason) = match (end, &result.overrun, &result.outcome) {
            (GatesEnd::Stopped, ..) => return Ok(None),
            (GatesEnd::Errored(reason), ..) => (CaseOutcome::Errored, reason),
            (GatesEnd::Failed(reason), Some(overrun), _) => (
                CaseOutcome::Exhausted,
                format!("{}; {reason}", exhausted(overrun.kind, &overrun.limit)),
            ),
            (GatesEnd::Failed(reason), None, RunOutcome::Stalled) => (
                CaseOutcome::Failed,
                format!("the agent repeated itself and was stopped; {reason}"),
            ),
            (GatesEnd::Failed(reason), ..) => (CaseOutcome::Failed, reason),
            // Without a gate there is nothing but the agent's own ending to go by.
            (GatesEnd::Passed, Some(overrun), ending)
                if self.spec.gates.is_empty() && !has_ended_well(ending) =>
            {
                (
                    CaseOutcome::Exhausted,
                    exhausted(overrun.kind, &overrun.limit),
                )
            }
            (GatesEnd::Passed, _, RunOutcome::Stalled) if self.spec.gates.is_empty() => (
                CaseOutcome::Failed,
                "the agent repeated itself and was stopped".to_owned(),
            ),
            (GatesEnd::Passed, ..) if self.spec.gates.is_empty() => (
                CaseOutcome::Passed,
                "nothing was checked: the task has no gates".to_owned(),
            ),
            (GatesEnd::Passed, ..) => (CaseOutcome::Passed, String::new()),
        };
        Ok(Some(Judged {
            outcome,
            reason,
            run: Some(result),
            last,
        }))
    }

    /// A home that the agent never had: as setup left it, else empty.
    fn gate_environment(&self, layout: &Layout) -> Result<Environment, String> {
        blocking(|| {
            remove_tree(&layout.gate_home)
                .and_then(|()| remove_tree(&layout.gate_tmp))
                .and_then(|()| create_folder(&layout.gate_tmp))
                .map_err(|error| error.to_string())?;
            if layout.home_before.is_dir() {
                copy_tree(&layout.home_before, &layout.gate_home).map_err(|error| error.to_string())
            } else {
                create_folder(&layout.gate_home).map_err(|error| error.to_string())
            }
        })?;
        let host = self.around.host_env.iter().cloned();
        Ok(Environment::from_host(
            host,
            &layout.gate_home,
            &layout.gate_tmp,
        ))
    }

    /// Shows events and stores them in one transaction.
    pub(super) async fn commit(&self, kinds: Vec<EventKind>) -> Result<(), StoreError> {
        let events: Vec<RunEvent> = kinds.into_iter().map(|kind| self.show(kind)).collect();
        self.around
            .store
            .commit(Commit {
                events,
                messages: Vec::new(),
                checkpoint: None,
            })
            .await
    }

    /// Shows an event to who watches.
    pub(super) fn show(&self, kind: EventKind) -> RunEvent {
        let event = RunEvent {
            at: self.around.clock.now(),
            case: Some(self.case.clone()),
            run_id: None,
            step: 0,
            kind,
        };
        self.watch.event(&event);
        event
    }

    pub(super) fn stop(&self) -> &StopSignal {
        &self.around.stop
    }

    fn since(&self, start: Duration) -> Duration {
        self.around.clock.monotonic().saturating_sub(start)
    }

    fn clean_up(&self, outcome: CaseOutcome) {
        let keep = match self.keep {
            Keep::All => true,
            Keep::Failed => outcome != CaseOutcome::Passed,
            Keep::None => false,
        };
        let layout = Layout::of(&self.around.work_dir, &self.case);
        let doomed = if keep {
            vec![
                layout.home,
                layout.tmp,
                layout.home_before,
                layout.gate_home,
                layout.gate_tmp,
                layout.pristine,
                layout.judging,
            ]
        } else {
            vec![layout.base]
        };
        for path in doomed {
            // A folder that cannot be removed now costs space and nothing else; the next batch names it.
            drop(remove_tree(&path));
        }
    }
}

/// Does file work that may take long without holding up what else this thread would do, where the runtime can.
pub(super) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Makes the folders of an attempt afresh, with a copy of the fixture.
fn lay_out(layout: &Layout, fixture: &Path) -> Result<(), String> {
    remove_tree(&layout.base)
        .and_then(|()| create_folder(&layout.home))
        .and_then(|()| create_folder(&layout.tmp))
        .map_err(|error| error.to_string())?;
    copy_tree(fixture, &layout.workspace).map_err(|error| error.to_string())
}

/// What the repository ignores is built, not written: it is no part of a patch.
fn without_ignored(workspace: &Workspace, changes: Vec<Change>) -> Vec<Change> {
    let Ok(found) = workspace.find("*", usize::MAX, &|_| true) else {
        return changes;
    };
    let there: BTreeSet<RelPath> = found.paths.into_iter().collect();
    changes
        .into_iter()
        .filter(|change| change.how == TamperKind::Removed || there.contains(&change.path))
        .collect()
}

/// The suite's caps over the sandbox's own.
fn limits_of(spec: &SandboxLimitsSpec) -> SandboxLimits {
    let own = SandboxLimits::default();
    SandboxLimits {
        cpu: spec.cpu.or(own.cpu),
        wall: spec.wall.unwrap_or(own.wall),
        memory_bytes: spec.memory_bytes.or(own.memory_bytes),
        processes: spec.processes.or(own.processes),
        open_files: spec.open_files.or(own.open_files),
        file_bytes: spec.file_bytes.or(own.file_bytes),
        output_bytes: spec
            .output_bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
            .unwrap_or(own.output_bytes),
        output_kill_bytes: spec.output_kill_bytes.unwrap_or(own.output_kill_bytes),
    }
}

fn has_ended_well(outcome: &RunOutcome) -> bool {
    matches!(outcome, RunOutcome::Success | RunOutcome::Finished)
}

fn exhausted(kind: BudgetKind, limit: &str) -> String {
    format!("the {} budget of {limit} ran out", kind.as_str())
}

fn describe(result: &RunResult) -> String {
    match &result.outcome {
        RunOutcome::TimeBudgetExceeded => {
            "the provider completed no answer within the wall budget".to_owned()
        }
        RunOutcome::Refused => {
            let said = result
                .reply
                .as_deref()
                .map(|reply| crate::base::one_line(reply, 200));
            said.map_or_else(
                || "the provider refused".to_owned(),
                |said| format!("the model refused: {said}"),
            )
        }
        outcome => outcome.as_str().replace('_', " "),
    }
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}
