//! The report as GitHub's Markdown: the verdict first, then sections that fold.

use super::format::RenderOptions;
use super::markdown_sections::sections;
use super::model::Report;
use super::verdict::{Verdict, verdict};
use super::words::{self, push};
use crate::base::one_line;

/// The longest text on one line.
const LONGEST_LINE: usize = 300;

/// The most rows of one table.
const MOST_ROWS: usize = 50;

/// A part of the document that is left out as a whole where it does not fit.
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) body: String,
}

pub(crate) fn render(report: &Report, options: &RenderOptions) -> String {
    let verdict = verdict(report);
    let mut out = words::neutral(&first_screen(report, &verdict));
    let mut left_out = Vec::new();
    // What is left out is said at the end, for which there must be room.
    let room = options.max_bytes.saturating_sub(600);
    for section in sections(report, options) {
        let part = words::neutral(&format!(
            "\n<details>\n<summary>{}</summary>\n\n{}\n</details>\n",
            section.title, section.body
        ));
        if out.len() + part.len() <= room {
            out.push_str(&part);
        } else {
            left_out.push(section.title);
        }
    }
    if !left_out.is_empty() {
        let command = code(&format!("taskgate report {}", options.trace));
        push!(
            out,
            "\n> Left out to keep this short: {}. {command} writes all of it.\n",
            left_out.join(", ")
        );
    }
    out
}

fn first_screen(report: &Report, verdict: &Verdict) -> String {
    let names: Vec<String> = report
        .suites
        .iter()
        .take(5)
        .map(|suite| inline(&suite.suite))
        .collect();
    let more = if report.suites.len() > names.len() {
        ", …"
    } else {
        ""
    };
    let names = if names.is_empty() {
        "no suite".to_owned()
    } else {
        names.join(", ")
    };
    let mut out = format!("## taskgate: {names}{more}: {}\n\n", verdict.headline());
    out.push_str(&tally(verdict));
    out.push_str("\n\n");
    out.push_str(&providers(report));
    let failing: Vec<Vec<String>> = verdict
        .checks
        .iter()
        .filter(|check| !check.ok)
        .map(|check| {
            let subject = check.subject.as_deref().unwrap_or("all");
            let name = format!("{} of {subject}", check.name);
            vec![
                inline(&check.suite),
                inline(&name),
                inline(&check.limit),
                inline(&check.actual),
            ]
        })
        .collect();
    if !failing.is_empty() {
        out.push('\n');
        out.push_str(&table(
            &["suite", "threshold not met", "asked for", "is"],
            &failing,
        ));
    }
    push!(out, "\n> {}\n", footing(report, verdict));
    for (suite, warning) in report.warnings().into_iter().take(20) {
        push!(
            out,
            "> **warning** {}: {}\n",
            inline(suite),
            inline(&warning)
        );
    }
    out
}

