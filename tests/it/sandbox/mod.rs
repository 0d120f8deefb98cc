//! Commands that misbehave, and what is left of them.

mod endings;
mod os;
mod survivors;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use taskgate::base::SystemClock;
use taskgate::sandbox::{
    Environment, LayerName, LayerState, RunSpec, Sandbox, SandboxConfig, SandboxLimits,
    SandboxOutcome, select,
};

/// The program that misbehaves on demand.
pub(crate) const FAKES: &str = env!("CARGO_BIN_EXE_taskgate-fakes");

/// A sandbox and a folder to run in.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
    sandbox: Box<dyn Sandbox>,
    env: Environment,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with_host(&[])
    }

    /// With these variables on the host.
    pub(crate) fn with_host(host: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let host = host
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let env = Environment::from_host(
            host,
            &folder.path().join("home"),
            &folder.path().join("tmp"),
        );
        let sandbox = select(
            &SandboxConfig {
                force_floor: true,
                ..SandboxConfig::default()
            },
            Arc::new(SystemClock::default()),
        );
        Self {
            folder,
            sandbox,
            env,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The path as an argument.
    pub(crate) fn argument(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// The number that a process has left in a file.
    pub(crate) fn pid(&self, name: &str) -> i32 {
        std::fs::read_to_string(self.path(name))
            .expect("the file of a process")
            .parse()
            .expect("a number")
    }

    pub(crate) fn spec<'a>(&'a self, argv: &'a [String], limits: SandboxLimits) -> RunSpec<'a> {
        RunSpec {
            argv,
            workdir: self.folder.path(),
            env: &self.env,
            limits,
            network: true,
        }
    }

    /// Runs the fakes with these arguments.
    pub(crate) async fn fake(&self, arguments: &[&str], limits: SandboxLimits) -> SandboxOutcome {
        self.run(&argv(arguments), limits).await
    }

    /// Runs a command.
    pub(crate) async fn run(&self, argv: &[String], limits: SandboxLimits) -> SandboxOutcome {
        guarded(self.sandbox.run(self.spec(argv, limits)))
            .await
            .expect("an outcome")
    }

    /// Whether a layer holds here at all; says so where not.
    pub(crate) fn holds(&self, layer: LayerName) -> bool {
        match self.sandbox.selected().layer(layer) {
            Some(LayerState::Absent { reason }) => {
                skipped(&format!("{layer} is absent: {reason}"));
                false
            }
            state => state.is_some(),
        }
    }
}

/// Says why a test does not show what it is named after.
pub(crate) fn skipped(why: &str) {
    println!("skipped: {why}");
}

/// The fakes with these arguments.
pub(crate) fn argv(arguments: &[&str]) -> Vec<String> {
    std::iter::once(FAKES)
        .chain(arguments.iter().copied())
        .map(str::to_owned)
        .collect()
}

/// Turns what would hang into a failure.
pub(crate) async fn guarded<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), future)
        .await
        .expect("this ends by itself")
}

/// No cap that any test runs into by accident.
pub(crate) fn wide() -> SandboxLimits {
    SandboxLimits {
        wall: Duration::from_secs(50),
        ..SandboxLimits::default()
    }
}
