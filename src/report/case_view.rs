//! One case, put together from the views as a person follows it.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension as _, Row};
use serde::Serialize;
use serde_json::Value;

use super::ReportError;
use super::model::{Amount, FromRow, Text};
use super::query::{prepare, read_with};
use crate::base::{clip_middle, printable};
use crate::domain::{Arguments, Block};

/// The longest text of one block in an overview, in characters.
const OVERVIEW_TEXT: usize = 2_000;

/// The longest text of one block where a single step is asked for.
const STEP_TEXT: usize = 60_000;

/// Attempts at guessing what a mistyped name meant are over so many cases at most.
const MOST_COMPARED: usize = 20_000;

macro_rules! columns {
    ($($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $kind:ty,)* })*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, PartialEq, Serialize)]
            #[non_exhaustive]
            pub struct $name { $($(#[$field_about])* pub $field: $kind,)* }

            impl FromRow for $name {
                fn from_row(row: &Row<'_>, _: &[usize]) -> rusqlite::Result<Self> {
                    Ok(Self { $($field: row.get(stringify!($field))?,)* })
                }
            }
        )*
    };
}

columns! {
    /// What the plan and the verdict say of the case; the verdict is that of the last attempt.
    CaseFacts {
        /// The suite.
        suite: Text,
        /// The case.
        case_id: Text,
        /// The task.
        task: Text,
        /// The provider.
        provider: Text,
        /// The model asked for.
        model: Option<Text>,
        /// The suite's file.
        file: Option<Text>,
        /// The task's line in it.
        line: Option<i64>,
        /// How it ended.
        outcome: Option<Text>,
        /// Why, in one line.
        reason: Option<Text>,
        /// A budget that ran out.
        overrun_kind: Option<Text>,
        /// Its ceiling.
        overrun_limit: Option<Text>,
        /// What was used.
        overrun_used: Option<Text>,
        /// How often it was tried.
        attempts: Option<i64>,
        /// Wall time in milliseconds.
        wall_ms: Option<i64>,
        /// Laying out the workspace and setup commands.
        setup_ms: Option<i64>,
        /// Waiting for answers.
        provider_ms: Option<i64>,
        /// Waiting before a retry or for a rate limit.
        waiting_ms: Option<i64>,
        /// Running tools.
        tool_ms: Option<i64>,
        /// Running gates.
        gate_ms: Option<i64>,
        /// Files that differ.
        patch_files: Option<i64>,
        /// Lines added.
        patch_added: Option<i64>,
        /// Lines removed.
        patch_removed: Option<i64>,
        /// The change as a unified diff, bounded.
        patch: Option<Text>,
    }

    /// A run of the attempt.
    RunFacts {
        /// Its number in the trace.
        run_id: i64,
        /// How it ended.
        outcome: Option<Text>,
        /// Steps that were committed.
        steps: Option<i64>,
        /// What broke.
        error: Option<Text>,
    }

    /// A setup command.
    SetupFacts {
        /// Its name.
        name: Text,
        /// Whether it did what it should.
        ok: bool,
        /// How it ended, in one line.
        reason: Option<Text>,
        /// Wall time in milliseconds.
        duration_ms: Option<i64>,
        /// What it printed, bounded.
        output: Option<Text>,
    }

    /// A gate and what it said.
    GateFacts {
        /// The phase.
        phase: Text,
        /// The gate.
        gate: Text,
        /// `passed`, `failed`, `skipped` or `errored`.
        status: Text,
        /// Why, in one line.
        reason: Option<Text>,
        /// Wall time in milliseconds.
        duration_ms: Option<i64>,
        /// What it printed, bounded.
        output: Option<Text>,
    }

    /// A model call.
    CallFacts {
        /// The step.
        step: i64,
        /// The attempt at the step, from 1.
        call: i64,
        /// The model that the vendor says it served.
        served_model: Option<Text>,
        /// All prompt tokens.
        prompt_tokens: Option<i64>,
        /// Prompt tokens read from a cache.
        cache_read_tokens: Option<i64>,
        /// All completion tokens.
        completion_tokens: Option<i64>,
        /// Our wall time in milliseconds.
        latency_ms: Option<i64>,
        /// Time to the first content.
        ttft_ms: Option<i64>,
        /// Why the answer ended.
        finish_reason: Option<Text>,
        /// How the call failed.
        failure: Option<Text>,
        /// The HTTP status of the failure.
        failure_status: Option<i64>,
        /// What a person reads of it.
        failure_message: Option<Text>,
    }

    /// An action that was refused.
    RefusedFacts {
        /// The step.
        step: i64,
        /// The kind of action.
        act: Text,
        /// What it would have acted on.
        target: Text,
        /// The rule that decided; none where a default did.
        rule: Option<Text>,
        /// The layer of the rule.
        layer: Option<Text>,
        /// `policy` or `approver`.
        by: Text,
    }

    /// A protected path that was changed and restored.
    TamperedFacts {
        /// The path.
        path: Option<Text>,
        /// `changed`, `created` or `removed`.
        how: Option<Text>,
    }
}

