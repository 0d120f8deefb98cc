//! What running a batch and going on with one have in common: the surroundings, signals, and the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::reports;
use crate::base::{Clock, Money, Redactor, SystemClock};
use crate::batch::{BatchEnd, BatchError, Host, Surroundings};
use crate::cli::args::Reports;
use crate::cli::exit::Exit;
use crate::cli::os::terminated;
use crate::cli::output::Output;
use crate::cli::progress::{About, Progress};
use crate::cli::settings::Settings;
use crate::domain::PriceTable;
use crate::run::StopSignal;
use crate::sandbox::{Sandbox, SandboxConfig, select};
use crate::store::Store;

/// Folders of workspaces stand beside the trace, under its name.
fn work_dir(trace: &Path) -> PathBuf {
    let mut name = trace.file_name().unwrap_or_default().to_owned();
    name.push(".work");
    let folder = trace.parent().unwrap_or_else(|| Path::new("")).join(name);
    // Commands run with another current folder.
    std::path::absolute(&folder).unwrap_or(folder)
}

/// What is to be done, as far as who attends it has to know.
pub(super) struct Task<'a> {
    pub(super) total: usize,
    pub(super) ceiling: Option<Money>,
    pub(super) prices: Option<PriceTable>,
    pub(super) settings: &'a Settings,
    pub(super) reports: &'a Reports,
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

/// The parts of a batch that are there before it has a trace.
pub(super) struct Means {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) redactor: Redactor,
    pub(super) sandbox: Arc<dyn Sandbox>,
}

impl Means {
    pub(super) fn new(redactor: Redactor) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let sandbox = Arc::from(select(&SandboxConfig::default(), Arc::clone(&clock)));
        Self {
            clock,
            redactor,
            sandbox,
        }
    }

    pub(super) fn host<'a>(&'a self, settings: &'a Settings) -> Host<'a> {
        Host {
            env: &settings.env,
            clock: &self.clock,
            redactor: &self.redactor,
        }
    }
}

/// Runs a batch under a display, heeds requests to stop, closes the trace and writes the reports.
pub(super) async fn attend<F>(
    means: Means,
    store: Store,
    task: Task<'_>,
    output: &Output,
    work: impl FnOnce(Surroundings) -> F,
) -> Exit
where
    F: Future<Output = Result<BatchEnd, BatchError>>,
{
    let Task {
        settings, reports, ..
    } = task;
    let trace = store.path().to_owned();
    let progress = Arc::new(Progress::new(About {
        total: task.total,
        trace: trace.display().to_string(),
        color: settings.color.1,
        interactive: settings.interactive,
        ceiling: task.ceiling,
        prices: task.prices,
    }));
    let stop = StopSignal::default();
    let signals = tokio::spawn(heed_signals(stop.clone(), Arc::clone(&progress)));
    let around = Surroundings {
        store: store.clone(),
        sandbox: means.sandbox,
        host_env: Arc::clone(&settings.env),
        work_dir: work_dir(&trace),
        clock: means.clock,
        observer: Arc::clone(&progress) as Arc<dyn crate::run::Observer>,
        redactor: means.redactor,
        stop,
    };
    let ended = work(around).await;
    progress.finish();
    let closed = store.close().await.map_err(BatchError::from);
    let ended = ended.and_then(|end| closed.map(|()| end));
    let exit = conclude(ended, &trace, reports, output);
    signals.abort();
    exit
}

/// Stops gently at the first request from outside, and at once at the second.
async fn heed_signals(stop: StopSignal, progress: Arc<Progress>) {
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
fn conclude(
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
