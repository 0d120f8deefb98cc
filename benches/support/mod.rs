//! A suite of scripted cases in a folder of its own, and batches of it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taskgate::base::{Clock, Redactor, SystemClock};
use taskgate::batch::{self, BatchOptions, Keep, Surroundings, Unavailable};
use taskgate::run::{Ignore, StopSignal};
use taskgate::sandbox::{Sandbox, SandboxConfig, select};
use taskgate::store::Store;
use taskgate::suite::{self, Plan, PlanOptions, Suite};
use taskgate::workspace::{remove_tree, write_output};

/// Tasks of the suite: its cases are this many times the trials.
pub(crate) const TASKS: u32 = 10;

/// Five steps: two reads, two edits, and a last word.
const SCRIPT: &str = r#"version: 1
model: rehearsal-1
turns:
  - calls: [{ tool: read_file, arguments: { path: src/lib.rs } }]
    usage: { prompt_tokens: 900, completion_tokens: 20 }
  - calls: [{ tool: edit_file, arguments: { path: src/lib.rs, search: "old", replace: "new" } }]
    usage: { prompt_tokens: 1000, completion_tokens: 60 }
  - calls: [{ tool: read_file, arguments: { path: README.md } }]
    usage: { prompt_tokens: 1100, completion_tokens: 20 }
  - calls: [{ tool: edit_file, arguments: { path: README.md, search: "Old", replace: "New" } }]
    usage: { prompt_tokens: 1200, completion_tokens: 40 }
  - text: The answer is new now, and the notes say so.
    usage: { prompt_tokens: 1300, completion_tokens: 15 }
"#;

const PRICES: &str =
    "as_of = \"2026-11-01\"\n\n[models.rehearsal-1]\ninput = \"3.00\"\noutput = \"15.00\"\n";

const HEAD: &str = r##"version: 1
name: speed
prices: [prices.toml]
defaults:
  budget: { steps: 10, wall: 5m }
  protect: ["tests/**"]
  policy: { write: ["src/**", "*.md"], exec: [], net: [] }
  workspace:
    files:
      src/lib.rs: "pub fn answer() -> &'static str {\n    \"old\"\n}\n"
      README.md: "Old notes\n"
      tests/it.rs: "#[test]\nfn it() {}\n"
"##;

const GATE: &str = r#"    goal: Make the answer new.
    gates:
      - name: same
        file_equals: { path: src/lib.rs, text: "pub fn answer() -> &'static str {\n    \"new\"\n}\n" }
"#;

/// The suite's files, and a place for traces.
pub(crate) struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    /// A suite with one row of cases for each of `providers`.
    pub(crate) fn new(providers: u32) -> Self {
        let mut text = HEAD.to_owned();
        text.push_str("providers:\n");
        for number in 0..providers {
            writeln!(
                text,
                "  p{number}: {{ vendor: scripted, script: script.yaml }}"
            )
            .expect("memory");
        }
        text.push_str("tasks:\n");
        for number in 0..TASKS {
            write!(text, "  - id: t{number}\n{GATE}").expect("memory");
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in [
            ("suite.yaml", text.as_str()),
            ("script.yaml", SCRIPT),
            ("prices.toml", PRICES),
        ] {
            write_output(&folder.path().join(name), text.as_bytes()).expect("a file of the suite");
        }
        Self { folder }
    }

    /// A path in the scene's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn suites(&self) -> Vec<Suite> {
        suite::load(&[self.path("suite.yaml")]).expect("a suite without a fault")
    }

    /// Runs every case `trials` times and leaves the trace at `name`, in place of any that was there.
    pub(crate) async fn run(&self, trials: u32, jobs: usize, name: &str) -> PathBuf {
        let trace = self.path(name);
        remove_tree(&trace).expect("no trace");
        let plan = plan(&self.suites(), trials);
        let store = Store::create(&trace, Redactor::default()).expect("a new trace");
        let clock = clock();
        let around = Surroundings {
            store: store.clone(),
            sandbox: sandbox(&clock),
            host_env: Arc::default(),
            work_dir: self.path("work"),
            clock,
            observer: Arc::new(Ignore),
            redactor: Redactor::default(),
            stop: StopSignal::default(),
        };
        let options = BatchOptions {
            jobs,
            fail_fast: false,
            max_cost: None,
            retries: 0,
            keep_workspaces: Keep::Failed,
        };
        let host = batch::Host {
            env: &around.host_env,
            clock: &around.clock,
            redactor: &around.redactor,
        };
        let prepared = batch::prepare(&plan, None, &host, Unavailable::Refuse, false)
            .await
            .expect("everything that the cases need");
        let record =
            batch::batch_record(&plan, &prepared, &options, &*around.sandbox, &*around.clock);
        batch::run(plan, record, prepared, &options, around)
            .await
            .expect("a batch");
        store.close().await.expect("a trace");
        trace
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

pub(crate) fn plan(suites: &[Suite], trials: u32) -> Plan {
    let options = PlanOptions {
        trials: Some(trials),
        ..PlanOptions::default()
    };
    suite::plan(suites, &options).expect("a plan")
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::default())
}

pub(crate) fn sandbox(clock: &Arc<dyn Clock>) -> Arc<dyn Sandbox> {
    Arc::from(select(&SandboxConfig::default(), Arc::clone(clock)))
}

/// As many threads as the program itself would have.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("threads")
}
