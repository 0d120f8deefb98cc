//! The two ways into the loop: a new run, and one that goes on.

use std::sync::Arc;

use futures_util::future::try_join;

use super::driver::{drive, result};
use super::error::RunError;
use super::harness::{Harness, Parts};
use super::journal::Journal;
use super::machine::{Input, Machine};
use super::stop::StopSignal;
use crate::base::BoxFuture;
use crate::domain::{Act, CaseRef, Effect, EventKind, RunId, RunResult, TaskContract};
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
    journal.record(EventKind::Started {
        goal: contract.goal.clone(),
        provider: parts.provider.name().to_owned(),
        model: parts.provider.model().to_owned(),
    });
    let machine = Machine::new(contract);
    let policy = Arc::clone(&parts.policy);
    let entered = enter(parts, policy, machine, Input::Begin, &journal, stop);
    let ((), result) = try_join(stored, entered).await?;
    Ok(result)
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
    let (machine, input) = restore(stored, contract).map_err(broken)?;
    if let super::machine::Step::Done(outcome) = machine.next() {
        return Ok(result(&journal, &machine, outcome));
    }
    enter(parts, Arc::new(policy), machine, input, &journal, stop).await
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

async fn enter(
    parts: &Parts,
    policy: Arc<Policy>,
    mut machine: Machine,
    input: Input,
    journal: &Journal<'_>,
    stop: &StopSignal,
) -> Result<RunResult, RunError> {
    let opening = match (
        endpoints_allowed(parts, &policy, journal),
        Workspace::open(&machine.contract().root),
    ) {
        (Err(reason), _) => Err(Input::Refuse(reason)),
        (Ok(()), Err(error)) => Err(Input::Broken(error.to_string())),
        (Ok(()), Ok(workspace)) => Ok(workspace),
    };
    journal.at_step(machine.current_step());
    let (workspace, inputs) = match opening {
        Ok(workspace) => (Some(workspace), vec![input]),
        Err(end) => (None, vec![end]),
    };
    for event in inputs.into_iter().flat_map(|input| machine.feed(input)) {
        journal.record(event);
    }
    let Some(workspace) = workspace else {
        journal.commit(&mut machine).await?;
        let outcome = match machine.next() {
            super::machine::Step::Done(outcome) => outcome,
            _ => crate::domain::RunOutcome::Errored,
        };
        return Ok(result(journal, &machine, outcome));
    };
    let tools = ToolContext {
        workspace: Arc::new(workspace),
        policy,
        approver: Arc::clone(&parts.approver),
        sandbox: Arc::clone(&parts.sandbox),
        environment: Arc::clone(&parts.environment),
        limits: parts.limits,
        network: parts.network,
        clock: Arc::clone(&parts.clock),
    };
    drive(parts, &tools, &mut machine, journal, stop).await
}

/// Every address that the provider dials must be allowed before the first call is made.
fn endpoints_allowed(parts: &Parts, policy: &Policy, journal: &Journal<'_>) -> Result<(), String> {
    for url in parts.provider.endpoints() {
        let host = target(&url).map_err(|error| error.to_string())?;
        let verdict = policy.decide(Act::Net, &Target::Host(&host));
        if verdict.effect != Effect::Allow {
            let explained = policy.explain(Act::Net, &Target::Host(&host));
            let by = "policy".to_owned();
            journal.record(EventKind::Refused {
                act: Act::Net,
                target: host,
                rule: verdict.rule,
                layer: verdict.layer,
                by,
            });
            return Err(explained);
        }
    }
    Ok(())
}
