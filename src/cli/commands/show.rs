//! `taskgate show`

use crate::cli::args::ShowArgs;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::report::{ReportError, case_json, render_case, show};
use crate::store::open_read_only;

pub(in crate::cli) fn run(args: &ShowArgs, output: &Output) -> Exit {
    let connection = match open_read_only(&args.trace) {
        Ok(connection) => connection,
        Err(error) => {
            output.error(&error.to_string(), None);
            return Exit::Usage;
        }
    };
    let text = show(&connection, &args.case, args.attempt, args.step).and_then(|view| {
        if args.json {
            case_json(&view)
        } else {
            Ok(render_case(&view))
        }
    });
    match text {
        Ok(text) => {
            output.data_line(&text);
            Exit::Done
        }
        Err(error) => {
            let help = matches!(
                error,
                ReportError::NoCase { .. } | ReportError::Ambiguous { .. }
            )
            .then_some("a case is named by its id, or by any part that fits it alone; `taskgate report TRACE --format json` names them all");
            output.error(&error.to_string(), help);
            match error {
                ReportError::NoCase { .. }
                | ReportError::NoAttempt { .. }
                | ReportError::NoStep { .. } => Exit::NothingSelected,
                _ => Exit::Usage,
            }
        }
    }
}
