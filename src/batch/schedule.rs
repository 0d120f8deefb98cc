//! Which case runs when: bounded by jobs, closed by ceilings, stopped from outside, and gone on with later.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;

use super::case::{CaseEnd, CaseRun, Pristine, blocking};
use super::error::BatchError;
use super::ledger::{Ledger, SuiteCeiling};
use super::prepare::Prepared;
use super::timing::CaseWatch;
use super::{BatchOptions, Surroundings};
use crate::base::sha256;
use crate::domain::{
    BatchRecord, CaseOutcome, CaseRef, CaseTimes, EventKind, ProviderErrorKind, RunEvent,
};
use crate::store::{BatchStatus, CaseProgress, Commit, CurrentAttempt, StoreError, SuiteSpent};
use crate::suite::{CaseSpec, Plan, WorkspaceSpec};
use crate::workspace::{
    Source, WorkspaceError, create_folder, materialise, remove_folder_if_empty, remove_tree,
    snapshot,
};

/// How a batch came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchEnd {
    /// Every case has a verdict, or a reason why it has none.
    Finished,
    /// It was stopped from outside; a resume goes on with it.
    Interrupted,
    /// A case ended by a bug of this program; it is left unfinished, and a resume tries it again.
    Broken,
}

/// Something to run: an attempt at a case, perhaps one that had begun.
struct Item {
    /// Its description, which goes when its case has ended.
    spec: Box<CaseSpec>,
    attempt: u32,
    current: Option<CurrentAttempt>,
    /// How often it may be started again where it cannot be judged.
    retries: u32,
}

/// Runs a planned batch from its beginning.
///
/// # Errors
/// Where the trace cannot be written or the folder for workspaces cannot be made.
pub async fn run(
    mut plan: Plan,
    record: BatchRecord,
    prepared: Prepared,
    options: &BatchOptions,
    around: Surroundings,
) -> Result<BatchEnd, BatchError> {
    let mut cases = std::mem::take(&mut plan.cases);
    let left_out: Vec<bool> = record
        .cases
        .iter()
        .map(|case| case.skip.is_some())
        .collect();
    around
        .store
        .begin_batch_with(record, |case| {
            cases.get(case).map(CaseSpec::to_json).unwrap_or_default()
        })
        .await?;
    let mut left_out = left_out.into_iter();
    cases.retain(|_| left_out.next() == Some(false));
    let queue = cases
        .into_iter()
        .map(|spec| Item {
            spec: Box::new(spec),
            attempt: 1,
            current: None,
            retries: options.retries,
        })
        .collect();
    let before = Before::default();
    go(&plan, queue, prepared, options, before, around).await
}

/// Whether a resume runs the case: it has no verdict yet, or could not be judged and may be started again.
#[must_use]
pub fn is_left(case: &CaseProgress, options: &BatchOptions) -> bool {
    case.skip.is_none()
        && match case.outcome {
            None | Some(CaseOutcome::Interrupted) => true,
            Some(CaseOutcome::Errored) => case.attempts <= options.retries,
            Some(_) => false,
        }
}

/// What a batch had used before this process took it up.
#[derive(Default)]
struct Before {
    active: Duration,
    suites: Vec<SuiteSpent>,
}

/// Goes on with a batch: finished cases are not run again, and one that was in the middle goes on at its last
/// committed step. Its ceilings hold over all of it.
///
/// # Errors
/// As [`run`].
pub async fn resume(
    mut plan: Plan,
    progress: Vec<CaseProgress>,
    prepared: Prepared,
    options: &BatchOptions,
    around: Surroundings,
) -> Result<BatchEnd, BatchError> {
    around.store.resume_batch(around.clock.now()).await?;
    let before = Before {
        active: Duration::from_millis(around.store.active_ms(around.clock.now())?),
        suites: around.store.spent()?,
    };
    let mut progress: BTreeMap<_, _> = progress
        .into_iter()
        .map(|case| (case.id.clone(), case))
        .collect();
    let mut queue = VecDeque::new();
    let cases = std::mem::take(&mut plan.cases);
    for spec in cases.into_iter().filter(|spec| spec.skip.is_none()) {
        let known = progress.remove(&spec.id);
        if known.as_ref().is_some_and(|known| !is_left(known, options)) {
            continue;
        }
        let (attempts, errored, current) = known.map_or((0, false, None), |known| {
            let errored = known.outcome == Some(CaseOutcome::Errored);
            (known.attempts, errored, known.current)
        });
        let attempt = current
            .as_ref()
            .map_or(attempts + 1, |current| current.attempt);
        let used = if errored { attempts } else { 0 };
        queue.push_back(Item {
            spec: Box::new(spec),
            attempt,
            current,
            retries: options.retries.saturating_sub(used),
        });
    }
    go(&plan, queue, prepared, options, before, around).await
}