struct ToolRow {
    step: i64,
    target: Text,
    ok: bool,
    changed: bool,
    decision: Text,
    duration_ms: Option<i64>,
}

impl FromRow for ToolRow {
    fn from_row(row: &Row<'_>, _: &[usize]) -> rusqlite::Result<Self> {
        Ok(Self {
            step: row.get("step")?,
            target: row.get::<_, Option<Text>>("target")?.unwrap_or_default(),
            ok: row.get("ok")?,
            changed: row.get::<_, Option<bool>>("changed")?.unwrap_or(false),
            decision: row.get::<_, Option<Text>>("decision")?.unwrap_or_default(),
            duration_ms: row.get("duration_ms")?,
        })
    }
}

struct MessageRow {
    role: Text,
    body: String,
}

impl FromRow for MessageRow {
    fn from_row(row: &Row<'_>, _: &[usize]) -> rusqlite::Result<Self> {
        Ok(Self {
            role: row.get("role")?,
            body: row.get("body")?,
        })
    }
}

/// A tool call and what came of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct ToolView {
    /// The tool, as the model named it.
    pub name: String,
    /// Its arguments as JSON, or as the model wrote them where they are none; bounded.
    pub arguments: String,
    /// Whether the arguments were JSON.
    pub well_formed: bool,
    /// What it acted on.
    pub target: Option<String>,
    /// Whether it did what was asked; none where it never came to an end.
    pub ok: Option<bool>,
    /// Whether it changed the workspace.
    pub changed: bool,
    /// A short phrase of what was decided.
    pub decision: Option<String>,
    /// Wall time in milliseconds.
    pub duration_ms: Option<i64>,
    /// What the model was told, bounded.
    pub result: Option<String>,
}

/// A step of the agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct StepView {
    /// Its number, from 1.
    pub step: i64,
    /// The model calls made for it, failed ones included.
    pub calls: Vec<CallFacts>,
    /// What the model wrote, bounded.
    pub text: Vec<String>,
    /// Its tool calls.
    pub tools: Vec<ToolView>,
    /// Actions that were refused.
    pub refused: Vec<RefusedFacts>,
    /// What the harness told the model after the step, apart from the results of tools.
    pub notes: Vec<String>,
}

/// A case as a person follows it; of one attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CaseView {
    /// What the plan and the verdict say.
    pub case: CaseFacts,
    /// The attempt that is shown, from 1.
    pub attempt: i64,
    /// The step that was asked for, where the view is of one alone.
    pub only_step: Option<u32>,
    /// What the attempt cost under the price table that comes first.
    pub cost_usd: Option<Amount>,
    /// Calls of the attempt that are missing from the cost.
    pub unpriced: i64,
    /// Its runs.
    pub runs: Vec<RunFacts>,
    /// Setup commands.
    pub setup: Vec<SetupFacts>,
    /// What the agent was asked to do.
    pub goal: Vec<String>,
    /// Its steps.
    pub steps: Vec<StepView>,
    /// Gates in order.
    pub gates: Vec<GateFacts>,
    /// Protected paths that were changed and restored.
    pub tampered: Vec<TamperedFacts>,
}

