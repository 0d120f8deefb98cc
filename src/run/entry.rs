//! The two ways into the loop: a new run, and one that goes on.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::try_join;

use super::driver::{drive, result};
use super::error::RunError;
use super::harness::{Harness, Parts};
use super::journal::Journal;
use super::machine::{Input, Machine, Step};
use super::stop::StopSignal;
use crate::base::BoxFuture;
use crate::domain::{Act, CaseRef, Effect, EventKind, RunId, RunResult, TaskContract, Usage};
use crate::net::target;
use crate::policy::{Policy, Target};
use crate::store::{CHECKPOINT_FORMAT, RunRecord, StoredRun};
use crate::tools::ToolContext;
use crate::workspace::Workspace;

/// A run that is asked for; it begins when this is awaited.
#[must_use = "a run begins when its request is awaited"]
#[derive(Debug)]
pub struct RunRequest {
    harness: Harness,
    entry: Entry,
    case: Option<CaseRef>,
    stop: StopSignal,
}

#[derive(Debug)]
enum Entry {
    Start(Box<TaskContract>),
    Resume(RunId),
}

impl RunRequest {
    pub(super) fn start(harness: Harness, contract: TaskContract) -> Self {
        Self {
            harness,
            entry: Entry::Start(Box::new(contract)),
            case: None,
            stop: StopSignal::default(),
        }
    }

    pub(super) fn resume(harness: Harness, run: RunId) -> Self {
        Self {
            harness,
            entry: Entry::Resume(run),
            case: None,
            stop: StopSignal::default(),
        }
    }

    /// The case that the run belongs to, in a batch.
    pub fn case(mut self, case: CaseRef) -> Self {
        self.case = Some(case);
        self
    }

    /// How the run is stopped from outside.
    pub fn stop(mut self, stop: StopSignal) -> Self {
        self.stop = stop;
        self
    }

    async fn run(self) -> Result<RunResult, RunError> {
        let parts = Arc::clone(&self.harness.parts);
        match self.entry {
            Entry::Start(contract) => start(&parts, *contract, self.case, &self.stop).await,
            Entry::Resume(run) => resume(&parts, run, self.case, &self.stop).await,
        }
    }
}