async fn go(
    plan: &Plan,
    queue: VecDeque<Item>,
    prepared: Prepared,
    options: &BatchOptions,
    before: Before,
    around: Surroundings,
) -> Result<BatchEnd, BatchError> {
    create_folder(&around.work_dir).map_err(|error| BatchError::WorkDir {
        path: around.work_dir.clone(),
        error,
    })?;
    let ceilings = plan
        .suites
        .iter()
        .map(|suite| {
            let budget = SuiteCeiling {
                cost: suite.budget.cost_usd,
                wall: suite.budget.wall.map(|wall| wall.0),
            };
            (suite.name.clone(), budget)
        })
        .collect();
    let start = around.clock.monotonic();
    let ledger = Ledger::new(options.max_cost, ceilings);
    for spent in before.suites {
        if let Some(after) = spent.began_after_ms {
            ledger.begin(
                &spent.suite,
                Duration::from_millis(after).min(before.active),
            );
        }
        let prices = prepared.prices();
        for (model, usage) in &spent.calls {
            let cost = prices.and_then(|table| table.cost(model, usage));
            ledger.charge(&spent.suite, cost.unwrap_or_default());
        }
    }
    let shared = Arc::new(Shared {
        ledger: Arc::new(ledger),
        prepared,
        fixtures: Fixtures {
            root: around.work_dir.join("fixtures"),
            laid_out: Mutex::default(),
        },
        options: options.clone(),
        start,
        before: before.active,
        around,
    });
    let end = Scheduler {
        shared: Arc::clone(&shared),
        queue,
        down: BTreeMap::new(),
        closed: None,
    }
    .work()
    .await?;
    let status = match end {
        BatchEnd::Finished => BatchStatus::Finished,
        BatchEnd::Interrupted | BatchEnd::Broken => BatchStatus::Interrupted,
    };
    shared
        .around
        .store
        .finish_batch(status, shared.around.clock.now())
        .await?;
    if end == BatchEnd::Finished {
        drop(remove_tree(&shared.fixtures.root));
        remove_folder_if_empty(&shared.around.work_dir);
    }
    Ok(end)
}

struct Shared {
    around: Surroundings,
    prepared: Prepared,
    ledger: Arc<Ledger>,
    fixtures: Fixtures,
    options: BatchOptions,
    start: Duration,
    /// How long the batch had been running before this process took it up.
    before: Duration,
}

impl Shared {
    /// How long the batch has been running.
    fn elapsed(&self) -> Duration {
        let here = self.around.clock.monotonic().saturating_sub(self.start);
        self.before.saturating_add(here)
    }
}

struct Scheduler {
    shared: Arc<Shared>,
    queue: VecDeque<Item>,
    /// Providers that will not answer any more, with the reason.
    down: BTreeMap<(String, String), String>,
    /// Why no new case starts, where none does.
    closed: Option<String>,
}

struct Ended {
    item: Item,
    end: Result<CaseEnd, StoreError>,
}

impl Scheduler {
    async fn work(mut self) -> Result<BatchEnd, BatchError> {
        let stop = self.shared.around.stop.clone();
        let mut running: JoinSet<Ended> = JoinSet::new();
        let mut suspended = false;
        let mut broken = false;
        loop {
            while running.len() < self.shared.options.jobs.max(1) && !stop.is_stopping() {
                let Some(item) = self.queue.pop_front() else {
                    break;
                };
                // A case in the middle is no new case: it may come to its end.
                let refusal = if item.current.is_some() {
                    None
                } else {
                    self.why_not(&item.spec)
                };
                match refusal {
                    Some((outcome, reason)) => {
                        self.record_unstarted(&item, outcome, reason).await?
                    }
                    None => {
                        let elapsed = self.shared.elapsed();
                        self.shared.ledger.begin(&item.spec.suite, elapsed);
                        drop(running.spawn(run_item(Arc::clone(&self.shared), item)));
                    }
                }
            }
            let Some(joined) = running.join_next().await else {
                break;
            };
            match joined {
                Ok(Ended { item, end: Ok(end) }) => suspended |= self.took(item, &end),
                // What was running is left at its last committed step; the trace says why the batch ended.
                Ok(Ended {
                    end: Err(error), ..
                }) => {
                    stop.stop_now();
                    while running.join_next().await.is_some() {}
                    return Err(error.into());
                }
                // A case that panicked is left unfinished in the trace: it shows as such, and a resume tries it.
                Err(_) => broken = true,
            }
        }
        let interrupted = suspended || !self.queue.is_empty();
        Ok(if broken {
            BatchEnd::Broken
        } else if interrupted {
            BatchEnd::Interrupted
        } else {
            BatchEnd::Finished
        })
    }

