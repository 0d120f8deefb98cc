//! Files that must compile as Rust, each on its own.

use super::command::{self, Run};
use super::{CommandRunner, VerifyError, files};
use crate::base::RelPath;
use crate::base::millis;
use crate::domain::Verdict;
use crate::workspace::{Workspace, create_temp_root};

const PROGRAM: &str = "rustc";

/// Compiles each file as a library until one does not. Nothing is written into the workspace, and nothing in it
/// decides which compiler runs: the compiler starts in a folder of its own.
pub(super) async fn compile(
    files: &[RelPath],
    workspace: &Workspace,
    runner: &CommandRunner<'_>,
) -> Result<Verdict, VerifyError> {
    let parent = ["TMPDIR", "TEMP"]
        .into_iter()
        .find_map(|name| runner.environment.get(name))
        .map_or_else(std::env::temp_dir, std::path::PathBuf::from);
    let scratch = create_temp_root(&parent, "check-").map_err(|source| VerifyError::Scratch {
        folder: parent.display().to_string(),
        source,
    })?;
    let mut duration_ms: u64 = 0;
    for file in files {
        let at = match files::resolve(workspace, file)? {
            Ok(at) => at,
            Err(verdict) => return Ok(verdict),
        };
        if !at.absolute.is_file() {
            return Ok(Verdict::of(false, format!("{file} is missing")));
        }
        let argv = arguments(&at.absolute, workspace, scratch.path());
        let run = Run {
            argv: &argv,
            workdir: scratch.path(),
            limits: runner.limits,
            network: false,
        };
        let ended = command::run(&run, workspace, runner).await?;
        duration_ms = duration_ms.saturating_add(millis(ended.duration));
        if ended.exit != Some(0) {
            let reason = match ended.exit {
                Some(_) => format!("{file} does not compile"),
                None => format!("{file} was not compiled: {}", ended.otherwise),
            };
            return Ok(Verdict {
                passed: false,
                reason,
                exit_code: ended.exit,
                output: ended.output,
                duration_ms,
            });
        }
    }
    let reason = match files {
        [file] => format!("{file} compiles"),
        files => format!("each of {} files compiles", files.len()),
    };
    Ok(Verdict {
        duration_ms,
        ..Verdict::of(true, reason)
    })
}

/// A file's name says nothing about the crate's: it need not be one that a crate may have.
fn arguments(
    file: &std::path::Path,
    workspace: &Workspace,
    scratch: &std::path::Path,
) -> Vec<String> {
    let output = scratch.join("check.rmeta");
    [
        PROGRAM,
        "--edition",
        "2021",
        "--crate-type",
        "lib",
        "--crate-name",
        "check",
        "--emit=metadata",
        "--color=never",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([
        // Messages name files as the workspace does.
        format!("--remap-path-prefix={}=.", workspace.root().display()),
        "-o".to_owned(),
        output.display().to_string(),
        file.display().to_string(),
    ])
    .collect()
}
