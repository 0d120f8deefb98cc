//! From a call to its answer: parse, gate, perform, clip.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::builtin::Observation;
use super::gate::Passage;
use super::table::{Work, builtin_names, find};
use crate::base::{Clock, millis, one_line};
use crate::domain::{Approver, Arguments, EventKind, ToolCall, ToolOutput};
use crate::policy::Policy;
use crate::sandbox::{Environment, Sandbox, SandboxLimits};
use crate::workspace::{Resolved, Workspace};

/// How many reads are answered at the same time: a model may ask for any number, and each may be of a large file.
const AT_ONCE: usize = 8;

/// Everything that tools work with. Cheap to clone.
#[derive(Clone)]
pub struct ToolContext {
    /// The folder that the agent works in.
    pub workspace: Arc<Workspace>,
    /// What it may do.
    pub policy: Arc<Policy>,
    /// Who answers where the policy says *ask*.
    pub approver: Arc<dyn Approver>,
    /// Where its commands run.
    pub sandbox: Arc<dyn Sandbox>,
    /// What its commands see of the environment.
    pub environment: Arc<Environment>,
    /// Caps of one command.
    pub limits: SandboxLimits,
    /// Whether its commands may reach the network.
    pub network: bool,
    /// Measures how long a call takes.
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolContext")
            .field("workspace", &self.workspace.root())
            .finish_non_exhaustive()
    }
}

/// A call that was parsed once, with what the trace says of it.
struct Prepared {
    call_id: String,
    name: String,
    target: String,
    work: Result<Work, Observation>,
}

impl Prepared {
    fn of(call: &ToolCall) -> Arc<Self> {
        let work = parse(call);
        let target = work
            .as_ref()
            .map_or_else(|_| String::new(), |work| one_line(&work.target(), 200));
        Arc::new(Self {
            call_id: call.id.clone(),
            name: clipped_name(call),
            target,
            work,
        })
    }

    fn is_read_only(&self) -> bool {
        self.work.as_ref().is_ok_and(Work::is_read_only)
    }
}

struct Answered {
    output: ToolOutput,
    events: Vec<EventKind>,
}

impl ToolContext {
    /// Answers every call, in order. Calls that change nothing and stand side by side run at the same time.
    pub async fn run(
        &self,
        calls: &[ToolCall],
        notify: &(dyn Fn(EventKind) + Sync),
    ) -> Vec<ToolOutput> {
        let prepared: Vec<Arc<Prepared>> = calls.iter().map(Prepared::of).collect();
        let mut outputs = Vec::with_capacity(calls.len());
        for group in prepared.chunk_by(|one, other| one.is_read_only() && other.is_read_only()) {
            for call in group {
                notify(EventKind::ToolCalling {
                    name: call.name.clone(),
                    target: call.target.clone(),
                });
            }
            let answers = match group {
                [call] => vec![self.answer(call).await],
                group => self.answer_all(group).await,
            };
            for answered in answers {
                answered.events.into_iter().for_each(notify);
                outputs.push(answered.output);
            }
        }
        outputs
    }

    async fn answer_all(&self, group: &[Arc<Prepared>]) -> Vec<Answered> {
        let mut answers = Vec::with_capacity(group.len());
        for some in group.chunks(AT_ONCE) {
            let asked = some.iter().map(|call| self.answer_beside_others(call));
            answers.extend(join_all(asked).await);
        }
        answers
    }

    /// A read on a thread of its own, so that several really run at the same time.
    async fn answer_beside_others(&self, call: &Arc<Prepared>) -> Answered {
        let (context, theirs) = (self.clone(), Arc::clone(call));
        let runtime = tokio::runtime::Handle::current();
        match tokio::task::spawn_blocking(move || runtime.block_on(context.answer(&theirs))).await {
            Ok(answered) => answered,
            // The thread is lost only where the tool has a bug: the model is told, and the run goes on.
            Err(error) => answered(
                call,
                Duration::ZERO,
                Vec::new(),
                Observation::failed("tool error", error.to_string()),
            ),
        }
    }

    async fn answer(&self, call: &Prepared) -> Answered {
        let start = self.clock.monotonic();
        let mut events = Vec::new();
        let observation = match &call.work {
            Err(observation) => observation.clone(),
            Ok(work) => match self.pass(&work.intent(), &mut events).await {
                Passage::Closed { decision, text } => Observation::failed(decision, text),
                Passage::Open(at) => self.perform(work, at.as_ref()).await,
            },
        };
        answered(
            call,
            self.clock.monotonic().saturating_sub(start),
            events,
            observation,
        )
    }

    async fn perform(&self, work: &Work, at: Option<&Resolved>) -> Observation {
        let visible = |path: &crate::base::RelPath| self.is_visible(path);
        let workspace = &self.workspace;
        match (work, at) {
            (Work::ReadFile(tool), Some(at)) => tool.perform(workspace, at),
            (Work::WriteFile(tool), Some(at)) => tool.perform(workspace, at),
            (Work::EditFile(tool), Some(at)) => tool.perform(workspace, at),
            (Work::ListDir(tool), Some(at)) => tool.perform(workspace, at, &visible),
            (Work::Grep(tool), _) => tool.perform(workspace, &visible),
            (Work::Find(tool), _) => tool.perform(workspace, &visible),
            (Work::Exec(tool), _) => tool.perform(self).await,
            (
                Work::ReadFile(_) | Work::WriteFile(_) | Work::EditFile(_) | Work::ListDir(_),
                None,
            ) => Observation::failed("tool error", "the path was not resolved"),
        }
    }
}

fn answered(
    call: &Prepared,
    took: Duration,
    mut events: Vec<EventKind>,
    observation: Observation,
) -> Answered {
    let Observation {
        text,
        decision,
        ok,
        changed,
    } = observation;
    events.push(EventKind::ToolCalled {
        call_id: call.call_id.clone(),
        name: call.name.clone(),
        target: call.target.clone(),
        ok,
        changed,
        decision: one_line(&decision, 200),
        duration_ms: millis(took),
    });
    Answered {
        output: ToolOutput {
            call_id: call.call_id.clone(),
            text,
            ok,
            changed,
            unseen: matches!(call.work, Ok(Work::Exec(_))) && ok,
        },
        events,
    }
}

/// A model may name a tool anything at any length.
fn clipped_name(call: &ToolCall) -> String {
    one_line(&call.name, 80)
}

/// What a model is told instead of an answer: which tool or argument is wrong, and what would be right.
fn parse(call: &ToolCall) -> Result<Work, Observation> {
    let Some(row) = find(&call.name) else {
        let name = clipped_name(call);
        let text = format!(
            "there is no tool `{name}`: the tools are {}",
            builtin_names().join(", ")
        );
        return Err(Observation::failed(format!("unknown tool {name}"), text));
    };
    match &call.arguments {
        Arguments::Invalid { error, .. } => Err(Observation::failed(
            format!("{} malformed arguments", row.name),
            format!(
                "the arguments are not valid JSON ({error}): nothing was run. Send the whole call again"
            ),
        )),
        Arguments::Json(value) => (row.parse)(value.clone()).map_err(|error| {
            Observation::failed(
                format!("{} wrong arguments", row.name),
                format!(
                    "the arguments of `{}` do not fit: {error}. Nothing was run",
                    row.name
                ),
            )
        }),
    }
}
