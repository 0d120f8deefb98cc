//! The one driver: it does what the machine says, tells it what came of that, and commits.

use std::time::Duration;

use super::error::RunError;
use super::harness::Parts;
use super::journal::Journal;
use super::machine::{Input, Machine, Step};
use super::model_call::call_model;
use super::stop::StopSignal;
use crate::domain::{EventKind, RunOutcome, RunResult};
use crate::sandbox::SandboxLimits;
use crate::tools::ToolContext;
use crate::verify::{CommandRunner, check};

/// What limits an action from outside: the run's time, and a request to stop.
#[derive(Debug)]
pub struct Pace<'a> {
    pub(super) stop: &'a StopSignal,
}

impl Pace<'_> {
    /// `work`, for at most `left`. The outer `None` means that everything is to stop, the inner one that the
    /// time is up.
    pub(super) async fn within<T>(
        &self,
        left: Option<Duration>,
        work: impl Future<Output = T>,
    ) -> Option<Option<T>> {
        let bounded = async {
            match left {
                None => Some(work.await),
                Some(left) => tokio::time::timeout(left, work).await.ok(),
            }
        };
        self.stop.unless_now(bounded).await
    }
}

/// Drives a machine until it is done or a stop is asked for.
pub(super) async fn drive(
    parts: &Parts,
    tools: &ToolContext,
    machine: &mut Machine,
    journal: &Journal<'_>,
    stop: &StopSignal,
) -> Result<RunResult, RunError> {
    let pace = Pace { stop };
    let mut last = parts.clock.monotonic();
    loop {
        if machine.at_commit_point() {
            journal.commit(machine).await?;
        }
        let step = machine.next();
        journal.at_step(match step {
            // What is tried is what the last step brought.
            Step::Verify | Step::Done(_) => machine.steps(),
            Step::CallModel { .. } | Step::Wait(_) | Step::RunTools(_) => machine.current_step(),
        });
        let stopping = stop.is_stopping() && machine.at_commit_point();
        if stopping || matches!(step, Step::Done(_)) {
            return Ok(result(journal, machine));
        }
        let input = if journal.is_cancelled() && machine.at_commit_point() {
            Some(Input::Cancel)
        } else {
            // In the middle of a step the call was paid for already: it goes on the ledger while the tools run.
            let paid = journal.commit_events();
            let (paid, input) =
                tokio::join!(paid, act(parts, tools, machine, journal, &pace, step));
            paid?;
            input
        };
        let Some(input) = input else {
            return Ok(result(journal, machine));
        };
        journal.feed(machine, input);
        let now = parts.clock.monotonic();
        journal.feed(machine, Input::Tick(now.saturating_sub(last)));
        last = now;
    }
}

/// Does what the machine says. `None` where everything is to stop.
async fn act(
    parts: &Parts,
    tools: &ToolContext,
    machine: &Machine,
    journal: &Journal<'_>,
    pace: &Pace<'_>,
    step: Step,
) -> Option<Input> {
    match step {
        Step::CallModel { attempt } => {
            journal.record(EventKind::ModelCalling { attempt });
            call_model(parts, machine, attempt, pace).await
        }
        Step::Wait(delay) => {
            tokio::select! {
                biased;
                // A wait is nothing that could be half-done.
                () = pace.stop.asked() => None,
                () = parts.clock.sleep(delay) => Some(Input::Waited),
            }
        }
        Step::RunTools(calls) => {
            let limits = limits_within(machine.contract().exec_timeout, machine, tools.limits);
            let tools = ToolContext {
                limits,
                ..tools.clone()
            };
            let outputs = pace
                .stop
                .unless_now(tools.run(&calls, &|event| journal.record(event)))
                .await?;
            Some(Input::ToolOutputs(outputs))
        }
        Step::Verify => {
            let runner = CommandRunner {
                sandbox: &*parts.sandbox,
                environment: &tools.environment,
                limits: parts.limits,
            };
            let verdict = check(&machine.contract().verify, &tools.workspace, &runner);
            Some(match pace.stop.unless_now(verdict).await? {
                Ok(verdict) => Input::Verdict(verdict),
                Err(error) => {
                    Input::Broken(format!("the success criterion could not be tried: {error}"))
                }
            })
        }
        Step::Done(_) => None,
    }
}

/// A command may take what its own limit allows, and never more than is left of the run.
fn limits_within(timeout: Duration, machine: &Machine, limits: SandboxLimits) -> SandboxLimits {
    let wall = machine.wall_left().map_or(timeout, |left| {
        timeout.min(left.max(Duration::from_secs(1)))
    });
    SandboxLimits { wall, ..limits }
}

/// What the run came to; one that is not at its end is suspended.
pub(super) fn result(journal: &Journal<'_>, machine: &Machine) -> RunResult {
    RunResult {
        run_id: journal.run_id,
        outcome: match machine.next() {
            Step::Done(outcome) => outcome,
            _ => RunOutcome::Suspended,
        },
        steps: machine.steps(),
        tokens: machine.tokens(),
        overrun: machine.overrun().cloned(),
        reply: machine.reply(),
        error: machine.error().map(str::to_owned),
    }
}
