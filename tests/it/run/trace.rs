//! A stored run as text: what it did step by step, without clocks, ids and names of models.

use std::fmt::Write as _;

use serde_json::Value;
use taskgate::domain::RunId;
use taskgate::store::{Store, open_read_only};

/// The events of a run as they are stored, by name, with the step that they belong to.
pub(crate) fn events(store: &Store, run: RunId) -> Vec<(String, u32, Value)> {
    let connection = open_read_only(store.path()).expect("the trace");
    let mut statement = connection
        .prepare("SELECT event, step, detail FROM v_event WHERE run_id = ?1 ORDER BY id")
        .expect("a query");
    statement
        .query_map([run.0], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?))
        })
        .expect("events")
        .map(|row| {
            let (event, step, detail) = row.expect("an event");
            (event, step, serde_json::from_str(&detail).expect("JSON"))
        })
        .collect()
}

/// How many events of a kind a run has.
pub(crate) fn count(store: &Store, run: RunId, event: &str) -> usize {
    let events = events(store, run);
    events.iter().filter(|(name, ..)| name == event).count()
}

/// The row of a run: its outcome, its steps, and what broke.
pub(crate) fn row(store: &Store, run: RunId) -> (Option<String>, Option<u32>, Option<String>) {
    let connection = open_read_only(store.path()).expect("the trace");
    connection
        .query_row(
            "SELECT outcome, steps, error FROM v_run WHERE run_id = ?1",
            [run.0],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .expect("the row of the run")
}

/// The run as text. That it was resumed does not show.
pub(crate) fn trace(store: &Store, run: RunId) -> String {
    let mut text = String::new();
    for (event, step, detail) in events(store, run) {
        let word = |key: &str| match &detail[key] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let flag = |key: &str, shown: &'static str| {
            if detail[key] == Value::Bool(true) {
                shown
            } else {
                ""
            }
        };
        let line = match event.as_str() {
            "resumed" => continue,
            "started" => format!("started: {}", word("goal")),
            "model_called" => {
                let how = match &detail["failure"] {
                    Value::Null => word("finish_reason"),
                    failure => format!("failed, {}", failure["kind"].as_str().unwrap_or("?")),
                };
                let tokens = &detail["usage"]["total_tokens"];
                let tokens = tokens
                    .as_u64()
                    .map_or(String::new(), |count| format!(", {count} tokens"));
                format!("{step}.{} model: {how}{tokens}", word("attempt"))
            }
            "retry" => format!("{step}   retry after {}", word("kind")),
            "tool_called" => format!(
                "{step}   {} [{}]: {}{}: {}",
                word("name"),
                word("target"),
                if flag("ok", "ok") == "ok" {
                    "ok"
                } else {
                    "failed"
                },
                flag("changed", ", changed"),
                word("decision")
            ),
            "refused" => format!(
                "{step}   refused {} {} by {} ({}, {})",
                word("act"),
                word("target"),
                word("by"),
                word("rule"),
                word("layer")
            ),
            "approved" => format!("{step}   approved {} {}", word("act"), word("target")),
            "step" => format!(
                "{step} step: {} calls, {} tokens{}",
                word("calls"),
                word("tokens"),
                flag("changed", ", changed")
            ),
            "verified" => format!(
                "{step} verified: {}{}",
                if flag("passed", "yes") == "yes" {
                    ""
                } else {
                    "not yet: "
                },
                word("reason")
            ),
            "budget_exceeded" => format!(
                "{step} budget: {} of {} {}",
                word("used"),
                word("limit"),
                word("kind")
            ),
            "replan" => format!("{step} replan"),
            "stalled" => format!("{step} stalled"),
            "finished" => {
                let error = match &detail["error"] {
                    Value::Null => String::new(),
                    error => format!(": {}", error.as_str().unwrap_or("?")),
                };
                format!(
                    "finished: {}, {} steps, {} tokens{error}",
                    row(store, run).0.as_deref().unwrap_or("?"),
                    word("steps"),
                    word("tokens")
                )
            }
            other => format!("{step} {other}: {detail}"),
        };
        writeln!(text, "{line}").expect("a text takes any line");
    }
    text
}
