//! The format of a suite file, key by key. The JSON Schema is derived from these types, and the key tables of the
//! diagnostics are read from the schema: a key that is added here is known everywhere.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

use crate::base::{Money, Size, Span};
use crate::provider::{ProviderConfig, RetryConfig};

/// The version of the format that this program reads.
pub(crate) const VERSION: u64 = 1;

/// One suite: tasks, the pinned providers that attempt them, and the matrix between the two.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "taskgate suite")]
pub(crate) struct SuiteFile {
    /// The version of this format: 1.
    #[schemars(schema_with = "version_schema")]
    #[expect(dead_code, reason = "checked before the file is read into this type")]
    pub version: u64,
    /// The suite's name: lower-case letters, digits and `-`. Unique among the suites of one batch.
    pub name: String,
    /// One line for the reports.
    #[serde(default)]
    pub description: Option<String>,
    /// What a task does not say; the keys of a task. A task's own key wins, a list replaces a list, and the
    /// keys of `budget` are taken one by one.
    #[serde(default)]
    #[schemars(schema_with = "defaults_schema")]
    #[expect(
        dead_code,
        reason = "laid beneath each task before the file is read into this type"
    )]
    pub defaults: Option<TaskFile>,
    /// The providers by name, or the path of a YAML file that holds this map.
    #[schemars(schema_with = "providers_schema")]
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Price tables (TOML), relative to the suite. The first is the one that cost ceilings are kept under.
    #[serde(default)]
    pub prices: Vec<String>,
    /// The tasks; at least one.
    #[schemars(length(min = 1))]
    pub tasks: Vec<TaskFile>,
    /// Which providers attempt the tasks, how often, and over which values of which variables.
    #[serde(default)]
    pub matrix: Option<MatrixFile>,
    /// Ceilings of the whole suite: no new case starts past them.
    #[serde(default)]
    pub budget: Option<SuiteBudgetFile>,
    /// When the suite counts as passed.
    #[serde(default)]
    pub thresholds: Option<Thresholds>,
}

/// One task: the goal, where to work, what is allowed, and the gates that decide.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Task")]
pub(crate) struct TaskFile {
    /// The task's name: lower-case letters, digits and `-`. Unique in the suite.
    #[serde(default)]
    pub id: Option<String>,
    /// What the agent is asked to do. Here, in constraints, commands, file texts and paths `{{name}}` stands for the
    /// value of a variable of the matrix, and `{{{{name}}}}` for the text `{{name}}`.
    #[serde(default)]
    pub goal: Option<String>,
    /// What the agent works on. Without it the workspace begins empty.
    #[serde(default)]
    pub workspace: Option<WorkspaceFile>,
    /// Sentences that the agent is shown and nothing enforces.
    #[serde(default)]
    pub constraints: Option<Vec<String>>,
    /// What the agent may do.
    #[serde(default)]
    pub policy: Option<PolicySpec>,
    /// What an act gets that the policy wants to be asked about, since nobody is there to ask. Default: `deny`.
    #[serde(default)]
    pub approve: Option<Approve>,
    /// Commands that prepare the workspace before the agent begins.
    #[serde(default)]
    pub setup: Option<Vec<SetupFile>>,
    /// What decides, after the agent has stopped. `[]` says that nothing is checked.
    #[serde(default)]
    pub gates: Option<Vec<GateFile>>,
    /// Globs of paths that the agent may not write and that are restored before the gates run.
    #[serde(default)]
    pub protect: Option<Vec<String>>,
    /// Ceilings of one case.
    #[serde(default)]
    pub budget: Option<BudgetFile>,
    /// How a failed model call is tried again; a key that is given wins over the provider's `retry`.
    #[serde(default)]
    pub retry: Option<RetryConfig>,
    /// When repetition ends the run.
    #[serde(default)]
    pub stall: Option<StallFile>,
    /// The longest time that one command of the agent's may take. Default: 15m.
    #[serde(default)]
    pub exec_timeout: Option<Span>,
    /// How commands of the agent, the setup and the gates are confined.
    #[serde(default)]
    pub sandbox: Option<SandboxFile>,
    /// The platforms on which the task makes sense; elsewhere its cases are skipped. Default: all.
    #[serde(default)]
    pub platforms: Option<Vec<Platform>>,
    /// Labels to select by.
    #[serde(default)]
    pub tags: Option<Vec<String>>,
}

/// What the agent works on: exactly one of `dir`, `git` and `files`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Workspace")]
pub(crate) struct WorkspaceFile {
    /// A folder, relative to the suite, that is copied.
    #[serde(default)]
    pub dir: Option<String>,
    /// A commit of a repository.
    #[serde(default)]
    pub git: Option<GitFile>,
    /// Texts by their paths below the workspace's root.
    #[serde(default)]
    pub files: Option<BTreeMap<String, Text>>,
}

