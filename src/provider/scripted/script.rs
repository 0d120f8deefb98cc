//! The file that a scripted provider plays.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::base::{Pattern, Size, Span};
use crate::domain::{Arguments, ProviderErrorKind, Usage};

/// The largest script, in bytes.
const LARGEST: u64 = 8 << 20;

/// The version of the format that is read here.
const VERSION: u64 = 1;

/// Why a script is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read the script {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file is no script.
    #[error("{name}:{line}:{column}: {message}")]
    Parse {
        /// The file as it was named.
        name: String,
        /// The line, from 1; 0 where it is not known.
        line: u64,
        /// The column, from 1; 0 where it is not known.
        column: u64,
        /// What is wrong, and what was expected.
        message: String,
    },
}

/// What a scripted provider says, turn by turn.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The version of this format: 1.
    #[serde(deserialize_with = "version")]
    #[schemars(range(min = 1, max = 1))]
    version: u64,
    /// The model that is reported as served. Default: the one that the suite asks for.
    #[serde(default)]
    pub model: Option<String>,
    /// The turns of every task without a script of its own.
    #[serde(default)]
    turns: Vec<Turn>,
    /// Turns for some tasks; the first that fits is played.
    #[serde(default)]
    scripts: Vec<Part>,
    /// What comes after the last turn.
    #[serde(default)]
    pub after: AfterLast,
}

/// What a script says after its last turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AfterLast {
    /// A text without a tool call, so that the agent finishes.
    #[default]
    Stop,
    /// The last turn, again and again.
    Repeat,
}

/// Turns for some of a suite's cases.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Part {
    /// The tasks: an id, or a pattern in which `*` is any run of characters.
    task: String,
    /// The trials, from 1. Default: all.
    #[serde(default)]
    trial: Vec<u32>,
    /// What is said.
    turns: Vec<Turn>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "RawTurn")]
#[schemars(with = "RawTurn")]
pub(super) struct Turn {
    pub(super) text: Option<String>,
    pub(super) calls: Vec<Call>,
    pub(super) usage: Option<ScriptUsage>,
    pub(super) delay: Option<Span>,
    pub(super) finish: Option<String>,
    pub(super) error: Option<Failure>,
}

/// One answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Turn")]
struct RawTurn {
    /// What is said.
    #[serde(default)]
    text: Option<String>,
    /// The tools that are called.
    #[serde(default)]
    calls: Vec<Call>,
    /// What the call is reported to have used. Without it nothing is reported, which is not zero.
    #[serde(default)]
    usage: Option<ScriptUsage>,
    /// The wait before the first content.
    #[serde(default)]
    delay: Option<Span>,
    /// Why the answer ends: stop, tool_calls, length, refusal, pause, or any other word. Default: what fits.
    #[serde(default)]
    finish: Option<String>,
    /// A failure in place of the answer, or before it.
    #[serde(default)]
    error: Option<Failure>,
}

impl TryFrom<RawTurn> for Turn {
    type Error = String;

    fn try_from(raw: RawTurn) -> Result<Self, String> {
        let answers = raw.text.is_some() || !raw.calls.is_empty() || raw.finish.is_some();
        match &raw.error {
            None if !answers => {
                return Err(
                    "a turn without `text`, `calls`, `finish` or `error` says nothing".to_owned(),
                );
            }
            Some(error) if error.times.is_some() && !answers => {
                return Err(
                    "an error that ends after some `times` needs what follows it: `text`, `calls` or `finish`"
                        .to_owned(),
                );
            }
            Some(error) if error.times.is_none() && answers => {
                return Err(
                    "an error without `times` fails every attempt, so that the rest of the turn is never said"
                        .to_owned(),
                );
            }
            _ => {}
        }
        Ok(Self {
            text: raw.text,
            calls: raw.calls,
            usage: raw.usage,
            delay: raw.delay,
            finish: raw.finish,
            error: raw.error,
        })
    }
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "RawCall")]
#[schemars(with = "RawCall")]
pub(super) struct Call {
    pub(super) tool: String,
    arguments: Arguments,
}

impl Call {
    pub(super) fn arguments(&self) -> Arguments {
        self.arguments.clone()
    }
}

/// A tool call.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Call")]
struct RawCall {
    /// The tool's name.
    tool: String,
    /// Its arguments. Default: none.
    #[serde(default)]
    arguments: Option<Value>,
    /// Its arguments as the text that a model would write, which need not be JSON.
    #[serde(default)]
    raw_arguments: Option<String>,
}

impl TryFrom<RawCall> for Call {
    type Error = String;

    fn try_from(raw: RawCall) -> Result<Self, String> {
        let arguments = match (raw.arguments, raw.raw_arguments) {
            (Some(_), Some(_)) => {
                return Err(
                    "`arguments` and `raw_arguments` say the same thing twice: keep one".to_owned(),
                );
            }
            (Some(value), None) => Arguments::Json(value),
            (None, Some(text)) => Arguments::parse(&text),
            (None, None) => Arguments::parse(""),
        };
        if raw.tool.is_empty() {
            return Err("`tool` is empty".to_owned());
        }
        Ok(Self {
            tool: raw.tool,
            arguments,
        })
    }
}