    /// Takes note of an attempt that ended. Whether it was suspended.
    fn took(&mut self, item: Item, end: &CaseEnd) -> bool {
        let CaseEnd::Finished { outcome, failure } = end else {
            return true;
        };
        let refused = failure
            .as_ref()
            .filter(|failure| failure.kind == ProviderErrorKind::Auth);
        if let Some(failure) = refused {
            let key = (item.spec.suite.clone(), item.spec.provider.clone());
            self.down.insert(
                key,
                format!("not started: the provider refuses the key ({failure})"),
            );
        }
        // A key that was refused is refused again.
        let may_retry = *outcome == CaseOutcome::Errored && item.retries > 0 && refused.is_none();
        if may_retry {
            self.queue.push_back(Item {
                attempt: item.attempt + 1,
                current: None,
                retries: item.retries - 1,
                ..item
            });
        } else if self.shared.options.fail_fast
            && !matches!(outcome, CaseOutcome::Passed | CaseOutcome::Skipped)
        {
            self.closed.get_or_insert_with(|| {
                format!(
                    "not started: --fail-fast, after {} {}",
                    item.spec.id,
                    outcome.as_str()
                )
            });
        }
        false
    }

    fn why_not(&self, spec: &CaseSpec) -> Option<(CaseOutcome, String)> {
        if let Some(reason) = &self.closed {
            return Some((CaseOutcome::Interrupted, reason.clone()));
        }
        if let Some(reason) = self.down.get(&(spec.suite.clone(), spec.provider.clone())) {
            return Some((CaseOutcome::Errored, reason.clone()));
        }
        let elapsed = self.shared.elapsed();
        let reason = self.shared.ledger.closed(&spec.suite, elapsed)?;
        Some((CaseOutcome::Interrupted, reason))
    }

    async fn record_unstarted(
        &self,
        item: &Item,
        outcome: CaseOutcome,
        reason: String,
    ) -> Result<(), StoreError> {
        let around = &self.shared.around;
        let event = RunEvent {
            at: around.clock.now(),
            case: Some(CaseRef {
                id: item.spec.id.clone(),
                attempt: item.attempt,
            }),
            run_id: None,
            step: 0,
            kind: EventKind::CaseFinished {
                outcome,
                reason,
                overrun: None,
                times: CaseTimes::default(),
            },
        };
        around.observer.event(&event);
        around
            .store
            .commit(Commit {
                events: vec![event],
                messages: Vec::new(),
                checkpoint: None,
            })
            .await
    }
}

async fn run_item(shared: Arc<Shared>, item: Item) -> Ended {
    let (around, spec) = (&shared.around, &item.spec);
    let Some(provider) = shared.prepared.provider(spec) else {
        // Every case that is not skipped has its provider: `prepare` saw to that.
        return Ended {
            end: Ok(CaseEnd::Suspended),
            item,
        };
    };
    let prices = shared.prepared.prices();
    let watch = CaseWatch::new(
        Arc::clone(&around.observer),
        Arc::clone(&shared.ledger),
        spec.suite.clone(),
        prices.map(Arc::clone),
    );
    let case = CaseRun {
        around,
        spec,
        case: CaseRef {
            id: spec.id.clone(),
            attempt: item.attempt,
        },
        provider,
        prices,
        fixture: blocking(|| shared.fixtures.get(spec)).map_err(|error| error.to_string()),
        watch: Arc::new(watch),
        keep: shared.options.keep_workspaces,
    };
    let end = Box::pin(case.run(item.current.as_ref())).await;
    Ended { end, item }
}

/// Fixtures, each laid out once however many cases begin with it.
struct Fixtures {
    root: PathBuf,
    laid_out: Mutex<BTreeMap<String, Arc<Pristine>>>,
}

impl Fixtures {
    fn get(&self, spec: &CaseSpec) -> Result<Arc<Pristine>, WorkspaceError> {
        let key = serde_json::to_string(&spec.workspace).unwrap_or_default();
        // Held while laying out: the second case waits for the first one's folder instead of making its own.
        let mut laid_out = self.laid_out.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pristine) = laid_out.get(&key) {
            return Ok(Arc::clone(pristine));
        }
        let dir = self.root.join(&sha256(&key).short()[..10]);
        // What a killed batch left may be half a fixture.
        remove_tree(&dir).map_err(WorkspaceError::io_at("removing", &dir))?;
        materialise(&source_of(&spec.workspace), &dir)?;
        let snapshot = Arc::new(snapshot(&dir)?);
        let pristine = Arc::new(Pristine {
            digest: snapshot.digest(),
            files: snapshot.files(),
            snapshot,
            dir,
        });
        laid_out.insert(key, Arc::clone(&pristine));
        Ok(pristine)
    }
}

fn source_of(workspace: &WorkspaceSpec) -> Source {
    match workspace {
        WorkspaceSpec::Dir(path) => Source::Dir(path.clone()),
        WorkspaceSpec::Git { location, rev } => Source::Git {
            location: location.clone(),
            rev: rev.clone(),
        },
        WorkspaceSpec::Files(files) => Source::Files(files.clone()),
        WorkspaceSpec::Empty => Source::Empty,
    }
}
