//! One case as plain text and as JSON.

use serde::Serialize;

use super::case_view::{CallFacts, CaseFacts, CaseView, StepView, ToolView};
use super::words::{self, push};
use super::{ReportError, json};
use crate::base::one_line;

/// Lines of one block of an overview.
const OVERVIEW_LINES: usize = 20;

/// Lines of one block where a single step is shown.
const STEP_LINES: usize = 2_000;

/// Lines of the diff of an overview.
const PATCH_LINES: usize = 200;

/// The name and version of the JSON format of a case.
const CASE_FORMAT: &str = "taskgate-case/1";

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    #[serde(flatten)]
    view: &'a CaseView,
}

/// The case as JSON.
///
/// # Errors
/// Where the JSON writer fails.
pub fn case_json(view: &CaseView) -> Result<String, ReportError> {
    Ok(json::written(&Document {
        format: CASE_FORMAT,
        view,
    })?)
}

/// The case as plain text for a terminal. Lines that a model, a tool or a gate wrote stand behind a bar.
#[must_use]
pub fn render_case(view: &CaseView) -> String {
    let mut out = String::new();
    let lines = if view.only_step.is_some() {
        STEP_LINES
    } else {
        OVERVIEW_LINES
    };
    head(view, &mut out);
    if view.only_step.is_none() {
        for setup in &view.setup {
            let word = if setup.ok { "ok" } else { "failed" };
            let reason = setup.reason.as_deref().unwrap_or_default();
            heading(&mut out, &format!("setup {}: {word}, {reason}", setup.name));
            if !setup.ok {
                quote(&mut out, setup.output.as_deref().unwrap_or_default(), lines);
            }
        }
        if !view.goal.is_empty() {
            heading(&mut out, "goal");
            for text in &view.goal {
                quote(&mut out, text, lines);
            }
        }
    }
    for step in &view.steps {
        step_text(step, lines, &mut out);
    }
    if view.only_step.is_none() {
        tail(view, lines, &mut out);
    }
    words::neutral(&out)
}

fn head(view: &CaseView, out: &mut String) {
    let case = &view.case;
    let attempts = case.attempts.unwrap_or(0);
    push!(out, "{}\n", case.case_id);
    let outcome = case.outcome.as_deref().unwrap_or("not finished");
    let reason = case.reason.as_deref().unwrap_or_default();
    if view.attempt == attempts {
        line(out, "outcome", &joined(&[outcome, reason], ": "));
    } else {
        line(out, "outcome of the last attempt", outcome);
    }
    line(
        out,
        "model",
        &joined(
            &[&case.provider, case.model.as_deref().unwrap_or_default()],
            ", ",
        ),
    );
    if let Some(file) = &case.file {
        let at = case
            .line
            .map(|number| format!(":{number}"))
            .unwrap_or_default();
        line(out, "task", &format!("{} ({file}{at})", case.task));
    }
    if attempts > 1 {
        line(out, "attempt", &format!("{} of {attempts}", view.attempt));
    }
    if let Some(kind) = &case.overrun_kind {
        let limit = case.overrun_limit.as_deref().unwrap_or(words::NONE);
        let used = case.overrun_used.as_deref().unwrap_or(words::NONE);
        line(out, "budget", &format!("{kind} ran out: {used} of {limit}"));
    }
    if view.attempt == attempts {
        times(case, out);
    }
    let calls: usize = view.steps.iter().map(|step| step.calls.len()).sum();
    if view.only_step.is_none() && calls > 0 {
        let calls = i64::try_from(calls).unwrap_or(i64::MAX);
        let cost = words::cost(view.cost_usd.map(|amount| amount.0), view.unpriced, calls);
        line(
            out,
            "cost",
            &format!("{cost} in {}", words::plural(calls, "call", "calls")),
        );
    }
    for run in &view.runs {
        if let Some(error) = &run.error {
            line(out, "error", error);
        }
    }
}

fn times(case: &CaseFacts, out: &mut String) {
    let Some(wall) = case.wall_ms else { return };
    let parts: Vec<String> = [
        ("model", case.provider_ms),
        ("waiting", case.waiting_ms),
        ("tools", case.tool_ms),
        ("gates", case.gate_ms),
        ("setup", case.setup_ms),
    ]
    .into_iter()
    .filter_map(|(name, ms)| Some((name, ms?)))
    .filter(|(_, ms)| *ms > 0)
    .map(|(name, ms)| format!("{name} {}", words::whole_millis(ms)))
    .collect();
    let wall = words::whole_millis(wall);
    let all = if parts.is_empty() {
        wall
    } else {
        format!("{wall}  ({})", parts.join(", "))
    };
    line(out, "time", &all);
}

