//! Runs through the harness: scripted models, real files, a real trace.

mod cases;
mod failures;
mod limits;
mod os;
mod outcomes;
mod resume;
mod trace;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use taskgate::base::{BoxFuture, Clock, ManualClock, Redactor, RelPath, SystemClock};
use taskgate::domain::{
    CompletionRequest, CompletionResponse, DeltaSink, EventKind, PriceTable, ProviderError,
    RunEvent, RunResult, TaskContract, Verification,
};
use taskgate::policy::Policy;
use taskgate::provider::{Provider, Script, Scripted};
use taskgate::run::{Flow, Harness, Ignore, Observer, StopSignal};
use taskgate::sandbox::{Environment, Sandbox, SandboxConfig, select};
use taskgate::store::Store;

use crate::sandbox::FAKES;

/// A folder with a workspace in it, and what runs in it have in common.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) policy: Policy,
    pub(crate) prices: Option<PriceTable>,
    pub(crate) redactor: Redactor,
    sandbox: Arc<dyn Sandbox>,
    environment: Arc<Environment>,
}

impl Bench {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("work")).expect("a folder");
        let sandbox = select(&SandboxConfig::default(), Arc::new(SystemClock::default()));
        // Commands find the program that misbehaves on demand, and nothing else.
        let programs = Path::new(FAKES).parent().expect("a folder");
        let environment =
            Environment::from_host([], &folder.path().join("home"), &folder.path().join("tmp"))
                .with("PATH", programs.display().to_string());
        let bench = Self {
            folder,
            clock: Arc::new(ManualClock::default()),
            policy: Policy::permissive(),
            prices: None,
            redactor: Redactor::default(),
            sandbox: sandbox.into(),
            environment: Arc::new(environment),
        };
        for (path, text) in files {
            bench.put(path, text);
        }
        bench
    }

    pub(crate) fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// A path beside the workspace.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        #[expect(clippy::disallowed_methods, reason = "a test lays out its own folder")]
        std::fs::write(path, text).expect("a file");
    }

    pub(crate) fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).expect(path)
    }

    pub(crate) fn contract(&self, verify: Verification) -> TaskContract {
        TaskContract::workspace("mend it", self.root(), verify)
    }

    /// A model that says these turns.
    pub(crate) fn model(&self, turns: &str) -> Arc<dyn Provider> {
        scripted(turns, Arc::clone(&self.clock) as Arc<dyn Clock>)
    }

    pub(crate) fn harness(
        &self,
        provider: Arc<dyn Provider>,
        store: &Store,
        observer: Arc<dyn Observer>,
    ) -> Harness {
        Harness::builder()
            .provider(provider)
            .store(store.clone())
            .policy(self.policy.clone())
            .sandbox(Arc::clone(&self.sandbox))
            .environment(Arc::clone(&self.environment))
            .observer(observer)
            .prices(self.prices.clone())
            .clock(Arc::clone(&self.clock) as Arc<dyn Clock>)
            .redactor(self.redactor.clone())
            .build()
            .expect("every part is there")
    }

    /// Runs a contract from its beginning to its end, with the trace that this left.
    pub(crate) async fn run(&self, turns: &str, contract: TaskContract) -> (RunResult, Store) {
        self.run_with(self.model(turns), contract, Arc::new(Ignore))
            .await
    }

    pub(crate) async fn run_with(
        &self,
        provider: Arc<dyn Provider>,
        contract: TaskContract,
        observer: Arc<dyn Observer>,
    ) -> (RunResult, Store) {
        let store = Store::memory().expect("a trace");
        let result = self
            .harness(provider, &store, observer)
            .start(contract)
            .await
            .expect("a result");
        (result, store)
    }
}

/// A model that says these turns, a list in YAML.
pub(crate) fn scripted(turns: &str, clock: Arc<dyn Clock>) -> Arc<dyn Provider> {
    let script = format!("version: 1\nturns:\n{turns}");
    let script = Script::parse(&script, "turns").unwrap_or_else(|error| panic!("{error}"));
    Scripted::new("local", Arc::new(script), clock).for_case("task", 1)
}

pub(crate) fn path(path: &str) -> RelPath {
    RelPath::parse(path).expect("a path")
}

/// The criterion that a file holds a text.
pub(crate) fn holds(file: &str, needle: &str) -> Verification {
    Verification::WorkspaceFileContains {
        file: path(file),
        needle: needle.to_owned(),
    }
}

/// Does as a function says.
pub(crate) struct Watch<F>(pub(crate) F);

impl<F: Fn(&EventKind) -> Flow + Send + Sync> Observer for Watch<F> {
    fn event(&self, event: &RunEvent) -> Flow {
        (self.0)(&event.kind)
    }
}

/// Stops a run whenever the model was called or a claim was tried: at everything that a commit may follow.
pub(crate) fn stop_at_every_step(stop: &StopSignal) -> Arc<dyn Observer> {
    let stop = stop.clone();
    Arc::new(Watch(move |event: &EventKind| {
        if matches!(event, EventKind::ModelCalled(_) | EventKind::Verified(_)) {
            stop.stop_gently();
        }
        Flow::Continue
    }))
}

/// What a provider answered to one call.
pub(crate) type Answer = Result<CompletionResponse, ProviderError>;

/// Passes calls on and keeps what was answered.
pub(crate) struct Recorder {
    pub(crate) inner: Arc<dyn Provider>,
    pub(crate) answers: Mutex<Vec<Answer>>,
}

impl Recorder {
    pub(crate) fn new(inner: Arc<dyn Provider>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            answers: Mutex::default(),
        })
    }

    pub(crate) fn calls(&self) -> usize {
        self.answers.lock().expect("a lock").len()
    }
}

impl Provider for Recorder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn model(&self) -> &str {
        self.inner.model()
    }

    fn endpoints(&self) -> Vec<String> {
        self.inner.endpoints()
    }

    fn complete<'a>(
        &'a self,
        request: CompletionRequest<'a>,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let answer = self.inner.complete(request, sink).await;
            self.answers.lock().expect("a lock").push(answer.clone());
            answer
        })
    }
}

/// Dials these addresses, as far as anybody asks; a call that is made all the same is a bug.
pub(crate) struct Dials(pub(crate) &'static [&'static str]);

impl Provider for Dials {
    fn name(&self) -> &str {
        "remote"
    }

    fn model(&self) -> &str {
        "m"
    }

    fn endpoints(&self) -> Vec<String> {
        self.0.iter().map(|url| (*url).to_owned()).collect()
    }

    fn complete<'a>(
        &'a self,
        _request: CompletionRequest<'a>,
        _sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Answer> {
        panic!("nobody is called here")
    }
}

/// The span of some seconds.
pub(crate) const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}