fn tally(verdict: &Verdict) -> String {
    let mut parts = vec![format!(
        "**{} of {} passed**",
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
    parts.join(" · ")
}

fn providers(report: &Report) -> String {
    if report.providers.is_empty() {
        return "No case was planned.\n".to_owned();
    }
    let several = report.suites.len() > 1;
    let rows: Vec<Vec<String>> = report
        .providers
        .iter()
        .map(|provider| {
            let total = words::provider_total(report, provider);
            let latency = report
                .latency
                .iter()
                .find(|row| row.suite == provider.suite && row.provider == provider.provider);
            let call = latency.map_or_else(
                || words::NONE.to_owned(),
                |row| match (row.call_p50, row.call_p95) {
                    (Some(half), Some(most)) => {
                        format!("{} / {}", words::millis(half), words::millis(most))
                    }
                    _ => words::NONE.to_owned(),
                },
            );
            let name = if several {
                format!("{}/{}", provider.suite, provider.provider)
            } else {
                provider.provider.to_string()
            };
            vec![
                inline(&name),
                inline(&words::passed(provider)),
                inline(&words::interval(provider)),
                inline(&total.shown()),
                inline(&total.per_pass()),
                inline(&call),
                inline(&words::first_failures(report, provider)),
            ]
        })
        .collect();
    table(
        &[
            "provider",
            "passed",
            "95 %",
            "cost",
            "per pass",
            "call p50 / p95",
            "first failing phase",
        ],
        &rows,
    )
}

/// One line: what it cost, under which prices, in which sandbox, and by which models it was served.
fn footing(report: &Report, verdict: &Verdict) -> String {
    let mut parts = vec![inline(&format!("cost of this run: {}", verdict.cost))];
    if let Some(prices) = report.prices.first() {
        parts.push(inline(&format!(
            "prices {} as of {}",
            prices.price_table, prices.as_of
        )));
    }
    let sandbox: Option<serde_json::Value> = report
        .batch
        .sandbox
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok());
    let tier = sandbox
        .as_ref()
        .and_then(|sandbox| sandbox.get("tier"))
        .and_then(serde_json::Value::as_str);
    if let Some(tier) = tier {
        parts.push(inline(&format!("sandbox {tier}")));
    }
    let calls: i64 = report.latency.iter().map(|row| row.calls).sum();
    let substituted: i64 = report.substitutions.iter().map(|row| row.calls).sum();
    parts.push(format!(
        "{}, {substituted} served by another model than asked for",
        words::plural(calls, "call", "calls")
    ));
    if let Some(wall) = report.batch.wall_ms {
        parts.push(format!("wall time {}", words::whole_millis(wall)));
    }
    parts.join(" · ")
}

/// A table of cells that are Markdown already.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = format!("| {} |\n|", header.join(" | "));
    out.push_str(&" --- |".repeat(header.len()));
    out.push('\n');
    for row in rows.iter().take(MOST_ROWS) {
        push!(out, "| {} |\n", row.join(" | "));
    }
    if rows.len() > MOST_ROWS {
        push!(
            out,
            "\n{} more rows are left out.\n",
            rows.len() - MOST_ROWS
        );
    }
    out
}

/// Anybody's text on one line, in which nothing is markup, nothing notifies anybody and nothing ends a table's cell.
pub(crate) fn inline(text: &str) -> String {
    let line = one_line(text, LONGEST_LINE);
    let mut out = String::with_capacity(line.len() + 8);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("@\u{200b}"),
            '#' if chars.peek().is_some_and(char::is_ascii_digit) => out.push_str("#\u{200b}"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// Anybody's text on one line, as code.
pub(crate) fn code(text: &str) -> String {
    let line = one_line(text, LONGEST_LINE);
    if line.is_empty() {
        return String::new();
    }
    let ticks = "`".repeat(longest_run(&line) + 1);
    let space = if line.starts_with('`') || line.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{space}{line}{space}{ticks}")
}

/// The same within a table, where a pipe would end the cell even in code.
pub(crate) fn code_cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// Anybody's lines between fences that nothing within them can close.
pub(crate) fn fenced(lines: &[String]) -> String {
    let text = lines.join("\n");
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}text\n{text}\n{fence}\n")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{code, code_cell, fenced, inline};

    #[test]
    fn nothing_that_a_model_writes_is_markup() {
        for (raw, shown) in [
            ("<script>a</script>", "&lt;script&gt;a&lt;/script&gt;"),
            ("@team a|b", "@\u{200b}team a\\|b"),
            ("*bold* _it_ [x](y)", "\\*bold\\* \\_it\\_ \\[x\\](y)"),
            ("fixes #12", "fixes #\u{200b}12"),
            ("a\n| b", "a \\| b"),
            ("$1.00", "\\$1.00"),
        ] {
            assert_eq!(inline(raw), shown);
        }
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`a"), "`` `a ``");
        assert_eq!(code_cell("a|b"), "`a\\|b`");
        let lines = ["````".to_owned(), "</details>".to_owned()];
        assert_eq!(fenced(&lines), "`````text\n````\n</details>\n`````\n");
    }
}
