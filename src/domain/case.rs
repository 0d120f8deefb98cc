//! One cell of the matrix, and what became of it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{BudgetKind, Price};
use crate::base::{Bounded, Digest, Timestamp};

/// The name of a case: `suite/task/provider[/var=value,…]#trial`. It does not depend on the order of any file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CaseId(Arc<str>);

impl CaseId {
    /// Names a case; `vars` come in the order of their names.
    ///
    /// ```
    /// use taskgate::domain::CaseId;
    ///
    /// let vars = [("style".to_owned(), "terse".to_owned())].into();
    /// assert_eq!(CaseId::new("parser", "empty-input", "local", &vars, 2).as_str(), "parser/empty-input/local/style=terse#2");
    /// ```
    #[must_use]
    pub fn new(
        suite: &str,
        task: &str,
        provider: &str,
        vars: &BTreeMap<String, String>,
        trial: u32,
    ) -> Self {
        let vars: Vec<String> = vars
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let slash = if vars.is_empty() { "" } else { "/" };
        Self(format!("{suite}/{task}/{provider}{slash}{}#{trial}", vars.join(",")).into())
    }

    /// Takes a name that was made before, for instance from a trace.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self(text.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A case and which attempt at it: `--retries` starts an errored case again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CaseRef {
    /// The case.
    pub id: CaseId,
    /// Counts from 1.
    pub attempt: u32,
}

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseOutcome {
    /// Every gate passed.
    Passed,
    /// A gate said no.
    Failed,
    /// A budget ran out, and the gates did not pass.
    Exhausted,
    /// The policy or the provider refused the work.
    Refused,
    /// The case could not be judged; never counted as the model's failure.
    Errored,
    /// Stopped from outside before it was judged.
    Interrupted,
    /// Left out, with a reason.
    Skipped,
}

impl CaseOutcome {
    /// All outcomes, in the order in which reports list them.
    pub const ALL: [Self; 7] = [
        Self::Passed,
        Self::Failed,
        Self::Exhausted,
        Self::Refused,
        Self::Errored,
        Self::Interrupted,
        Self::Skipped,
    ];

    /// The name as it is written in traces and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Exhausted => "exhausted",
            Self::Refused => "refused",
            Self::Errored => "errored",
            Self::Interrupted => "interrupted",
            Self::Skipped => "skipped",
        }
    }

    /// Reads the name back.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|outcome| outcome.as_str() == text)
    }

    /// Whether the case was judged: only such cases enter a pass rate.
    #[must_use]
    pub const fn is_judged(self) -> bool {
        matches!(
            self,
            Self::Passed | Self::Failed | Self::Exhausted | Self::Refused
        )
    }
}

/// A budget that ran out, noted also where the gates passed all the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrun {
    /// Which ceiling.
    pub kind: BudgetKind,
    /// The ceiling, as a person reads it.
    pub limit: String,
    /// What was used when it was noticed, as a person reads it.
    pub used: String,
}

/// The verdict of one gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateStatus {
    /// The check held.
    Passed,
    /// The check did not hold.
    Failed,
    /// An earlier phase stopped it.
    Skipped,
    /// It could not be run.
    Errored,
}

impl GateStatus {
    /// The name as it is written in traces and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Errored => "errored",
        }
    }
}

/// What one gate said, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateResult {
    /// The stage that the gate belongs to.
    pub phase: String,
    /// The gate's name, unique in its task.
    pub name: String,
    /// Its verdict.
    pub status: GateStatus,
    /// One line: `exit 101 (expected 0)`, `timed out after 2m`, `phase build did not pass`.
    pub reason: String,
    /// The exit status of a command that ended by itself.
    pub exit_code: Option<i32>,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
    /// What it printed: standard error first, since a tool's chatter goes there and its verdict to standard output.
    pub output: Bounded,
}

/// How a protected path was found changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TamperKind {
    /// Its content or its kind differed.
    Changed,
    /// It had not been there.
    Created,
    /// It was gone.
    Removed,
}

impl TamperKind {
    /// The name as it is written in traces and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Created => "created",
            Self::Removed => "removed",
        }
    }
}

/// Where the time of a case went, in milliseconds of wall time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CaseTimes {
    /// From the moment the case began to its verdict.
    pub wall: u64,
    /// Laying out the workspace and running setup commands.
    pub setup: u64,
    /// Waiting for the provider's answers.
    pub provider: u64,
    /// Waiting before a retry or for a rate limit.
    pub waiting: u64,
    /// Running tools.
    pub tools: u64,
    /// Running gates.
    pub gates: u64,
}

/// A suite as the trace keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteRecord {
    /// The suite's name, unique in the batch.
    pub name: String,
    /// One line for the report.
    pub description: String,
    /// The suite's file as it was given, with `/` between names.
    pub file: String,
    /// The thresholds of the suite as JSON, as [`crate::suite`] defines them.
    pub thresholds: serde_json::Value,
    /// What a reader of every report must know, for instance a cost ceiling that nothing enforces.
    pub warnings: Vec<String>,
}

/// A planned case as the trace keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseRecord {
    /// The case's name.
    pub id: CaseId,
    /// The suite's name.
    pub suite: String,
    /// The task's id.
    pub task: String,
    /// The provider's name in the suite.
    pub provider: String,
    /// The model asked for.
    pub model: String,
    /// The assignment of the matrix's variables.
    pub vars: BTreeMap<String, String>,
    /// Counts from 1.
    pub trial: u32,
    /// The task's tags.
    pub tags: Vec<String>,
    /// The line of the task in the suite's file, from 1.
    pub line: u32,
    /// The gates in the order in which they run: phase and name.
    pub gates: Vec<(String, String)>,
    /// Everything that is needed to run the case again, without any secret.
    pub spec: serde_json::Value,
    /// The address of `spec`.
    pub digest: Digest,
    /// Why the case is left out, where it is.
    pub skip: Option<String>,
}

/// One row of a price table as the trace keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PriceRecord {
    /// The table's name.
    pub table: String,
    /// The date on which the prices held, `YYYY-MM-DD`.
    pub as_of: String,
    /// The model's exact id.
    pub model: String,
    /// Its prices.
    pub price: Price,
}

/// A batch as the trace keeps it: everything that a report or a resume needs to know of its beginning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchRecord {
    /// When it began.
    pub started_at: Timestamp,
    /// The version of this program.
    pub version: String,
    /// Operating system and architecture, for instance `linux/x86_64`.
    pub platform: String,
    /// The options that a resume takes over, as JSON.
    pub options: serde_json::Value,
    /// The suites, in order.
    pub suites: Vec<SuiteRecord>,
    /// The cases, in order.
    pub cases: Vec<CaseRecord>,
    /// The price tables in use, in order of preference: the first is the one that budgets are kept under.
    pub prices: Vec<PriceRecord>,
    /// What the sandbox enforces here, layer by layer, as JSON.
    pub sandbox: serde_json::Value,
}
