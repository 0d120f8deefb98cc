//! The report as JUnit XML: one suite for each suite, one test case for each case.

use std::collections::HashMap;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};

use super::model::{Case, CaseSpend, Failure, Report};
use super::{ReportError, words};
use crate::base::one_line;

/// The longest text of one failure, in bytes.
const LONGEST_OUTPUT: usize = 8 * 1024;

pub(crate) fn render(report: &Report) -> Result<String, ReportError> {
    let failures: HashMap<&str, &Failure> = report
        .failures
        .iter()
        .map(|failure| (failure.case_id.as_str(), failure))
        .collect();
    let spend: HashMap<&str, &CaseSpend> = report
        .case_spend
        .iter()
        .map(|row| (row.case_id.as_str(), row))
        .collect();
    let mut document = Document::new("taskgate");
    if let Some(wall) = report.batch.wall_ms {
        document.set_time(duration(wall));
    }
    for suite in &report.suites {
        let mut out = TestSuite::new(suite.suite.as_str());
        let cases = report.cases.iter().filter(|case| case.suite == suite.suite);
        let mut wall = 0_i64;
        for case in cases {
            wall = wall.saturating_add(case.wall_ms.unwrap_or(0));
            let id = case.case_id.as_str();
            out.add_test_case(test_case(
                case,
                failures.get(id).copied(),
                spend.get(id).copied(),
            ));
        }
        out.set_time(duration(wall));
        document.add_test_suite(out);
    }
    document
        .to_string()
        .map(|xml| words::neutral(&xml))
        .map_err(|error| ReportError::Junit(error.to_string()))
}

fn duration(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

fn test_case(case: &Case, failure: Option<&Failure>, spend: Option<&CaseSpend>) -> TestCase {
    let mut out = TestCase::new(case.case_id.as_str(), status(case, failure));
    out.set_classname(format!("{}.{}", case.suite, case.task));
    if let Some(wall) = case.wall_ms {
        out.set_time(duration(wall));
    }
    if let Some(file) = &case.file {
        out.extra.insert("file".into(), file.as_str().into());
    }
    if let Some(line) = case.line {
        out.extra.insert("line".into(), line.to_string().into());
    }
    let cost = spend.and_then(|row| {
        let amount = row.cost_usd?.0.plain();
        let floor = row.unpriced + row.unreported_answers > 0;
        Some(if floor {
            format!(">= {amount}")
        } else {
            amount
        })
    });
    for (name, value) in [
        ("provider", Some(case.provider.to_string())),
        ("model", case.model.as_deref().map(str::to_owned)),
        ("cost_usd", cost),
    ] {
        if let Some(value) = value {
            out.add_property((name, value.as_str()));
        }
    }
    out
}

fn status(case: &Case, failure: Option<&Failure>) -> TestCaseStatus {
    let reason = case.reason.as_deref().unwrap_or_default();
    let non_success = |kind, word: &str| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_type(word).set_message(one_line(reason, 300));
        status
    };
    match case.outcome.as_deref() {
        Some("passed") => TestCaseStatus::success(),
        Some("skipped") => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(one_line(reason, 300));
            status
        }
        Some(word @ ("failed" | "exhausted" | "refused")) => {
            let mut status = non_success(NonSuccessKind::Failure, word);
            if let Some(failure) = failure {
                if let (Some(phase), Some(gate), Some(said)) =
                    (&failure.phase, &failure.gate, &failure.gate_reason)
                {
                    status.set_message(one_line(&format!("{phase}/{gate}: {said}"), 300));
                }
                status.set_description(description(reason, failure));
            }
            status
        }
        Some("errored") => non_success(NonSuccessKind::Error, "errored"),
        Some(word) => non_success(NonSuccessKind::Error, word),
        None => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status
                .set_type("unfinished")
                .set_message("the case has no outcome yet");
            status
        }
    }
}

fn description(reason: &str, failure: &Failure) -> String {
    let mut text = String::new();
    if !reason.is_empty() {
        text.push_str(&one_line(reason, 300));
        text.push('\n');
    }
    if let Some(output) = &failure.output {
        text.push_str(&clip_bytes(output, LONGEST_OUTPUT));
    }
    // The XML writer drops tabs.
    text.replace('\t', "    ")
}

/// The first and last bytes of a text, at most `limit` of them, cut between characters.
fn clip_bytes(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let boundary = |from: usize| (0..=from).rev().find(|at| text.is_char_boundary(*at));
    let head = boundary(limit / 2).unwrap_or(0);
    let tail = boundary(text.len() - limit / 2).unwrap_or(text.len());
    format!(
        "{}\n[… {} bytes cut …]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}