/// A commit of a repository: exactly one of `path` and `url`, and `rev`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Git")]
pub(crate) struct GitFile {
    /// A repository, relative to the suite.
    #[serde(default)]
    pub path: Option<String>,
    /// A `file://` address.
    #[serde(default)]
    pub url: Option<String>,
    /// The full commit id, 40 hexadecimal digits: a branch or a tag would move.
    pub rev: String,
}

/// What the agent may do: lists of patterns in which `*` stands for any run of characters and `?` for exactly one.
/// A denial beats a question, and a question beats a permission.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Policy")]
pub struct PolicySpec {
    /// Paths that may be read. With this list no other path may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<String>>,
    /// Paths that may be written. With this list no other path may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Vec<String>>,
    /// Commands that may be run: the program, or the program and its arguments. With this list no other command may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<Vec<String>>,
    /// Hosts, or `host:port`, that may be reached. With this list no other host may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net: Option<Vec<String>>,
    /// Paths that may not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny_read: Option<Vec<String>>,
    /// Paths that may not be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny_write: Option<Vec<String>>,
    /// Commands that may not be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny_exec: Option<Vec<String>>,
    /// Hosts that may not be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny_net: Option<Vec<String>>,
    /// Paths whose reading gets what `approve` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_read: Option<Vec<String>>,
    /// Paths whose writing gets what `approve` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_write: Option<Vec<String>>,
    /// Commands that get what `approve` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_exec: Option<Vec<String>>,
    /// Hosts that get what `approve` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_net: Option<Vec<String>>,
}

impl PolicySpec {
    /// Every list with its key.
    pub(crate) fn lists_mut(&mut self) -> [(&'static str, &mut Option<Vec<String>>); 12] {
        [
            ("read", &mut self.read),
            ("write", &mut self.write),
            ("exec", &mut self.exec),
            ("net", &mut self.net),
            ("deny_read", &mut self.deny_read),
            ("deny_write", &mut self.deny_write),
            ("deny_exec", &mut self.deny_exec),
            ("deny_net", &mut self.deny_net),
            ("ask_read", &mut self.ask_read),
            ("ask_write", &mut self.ask_write),
            ("ask_exec", &mut self.ask_exec),
            ("ask_net", &mut self.ask_net),
        ]
    }
}

/// What an act gets that the policy wants to be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Approve {
    /// It is refused.
    #[default]
    Deny,
    /// It goes on.
    Allow,
}

/// A command that prepares the workspace.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Setup")]
pub(crate) struct SetupFile {
    /// The name in reports, unique among the task's setup commands.
    pub name: String,
    /// Program and arguments; no shell reads them.
    pub command: Command,
    /// Whether it may reach the network. Default: false.
    #[serde(default)]
    pub network: Option<bool>,
    /// The longest time that it may take. Default: 10m.
    #[serde(default)]
    pub timeout: Option<Span>,
}

/// One check after the agent has stopped: exactly one of `command`, `file_contains`, `file_equals`,
/// `document_contains` and `compiles_rust`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Gate")]
pub(crate) struct GateFile {
    /// The name in reports, unique in the task.
    pub name: String,
    /// The stage that the gate belongs to. Phases run in the order of their first appearance, each only where every
    /// gate of the earlier ones passed. Default: `accept`.
    #[serde(default)]
    pub phase: Option<String>,
    /// A command that exits with `expect_exit`: program and arguments; no shell reads them.
    #[serde(default)]
    pub command: Option<Command>,
    /// The exit status that passes. Default: 0.
    #[serde(default)]
    pub expect_exit: Option<i32>,
    /// The longest time that the command may take. Default: 10m.
    #[serde(default)]
    pub timeout: Option<Span>,
    /// Whether the command may reach the network. Default: false.
    #[serde(default)]
    pub network: Option<bool>,
    /// A file that holds a text.
    #[serde(default)]
    pub file_contains: Option<FileText>,
    /// A file that is exactly a text.
    #[serde(default)]
    pub file_equals: Option<FileText>,
    /// A spreadsheet, Word, PowerPoint or PDF file whose text holds a text.
    #[serde(default)]
    pub document_contains: Option<FileText>,
    /// Files each of which compiles on its own as a Rust library.
    #[serde(default)]
    pub compiles_rust: Option<Vec<String>>,
    /// Files that are laid into the workspace after the agent has stopped: the path in the workspace, and the file
    /// or folder, relative to the suite, that is copied there. The agent never sees them.
    #[serde(default)]
    pub files: Option<BTreeMap<String, String>>,
    /// Hands the gate to the agent's loop as well: it goes on until the gate passes or a budget ends. Default: false.
    #[serde(default)]
    pub during: Option<bool>,
}

