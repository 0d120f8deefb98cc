//! The report as a short plain text for a terminal.

use std::collections::HashMap;

use super::format::RenderOptions;
use super::model::{CaseSpend, Failure, Report};
use super::table::aligned;
use super::verdict::{Verdict, verdict};
use super::words::{self, push};
use crate::base::one_line;

/// Failing cases that are listed.
const MOST_CASES: usize = 20;

/// Lines of output for each of them.
const OUTPUT_LINES: usize = 4;

/// The longest reason on one line.
const LONGEST_REASON: usize = 200;

pub(crate) fn render(report: &Report, options: &RenderOptions) -> String {
    let verdict = verdict(report);
    let names: Vec<&str> = report
        .suites
        .iter()
        .take(5)
        .map(|suite| suite.suite.as_str())
        .collect();
    let mut out = format!(
        "taskgate: {}{}: {}\n{}\n",
        names.join(", "),
        if report.suites.len() > names.len() {
            ", …"
        } else {
            ""
        },
        verdict.headline(),
        tally(report, &verdict)
    );
    if !report.providers.is_empty() {
        out.push('\n');
        out.push_str(&providers(report));
    }
    for check in verdict.checks.iter().filter(|check| !check.ok) {
        let subject = check.subject.as_deref().unwrap_or("all");
        push!(
            out,
            "\nthreshold not met: {} of {}/{subject}: asked for {}, is {}",
            check.name,
            check.suite,
            check.limit,
            check.actual
        );
    }
    if verdict.checks.iter().any(|check| !check.ok) {
        out.push('\n');
    }
    for (suite, warning) in report.warnings().into_iter().take(20) {
        push!(
            out,
            "\nwarning: {suite}: {}\n",
            one_line(&warning, LONGEST_REASON)
        );
    }
    failures(report, options, &mut out);
    unjudged(report, &mut out);
    words::neutral(&out)
}

fn tally(report: &Report, verdict: &Verdict) -> String {
    let mut parts = vec![format!(
        "{} of {} passed",
        verdict.passed,
        words::plural(verdict.judged, "judged case", "judged cases")
    )];
    for (number, word) in [
        (verdict.errored, "errored"),
        (verdict.skipped, "skipped"),
        (verdict.unfinished, "not finished"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {word}"));
        }
    }
    parts.push(format!("cost {}", verdict.cost));
    if let Some(wall) = report.batch.wall_ms {
        parts.push(words::whole_millis(wall));
    }
    parts.join(" · ")
}

fn providers(report: &Report) -> String {
    let several = report.suites.len() > 1;
    let rows = report
        .providers
        .iter()
        .map(|provider| {
            let total = words::provider_total(report, provider);
            let latency = report
                .latency
                .iter()
                .find(|row| row.suite == provider.suite && row.provider == provider.provider);
            let name = if several {
                format!("{}/{}", provider.suite, provider.provider)
            } else {
                provider.provider.to_string()
            };
            vec![
                one_line(&name, 60),
                words::passed(provider),
                words::interval(provider),
                total.shown(),
                total.per_pass(),
                words::maybe_millis(latency.and_then(|row| row.call_p50)),
                words::maybe_millis(latency.and_then(|row| row.call_p95)),
                one_line(&words::first_failures(report, provider), 60),
            ]
        })
        .collect();
    let header = [
        "provider",
        "passed",
        "95 %",
        "cost",
        "per pass",
        "call p50",
        "p95",
        "first failing phase",
    ];
    aligned(header.map(str::to_owned).into(), rows)
}

fn failures(report: &Report, options: &RenderOptions, out: &mut String) {
    let spend: HashMap<&str, &CaseSpend> = report
        .case_spend
        .iter()
        .map(|row| (row.case_id.as_str(), row))
        .collect();
    for failure in report.failures.iter().take(MOST_CASES) {
        let mut facts = vec![said(failure)];
        if let Some(steps) = failure.steps {
            facts.push(words::plural(steps, "step", "steps"));
        }
        let cost = spend
            .get(failure.case_id.as_str())
            .and_then(|row| Some((row.cost_usd?, row.unpriced + row.unreported_answers)));
        if let Some((amount, missing)) = cost {
            facts.push(words::cost(Some(amount.0), missing, 1));
        }
        if let Some(wall) = failure.wall_ms {
            facts.push(words::whole_millis(wall));
        }
        push!(
            out,
            "\n{}  {}   {}\n",
            if failure.outcome.as_str() == "failed" {
                "FAIL".to_owned()
            } else {
                failure.outcome.to_uppercase()
            },
            failure.case_id,
            facts.join("  ")
        );
        let output = failure.output.as_deref().unwrap_or_default();
        if !output.trim().is_empty() {
            for line in words::last_lines(output, OUTPUT_LINES) {
                push!(out, "      | {line}\n");
            }
        }
        push!(
            out,
            "      taskgate show {} {}\n",
            shell_word(&options.trace),
            shell_word(&failure.case_id)
        );
    }
    let more = report.failures.len().saturating_sub(MOST_CASES);
    if more > 0 {
        push!(out, "\n{more} more failing cases\n");
    }
}

fn said(failure: &Failure) -> String {
    let said = match (&failure.phase, &failure.gate, &failure.gate_reason) {
        (Some(phase), Some(gate), Some(reason)) => format!("{phase}/{gate}: {reason}"),
        _ => failure
            .reason
            .as_deref()
            .unwrap_or("no gate said no")
            .to_owned(),
    };
    one_line(&said, LONGEST_REASON)
}

fn unjudged(report: &Report, out: &mut String) {
    let rows = || {
        report
            .errors
            .iter()
            .filter(|row| row.outcome.as_str() != "skipped")
    };
    if rows().next().is_some() {
        out.push('\n');
    }
    for row in rows().take(MOST_CASES) {
        let reason = row.reason.as_deref().unwrap_or("no reason is recorded");
        push!(
            out,
            "{}  {}   {}\n",
            row.outcome.to_uppercase(),
            row.case_id,
            one_line(reason, LONGEST_REASON)
        );
    }
    let more = rows().count().saturating_sub(MOST_CASES);
    if more > 0 {
        push!(out, "{more} more cases were not judged\n");
    }
}

/// A word as a POSIX shell reads it back.
fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-=,#:+@%".contains(c);
    if !text.is_empty() && !text.starts_with(['#', '-']) && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
