//! Reports: SQL over the public views of a trace, typed rows, and formats.
//!
//! Nothing in a report comes from memory, from a clock or from the machine that writes it: one trace gives one report.
//! [`load`] reads a [`Report`], [`verdict`] judges it by the suites' thresholds, [`render`] writes it in a [`Format`],
//! [`show`] reads one case as a person follows it, and [`run_sql`] answers a query of the user's own.

mod case_text;
mod case_view;
mod format;
mod functions;
mod json;
mod junit;
mod markdown;
mod markdown_sections;
mod model;
mod query;
mod stats;
mod table;
mod text;
mod verdict;
mod words;

pub use case_text::{case_json, render_case};
pub use case_view::{CaseView, show};
pub use format::{FORMATS, Format, FormatSpec, RenderOptions};
pub use json::REPORT_FORMAT;
pub use model::*;
pub use query::{Table, load, prepare, run_sql};
pub use stats::{pass_at_k, pass_hat_k, percentile, wilson};
pub use verdict::{Check, Verdict, verdict};

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// SQLite rejected a query, or a view does not have what it should.
    #[error("cannot read the trace with {section}: {source}")]
    Query {
        /// The section's file, or what else was asked.
        section: String,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// The trace has no batch: nothing was planned in it, or it holds bare runs alone.
    #[error("the trace holds no batch, and reports are of batches")]
    NoBatch,
    /// A user's own SQL does more than read, or is no query at all.
    #[error("the SQL is not one query that only reads: write one SELECT over the views")]
    NotAQuery,
    /// No format of that name.
    #[error("unknown report format `{asked}`: one of {known}")]
    UnknownFormat {
        /// What was asked for.
        asked: String,
        /// All names.
        known: String,
    },
    /// No case of that name.
    #[error("no case `{asked}` in the trace{}", close_matches(close))]
    NoCase {
        /// What was asked for.
        asked: String,
        /// Names that come close, the closest first.
        close: Vec<String>,
    },
    /// Several cases have the name's part in theirs.
    #[error("`{asked}` stands for {count} cases: {}{}", matches.join(", "), if *count > matches.len() { ", …" } else { "" })]
    Ambiguous {
        /// What was asked for.
        asked: String,
        /// How many cases match.
        count: usize,
        /// The first of them.
        matches: Vec<String>,
    },
    /// The case was not tried that often.
    #[error("case `{case}` has no attempt {attempt}: it has {attempts}")]
    NoAttempt {
        /// The case.
        case: String,
        /// The attempt asked for.
        attempt: u32,
        /// How many there are.
        attempts: i64,
    },
    /// The attempt did not get that far.
    #[error("case `{case}` has no step {step}: it has {steps}")]
    NoStep {
        /// The case.
        case: String,
        /// The step asked for.
        step: u32,
        /// How many there are.
        steps: usize,
    },
    /// The JUnit writer failed.
    #[error("cannot write JUnit XML: {0}")]
    Junit(String),
    /// The JSON writer failed.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
}

fn close_matches(close: &[String]) -> String {
    match close {
        [] => String::new(),
        some => format!(": did you mean {}?", some.join(" or ")),
    }
}

/// Writes a report in a format.
///
/// # Errors
/// Where a writer fails, which no trace should bring about.
pub fn render(
    report: &Report,
    format: Format,
    options: &RenderOptions,
) -> Result<String, ReportError> {
    match format {
        Format::Markdown => Ok(markdown::render(report, options)),
        Format::Json => json::render(report),
        Format::Junit => junit::render(report),
        Format::Text => Ok(text::render(report, options)),
    }
}