/// A file and a text.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileText {
    /// The file, below the workspace's root.
    pub path: String,
    /// The text.
    pub text: Text,
}

/// Ceilings of one case.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Budget")]
pub(crate) struct BudgetFile {
    /// Answered model calls. Default: 12.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub steps: Option<u32>,
    /// Tokens as the provider reports them, over all calls.
    #[serde(default)]
    pub tokens: Option<Size>,
    /// Time from the agent's first step on.
    #[serde(default)]
    pub wall: Option<Span>,
    /// Dollars under the suite's first price table.
    #[serde(default)]
    pub cost_usd: Option<Dollars>,
}

/// Ceilings of the whole suite.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SuiteBudget")]
pub(crate) struct SuiteBudgetFile {
    /// Dollars under the suite's first price table.
    #[serde(default)]
    pub cost_usd: Option<Dollars>,
    /// Time from the suite's first case on.
    #[serde(default)]
    pub wall: Option<Span>,
}

/// When repetition ends the run.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Stall")]
pub(crate) struct StallFile {
    /// Steps of the same kind in a row that count as a stall; 0 switches the detection off. Default: 3.
    #[serde(default)]
    pub window: Option<u32>,
    /// How often the agent is told to change its plan before the run ends. Default: 1.
    #[serde(default)]
    pub max_replans: Option<u32>,
}

/// How commands are confined.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Sandbox")]
pub(crate) struct SandboxFile {
    /// Which confinement is used. Default: `auto`.
    #[serde(default)]
    pub backend: Option<SandboxBackend>,
    /// Whether the agent's commands may reach the network. Default: false.
    #[serde(default)]
    pub network: Option<bool>,
    /// Ceilings of each command.
    #[serde(default)]
    pub limits: Option<LimitsFile>,
}

/// Which confinement is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxBackend {
    /// The strongest that this machine enforces.
    #[default]
    Auto,
    /// What every machine has, for results that compare across machines.
    Floor,
}

/// Ceilings of each command. Sizes are bytes and may be written with `k`, `M` or `G`.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SandboxLimits")]
pub(crate) struct LimitsFile {
    /// Processor time.
    #[serde(default)]
    pub cpu: Option<Span>,
    /// Wall time, where nothing else says less.
    #[serde(default)]
    pub wall: Option<Span>,
    /// Memory of all processes together.
    #[serde(default)]
    pub memory: Option<Bytes>,
    /// Processes at once.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub processes: Option<u32>,
    /// Open files of one process.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub open_files: Option<u64>,
    /// The largest file that may be written.
    #[serde(default)]
    pub file_size: Option<Bytes>,
    /// How much of each output stream is kept.
    #[serde(default)]
    pub output: Option<Bytes>,
    /// How much output ends the command.
    #[serde(default)]
    pub output_kill: Option<Bytes>,
}

/// The matrix between tasks and providers.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Matrix")]
pub(crate) struct MatrixFile {
    /// The providers that attempt every task. Default: all that are declared.
    #[serde(default)]
    pub providers: Option<Vec<String>>,
    /// How often each case is tried. Default: 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub trials: Option<u32>,
    /// The values of each variable: every combination makes a case.
    #[serde(default)]
    pub vars: BTreeMap<String, Vec<Text>>,
    /// Combinations that are left out: `task`, `provider` and variables, all of which must fit.
    #[serde(default)]
    pub exclude: Vec<BTreeMap<String, Text>>,
    /// Combinations that are added: `task`, `provider` and variables. What is not named ranges over the matrix.
    #[serde(default)]
    pub include: Vec<BTreeMap<String, Text>>,
}

/// When a suite counts as passed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// The share of judged cases that must pass, from 0 to 1: for all providers, or by provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_rate: Option<PassRate>,
    /// The longest wall time of a case at the 95th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_wall: Option<Span>,
    /// How many cases may be impossible to judge. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<u32>,
    /// What counts as worse than a baseline trace, where one is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regression: Option<Regression>,
}

/// The share of judged cases that must pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PassRate {
    /// Of every provider.
    All(f64),
    /// Of the providers that are named.
    ByProvider(BTreeMap<String, f64>),
}

/// What counts as worse than a baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Regression {
    /// How far the pass rate may fall, from 0 to 1. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub max_drop: f64,
    /// How sure a fall must be before it counts, from 0.5 to below 1. Default: 0.95.
    #[serde(default = "default_confidence")]
    #[schemars(range(min = 0.5, max = 0.9999))]
    pub confidence: f64,
}

const fn default_confidence() -> f64 {
    0.95
}

/// An operating system that a task may be limited to.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    /// Linux, and any other system that is neither of the two below.
    Linux,
    /// macOS.
    Macos,
    /// Windows.
    Windows,
}

