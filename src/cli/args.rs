//! The arguments as they are written.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::exit;
use crate::base::Money;
use crate::report::FORMATS;

/// Runs batches of agent tasks, judges them with gates, and reports cost, latency and gate phases from the trace.
#[derive(Debug, Parser)]
#[command(name = "taskgate", version, about, after_help = exit::help(), disable_help_subcommand = true, max_term_width = 80)]
pub struct Cli {
    #[command(subcommand)]
    pub(super) verb: Verb,
    /// Colour; `auto` goes by the terminal, NO_COLOR and CLICOLOR_FORCE
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(super) color: Color,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Plan and run suites; write the trace and the reports
    #[command(after_help = report_help())]
    Run(RunArgs),
    /// Print the cases without running them
    Plan(PlanArgs),
    /// Go on with an interrupted batch; finished cases are not run again
    #[command(after_help = report_help())]
    Resume(ResumeArgs),
    /// Write reports from a trace, or run a query over its views
    #[command(after_help = report_help())]
    Report(ReportArgs),
    /// Show one case as a person reads it
    Show(ShowArgs),
    /// Check suites, providers, scripts and price tables, offline
    Validate(ValidateArgs),
    /// Print the JSON Schema of a suite
    Schema,
    /// Write a starter suite and a workflow
    Init(InitArgs),
    /// Say what this machine can enforce, and which keys are set
    Doctor(DoctorArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

#[derive(Debug, Args)]
pub(super) struct Selection {
    /// Suite files, or folders that hold suites
    #[arg(required = true, value_name = "PATHS")]
    pub(super) paths: Vec<PathBuf>,
    /// Only cases that fit: task=GLOB, provider=GLOB, suite=GLOB, tag=NAME, case=GLOB or a glob on the case's id,
    /// joined by `,` or `and`, each with `!` or `not` where it is turned round
    #[arg(long, value_name = "EXPR")]
    pub(super) filter: Option<String>,
    /// Trials of each case, instead of what the suites say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) trials: Option<u32>,
}

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) selection: Selection,
    #[command(flatten)]
    pub(super) pace: Pace,
    /// The trace to write. Default: a new file below `traces/`
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
    /// Start no new case once one has failed or could not be judged
    #[arg(long)]
    pub(super) fail_fast: bool,
    /// Leave out cases whose provider has no key or cannot be reached, instead of refusing to start
    #[arg(long)]
    pub(super) skip_unavailable: bool,
    /// Workspaces to keep for looking at, beside the trace
    #[arg(long, value_enum, default_value_t = KeepArg::None, value_name = "WHICH")]
    pub(super) keep_workspaces: KeepArg,
    #[command(flatten)]
    pub(super) reports: Reports,
}

#[derive(Debug, Args)]
pub(super) struct Pace {
    /// Cases at once. Default: the number of cores; a resume keeps what the batch had
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
    /// Start no new case once the batch has cost this many dollars
    #[arg(long, value_name = "USD", value_parser = positive_money)]
    pub(super) max_cost: Option<Money>,
    /// Start an errored case again, this many times
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(super) retries: Option<u32>,
}

#[derive(Debug, Args)]
pub(super) struct Reports {
    /// A report to write to a file, repeatable
    #[arg(long = "report", value_name = "FORMAT=PATH", value_parser = report_target)]
    pub(super) reports: Vec<ReportTarget>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum KeepArg {
    Failed,
    All,
    None,
}

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub(super) selection: Selection,
    /// How to print it
    #[arg(long, value_enum, default_value_t = PlanFormat::Table, value_name = "FORMAT")]
    pub(super) format: PlanFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PlanFormat {
    Table,
    Json,
}

#[derive(Debug, Args)]
pub(super) struct ResumeArgs {
    /// The trace of the batch
    #[arg(value_name = "TRACE")]
    pub(super) trace: PathBuf,
    #[command(flatten)]
    pub(super) pace: Pace,
    #[command(flatten)]
    pub(super) reports: Reports,
}

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// The trace to report on
    #[arg(value_name = "TRACE")]
    pub(super) trace: PathBuf,
    /// The format to print
    #[arg(long, default_value = "text", value_name = "FORMAT", value_parser = format_name, conflicts_with = "sql")]
    pub(super) format: crate::report::Format,
    #[command(flatten)]
    pub(super) reports: Reports,
    /// A file with one SELECT over the public views, instead of a report
    #[arg(long, value_name = "FILE", conflicts_with = "reports")]
    pub(super) sql: Option<PathBuf>,
    /// How the rows of `--sql` are printed
    #[arg(long, value_enum, default_value_t = RowFormat::Table, value_name = "FORMAT", requires = "sql")]
    pub(super) rows: RowFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RowFormat {
    Table,
    Csv,
    Json,
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(super) trace: PathBuf,
    /// The case's id, or any part of it that fits one case alone
    #[arg(value_name = "CASE")]
    pub(super) case: String,
    /// The attempt, from 1. Default: the last
    #[arg(long, value_name = "N")]
    pub(super) attempt: Option<u32>,
    /// One step alone, at greater length
    #[arg(long, value_name = "N")]
    pub(super) step: Option<u32>,
    /// As JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ValidateArgs {
    /// Suite files, or folders that hold suites
    #[arg(required = true, value_name = "PATHS")]
    pub(super) paths: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// Where to write
    #[arg(default_value = ".", value_name = "DIR")]
    pub(super) dir: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// As JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(super) shell: clap_complete::Shell,
}

/// A report and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReportTarget {
    pub(super) format: crate::report::Format,
    pub(super) path: PathBuf,
}

fn report_target(text: &str) -> Result<ReportTarget, String> {
    let (format, path) = text
        .split_once('=')
        .ok_or("write it as FORMAT=PATH, for instance markdown=report.md")?;
    if path.is_empty() {
        return Err("the path is empty".to_owned());
    }
    Ok(ReportTarget {
        format: format_name(format)?,
        path: path.into(),
    })
}

fn format_name(text: &str) -> Result<crate::report::Format, String> {
    text.parse()
        .map_err(|error: crate::report::ReportError| error.to_string())
}

fn positive_money(text: &str) -> Result<Money, String> {
    let amount: Money = text
        .trim_start_matches('$')
        .parse()
        .map_err(|_| "write dollars, for instance 2.50".to_owned())?;
    if amount > Money::ZERO {
        Ok(amount)
    } else {
        Err("it must be more than zero".to_owned())
    }
}

/// A description over as many lines as it needs beside its name.
fn wrapped(text: &str) -> String {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split(' ') {
        if !line.is_empty() && line.len() + word.len() >= 66 {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines.join(&format!("\n{:12}", ""))
}

fn report_help() -> String {
    let rows: Vec<String> = FORMATS
        .iter()
        .map(|spec| format!("  {:<9} {}", spec.name, wrapped(spec.description)))
        .collect();
    let usual = "A batch without --report writes markdown, json and junit beside its trace.";
    format!("Report formats:\n{}\n\n{usual}", rows.join("\n"))
}
