//! Reports from a trace, the same whether the batch has just ended or was long ago.

use std::path::{Path, PathBuf};

use crate::cli::args::{ReportTarget, Reports};
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::report::{Format, RenderOptions, Report, ReportError, Verdict, load, render, verdict};
use crate::store::open_read_only;
use crate::workspace::write_output;

/// The formats that a batch writes where none is asked for.
const USUAL: [Format; 3] = [Format::Markdown, Format::Json, Format::Junit];

/// Reads a trace, and says why where it cannot be read.
pub(super) fn read(trace: &Path, output: &Output) -> Result<Report, Exit> {
    let connection = open_read_only(trace).map_err(|error| {
        output.error(&error.to_string(), None);
        Exit::Usage
    })?;
    load(&connection).map_err(|error| {
        output.error(&format!("{}: {error}", trace.display()), None);
        Exit::Usage
    })
}

/// Writes what was asked for, else the usual formats beside the trace, and prints the summary.
pub(super) fn after_batch(trace: &Path, asked: &Reports, output: &Output) -> Exit {
    let report = match read(trace, output) {
        Ok(report) => report,
        Err(exit) => return exit,
    };
    let usual = || {
        USUAL
            .map(|format| ReportTarget {
                format,
                path: beside(trace, format),
            })
            .to_vec()
    };
    let targets = if asked.reports.is_empty() {
        usual()
    } else {
        asked.reports.clone()
    };
    if write(&report, trace, &targets, output).is_err() {
        return Exit::Usage;
    }
    match text(&report, trace, Format::Text) {
        Ok(summary) => output.data_line(&summary),
        Err(error) => output.error(&error.to_string(), None),
    }
    let files: Vec<String> = targets
        .iter()
        .map(|target| target.path.display().to_string())
        .collect();
    output.note(&format!(
        "trace {}   reports {}",
        trace.display(),
        files.join(" ")
    ));
    exit_of(&verdict(&report))
}

/// Writes reports to files; says which cannot be written.
pub(super) fn write(
    report: &Report,
    trace: &Path,
    targets: &[ReportTarget],
    output: &Output,
) -> Result<(), Exit> {
    let mut ended = Ok(());
    for ReportTarget { format, path } in targets {
        let written = text(report, trace, *format)
            .map_err(|error| error.to_string())
            .and_then(|text| {
                write_output(path, text.as_bytes()).map_err(|error| error.to_string())
            });
        if let Err(error) = written {
            output.error(
                &format!("the report {} cannot be written: {error}", path.display()),
                None,
            );
            ended = Err(Exit::Usage);
        }
    }
    ended
}

/// A report in a format. It names the trace by its file's name alone, so that it does not depend on where the
/// program was started.
pub(super) fn text(report: &Report, trace: &Path, format: Format) -> Result<String, ReportError> {
    let name = trace.file_name().map_or_else(
        || "TRACE".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    render(
        report,
        format,
        &RenderOptions {
            trace: name,
            ..RenderOptions::default()
        },
    )
}

fn beside(trace: &Path, format: Format) -> PathBuf {
    trace.with_extension(format.spec().ending)
}

/// The greatest of the codes that hold.
pub(super) fn exit_of(verdict: &Verdict) -> Exit {
    if verdict.interrupted {
        Exit::Interrupted
    } else if verdict.errors_exceeded {
        Exit::NotJudged
    } else if !verdict.thresholds_met {
        Exit::ThresholdsNotMet
    } else {
        Exit::Done
    }
}
