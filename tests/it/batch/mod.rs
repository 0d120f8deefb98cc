//! Batches, through the program: what becomes of each case, and of the trace.

mod bad_input;
mod gates;
mod os;
mod pace;
mod permissions;
mod providers;
mod resume;
mod wire;

use std::sync::Arc;

use taskgate::base::{Clock, Redactor};
use taskgate::batch::{BatchEnd, BatchError, BatchOptions, Keep, Surroundings, Unavailable};
use taskgate::run::{Ignore, Observer, StopSignal};
use taskgate::sandbox::{SandboxConfig, select};
use taskgate::store::Store;

use crate::support::taskgate::{Ran, Taskgate};

/// A folder with `suite.yaml` and the script of its one provider, `agent`. In both, `FAKES` is the helper program and
/// `FOLDER` the folder.
fn bench(suite: &str, script: &str) -> Taskgate {
    let taskgate = Taskgate::new();
    let head = "version: 1\nname: s\nproviders:\n  agent: { vendor: scripted, model: m-1, script: agent.yaml }\n";
    taskgate.filled("suite.yaml", &format!("{head}{suite}"));
    taskgate.filled("agent.yaml", &format!("version: 1\n{script}"));
    taskgate
}

/// An agent that says a word and stops.
const IDLE: &str = "turns: [ { text: done } ]";

/// Runs `suite.yaml` into `t.db`, one case at a time.
fn run(taskgate: &Taskgate, more: &[&str]) -> Ran {
    let args = ["run", "suite.yaml", "--trace", "t.db", "--jobs", "1"];
    taskgate.run(&[&args[..], more].concat())
}

/// Task, outcome and reason of each case.
fn outcomes(taskgate: &Taskgate) -> String {
    taskgate.rows(
        "t.db",
        "SELECT task || ' ' || trial || ' ' || outcome || CASE reason WHEN '' THEN '' ELSE ': ' || reason END FROM v_case ORDER BY position",
    )
}

/// What a batch in this process works with.
struct Inside {
    jobs: usize,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    /// The most pages that the trace may have.
    pages: Option<u32>,
}

impl Default for Inside {
    fn default() -> Self {
        Self {
            jobs: 1,
            clock: Arc::new(taskgate::base::SystemClock::default()),
            observer: Arc::new(Ignore),
            pages: None,
        }
    }
}

impl Inside {
    /// Runs `suite.yaml` into `t.db`, in this process.
    async fn run(self, taskgate: &Taskgate) -> Result<BatchEnd, BatchError> {
        let Self {
            jobs,
            clock,
            observer,
            pages,
        } = self;
        let suites = taskgate::suite::load(&[taskgate.folder().join("suite.yaml")]);
        let options = taskgate::suite::PlanOptions::default();
        let plan = taskgate::suite::plan(&suites.expect("a suite"), &options).expect("a plan");
        let path = taskgate.folder().join("t.db");
        let store = Store::create(&path, Redactor::default()).expect("a trace");
        if let Some(pages) = pages {
            store.limit_pages(pages).await.expect("limited");
        }
        let sandbox = select(&SandboxConfig::default(), Arc::clone(&clock));
        let around = Surroundings {
            store: store.clone(),
            sandbox: Arc::from(sandbox),
            host_env: Arc::default(),
            work_dir: taskgate.folder().join("t.db.work"),
            clock: Arc::clone(&clock),
            observer,
            redactor: Redactor::default(),
            stop: StopSignal::default(),
        };
        let options = BatchOptions {
            jobs,
            fail_fast: false,
            max_cost: None,
            retries: 0,
            keep_workspaces: Keep::None,
        };
        let host = taskgate::batch::Host {
            env: &around.host_env,
            clock: &around.clock,
            redactor: &around.redactor,
        };
        let prepared =
            taskgate::batch::prepare(&plan, None, &host, Unavailable::Refuse, false).await?;
        let sandbox = Arc::clone(&around.sandbox);
        let record = taskgate::batch::batch_record(&plan, &prepared, &options, &*sandbox, &*clock);
        let ended = taskgate::batch::run(plan, record, prepared, &options, around).await;
        // A trace that is full cannot be tidied up either.
        drop(store.close().await);
        ended
    }
}