impl Platform {
    /// All platforms.
    pub const ALL: [Self; 3] = [Self::Linux, Self::Macos, Self::Windows];

    /// The platform that this program was built for.
    #[must_use]
    pub fn host() -> Self {
        match std::env::consts::OS {
            "windows" => Self::Windows,
            "macos" => Self::Macos,
            _ => Self::Linux,
        }
    }

    /// The name as it is written in a suite.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Macos => "macos",
            Self::Windows => "windows",
        }
    }
}

/// A text; a number or a boolean is taken as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Text(pub String);

impl JsonSchema for Text {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "number", "boolean"],
            "description": "A text. A number or a boolean is taken as it is written: `1.10` stays `1.10`."
        })
    }
}

/// A command: one argv, or one for each platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    Everywhere(Vec<Text>),
    ByPlatform(BTreeMap<String, Vec<Text>>),
}

impl Command {
    /// The argv on a platform, and the key that it stands under where the forms differ.
    pub(crate) fn on(&self, platform: Platform) -> Option<(&[Text], Option<&'static str>)> {
        match self {
            Self::Everywhere(argv) => Some((argv, None)),
            Self::ByPlatform(forms) => [platform.as_str(), "default"]
                .into_iter()
                .find_map(|name| forms.get(name).map(|argv| (argv.as_slice(), Some(name)))),
        }
    }
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;

        impl<'de> Visitor<'de> for Forms {
            type Value = Command;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of a program and its arguments")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Command, A::Error> {
                let mut argv = Vec::new();
                while let Some(argument) = seq.next_element()? {
                    argv.push(argument);
                }
                Ok(Command::Everywhere(argv))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Command, A::Error> {
                BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Command::ByPlatform)
            }
        }

        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for Command {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Command".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let argument = generator.subschema_for::<Text>();
        let argv = json_schema!({ "type": "array", "items": argument, "minItems": 1 });
        json_schema!({
            "description": "Program and arguments, never a shell string; or one such list for each platform.",
            "anyOf": [
                argv,
                {
                    "type": "object",
                    "properties": { "linux": argv, "macos": argv, "windows": argv, "default": argv },
                    "additionalProperties": false,
                    "minProperties": 1
                }
            ]
        })
    }
}

impl<'de> Deserialize<'de> for PassRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;

        impl<'de> Visitor<'de> for Forms {
            type Value = PassRate;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a share from 0 to 1, or a mapping of providers to shares")
            }

            #[expect(
                clippy::cast_precision_loss,
                reason = "a share is 0 or 1 where it is whole"
            )]
            fn visit_u64<E>(self, value: u64) -> Result<PassRate, E> {
                Ok(PassRate::All(value as f64))
            }

            fn visit_f64<E>(self, value: f64) -> Result<PassRate, E> {
                Ok(PassRate::All(value))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PassRate, A::Error> {
                BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(PassRate::ByProvider)
            }
        }

        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for PassRate {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PassRate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let rate = json_schema!({ "type": "number", "minimum": 0, "maximum": 1 });
        json_schema!({
            "description": "A share from 0 to 1 of the judged cases: for every provider, or by provider.",
            "anyOf": [rate, { "type": "object", "additionalProperties": rate }]
        })
    }
}

/// An amount of dollars, more than nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Dollars(pub Money);

impl JsonSchema for Dollars {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Dollars".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "An amount of United States dollars, for instance `0.50`."
        })
    }
}

/// A number of bytes, with `k`, `M` or `G` for a thousand, a million or a thousand million.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bytes(pub u64);

impl std::str::FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |_| {
            format!("`{text}` is not a number of bytes: write for instance `64k`, `512M` or `2G`")
        };
        match text.trim().strip_suffix('G') {
            Some(number) => {
                let millions: Size = format!("{number}M").parse().map_err(bad)?;
                Ok(Self(millions.0.saturating_mul(1_000)))
            }
            None => text.parse::<Size>().map(|size| Self(size.0)).map_err(bad),
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Bytes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["integer", "string"],
            "minimum": 1,
            "pattern": "^[0-9]+(\\.[0-9]+)?[kKMG]?$",
            "description": "A number of bytes, for instance `64k`, `512M` or `2G`."
        })
    }
}

fn version_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "const": VERSION })
}

fn providers_schema(generator: &mut SchemaGenerator) -> Schema {
    let provider = generator.subschema_for::<ProviderConfig>();
    json_schema!({
        "anyOf": [
            { "type": "object", "additionalProperties": provider, "minProperties": 1 },
            { "type": "string", "minLength": 1 }
        ]
    })
}

fn defaults_schema(generator: &mut SchemaGenerator) -> Schema {
    // A reference for now: the schema room makes the keys of a task without `id` out of it.
    drop(generator.subschema_for::<TaskFile>());
    json_schema!({ "$ref": "#/$defs/Defaults" })
}
