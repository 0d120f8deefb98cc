//! What running a batch and going on with one have in common: the surroundings, signals, and the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::reports;
use crate::base::{Clock, Money, Redactor, SystemClock};
use crate::batch::{BatchEnd, BatchError, Surroundings};
use crate::cli::args::Reports;
use crate::cli::exit::Exit;
use crate::cli::os::terminated;
use crate::cli::output::Output;
use crate::cli::progress::{About, Progress};
use crate::cli::settings::Settings;
use crate::domain::PriceTable;
use crate::run::StopSignal;
use crate::sandbox::{SandboxConfig, select};
use crate::store::Store;

/// Folders of workspaces stand beside the trace, under its name.
pub(super) fn work_dir(trace: &Path) -> PathBuf {
    let mut name = trace.file_name().unwrap_or_default().to_owned();
    name.push(".work");
    let folder = trace.parent().unwrap_or_else(|| Path::new("")).join(name);
    // Commands run with another current folder.
    std::path::absolute(&folder).unwrap_or(folder)
}

/// What the display is about.
pub(super) struct Task {
    pub(super) total: usize,
    pub(super) ceiling: Option<Money>,
    pub(super) prices: Option<PriceTable>,
}

/// The runtime of a batch. Nothing else of the program needs one.
pub(super) fn runtime(output: &Output) -> Result<tokio::runtime::Runtime, Exit> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            output.error(&format!("the system gives no threads: {error}"), None);
            Exit::Usage
        })
}

/// Surroundings without a display yet.
pub(super) fn surroundings(store: Store, redactor: Redactor, settings: &Settings) -> Surroundings {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let work_dir = work_dir(store.path());
    Surroundings {
        store,
        sandbox: Arc::from(select(&SandboxConfig::default(), Arc::clone(&clock))),
        host_env: Arc::clone(&settings.env),
        work_dir,
        clock,
        observer: Arc::new(crate::run::Ignore),
        redactor,
        stop: StopSignal::default(),
    }
}

/// Gives the surroundings a display.
pub(super) fn watched(
    mut around: Surroundings,
    task: Task,
    settings: &Settings,
) -> (Surroundings, Arc<Progress>) {
    let about = About {
        total: task.total,
        trace: around.store.path().display().to_string(),
        color: settings.color.1,
        interactive: settings.interactive,
        ceiling: task.ceiling,
        prices: task.prices,
    };
    let progress = Arc::new(Progress::new(about));
    around.observer = Arc::clone(&progress) as Arc<dyn crate::run::Observer>;
    (around, progress)
}

/// Stops gently at the first request from outside, and at once at the second.
pub(super) async fn heed_signals(stop: StopSignal, progress: Arc<Progress>) {
    let mut asked = 0;
    loop {
        let interrupted = async {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = interrupted => {}
            () = terminated() => {}
        }
        asked += 1;
        if asked == 1 {
            progress.say("stopping: steps that are running are completed; once more to kill them");
            stop.stop_gently();
        } else {
            progress.say("stopping now");
            stop.stop_now();
        }
    }
}

/// Writes the reports of a batch that has ended in whatever way, and says how the process ends.
pub(super) fn conclude(
    ended: Result<BatchEnd, BatchError>,
    trace: &Path,
    targets: &Reports,
    output: &Output,
) -> Exit {
    let exit = reports::after_batch(trace, targets, output);
    let way_out = format!(
        "what was committed is kept; `taskgate resume {}` goes on with it",
        trace.display()
    );
    match ended {
        Ok(BatchEnd::Finished | BatchEnd::Interrupted) => exit,
        Ok(BatchEnd::Broken) => {
            let text = "a case ended by a bug of taskgate, which stands above";
            output.error(text, Some(&way_out));
            Exit::Bug
        }
        Err(error) => {
            output.error(&error.to_string(), Some(&way_out));
            Exit::NotJudged
        }
    }
}

/// Says why a batch cannot start.
pub(super) fn refuse(error: &BatchError, output: &Output) -> Exit {
    match error {
        BatchError::Unavailable { problems } => {
            for problem in problems {
                output.error(&problem.text, problem.help.as_deref());
            }
        }
        error => output.error(&error.to_string(), None),
    }
    output.note("nothing was run");
    Exit::Usage
}