/// Reads one case. The name may be whole, or the beginning or any part of the name of one case alone. Without an attempt
/// it is the last one; with a step it is that step alone, at greater length.
///
/// # Errors
/// Where no case or several go by that name, or the attempt or the step does not exist.
pub fn show(
    conn: &Connection,
    case_id: &str,
    attempt: Option<u32>,
    step: Option<u32>,
) -> Result<CaseView, ReportError> {
    prepare(conn)?;
    let id = find(conn, case_id)?;
    let case: CaseFacts = read_with(
        conn,
        "v_case",
        "SELECT suite, case_id, task, provider, model, file, line, outcome, reason, overrun_kind, overrun_limit,
                overrun_used, attempts, wall_ms, setup_ms, provider_ms, waiting_ms, tool_ms, gate_ms,
                patch_files, patch_added, patch_removed, patch
         FROM v_case WHERE case_id = ?1",
        [&id],
    )?
    .pop()
    .ok_or_else(|| ReportError::NoCase {
        asked: case_id.to_owned(),
        close: Vec::new(),
    })?;
    let attempts = case.attempts.unwrap_or(0);
    let chosen = attempt.map_or(attempts, i64::from);
    if let Some(asked) = attempt
        && !(1..=attempts).contains(&chosen)
    {
        return Err(ReportError::NoAttempt {
            case: id,
            attempt: asked,
            attempts,
        });
    }
    let limit = if step.is_some() {
        STEP_TEXT
    } else {
        OVERVIEW_TEXT
    };
    let at = rusqlite::params![id, chosen];
    let (goal, mut steps) = transcript(conn, at, limit)?;
    if let Some(asked) = step {
        let count = steps.len();
        steps.retain(|view| view.step == i64::from(asked));
        if steps.is_empty() {
            return Err(ReportError::NoStep {
                case: id,
                step: asked,
                steps: count,
            });
        }
    }
    let (cost_usd, unpriced) = spend(conn, at)?;
    Ok(CaseView {
        attempt: chosen,
        only_step: step,
        cost_usd,
        unpriced,
        runs: read_with(
            conn,
            "v_run",
            "SELECT run_id, outcome, steps, error FROM v_run WHERE case_id = ?1 AND attempt = ?2 ORDER BY run_id",
            at,
        )?,
        setup: read_with(
            conn,
            "v_setup",
            "SELECT name, ok, reason, duration_ms, output FROM v_setup WHERE case_id = ?1 AND attempt = ?2",
            at,
        )?,
        gates: read_with(
            conn,
            "v_gate",
            "SELECT phase, gate, status, reason, duration_ms, output FROM v_gate
             WHERE case_id = ?1 AND attempt = ?2 ORDER BY position",
            at,
        )?,
        tampered: read_with(
            conn,
            "v_event",
            "SELECT json_extract(detail, '$.path') AS path, json_extract(detail, '$.how') AS how FROM v_event
             WHERE case_id = ?1 AND attempt = ?2 AND event = 'tampered' ORDER BY id",
            at,
        )?,
        case,
        goal,
        steps,
    })
}

