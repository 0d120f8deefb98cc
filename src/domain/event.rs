//! Everything that the outside sees of a batch and its runs, as one closed enum.

use serde::{Deserialize, Serialize};

use super::{
    Act, BudgetKind, CaseOutcome, CaseRef, CaseTimes, GateResult, Overrun, ProviderCall,
    ProviderErrorKind, RunId, RunOutcome, TamperKind, Verdict,
};
use crate::base::{Bounded, Digest, Timestamp};

/// Something that happened, where, and when. The trace, the progress display and observers consume the same stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEvent {
    /// The wall clock.
    pub at: Timestamp,
    /// The case, in a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<CaseRef>,
    /// The run, where there is one already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The step, from 1; 0 before the first and outside of any run.
    pub step: u32,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    // Of a case, from its workspace to its verdict.
    /// An attempt at a case began.
    CaseStarted {
        /// Where it works.
        workspace: String,
    },
    /// Its workspace was laid out.
    Materialised {
        /// The address of everything in it.
        digest: Digest,
        /// How many files there are.
        files: u64,
    },
    /// A setup command ended.
    SetupFinished {
        /// The command's name.
        name: String,
        /// Whether it did what it should.
        ok: bool,
        /// One line: how it ended.
        reason: String,
        /// Wall time in milliseconds.
        duration_ms: u64,
        /// What it printed.
        output: Bounded,
    },
    /// A gate is about to run.
    GateStarted {
        /// The stage.
        phase: String,
        /// The gate.
        name: String,
    },
    /// A gate ended or was skipped.
    GateFinished {
        /// Its position among the task's gates, from 0.
        position: u32,
        /// What it said.
        #[serde(flatten)]
        result: GateResult,
    },
    /// A path that the agent must not change was found changed, and was restored.
    Tampered {
        /// The path.
        path: String,
        /// How it was changed.
        how: TamperKind,
    },
    /// What the agent changed, once it had stopped.
    Patched {
        /// How many files differ.
        files: u64,
        /// Lines added.
        added: u64,
        /// Lines removed.
        removed: u64,
        /// A unified diff, bounded.
        patch: Bounded,
    },
    /// The case has a verdict.
    CaseFinished {
        /// The verdict.
        outcome: CaseOutcome,
        /// One line: why, where it did not pass.
        reason: String,
        /// A budget that ran out.
        overrun: Option<Overrun>,
        /// Where the time went.
        times: CaseTimes,
    },

    // Of a run, from its contract to its outcome.
    /// A run began.
    Started {
        /// What it is asked to do.
        goal: String,
        /// The provider's name.
        provider: String,
        /// The model asked for.
        model: String,
    },
    /// A run goes on after its process had ended.
    Resumed {
        /// The last step that had been committed.
        after_step: u32,
    },
    /// A model call is about to be made.
    ModelCalling {
        /// The attempt at this step, from 1.
        attempt: u32,
    },
    /// A model call ended, answered or failed.
    ModelCalled(ProviderCall),
    /// A failed call will be tried again after a wait.
    Retry {
        /// How it failed.
        kind: ProviderErrorKind,
        /// The attempt that failed, from 1.
        attempt: u32,
        /// The wait in milliseconds.
        delay_ms: u64,
    },
    /// A tool is about to run.
    ToolCalling {
        /// The tool.
        name: String,
        /// What it acts on, on one line.
        target: String,
    },
    /// A tool call was answered.
    ToolCalled {
        /// The call's id in the conversation.
        call_id: String,
        /// The tool, as the model named it.
        name: String,
        /// What it acts on, on one line.
        target: String,
        /// Whether it did what was asked.
        ok: bool,
        /// Whether it changed the workspace.
        changed: bool,
        /// A short phrase: `wrote src/lib.rs`, `exec cargo exit 101`, `unknown tool`.
        decision: String,
        /// Wall time in milliseconds.
        duration_ms: u64,
    },
    /// The policy, or the approver that it asked, refused an action.
    Refused {
        /// What kind of action.
        act: Act,
        /// What it would have acted on.
        target: String,
        /// The rule that decided; `None` where a default did.
        rule: Option<String>,
        /// The layer of the rule.
        layer: Option<String>,
        /// Who refused: `policy` or `approver`.
        by: String,
    },
    /// The approver allowed an action that the policy had left open.
    Approved {
        /// What kind of action.
        act: Act,
        /// What it acts on.
        target: String,
    },
    /// A step is complete and committed.
    Step {
        /// How many tools it called.
        calls: u32,
        /// Tokens that the provider reported for it.
        tokens: u64,
        /// Whether it changed the workspace.
        changed: bool,
    },
    /// The success criterion was tried.
    Verified(Verdict),
    /// A ceiling was reached.
    BudgetExceeded {
        /// Which.
        kind: BudgetKind,
        /// The ceiling, as a person reads it.
        limit: String,
        /// What was used, as a person reads it.
        used: String,
    },
    /// The agent repeats itself and was told so.
    Replan {
        /// Over how many steps.
        window: u32,
    },
    /// The agent repeats itself still; the run ends.
    Stalled,
    /// The run ended.
    Finished {
        /// How.
        outcome: RunOutcome,
        /// Steps that were committed.
        steps: u32,
        /// Tokens that the provider reported, over all calls.
        tokens: u64,
        /// What broke, where something did.
        error: Option<String>,
    },
}

impl EventKind {
    /// The name of the kind, as it is written in traces.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::CaseStarted { .. } => "case_started",
            Self::Materialised { .. } => "materialised",
            Self::SetupFinished { .. } => "setup_finished",
            Self::GateStarted { .. } => "gate_started",
            Self::GateFinished { .. } => "gate_finished",
            Self::Tampered { .. } => "tampered",
            Self::Patched { .. } => "patched",
            Self::CaseFinished { .. } => "case_finished",
            Self::Started { .. } => "started",
            Self::Resumed { .. } => "resumed",
            Self::ModelCalling { .. } => "model_calling",
            Self::ModelCalled(_) => "model_called",
            Self::Retry { .. } => "retry",
            Self::ToolCalling { .. } => "tool_calling",
            Self::ToolCalled { .. } => "tool_called",
            Self::Refused { .. } => "refused",
            Self::Approved { .. } => "approved",
            Self::Step { .. } => "step",
            Self::Verified(_) => "verified",
            Self::BudgetExceeded { .. } => "budget_exceeded",
            Self::Replan { .. } => "replan",
            Self::Stalled => "stalled",
            Self::Finished { .. } => "finished",
        }
    }

    /// Whether the trace keeps it. What is only about to happen is for who watches.
    #[must_use]
    pub const fn is_recorded(&self) -> bool {
        !matches!(
            self,
            Self::ModelCalling { .. } | Self::ToolCalling { .. } | Self::GateStarted { .. }
        )
    }
}