impl IntoFuture for RunRequest {
    type Output = Result<RunResult, RunError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

async fn start(
    parts: &Parts,
    contract: TaskContract,
    case: Option<CaseRef>,
    stop: &StopSignal,
) -> Result<RunResult, RunError> {
    let run_id = parts.store.next_run_id();
    let record = RunRecord {
        id: run_id,
        case: case.clone(),
        contract: serde_json::to_value(&contract).unwrap_or_default(),
        policy: serde_json::to_value(&*parts.policy).unwrap_or_default(),
        provider: parts.provider.name().to_owned(),
        model: parts.provider.model().to_owned(),
        started_at: parts.clock.now(),
    };
    // Sent before what happens first and not waited for alone, so that both are stored in one transaction.
    let stored = async { Ok(parts.store.start_run(record).await?) };
    let journal = Journal::new(&parts.store, &*parts.clock, &*parts.observer, case, run_id);
    journal.record(started(parts, &contract));
    let machine = Machine::new(contract);
    let policy = Arc::clone(&parts.policy);
    let entered = enter(parts, policy, machine, vec![Input::Begin], &journal, stop);
    let ((), result) = try_join(stored, entered).await?;
    Ok(result)
}

fn started(parts: &Parts, contract: &TaskContract) -> EventKind {
    EventKind::Started {
        goal: contract.goal.clone(),
        provider: parts.provider.name().to_owned(),
        model: parts.provider.model().to_owned(),
    }
}

async fn resume(
    parts: &Parts,
    run_id: RunId,
    case: Option<CaseRef>,
    stop: &StopSignal,
) -> Result<RunResult, RunError> {
    let stored = parts.store.load_run(run_id)?;
    let broken = |reason: String| RunError::Resume {
        run: run_id,
        reason,
    };
    let contract: TaskContract = serde_json::from_value(stored.contract.clone())
        .map_err(|error| broken(format!("its stored contract cannot be read: {error}")))?;
    let policy: Policy = serde_json::from_value(stored.policy.clone())
        .map_err(|error| broken(format!("its stored policy cannot be read: {error}")))?;
    let journal = Journal::new(&parts.store, &*parts.clock, &*parts.observer, case, run_id);
    let ledger = ledger(parts, &stored);
    let (machine, input) = restore(stored, contract).map_err(broken)?;
    if matches!(machine.next(), Step::Done(_)) {
        return Ok(result(&journal, &machine));
    }
    if input == Input::Begin {
        journal.record(started(parts, machine.contract()));
    }
    let inputs = vec![input, ledger];
    enter(parts, Arc::new(policy), machine, inputs, &journal, stop).await
}

/// What was paid for counts against the budget also where its step was lost.
fn ledger(parts: &Parts, stored: &StoredRun) -> Input {
    let prices = parts.prices.as_ref();
    let cost = |(model, usage): &(String, Usage)| prices.and_then(|table| table.cost(model, usage));
    Input::Ledger {
        tokens: stored
            .usage
            .iter()
            .map(|(_, usage)| usage.total_tokens)
            .sum(),
        cost: stored.usage.iter().filter_map(cost).sum(),
    }
}

fn restore(stored: StoredRun, contract: TaskContract) -> Result<(Machine, Input), String> {
    match stored.checkpoint {
        // It was stopped before its first step was committed.
        None => Ok((Machine::new(contract), Input::Begin)),
        Some(checkpoint) if checkpoint.format != CHECKPOINT_FORMAT => Err(format!(
            "its checkpoint has format {}, and this version reads {CHECKPOINT_FORMAT}",
            checkpoint.format
        )),
        Some(checkpoint) => Machine::restore(contract, &checkpoint.state, stored.messages)
            .map(|machine| (machine, Input::Restored))
            .map_err(|error| error.to_string()),
    }
}

/// Drives a machine to its end or to a stop. Whatever cannot be opened, and whatever panics on the way, ends the run
/// with a row that says so.
async fn enter(
    parts: &Parts,
    policy: Arc<Policy>,
    mut machine: Machine,
    inputs: Vec<Input>,
    journal: &Journal<'_>,
    stop: &StopSignal,
) -> Result<RunResult, RunError> {
    journal.at_step(machine.steps());
    let ending = match open(parts, policy, &machine, journal) {
        Err(ending) => *ending,
        Ok(tools) => {
            for input in inputs {
                journal.feed(&mut machine, input);
            }
            let driven = drive(parts, &tools, &mut machine, journal, stop);
            match AssertUnwindSafe(driven).catch_unwind().await {
                Ok(result) => return result,
                Err(panic) => Input::Broken(format!("the harness panicked: {}", said(&*panic))),
            }
        }
    };
    journal.feed(&mut machine, ending);
    journal.commit(&mut machine).await?;
    Ok(result(journal, &machine))
}

/// What the tools work with; or, where it cannot be had, how the run ends.
fn open(
    parts: &Parts,
    policy: Arc<Policy>,
    machine: &Machine,
    journal: &Journal<'_>,
) -> Result<ToolContext, Box<Input>> {
    endpoints_allowed(parts, &policy, journal).map_err(|reason| Box::new(Input::Refuse(reason)))?;
    let workspace = Workspace::open(&machine.contract().root)
        .map_err(|error| Box::new(Input::Broken(error.to_string())))?;
    Ok(ToolContext {
        workspace: Arc::new(workspace),
        policy,
        approver: Arc::clone(&parts.approver),
        sandbox: Arc::clone(&parts.sandbox),
        environment: Arc::clone(&parts.environment),
        limits: parts.limits,
        network: parts.network,
        clock: Arc::clone(&parts.clock),
    })
}

/// The words of a panic, where it has any.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a word")
}

/// Every address that the provider dials must be allowed before the first call is made.
fn endpoints_allowed(parts: &Parts, policy: &Policy, journal: &Journal<'_>) -> Result<(), String> {
    for url in parts.provider.endpoints() {
        let host = target(&url).map_err(|error| error.to_string())?;
        let verdict = policy.decide(Act::Net, &Target::Host(&host));
        if verdict.effect != Effect::Allow {
            let explained = policy.explain(Act::Net, &Target::Host(&host));
            journal.record(EventKind::Refused {
                act: Act::Net,
                target: host,
                rule: verdict.rule,
                layer: verdict.layer,
                by: "policy".to_owned(),
            });
            return Err(explained);
        }
    }
    Ok(())
}