fn spend(
    conn: &Connection,
    at: &[&dyn rusqlite::ToSql],
) -> Result<(Option<Amount>, i64), ReportError> {
    conn.query_row(
        "SELECT money_sum(cost_usd), COUNT(*) FILTER (WHERE cost_usd IS NULL AND (reported = 1 OR failure IS NULL))
         FROM v_spend
         WHERE case_id = ?1 AND attempt = ?2 AND table_position = (SELECT MIN(position) FROM v_price)",
        at,
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
    .map_err(|source| ReportError::Query {
        section: "v_spend".to_owned(),
        source,
    })
}

/// The whole name of the one case that is meant.
fn find(conn: &Connection, asked: &str) -> Result<String, ReportError> {
    let at = |source| ReportError::Query {
        section: "v_case".to_owned(),
        source,
    };
    let exact: Option<String> = conn
        .query_row(
            "SELECT case_id FROM v_case WHERE case_id = ?1",
            [asked],
            |row| row.get(0),
        )
        .optional()
        .map_err(at)?;
    if let Some(id) = exact {
        return Ok(id);
    }
    let mut statement = conn
        .prepare("SELECT case_id FROM v_case ORDER BY position, case_id")
        .map_err(at)?;
    let ids: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .and_then(Iterator::collect)
        .map_err(at)?;
    let starting: Vec<&String> = ids.iter().filter(|id| id.starts_with(asked)).collect();
    let containing: Vec<&String> = ids.iter().filter(|id| id.contains(asked)).collect();
    match (starting.as_slice(), containing.as_slice()) {
        ([one], _) | ([], [one]) => Ok((*one).clone()),
        ([], []) => Err(ReportError::NoCase {
            asked: printable(asked),
            close: close(&ids, asked),
        }),
        ([], several) | (several, _) => Err(ReportError::Ambiguous {
            asked: printable(asked),
            count: several.len(),
            matches: several.iter().take(10).map(|id| printable(id)).collect(),
        }),
    }
}

fn close(ids: &[String], asked: &str) -> Vec<String> {
    let asked: String = asked.chars().take(200).collect();
    let mut scored: Vec<(f64, &String)> = ids
        .iter()
        .take(MOST_COMPARED)
        .map(|id| (strsim::jaro_winkler(&asked, id), id))
        .filter(|(score, _)| *score > 0.7)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored
        .into_iter()
        .take(3)
        .map(|(_, id)| printable(id))
        .collect()
}

/// The goal and the steps of an attempt. A step is what the model answered to one request.
fn transcript(
    conn: &Connection,
    at: &[&dyn rusqlite::ToSql],
    limit: usize,
) -> Result<(Vec<String>, Vec<StepView>), ReportError> {
    let messages: Vec<MessageRow> = read_with(
        conn,
        "v_message",
        "SELECT role, body FROM v_message WHERE case_id = ?1 AND attempt = ?2 ORDER BY run_id, position",
        at,
    )?;
    let mut goal = Vec::new();
    let mut steps: Vec<StepView> = Vec::new();
    // Which tool call of which step an id stands for; a later step may use an id again.
    let mut open: HashMap<String, (usize, usize)> = HashMap::new();
    for message in messages {
        let from_model = message.role.as_str() == "assistant";
        if from_model {
            steps.push(StepView {
                step: i64::try_from(steps.len() + 1).unwrap_or(i64::MAX),
                ..StepView::default()
            });
        }
        for block in blocks(&message.body) {
            let last = steps.len().checked_sub(1);
            match (block, last) {
                (Block::Text { text }, None) => goal.push(bounded(&text, limit)),
                (Block::Text { text }, Some(last)) if from_model => {
                    steps[last].text.push(bounded(&text, limit));
                }
                (Block::Text { text }, Some(last)) => steps[last].notes.push(bounded(&text, limit)),
                (Block::ToolCall(call), Some(last)) if from_model => {
                    open.insert(call.id, (last, steps[last].tools.len()));
                    steps[last]
                        .tools
                        .push(tool(call.name, &call.arguments, limit));
                }
                (Block::ToolResult { call_id, text, ok }, Some(_)) => {
                    let tool = open
                        .remove(&call_id)
                        .and_then(|(step, index)| steps.get_mut(step)?.tools.get_mut(index));
                    if let Some(tool) = tool {
                        tool.ok = Some(ok);
                        tool.result = Some(bounded(&text, limit));
                    }
                }
                _ => {}
            }
        }
    }
    attach(conn, at, &mut steps)?;
    Ok((goal, steps))
}

/// The blocks of a message's body: a message, or its blocks alone. What cannot be read is shown as it stands.
fn blocks(body: &str) -> Vec<Block> {
    let value: Value = match serde_json::from_str(body) {
        Ok(Value::Object(mut map)) if map.contains_key("blocks") => {
            map.remove("blocks").unwrap_or_default()
        }
        Ok(value) => value,
        Err(_) => Value::Null,
    };
    serde_json::from_value(value).unwrap_or_else(|_| {
        vec![Block::Text {
            text: body.to_owned(),
        }]
    })
}

fn tool(name: String, arguments: &Arguments, limit: usize) -> ToolView {
    let (arguments, well_formed) = match arguments {
        Arguments::Json(value) => (value.to_string(), true),
        Arguments::Invalid { raw, .. } => (raw.clone(), false),
    };
    ToolView {
        name: bounded(&name, 200),
        arguments: bounded(&arguments, limit),
        well_formed,
        ..ToolView::default()
    }
}

/// Adds to the steps what the ledger knows of them. A step that was never answered gets its place at the end.
fn attach(
    conn: &Connection,
    at: &[&dyn rusqlite::ToSql],
    steps: &mut Vec<StepView>,
) -> Result<(), ReportError> {
    let calls: Vec<CallFacts> = read_with(
        conn,
        "v_call",
        "SELECT step, call, served_model, prompt_tokens, cache_read_tokens, completion_tokens, latency_ms, ttft_ms,
                finish_reason, failure, failure_status, failure_message
         FROM v_call WHERE case_id = ?1 AND attempt = ?2 ORDER BY run_id, step, call",
        at,
    )?;
    for call in calls {
        step_of(steps, call.step).calls.push(call);
    }
    let refused: Vec<RefusedFacts> = read_with(
        conn,
        "v_refusal",
        "SELECT step, act, target, rule, layer, \"by\" FROM v_refusal WHERE case_id = ?1 AND attempt = ?2
         ORDER BY run_id, step, act, target",
        at,
    )?;
    for refusal in refused {
        step_of(steps, refusal.step).refused.push(refusal);
    }
    let rows: Vec<ToolRow> = read_with(
        conn,
        "v_tool",
        "SELECT step, target, ok, changed, decision, duration_ms FROM v_tool
         WHERE case_id = ?1 AND attempt = ?2 ORDER BY run_id, step, position",
        at,
    )?;
    let mut filled: HashMap<i64, usize> = HashMap::new();
    for row in rows {
        let next = filled.entry(row.step).or_default();
        if let Some(tool) = step_of(steps, row.step).tools.get_mut(*next) {
            tool.target = Some(row.target.to_string());
            tool.ok = tool.ok.or(Some(row.ok));
            tool.changed = row.changed;
            tool.decision = Some(row.decision.to_string());
            tool.duration_ms = row.duration_ms;
        }
        *next += 1;
    }
    Ok(())
}

fn step_of(steps: &mut Vec<StepView>, step: i64) -> &mut StepView {
    let index = match steps.iter().position(|view| view.step == step) {
        Some(index) => index,
        None => {
            steps.push(StepView {
                step,
                ..StepView::default()
            });
            steps.len() - 1
        }
    };
    &mut steps[index]
}

fn bounded(text: &str, limit: usize) -> String {
    clip_middle(&printable(text), limit).into_owned()
}
