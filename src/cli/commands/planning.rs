//! From paths and a filter to a plan.

use std::path::PathBuf;

use crate::cli::args::Selection;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::suite::{Filter, Plan, PlanOptions, Platform, Suite};

/// Reads suites, and says everything that is wrong with them.
pub(super) fn load(paths: &[PathBuf], output: &Output) -> Result<Vec<Suite>, Exit> {
    crate::suite::load(paths).map_err(|problems| refuse(&problems, output))
}

/// Reads suites and plans the cases that were selected.
pub(super) fn plan(selection: &Selection, output: &Output) -> Result<Plan, Exit> {
    let suites = load(&selection.paths, output)?;
    let filter: Option<Filter> = match selection.filter.as_deref().map(str::parse).transpose() {
        Ok(filter) => filter,
        Err(error) => {
            let error: crate::suite::FilterError = error;
            output.error(&format!("--filter: {error}"), None);
            return Err(Exit::Usage);
        }
    };
    let options = PlanOptions {
        platform: Platform::host(),
        filter,
        trials: selection.trials,
    };
    let plan =
        crate::suite::plan(&suites, &options).map_err(|problems| refuse(&problems, output))?;
    if plan.cases.is_empty() {
        let what = selection.filter.as_ref().map_or_else(
            || "the suites have no cases".to_owned(),
            |filter| format!("no case fits the filter `{filter}`"),
        );
        output.error(
            &what,
            Some("`taskgate plan` prints the cases that there are"),
        );
        return Err(Exit::NothingSelected);
    }
    Ok(plan)
}

fn refuse(problems: &crate::suite::Diagnostics, output: &Output) -> Exit {
    output.note(&problems.render(output.notes_are_colored()));
    output.note("nothing was run");
    Exit::Usage
}
