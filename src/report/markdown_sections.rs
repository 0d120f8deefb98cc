//! The sections of the Markdown report, in order.

use super::format::RenderOptions;
use super::markdown::{Section, code, code_cell, fenced, inline, table};
use super::model::{Failure, GatePhase, Report, Text};
use super::words::{self, Total, push};
use crate::base::format_bytes;

/// Failing cases that are shown with what their gate printed.
const MOST_FAILURES: usize = 20;

/// Lines of output for each of them.
const OUTPUT_LINES: usize = 20;

pub(crate) fn sections(report: &Report, options: &RenderOptions) -> Vec<Section> {
    let section = |title, body| Some(Section { title, body });
    let some = |title, rows: bool, body: &dyn Fn() -> String| {
        rows.then(|| Section {
            title,
            body: body(),
        })
    };
    [
        some("Failing cases", !report.failures.is_empty(), &|| {
            failures(report, options)
        }),
        some(
            "Cases that were not judged",
            !report.errors.is_empty(),
            &|| errors(report),
        ),
        section("Outcomes", outcomes(report)),
        section("Gate phases", gate_phases(report)),
        section("Cost", cost(report)),
        section("Latency", latency(report)),
        some("Flaky tasks", !report.flaky.is_empty(), &|| flaky(report)),
        some("Budgets that ran out", !report.overruns.is_empty(), &|| {
            overruns(report)
        }),
        some(
            "Protected paths that were changed",
            !report.tampered.is_empty(),
            &|| tampered(report),
        ),
        some("Refused actions", !report.refusals.is_empty(), &|| {
            refusals(report)
        }),
        some(
            "Models that served in place of others",
            !report.substitutions.is_empty(),
            &|| substitutions(report),
        ),
        some("Slowest cases", !report.slowest.is_empty(), &|| {
            slowest(report)
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `suite/provider` where there are several suites, else `provider`.
fn provider(report: &Report, suite: &Text, provider: &Text) -> String {
    if report.suites.len() > 1 {
        inline(&format!("{suite}/{provider}"))
    } else {
        inline(provider)
    }
}

fn failures(report: &Report, options: &RenderOptions) -> String {
    // Long outputs take at most half of the document, so that this section is never left out as a whole.
    let room = options.max_bytes / 2;
    let mut out = String::new();
    let mut shown = 0;
    for failure in report.failures.iter().take(MOST_FAILURES) {
        let part = one_failure(failure);
        if out.len() + part.len() > room {
            break;
        }
        out.push_str(&part);
        shown += 1;
    }
    let more = report.failures.len() - shown;
    if more > 0 {
        push!(out, "{more} more failing cases are left out. ");
    }
    let command = format!("taskgate show {} CASE", options.trace);
    push!(out, "{} shows one whole.\n", code(&command));
    out
}

fn one_failure(failure: &Failure) -> String {
    let said = match (&failure.phase, &failure.gate, &failure.gate_reason) {
        (Some(phase), Some(gate), Some(reason)) => format!("{phase}/{gate}: {reason}"),
        _ => failure
            .reason
            .as_deref()
            .unwrap_or("no gate said no")
            .to_owned(),
    };
    let mut out = format!(
        "{} {}: {}\n",
        code(&failure.case_id),
        failure.outcome,
        inline(&said)
    );
    if let (Some(_), Some(reason)) = (&failure.gate, &failure.reason)
        && failure.outcome.as_str() != "failed"
    {
        push!(out, "({})\n", inline(reason));
    }
    out.push('\n');
    let output = failure.output.as_deref().unwrap_or_default();
    if !output.trim().is_empty() {
        out.push_str(&fenced(&words::last_lines(output, OUTPUT_LINES)));
        if let (Some(bytes), Some(cut)) = (failure.output_bytes, failure.output_cut)
            && cut > 0
        {
            let bytes = u64::try_from(bytes).unwrap_or(0);
            push!(out, "{} in all.\n", format_bytes(bytes));
        }
        out.push('\n');
    }
    out
}

fn errors(report: &Report) -> String {
    let rows: Vec<Vec<String>> = report
        .errors
        .iter()
        .map(|row| {
            vec![
                code_cell(&row.case_id),
                inline(&row.outcome),
                row.attempts.unwrap_or(0).to_string(),
                inline(row.reason.as_deref().unwrap_or_default()),
            ]
        })
        .collect();
    table(&["case", "outcome", "attempts", "reason"], &rows)
}

fn outcomes(report: &Report) -> String {
    if report.providers.is_empty() {
        return "No case was planned.\n".to_owned();
    }
    let rows: Vec<Vec<String>> = report
        .providers
        .iter()
        .map(|row| {
            vec![
                provider(report, &row.suite, &row.provider),
                inline(row.model.as_deref().unwrap_or_default()),
                row.passed.to_string(),
                row.failed.to_string(),
                row.exhausted.to_string(),
                row.refused.to_string(),
                row.errored.to_string(),
                row.skipped.to_string(),
                (row.interrupted + row.unfinished).to_string(),
                row.rate.map_or_else(
                    || words::NONE.to_owned(),
                    |rate| inline(&words::percent(rate)),
                ),
                words::interval(row),
            ]
        })
        .collect();
    let mut out = table(
        &[
            "provider",
            "model",
            "passed",
            "failed",
            "exhausted",
            "refused",
            "errored",
            "skipped",
            "not finished",
            "rate",
            "95 %",
        ],
        &rows,
    );
    let trials: Vec<Vec<String>> = report
        .providers
        .iter()
        .filter(|row| row.trials > 1)
        .map(|row| {
            vec![
                provider(report, &row.suite, &row.provider),
                row.trials.to_string(),
                words::chance(row.pass_at_1),
                words::chance(row.pass_at_k),
                words::chance(row.pass_hat_k),
                words::maybe_count(row.complete_groups),
            ]
        })
        .collect();
    if !trials.is_empty() {
        out.push('\n');
        out.push_str(&table(
            &[
                "provider",
                "k",
                "pass@1",
                "pass@k",
                "pass^k",
                "tasks with all k trials judged",
            ],
            &trials,
        ));
    }
    let unchecked: i64 = report.suites.iter().map(|suite| suite.unchecked).sum();
    if unchecked > 0 {
        push!(
            out,
            "\nNothing was checked in {}: the task has no gates.\n",
            words::plural(unchecked, "passed case", "passed cases")
        );
    }
    out
}

fn gate_phases(report: &Report) -> String {
    if report.gate_phases.is_empty() {
        return "No gate ran.\n".to_owned();
    }
    let rows: Vec<Vec<String>> = report
        .gate_phases
        .iter()
        .map(|row| {
            vec![
                provider(report, &row.suite, &row.provider),
                inline(&row.phase),
                funnel(row),
                row.failed.to_string(),
                row.errored.to_string(),
                row.skipped.to_string(),
                words::whole_millis(row.duration_ms),
            ]
        })
        .collect();
    table(
        &[
            "provider",
            "phase",
            "entered → passed",
            "failed",
            "errored",
            "skipped",
            "time",
        ],
        &rows,
    )
}

fn funnel(row: &GatePhase) -> String {
    format!("{} → {}", row.entered, row.passed)
}

fn cost(report: &Report) -> String {
    if report.cost.is_empty() {
        return "No model was called.\n".to_owned();
    }
    let tables = report.prices.len() > 1;
    let mut header = vec!["provider", "task"];
    if tables {
        header.push("prices");
    }
    header.extend([
        "calls",
        "prompt",
        "cache read",
        "cache write",
        "completion",
        "reasoning",
        "server tools",
        "cost",
        "per pass",
        "unpriced",
        "without usage",
    ]);
    let rows: Vec<Vec<String>> = report
        .cost
        .iter()
        .map(|row| {
            let total = Total::from(row);
            let mut cells = vec![
                provider(report, &row.suite, &row.provider),
                inline(&row.task),
            ];
            if tables {
                cells.push(inline(row.price_table.as_deref().unwrap_or(words::NONE)));
            }
            cells.extend([
                words::count(row.calls),
                words::maybe_count(row.prompt_tokens),
                words::maybe_count(row.cache_read_tokens),
                words::maybe_count(row.cache_write_tokens),
                words::maybe_count(row.completion_tokens),
                words::maybe_count(row.reasoning_tokens),
                words::maybe_count(row.server_tool_requests),
                inline(&total.shown()),
                inline(&total.per_pass()),
                words::count(row.unpriced),
                words::count(row.unreported),
            ]);
            cells
        })
        .collect();
    let mut out = String::from(
        "Tokens are as the vendors report them; a cost is derived from them and a price table.\n\n",
    );
    out.push_str(&table(&header, &rows));
    if report.prices.is_empty() {
        out.push_str("\nNo price table is in use.\n");
        return out;
    }
    let rows: Vec<Vec<String>> = report
        .spend
        .iter()
        .map(|row| {
            let part = |amount: Option<super::Amount>| {
                amount.map_or_else(
                    || words::NONE.to_owned(),
                    |amount| inline(&amount.0.to_string()),
                )
            };
            vec![
                provider(report, &row.suite, &row.provider),
                inline(&row.price_table),
                inline(&Total::from(row).shown()),
                part(row.passing_usd),
                part(row.unpassed_usd),
                part(row.retried_usd),
                part(row.superseded_usd),
            ]
        })
        .collect();
    out.push_str("\nCost of the run, and the part of it that bought passing results:\n\n");
    out.push_str(&table(
        &[
            "provider",
            "prices",
            "run",
            "passing cases",
            "other cases",
            "failed calls",
            "earlier attempts",
        ],
        &rows,
    ));
    for row in report.unpriced.iter().take(20) {
        push!(
            out,
            "\n{} has no price in {}: {} missing from the cost.\n",
            code(&row.model),
            inline(&row.price_table),
            words::plural(row.calls, "call is", "calls are")
        );
    }
    out
}

fn latency(report: &Report) -> String {
    if report.latency.is_empty() {
        return "No model was called.\n".to_owned();
    }
    let rows: Vec<Vec<String>> = report
        .latency
        .iter()
        .map(|row| {
            let first = if row.ttft_known == 0 {
                "unknown".to_owned()
            } else {
                format!(
                    "{} / {}",
                    words::maybe_millis(row.ttft_p50),
                    words::maybe_millis(row.ttft_p95)
                )
            };
            vec![
                provider(report, &row.suite, &row.provider),
                words::count(row.calls),
                words::count(row.failed_calls),
                first,
                format!(
                    "{} / {} / {}",
                    words::maybe_millis(row.call_p50),
                    words::maybe_millis(row.call_p95),
                    words::maybe_millis(row.call_p99)
                ),
                row.output_per_second
                    .map_or_else(|| words::NONE.to_owned(), |rate| format!("{rate:.1}")),
                format!(
                    "{} / {}",
                    words::maybe_millis(row.wall_p50),
                    words::maybe_millis(row.wall_p95)
                ),
            ]
        })
        .collect();
    let mut out = table(
        &[
            "provider",
            "calls",
            "failed",
            "first content p50 / p95",
            "call p50 / p95 / p99",
            "output tokens / s",
            "case p50 / p95",
        ],
        &rows,
    );
    if report.time.is_empty() {
        return out;
    }
    let rows: Vec<Vec<String>> = report
        .time
        .iter()
        .map(|row| {
            let part = |ms: i64| inline(&words::percent(words::share_of(ms, row.wall_ms)));
            vec![
                provider(report, &row.suite, &row.provider),
                words::whole_millis(row.wall_ms),
                part(row.provider_ms),
                part(row.waiting_ms),
                part(row.tool_ms),
                part(row.gate_ms),
                part(row.setup_ms),
                part(row.harness_ms),
            ]
        })
        .collect();
    out.push_str("\nWhere the time of the cases went:\n\n");
    out.push_str(&table(
        &[
            "provider",
            "case time",
            "model",
            "waiting",
            "tools",
            "gates",
            "setup",
            "harness",
        ],
        &rows,
    ));
    out
}

fn flaky(report: &Report) -> String {
    let rows: Vec<Vec<String>> = report
        .flaky
        .iter()
        .map(|row| {
            vec![
                provider(report, &row.suite, &row.provider),
                inline(&row.task),
                inline(&words::vars(row.vars.as_deref())),
                format!("{}/{}", row.passed, row.judged),
            ]
        })
        .collect();
    table(&["provider", "task", "variables", "passed"], &rows)
}

fn overruns(report: &Report) -> String {
    let rows: Vec<Vec<String>> = report
        .overruns
        .iter()
        .map(|row| {
            vec![
                code_cell(&row.case_id),
                inline(row.outcome.as_deref().unwrap_or("unfinished")),
                inline(&row.kind),
                inline(row.limit.as_deref().unwrap_or(words::NONE)),
                inline(row.used.as_deref().unwrap_or(words::NONE)),
            ]
        })
        .collect();
    table(&["case", "outcome", "budget", "ceiling", "used"], &rows)
}

fn tampered(report: &Report) -> String {
    let rows: Vec<Vec<String>> = report
        .tampered
        .iter()
        .map(|row| {
            vec![
                code_cell(&row.case_id),
                inline(row.outcome.as_deref().unwrap_or("unfinished")),
                code_cell(row.path.as_deref().unwrap_or_default()),
                inline(row.how.as_deref().unwrap_or_default()),
            ]
        })
        .collect();
    let mut out = String::from("They were restored before the gates ran.\n\n");
    out.push_str(&table(&["case", "outcome", "path", "how"], &rows));
    out
}

fn refusals(report: &Report) -> String {
    let rows: Vec<Vec<String>> = report
        .refusals
        .iter()
        .map(|row| {
            let rule = row
                .rule
                .as_deref()
                .map_or_else(|| "default".to_owned(), code_cell);
            vec![
                inline(&row.act),
                code_cell(&row.target),
                rule,
                inline(row.layer.as_deref().unwrap_or(words::NONE)),
                inline(&row.by),
                words::count(row.refusals),
                words::count(row.cases),
            ]
        })
        .collect();
    let mut out = table(
        &["act", "target", "rule", "layer", "by", "times", "cases"],
        &rows,
    );
    let kinds = report.refusals.first().map_or(0, |row| row.kinds);
    let shown = i64::try_from(report.refusals.len()).unwrap_or(i64::MAX);
    if kinds > shown {
        push!(
            out,
            "\nThe {shown} most frequent of {}.\n",
            words::count(kinds)
        );
    }
    out
}

fn substitutions(report: &Report) -> String {
    let rows: Vec<Vec<String>> = report
        .substitutions
        .iter()
        .map(|row| {
            vec![
                provider(report, &row.suite, &row.provider),
                code_cell(&row.requested_model),
                code_cell(&row.served_model),
                words::count(row.calls),
                words::count(row.cases),
            ]
        })
        .collect();
    table(
        &["provider", "asked for", "served", "calls", "cases"],
        &rows,
    )
}

fn slowest(report: &Report) -> String {
    let rows: Vec<Vec<String>> = report
        .slowest
        .iter()
        .map(|row| {
            let part =
                |ms: Option<i64>| ms.map_or_else(|| words::NONE.to_owned(), words::whole_millis);
            vec![
                code_cell(&row.case_id),
                inline(&row.outcome),
                words::whole_millis(row.wall_ms),
                part(row.provider_ms),
                part(row.waiting_ms),
                part(row.tool_ms),
                part(row.gate_ms),
                part(row.setup_ms),
                words::maybe_count(row.steps),
            ]
        })
        .collect();
    table(
        &[
            "case", "outcome", "wall", "model", "waiting", "tools", "gates", "setup", "steps",
        ],
        &rows,
    )
}
