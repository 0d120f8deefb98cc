//! Reports from a trace, the same whether the batch has just ended or was long ago.

use std::path::{Path, PathBuf};

use crate::cli::args::{ReportTarget, Reports};
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::report::{Format, RenderOptions, Report, ReportError, Verdict, load, render, verdict};
use crate::store::open_read_only;
use crate::workspace::{create_folder, write_output};

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

/// Makes the folders of the reports that are asked for, so that one that cannot be written is found before a batch
/// is paid for.
pub(super) fn make_room(asked: &Reports, output: &Output) -> Result<(), Exit> {
    let mut ended = Ok(());
    for ReportTarget { path, .. } in &asked.reports {
        let trouble = if path.is_dir() {
            Some("it is a folder".to_owned())
        } else {
            path.parent()
                .and_then(|folder| create_folder(folder).err())
                .map(|error| error.to_string())
        };
        if let Some(trouble) = trouble {
            let text = format!("the report {} cannot be written: {trouble}", path.display());
            output.error(&text, Some("name another file with --report"));
            ended = Err(Exit::Usage);
        }
    }
    ended
}

/// Whether the batch in a trace has come to its end.
pub(super) fn is_over(trace: &Path) -> bool {
    let report = open_read_only(trace)
        .ok()
        .and_then(|connection| load(&connection).ok());
    report.is_some_and(|report| !verdict(&report).interrupted)
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
    let written = write(&report, trace, &targets, output);
    match text(&report, trace, Format::Text) {
        Ok(summary) => output.data_line(&summary),
        Err(error) => output.error(&error.to_string(), None),
    }
    let exit = exit_of(&verdict(&report));
    if written.is_err() {
        output.note(&format!("trace {}", trace.display()));
        // What the batch came to says more than that a file is missing, unless all is well.
        return if exit == Exit::Done {
            Exit::Usage
        } else {
            exit
        };
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
    if exit == Exit::Interrupted {
        output.note(&format!(
            "`taskgate resume {}` goes on with it",
            trace.display()
        ));
    }
    exit
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
            let way_out = format!(
                "the trace holds all of it: `taskgate report {} --report {format}=PATH` writes it elsewhere",
                trace.display()
            );
            output.error(
                &format!("the report {} cannot be written: {error}", path.display()),
                Some(&way_out),
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
    } else if verdict.skipped == verdict.cases {
        // Nothing was asked of anybody: that is not the same as all being well.
        Exit::NothingSelected
    } else {
        Exit::Done
    }
}
