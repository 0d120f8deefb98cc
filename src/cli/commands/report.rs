//! `taskgate report`

use std::path::Path;

use super::reports;
use crate::cli::args::{ReportArgs, RowFormat};
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::report::run_sql;
use crate::store::open_read_only;

pub(in crate::cli) fn run(args: &ReportArgs, output: &Output) -> Exit {
    if let Some(sql) = &args.sql {
        return query(&args.trace, sql, args.rows, output);
    }
    let report = match reports::read(&args.trace, output) {
        Ok(report) => report,
        Err(exit) => return exit,
    };
    if !args.reports.reports.is_empty() {
        return match reports::write(&report, &args.trace, &args.reports.reports, output) {
            Ok(()) => Exit::Done,
            Err(exit) => exit,
        };
    }
    match reports::text(&report, &args.trace, args.format) {
        Ok(text) => {
            output.data_line(&text);
            Exit::Done
        }
        Err(error) => fail(&error, output),
    }
}

fn query(trace: &Path, sql: &Path, rows: RowFormat, output: &Output) -> Exit {
    let text = match std::fs::read_to_string(sql) {
        Ok(text) => text,
        Err(error) => return fail(&format!("{}: {error}", sql.display()), output),
    };
    let connection = match open_read_only(trace) {
        Ok(connection) => connection,
        Err(error) => return fail(&error, output),
    };
    let printed = run_sql(&connection, &text).and_then(|table| match rows {
        RowFormat::Table => Ok(table.to_text()),
        RowFormat::Csv => Ok(table.to_csv()),
        RowFormat::Json => table.to_json(),
    });
    match printed {
        Ok(text) => {
            output.data_line(&text);
            Exit::Done
        }
        Err(error) => fail(&format!("{}: {error}", sql.display()), output),
    }
}

fn fail(error: &dyn std::fmt::Display, output: &Output) -> Exit {
    output.error(&error.to_string(), None);
    Exit::Usage
}
