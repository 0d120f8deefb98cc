//! `taskgate resume`

use super::batch::{Means, Task, attend, refuse, runtime};
use super::reports;
use crate::base::Redactor;
use crate::batch::{self, Unavailable, is_left, plan_of, prepare};
use crate::cli::args::ResumeArgs;
use crate::cli::exit::Exit;
use crate::cli::output::{Output, counted};
use crate::cli::settings::Settings;
use crate::domain::BatchRecord;
use crate::store::{CaseProgress, Store, StoreError};

pub(in crate::cli) fn run(args: &ResumeArgs, settings: &Settings, output: &Output) -> Exit {
    match runtime(output) {
        Ok(runtime) => runtime.block_on(resume(args, settings, output)),
        Err(exit) => exit,
    }
}

fn open(
    args: &ResumeArgs,
    redactor: &Redactor,
) -> Result<(Store, BatchRecord, Vec<CaseProgress>), StoreError> {
    let store = Store::open(&args.trace, redactor.clone())?;
    let (record, progress) = (store.batch()?, store.case_progress()?);
    Ok((store, record, progress))
}

async fn resume(args: &ResumeArgs, settings: &Settings, output: &Output) -> Exit {
    let redactor = Redactor::default();
    let (store, record, progress) = match open(args, &redactor) {
        Ok(opened) => opened,
        Err(error) => {
            let help = matches!(error, StoreError::NoBatch { .. })
                .then_some("nothing was planned in it yet: remove it and run the suites again");
            output.error(&error.to_string(), help);
            return Exit::Usage;
        }
    };
    let (plan, mut options) = match plan_of(&record) {
        Ok(known) => known,
        Err(error) => return refuse(&error, output),
    };
    if let Some(jobs) = args.pace.jobs {
        options.jobs = usize::from(jobs);
    }
    options.max_cost = args.pace.max_cost.or(options.max_cost);
    options.retries = args.pace.retries.unwrap_or(options.retries);
    let open = |case: &&CaseProgress| is_left(case, &options);
    let total = progress.iter().filter(open).count();
    output.note(&format!(
        "{total} of {} left to run",
        counted(progress.len(), "case")
    ));
    if total == 0 && reports::is_over(&args.trace) {
        drop(store.close().await);
        return reports::after_batch(&args.trace, &args.reports, output);
    }
    if let Err(exit) = reports::make_room(&args.reports, output) {
        return exit;
    }
    let means = Means::new(redactor);
    // Only what the cases that are left need has to be there.
    let left: std::collections::BTreeSet<_> = progress
        .iter()
        .filter(open)
        .map(|case| case.id.clone())
        .collect();
    let mut needed = plan.clone();
    needed.cases.retain(|case| left.contains(&case.id));
    let limited = options.max_cost.is_some();
    let prepared = match prepare(
        &needed,
        Some(&record.prices),
        &means.host(settings),
        Unavailable::Refuse,
        limited,
    )
    .await
    {
        Ok(prepared) => prepared,
        Err(error) => return refuse(&error, output),
    };
    let task = Task {
        total,
        ceiling: options.max_cost,
        prices: prepared.any_prices(),
        settings,
        reports: &args.reports,
    };
    attend(means, store, task, output, |around| {
        batch::resume(needed, progress, prepared, &options, around)
    })
    .await
}
