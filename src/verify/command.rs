//! Criteria that are commands.

use std::path::Path;
use std::time::Duration;

use super::{CommandRunner, VerifyError};
use crate::base::{Bounded, Span, format_bytes, millis};
use crate::domain::Verdict;
use crate::sandbox::{Cap, Ending, RunSpec, SandboxLimits};
use crate::workspace::Workspace;

/// A command to run.
pub(super) struct Run<'a> {
    pub(super) argv: &'a [String],
    pub(super) workdir: &'a Path,
    pub(super) limits: SandboxLimits,
    pub(super) network: bool,
}

/// A command that ended, in whatever way.
pub(super) struct Ended {
    /// The status, where it ended by itself.
    pub(super) exit: Option<i32>,
    /// How it ended otherwise, in a few words; empty where it ended by itself.
    pub(super) otherwise: String,
    /// What it printed.
    pub(super) output: Bounded,
    pub(super) duration: Duration,
}

/// Runs a command. One that is not there or does not start has ended all the same where it is a file of the
/// workspace, or where the workspace is gone, and is the machine's fault otherwise.
pub(super) async fn run(
    run: &Run<'_>,
    workspace: &Workspace,
    runner: &CommandRunner<'_>,
) -> Result<Ended, VerifyError> {
    let program = run.argv.first().map_or("", String::as_str);
    let spec = RunSpec {
        argv: run.argv,
        workdir: run.workdir,
        env: runner.environment,
        limits: run.limits,
        network: run.network,
    };
    let outcome = runner
        .sandbox
        .run(spec)
        .await
        .map_err(|source| VerifyError::Sandbox {
            program: program.to_owned(),
            source,
        })?;
    let (exit, otherwise) = match &outcome.ending {
        Ending::Exited(status) => (Some(*status), String::new()),
        Ending::Signalled(signal) => (None, format!("killed by signal {signal}")),
        Ending::Cap(cap) => (None, capped(*cap, &run.limits)),
        Ending::NotFound { program } => (None, missing(program, workspace)?),
        Ending::NotStarted { stage, error } => {
            let reason = format!("program {program} did not start ({stage}: {error})");
            let blamed = if *stage == "workdir" {
                run.workdir == workspace.root()
            } else {
                is_the_works(program, workspace)
            };
            if !blamed {
                return Err(VerifyError::CannotRun {
                    program: program.to_owned(),
                    reason,
                });
            }
            (None, reason)
        }
    };
    Ok(Ended {
        exit,
        otherwise,
        output: joined(outcome.stdout, outcome.stderr),
        duration: outcome.duration,
    })
}

/// What a status says under the one that is expected.
pub(super) fn verdict(ended: Ended, expected: i32) -> Verdict {
    let passed = ended.exit == Some(expected);
    let reason = match ended.exit {
        None => ended.otherwise,
        Some(status) if passed => format!("exit {status}"),
        Some(status) => format!("exit {status} (expected {expected})"),
    };
    Verdict {
        passed,
        reason,
        exit_code: ended.exit,
        output: ended.output,
        duration_ms: millis(ended.duration),
    }
}

fn missing(program: &str, workspace: &Workspace) -> Result<String, VerifyError> {
    if is_the_works(program, workspace) {
        return Ok(format!("program {program} is missing in the workspace"));
    }
    let reason = if program.contains(['/', '\\']) {
        format!("program {program} does not exist")
    } else {
        format!("program {program} was not found on PATH")
    };
    Err(VerifyError::CannotRun {
        program: program.to_owned(),
        reason,
    })
}

/// Whether a program is a file of the workspace rather than one of the machine.
fn is_the_works(program: &str, workspace: &Workspace) -> bool {
    let path = Path::new(program);
    if path.is_absolute() {
        path.starts_with(workspace.root())
    } else {
        program.contains(['/', '\\'])
    }
}

fn capped(cap: Cap, limits: &SandboxLimits) -> String {
    let bytes = |count: Option<u64>| count.map_or_else(|| "it may".to_owned(), size);
    match cap {
        Cap::Wall => format!("timed out after {}", Span(limits.wall)),
        Cap::Output => format!("printed more than {}", size(limits.output_kill_bytes)),
        Cap::Cpu => format!(
            "used more than {} of processor time",
            limits
                .cpu
                .map_or_else(|| "it may".to_owned(), |span| Span(span).to_string())
        ),
        Cap::Memory => format!("used more than {} of memory", bytes(limits.memory_bytes)),
        Cap::Disk => format!("wrote a file of more than {}", bytes(limits.file_bytes)),
        Cap::Processes => match limits.processes {
            Some(count) => format!("started more than {count} processes"),
            None => "started more processes than it may".to_owned(),
        },
    }
}

/// A cap is a round number more often than not.
fn size(bytes: u64) -> String {
    format_bytes(bytes).replace(".0 ", " ")
}

/// Standard error first: a tool's chatter goes there and its verdict to standard output, so that the tail tells.
fn joined(stdout: Bounded, stderr: Bounded) -> Bounded {
    let mut text = stderr.text;
    if !text.is_empty() && !stdout.text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&stdout.text);
    Bounded {
        text,
        total: stdout.total.saturating_add(stderr.total),
        cut: stdout.cut.saturating_add(stderr.cut),
    }
}