fn step_text(step: &StepView, lines: usize, out: &mut String) {
    let answered = step.calls.iter().rev().find(|call| call.failure.is_none());
    let call = answered.map(call_text).unwrap_or_default();
    heading(out, &joined(&[&format!("step {}", step.step), &call], ": "));
    for call in step.calls.iter().filter(|call| call.failure.is_some()) {
        let status = call
            .failure_status
            .map(|code| format!(" (HTTP {code})"))
            .unwrap_or_default();
        let failure = format!(
            "call {} failed after {}: {}{status}: {}",
            call.call,
            words::whole_millis(call.latency_ms.unwrap_or(0)),
            call.failure.as_deref().unwrap_or_default(),
            call.failure_message.as_deref().unwrap_or_default()
        );
        push!(out, "  {}\n", one_line(&failure, 300));
    }
    for text in &step.text {
        quote(out, text, lines);
    }
    for tool in &step.tools {
        tool_text(tool, lines, out);
    }
    for refusal in &step.refused {
        let rule = refusal.rule.as_deref().unwrap_or("the default");
        let layer = refusal
            .layer
            .as_deref()
            .map(|layer| format!(" in {layer}"))
            .unwrap_or_default();
        let text = format!(
            "refused by the {}: {} {} ({rule}{layer})",
            refusal.by, refusal.act, refusal.target
        );
        push!(out, "  {}\n", one_line(&text, 300));
    }
    for note in &step.notes {
        out.push_str("  note to the model\n");
        quote(out, note, lines);
    }
}

fn call_text(call: &CallFacts) -> String {
    let mut parts = vec![words::whole_millis(call.latency_ms.unwrap_or(0))];
    if let (Some(prompt), Some(completion)) = (call.prompt_tokens, call.completion_tokens) {
        let cached = match call.cache_read_tokens {
            Some(tokens) if tokens > 0 => format!(" ({} cached)", words::count(tokens)),
            _ => String::new(),
        };
        parts.push(format!(
            "{}{cached} -> {} tokens",
            words::count(prompt),
            words::count(completion)
        ));
    }
    if let Some(reason) = call.finish_reason.as_deref()
        && !matches!(reason, "stop" | "tool_calls")
    {
        parts.push(format!("ended by {reason}"));
    }
    parts.join(", ")
}

fn tool_text(tool: &ToolView, lines: usize, out: &mut String) {
    let what = match (&tool.decision, &tool.target) {
        (Some(decision), _) if !decision.is_empty() => decision.clone(),
        (_, Some(target)) => target.clone(),
        _ => String::new(),
    };
    let mark = match tool.ok {
        Some(true) => "",
        Some(false) => "  not done",
        None => "  no result",
    };
    let took = tool
        .duration_ms
        .map(|ms| format!("  {}", words::whole_millis(ms)))
        .unwrap_or_default();
    let line = joined(&[&format!("> {}", tool.name), &what], ": ");
    push!(out, "  {}{mark}{took}\n", one_line(&line, 300));
    let word = if tool.well_formed { "" } else { "not JSON: " };
    quote(out, &format!("{word}{}", tool.arguments), lines);
    if let Some(result) = &tool.result {
        out.push_str("  < result\n");
        quote(out, result, lines);
    }
}

fn tail(view: &CaseView, lines: usize, out: &mut String) {
    if !view.gates.is_empty() {
        heading(out, "gates");
    }
    for gate in &view.gates {
        let took = words::whole_millis(gate.duration_ms.unwrap_or(0));
        let name = format!("{}/{}", gate.phase, gate.gate);
        let said = joined(&[&name, gate.reason.as_deref().unwrap_or_default()], ": ");
        push!(
            out,
            "  {:<7}  {}, {took}\n",
            gate.status,
            one_line(&said, 300)
        );
        if matches!(gate.status.as_str(), "failed" | "errored") {
            quote(out, gate.output.as_deref().unwrap_or_default(), lines);
        }
    }
    if !view.tampered.is_empty() {
        heading(out, "protected paths that were changed, and restored");
        for row in &view.tampered {
            let path = row.path.as_deref().unwrap_or_default();
            let how = row.how.as_deref().unwrap_or_default();
            push!(out, "  {how}  {}\n", one_line(path, 300));
        }
    }
    let case = &view.case;
    if let Some(patch) = &case.patch
        && view.attempt == case.attempts.unwrap_or(0)
        && !patch.trim().is_empty()
    {
        heading(
            out,
            &format!(
                "patch: {}, +{} -{}",
                words::plural(case.patch_files.unwrap_or(0), "file", "files"),
                case.patch_added.unwrap_or(0),
                case.patch_removed.unwrap_or(0)
            ),
        );
        quote(out, patch, PATCH_LINES);
    }
}

fn heading(out: &mut String, text: &str) {
    push!(out, "\n{}\n", one_line(text, 300));
}

fn line(out: &mut String, name: &str, text: &str) {
    push!(out, "  {name}: {}\n", one_line(text, 300));
}

fn joined(parts: &[&str], by: &str) -> String {
    let parts: Vec<&str> = parts
        .iter()
        .copied()
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(by)
}

/// The first and last lines of a text, each behind a bar.
fn quote(out: &mut String, text: &str, limit: usize) {
    let lines = words::shown_lines(text);
    let skipped = lines.len().saturating_sub(limit);
    let head = if skipped > 0 { limit / 2 } else { lines.len() };
    for (index, line) in lines.iter().enumerate() {
        if index == head && skipped > 0 {
            push!(out, "  | [… {skipped} lines …]\n");
        }
        if index < head || index >= head + skipped {
            push!(out, "  | {line}\n");
        }
    }
}