/// What a call is reported to have used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptUsage {
    /// All prompt tokens, cached ones included.
    prompt_tokens: Size,
    /// All completion tokens, reasoning included.
    completion_tokens: Size,
    /// Prompt tokens read from a cache. Default: 0.
    #[serde(default)]
    cache_read_tokens: Option<Size>,
    /// Prompt tokens written to a cache. Default: 0.
    #[serde(default)]
    cache_write_tokens: Option<Size>,
    /// Completion tokens spent on reasoning. Default: 0.
    #[serde(default)]
    reasoning_tokens: Option<Size>,
    /// Requests of tools that a vendor would run. Default: 0.
    #[serde(default)]
    server_tool_requests: Option<Size>,
}

impl ScriptUsage {
    pub(super) fn counts(&self) -> Usage {
        let count = |size: Option<Size>| size.map_or(0, |size| size.0);
        Usage {
            prompt_tokens: self.prompt_tokens.0,
            completion_tokens: self.completion_tokens.0,
            total_tokens: self
                .prompt_tokens
                .0
                .saturating_add(self.completion_tokens.0),
            cache_read_tokens: count(self.cache_read_tokens),
            cache_write_tokens: count(self.cache_write_tokens),
            reasoning_tokens: count(self.reasoning_tokens),
            server_tool_requests: count(self.server_tool_requests),
        }
    }
}

/// A failure.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Failure {
    /// How the call fails.
    pub(super) kind: FailureKind,
    /// The HTTP status that it is reported with.
    #[serde(default)]
    pub(super) status: Option<u16>,
    /// How long the provider asks to wait.
    #[serde(default)]
    pub(super) retry_after: Option<Span>,
    /// What a person reads.
    #[serde(default)]
    pub(super) message: Option<String>,
    /// How many attempts at the step fail before the turn is said. Default: all.
    #[serde(default)]
    pub(super) times: Option<u32>,
}

/// How a scripted call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum FailureKind {
    /// The connection breaks.
    Transport,
    /// No answer in time.
    Timeout,
    /// Too many requests.
    RateLimited,
    /// No capacity.
    Overloaded,
    /// The vendor fails.
    Server,
    /// The key is refused.
    Auth,
    /// The request is refused.
    Request,
    /// The answer breaks the protocol.
    Malformed,
    /// The conversation is too long.
    ContextOverflow,
}

impl From<FailureKind> for ProviderErrorKind {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Transport => Self::Transport,
            FailureKind::Timeout => Self::Timeout,
            FailureKind::RateLimited => Self::RateLimited,
            FailureKind::Overloaded => Self::Overloaded,
            FailureKind::Server => Self::Server,
            FailureKind::Auth => Self::Auth,
            FailureKind::Request => Self::Request,
            FailureKind::Malformed => Self::Malformed,
            FailureKind::ContextOverflow => Self::ContextOverflow,
        }
    }
}

fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let version = u64::deserialize(deserializer)?;
    if version == VERSION {
        return Ok(version);
    }
    Err(serde::de::Error::custom(format!(
        "version {version} of the script format is not known here: write `version: {VERSION}`, or use a newer taskgate"
    )))
}

impl Script {
    /// Reads a script from a file.
    ///
    /// # Errors
    /// Where the file cannot be read or is no script.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let read = || -> std::io::Result<String> {
            let mut text = String::new();
            let file = std::fs::File::open(path)?;
            file.take(LARGEST + 1).read_to_string(&mut text)?;
            Ok(text)
        };
        let reason = match read() {
            Ok(text) if text.len() as u64 <= LARGEST => {
                return Self::parse(&text, &path.display().to_string());
            }
            Ok(_) => format!("it is larger than {LARGEST} bytes"),
            Err(error) => error.to_string(),
        };
        Err(ScriptError::Read {
            path: path.to_owned(),
            reason,
        })
    }

    /// Reads a script from text; `name` names it in errors.
    ///
    /// # Errors
    /// Where the text is no script, with the place.
    pub fn parse(text: &str, name: &str) -> Result<Self, ScriptError> {
        serde_yaml::from_str_with_options(text, strict()).map_err(|error| {
            let place = error.location();
            ScriptError::Parse {
                name: name.to_owned(),
                line: place.map_or(0, |place| place.line()),
                column: place.map_or(0, |place| place.column()),
                message: first_line(&error),
            }
        })
    }

    /// The first list of turns that is written for a case; `None` plays the turns for everybody.
    pub(super) fn part_for(&self, task: &str, trial: u32) -> Option<usize> {
        self.scripts.iter().position(|part| {
            Pattern::new(part.task.as_str()).matches(task)
                && (part.trial.is_empty() || part.trial.contains(&trial))
        })
    }

    pub(super) fn turns(&self, part: Option<usize>) -> &[Turn] {
        part.and_then(|part| self.scripts.get(part))
            .map_or(&self.turns, |part| &part.turns)
    }
}

/// The message without the place, which stands before it already, and without the drawn snippet.
fn first_line(error: &serde_yaml::Error) -> String {
    let plain = error.without_snippet().render_with_options(
        serde_yaml::render_options! { snippets: serde_yaml::SnippetMode::Off },
    );
    let line = plain.lines().next().unwrap_or_default();
    match line.rfind(" at line ") {
        Some(at) => line[..at].to_owned(),
        None => line.to_owned(),
    }
}

fn strict() -> serde_yaml::Options {
    serde_yaml::options! {
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
    }
}
