//! What decides that a goal is reached: a criterion, a workspace, and a verdict with one line of why.
//!
//! A verdict speaks of the work. Where the machine cannot ask the question (no such tool, no sandbox), there is no
//! verdict but a [`VerifyError`], so that nobody's work is blamed for it.

mod command;
mod files;
mod rust;

#[cfg(test)]
mod tests;

use crate::base::RelPath;
use crate::domain::{Verdict, Verification};
use crate::sandbox::{Environment, Sandbox, SandboxError, SandboxLimits};
use crate::workspace::{Workspace, WorkspaceError};

/// What criteria run commands with.
#[derive(Clone, Copy)]
pub struct CommandRunner<'a> {
    /// Where they run.
    pub sandbox: &'a dyn Sandbox,
    /// Their variables. Folders for temporary files are made in the one that these name.
    pub environment: &'a Environment,
    /// Their caps. A criterion that states its own time has that instead of the one here.
    pub limits: SandboxLimits,
}

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The criterion needs a part of this program that was left out when it was built.
    #[error(
        "whether {file} holds a text cannot be checked: this program was built without the feature `{feature}`"
    )]
    FeatureMissing {
        /// The feature to build with.
        feature: &'static str,
        /// The file that would have been read.
        file: RelPath,
    },
    /// The machine lacks the criterion's program, or does not start it.
    #[error("cannot run the check: {reason}")]
    CannotRun {
        /// The program as the criterion names it.
        program: String,
        /// What happened instead: `program cargo was not found on PATH`.
        reason: String,
    },
    /// The sandbox could not do its work.
    #[error("cannot run `{program}`")]
    Sandbox {
        /// The program as the criterion names it.
        program: String,
        /// Why.
        source: SandboxError,
    },
    /// A file could not be looked at, for a reason that is not in the workspace.
    #[error("cannot check {file}")]
    Workspace {
        /// The file.
        file: RelPath,
        /// Why.
        source: WorkspaceError,
    },
    /// There is no folder for what a check writes.
    #[error("cannot make a folder for temporary files in {folder}")]
    Scratch {
        /// Where it was to be.
        folder: String,
        /// The system's own words.
        source: std::io::Error,
    },
}

/// Whether a criterion holds in a workspace.
///
/// Of several criteria, the first that does not hold gives its verdict, and the ones after it are not tried.
///
/// # Errors
/// Where the question could not be asked. A criterion that cannot hold, because a file or a program of the workspace
/// is missing or broken, is a verdict.
pub async fn check(
    verification: &Verification,
    workspace: &Workspace,
    runner: &CommandRunner<'_>,
) -> Result<Verdict, VerifyError> {
    let criteria = flatten(verification);
    let count = criteria.len();
    let mut verdict = Verdict::of(true, "nothing to check");
    let mut duration_ms: u64 = 0;
    for criterion in criteria {
        let next = one(criterion, workspace, runner).await?;
        duration_ms = duration_ms.saturating_add(next.duration_ms);
        let passed = next.passed;
        // A file that holds a text has nothing to show: what the last command printed stays.
        verdict = if passed && next.exit_code.is_none() {
            Verdict {
                reason: next.reason,
                ..verdict
            }
        } else {
            next
        };
        if !passed {
            break;
        }
    }
    if verdict.passed && count > 1 {
        verdict.reason = format!("all {count} criteria hold");
    }
    Ok(Verdict {
        duration_ms,
        ..verdict
    })
}

/// The criteria that ask something, in order, however deep they are nested.
fn flatten(verification: &Verification) -> Vec<&Verification> {
    let mut pending = vec![verification];
    let mut flat = Vec::new();
    while let Some(next) = pending.pop() {
        match next {
            Verification::None => {}
            Verification::All { of } => pending.extend(of.iter().rev()),
            leaf => flat.push(leaf),
        }
    }
    flat
}

async fn one(
    criterion: &Verification,
    workspace: &Workspace,
    runner: &CommandRunner<'_>,
) -> Result<Verdict, VerifyError> {
    match criterion {
        Verification::None | Verification::All { .. } => Ok(Verdict::of(true, "nothing to check")),
        Verification::Command {
            argv,
            expect_exit,
            timeout,
            network,
        } => {
            let limits = SandboxLimits {
                wall: *timeout,
                ..runner.limits
            };
            let run = command::Run {
                argv,
                workdir: workspace.root(),
                limits,
                network: *network,
            };
            let outcome = command::run(&run, workspace, runner).await?;
            Ok(command::verdict(outcome, *expect_exit))
        }
        Verification::WorkspaceFileContains { file, needle } => {
            files::contains(workspace, file, needle)
        }
        Verification::WorkspaceFileEquals { file, text } => files::equals(workspace, file, text),
        Verification::DocumentContains { file, .. } => Err(VerifyError::FeatureMissing {
            feature: "documents",
            file: file.clone(),
        }),
        Verification::EachCompilesRust { files } => rust::compile(files, workspace, runner).await,
    }
}
