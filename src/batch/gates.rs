//! Gates by phase: a phase runs only where every gate of the earlier ones passed.

use super::case::CaseRun;
use crate::base::Bounded;
use crate::domain::{EventKind, GateResult, GateStatus};
use crate::suite::GateSpec;
use crate::verify::{CommandRunner, check};
use crate::workspace::{Workspace, lay_in};

/// What the gates said together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GatesEnd {
    /// All passed; there may have been none.
    Passed,
    /// One said no first.
    Failed(String),
    /// One could not be run.
    Errored(String),
    /// Everything is to stop.
    Stopped,
}

/// Runs all gates of a case and commits each as it ends, but for the last: that one is given back, to be stored
/// together with the verdict.
pub(super) async fn run_gates(
    case: &CaseRun<'_>,
    workspace: &Workspace,
    runner: &CommandRunner<'_>,
) -> Result<(GatesEnd, Vec<EventKind>), crate::store::StoreError> {
    let gates = &case.spec.gates;
    let mut last = Vec::new();
    let mut end = GatesEnd::Passed;
    // The phase that stopped the ones after it.
    let mut stopped_by: Option<&str> = None;
    for phase in phases(gates) {
        for (position, gate) in gates
            .iter()
            .enumerate()
            .filter(|(_, gate)| gate.phase == phase)
        {
            let result = match stopped_by {
                Some(earlier) => skipped(gate, earlier),
                None => {
                    case.commit(std::mem::take(&mut last)).await?;
                    case.show(EventKind::GateStarted {
                        phase: gate.phase.clone(),
                        name: gate.name.clone(),
                    });
                    let Some(result) = case
                        .stop()
                        .unless_now(run_gate(gate, workspace, runner))
                        .await
                    else {
                        return Ok((GatesEnd::Stopped, last));
                    };
                    result
                }
            };
            let said = format!("{}/{}: {}", gate.phase, gate.name, result.reason);
            match result.status {
                GateStatus::Errored => end = GatesEnd::Errored(said),
                GateStatus::Failed if end == GatesEnd::Passed => end = GatesEnd::Failed(said),
                GateStatus::Failed | GateStatus::Passed | GateStatus::Skipped => {}
            }
            let position = u32::try_from(position).unwrap_or(u32::MAX);
            last.push(EventKind::GateFinished { position, result });
        }
        if end != GatesEnd::Passed && stopped_by.is_none() {
            stopped_by = Some(phase);
        }
    }
    Ok((end, last))
}

/// The phases in the order of their first appearance.
fn phases(gates: &[GateSpec]) -> Vec<&str> {
    let mut phases: Vec<&str> = Vec::new();
    for gate in gates {
        if !phases.contains(&gate.phase.as_str()) {
            phases.push(&gate.phase);
        }
    }
    phases
}

async fn run_gate(
    gate: &GateSpec,
    workspace: &Workspace,
    runner: &CommandRunner<'_>,
) -> GateResult {
    // Laid in at the last moment: an earlier gate that runs all tests must not find a later gate's.
    if let Err(error) = lay_in(&gate.files, workspace.root()) {
        return result(
            gate,
            GateStatus::Errored,
            format!("its files cannot be laid in: {error}"),
        );
    }
    match check(&gate.check, workspace, runner).await {
        Ok(verdict) => GateResult {
            phase: gate.phase.clone(),
            name: gate.name.clone(),
            status: if verdict.passed {
                GateStatus::Passed
            } else {
                GateStatus::Failed
            },
            reason: verdict.reason,
            exit_code: verdict.exit_code,
            duration_ms: verdict.duration_ms,
            output: verdict.output,
        },
        Err(error) => result(gate, GateStatus::Errored, error.to_string()),
    }
}

fn skipped(gate: &GateSpec, earlier: &str) -> GateResult {
    result(
        gate,
        GateStatus::Skipped,
        format!("phase {earlier} did not pass"),
    )
}

fn result(gate: &GateSpec, status: GateStatus, reason: String) -> GateResult {
    GateResult {
        phase: gate.phase.clone(),
        name: gate.name.clone(),
        status,
        reason,
        exit_code: None,
        duration_ms: 0,
        output: Bounded::default(),
    }
}
