//! The report as JSON.

use serde::Serialize;

use super::ReportError;
use super::model::Report;
use super::verdict::{Verdict, verdict};

/// The name and version of the JSON format. Keys are added under one version; one that changes its meaning or goes
/// brings a new one.
pub const REPORT_FORMAT: &str = "taskgate-report/1";

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    verdict: Verdict,
    #[serde(flatten)]
    report: &'a Report,
}

pub(crate) fn render(report: &Report) -> Result<String, ReportError> {
    let document = Document {
        format: REPORT_FORMAT,
        verdict: verdict(report),
        report,
    };
    Ok(written(&document)?)
}

/// JSON on lines of its own, in which no line reads as a command of a workflow runner.
pub(crate) fn written(value: &impl Serialize) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(value)?.replace("##[", "\\u0023#[");
    text.push('\n');
    Ok(text)
}
