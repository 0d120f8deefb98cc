//! `taskgate run`

use std::path::{Path, PathBuf};

use super::batch::{Means, Task, attend, refuse, runtime};
use super::{planning, reports};
use crate::base::{Clock as _, Redactor, SystemClock};
use crate::batch::{self, BatchOptions, Keep, Unavailable, batch_record, prepare};
use crate::cli::args::{KeepArg, RunArgs};
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::settings::Settings;
use crate::store::{Store, open_read_only};
use crate::suite::Plan;
use crate::workspace::create_folder;

pub(in crate::cli) fn run(args: &RunArgs, settings: &Settings, output: &Output) -> Exit {
    let plan = match planning::plan(&args.selection, output) {
        Ok(plan) => plan,
        Err(exit) => return exit,
    };
    let trace = args.trace.clone().unwrap_or_else(|| default_trace(&plan));
    match runtime(output) {
        Ok(runtime) => runtime.block_on(run_plan(args, plan, &trace, settings, output)),
        Err(exit) => exit,
    }
}

async fn run_plan(
    args: &RunArgs,
    plan: Plan,
    trace: &Path,
    settings: &Settings,
    output: &Output,
) -> Exit {
    // A file that is in the way must be found before anything is asked of a provider; the trace itself is made last,
    // so that a batch that cannot start leaves none.
    if trace.exists() {
        let (text, help) = in_the_way(trace);
        output.error(&text, Some(&help));
        return Exit::Usage;
    }
    let options = options(args);
    let means = Means::new(Redactor::default());
    let unavailable = if args.skip_unavailable {
        Unavailable::Skip
    } else {
        Unavailable::Refuse
    };
    let prepared = match prepare(
        &plan,
        None,
        &means.host(settings),
        unavailable,
        options.max_cost.is_some(),
    )
    .await
    {
        Ok(prepared) => prepared,
        Err(error) => return refuse(&error, output),
    };
    let record = batch_record(&plan, &prepared, &options, &*means.sandbox, &*means.clock);
    for warning in record.suites.iter().flat_map(|suite| &suite.warnings) {
        output.warning(warning);
    }
    for reason in prepared.left_out() {
        output.warning(&format!("left out: {reason}"));
    }
    if reports::make_room(&args.reports, output).is_err() {
        output.note("nothing was run");
        return Exit::Usage;
    }
    let store = match create(trace, means.redactor.clone()) {
        Ok(store) => store,
        Err(error) => {
            output.error(&error, Some("name another file with --trace"));
            return Exit::Usage;
        }
    };
    let task = Task {
        total: record
            .cases
            .iter()
            .filter(|case| case.skip.is_none())
            .count(),
        ceiling: options.max_cost,
        prices: prepared.any_prices(),
        settings,
        reports: &args.reports,
    };
    attend(means, store, task, output, |around| {
        batch::run(plan, record, prepared, &options, around)
    })
    .await
}

/// What stands where the trace is to be, and the way out.
fn in_the_way(trace: &Path) -> (String, String) {
    let name = trace.display();
    let another = "name another file with --trace";
    if trace.is_dir() {
        (
            format!("{name} is a folder, not a trace"),
            another.to_owned(),
        )
    } else if open_read_only(trace).is_ok() {
        (
            format!("the trace {name} exists already"),
            format!("`taskgate resume {name}` goes on with it; or {another}"),
        )
    } else {
        (
            format!("{name} exists already and is not a trace of this version"),
            another.to_owned(),
        )
    }
}

/// Makes the trace and the folder that it lies in.
fn create(trace: &Path, redactor: Redactor) -> Result<Store, String> {
    if let Some(folder) = trace.parent() {
        create_folder(folder)
            .map_err(|error| format!("the folder {} cannot be made: {error}", folder.display()))?;
    }
    Store::create(trace, redactor).map_err(|error| error.to_string())
}

fn options(args: &RunArgs) -> BatchOptions {
    BatchOptions {
        jobs: args.pace.jobs.map_or_else(cores, usize::from),
        fail_fast: args.fail_fast,
        max_cost: args.pace.max_cost,
        retries: args.pace.retries.unwrap_or(0),
        keep_workspaces: match args.keep_workspaces {
            KeepArg::Failed => Keep::Failed,
            KeepArg::All => Keep::All,
            KeepArg::None => Keep::None,
        },
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// A new file for each batch, so that running twice loses nothing.
fn default_trace(plan: &Plan) -> PathBuf {
    let name = match &plan.suites[..] {
        [suite] => suite.name.as_str(),
        _ => "batch",
    };
    let stamp = SystemClock::default()
        .now()
        .strftime("%Y%m%d-%H%M%S")
        .to_string();
    let folder = Path::new("traces");
    let mut trace = folder.join(format!("{name}-{stamp}.db"));
    let mut serial = 2;
    while trace.exists() {
        trace = folder.join(format!("{name}-{stamp}-{serial}.db"));
        serial += 1;
    }
    trace
}
