//! Running a program.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Observation;
use crate::base::{Bounded, Span, clip_middle, printable};
use crate::sandbox::{Cap, Ending, RunSpec, SandboxOutcome};
use crate::tools::{OBSERVATION_LIMIT, ToolContext};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct Exec {
    /// The program and its arguments, one item each, for instance ["cargo", "test", "--lib"].
    pub(in crate::tools) argv: Vec<String>,
}

impl Exec {
    pub(in crate::tools) async fn perform(&self, context: &ToolContext) -> Observation {
        let Some(program) = self.argv.first() else {
            return Observation::failed(
                "exec missing argv".to_owned(),
                "argv is empty: name a program",
            );
        };
        let spec = RunSpec {
            argv: &self.argv,
            workdir: context.workspace.root(),
            env: &context.environment,
            limits: context.limits,
            network: context.network,
        };
        match context.sandbox.run(spec).await {
            Err(error) => {
                Observation::failed(format!("exec {program} unavailable"), error.to_string())
            }
            Ok(outcome) => observed(program, &outcome, context.limits.wall),
        }
    }
}

fn observed(program: &str, outcome: &SandboxOutcome, wall: std::time::Duration) -> Observation {
    let (decision, head, ok) = match &outcome.ending {
        Ending::Exited(code) => (
            format!("exec {program} exit {code}"),
            format!("exit {code}"),
            *code == 0,
        ),
        Ending::Signalled(signal) => (
            format!("exec {program} (signal {signal})"),
            format!("ended by signal {signal}"),
            false,
        ),
        Ending::Cap(Cap::Wall) => (
            format!("exec {program} timed out"),
            format!("stopped: it took longer than {}", Span(wall)),
            false,
        ),
        Ending::Cap(cap) => (
            format!("exec {program} stopped by cap {}", cap.as_str()),
            format!("stopped: it reached the {} limit", cap.as_str()),
            false,
        ),
        Ending::NotFound { program } => (
            format!("exec {program} unavailable"),
            format!("there is no program `{program}` here"),
            false,
        ),
        Ending::NotStarted { stage, error } => (
            format!("exec {program} not started"),
            format!("could not be started ({stage}): {error}"),
            false,
        ),
    };
    let half = OBSERVATION_LIMIT / 2;
    let part = |name: &str, output: &Bounded| {
        let text = printable(&output.text);
        let text = text.trim_end();
        if text.is_empty() {
            String::new()
        } else {
            format!("\n[{name}]\n{}", clip_middle(text, half))
        }
    };
    let text = format!(
        "{head}{}{}",
        part("stdout", &outcome.stdout),
        part("stderr", &outcome.stderr)
    );
    // What a command did to the workspace is not known; it counts as no change, so that a loop of commands is seen.
    Observation {
        text,
        decision,
        ok,
        changed: false,
    }
}
