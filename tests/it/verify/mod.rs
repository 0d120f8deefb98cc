//! Criteria against real commands.

use std::sync::Arc;
use std::time::Duration;

use pretty_assertions::assert_eq;
use taskgate::base::{RelPath, SystemClock};
use taskgate::domain::{Verdict, Verification};
use taskgate::sandbox::{Environment, Sandbox, SandboxConfig, SandboxLimits, select};
use taskgate::verify::{CommandRunner, VerifyError, check};
use taskgate::workspace::Workspace;

use crate::sandbox::{argv, guarded, skipped};

struct Bench {
    _folder: tempfile::TempDir,
    workspace: Workspace,
    sandbox: Box<dyn Sandbox>,
    environment: Environment,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("work");
        std::fs::create_dir(&root).expect("a folder");
        Self {
            workspace: Workspace::open(&root).expect("a workspace"),
            sandbox: select(&SandboxConfig::default(), Arc::new(SystemClock::default())),
            environment: Environment::from_host(
                host(),
                &folder.path().join("home"),
                &folder.path().join("tmp"),
            ),
            _folder: folder,
        }
    }

    async fn check(&self, verification: &Verification) -> Result<Verdict, VerifyError> {
        let runner = CommandRunner {
            sandbox: &*self.sandbox,
            environment: &self.environment,
            limits: SandboxLimits::default(),
        };
        guarded(check(verification, &self.workspace, &runner)).await
    }

    async fn verdict(&self, verification: &Verification) -> Verdict {
        self.check(verification).await.expect("a verdict")
    }
}

/// The toolchain that runs this test.
#[expect(
    clippy::disallowed_methods,
    reason = "a test that needs a compiler takes the machine's"
)]
fn host() -> Vec<(String, String)> {
    [
        "PATH",
        "HOME",
        "USERPROFILE",
        "CARGO_HOME",
        "RUSTUP_HOME",
        "RUSTUP_TOOLCHAIN",
        "SystemRoot",
    ]
    .into_iter()
    .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)))
    .collect()
}

fn command(argv: Vec<String>, timeout: Duration) -> Verification {
    Verification::Command {
        argv,
        expect_exit: 0,
        timeout,
        network: false,
    }
}

#[tokio::test]
async fn commands_are_judged_by_how_they_end() {
    let bench = Bench::new();
    let minute = Duration::from_secs(50);
    let verdict = bench
        .verdict(&command(argv(&["print", "out", "err"]), minute))
        .await;
    assert_eq!(
        (verdict.passed, &*verdict.reason, &*verdict.output.text),
        (true, "exit 0", "err\nout")
    );
    let verdict = bench
        .verdict(&command(argv(&["exit", "101"]), minute))
        .await;
    assert_eq!(
        (verdict.passed, &*verdict.reason),
        (false, "exit 101 (expected 0)")
    );
    let verdict = bench
        .verdict(&command(argv(&["hang"]), Duration::from_millis(300)))
        .await;
    assert_eq!(
        (verdict.passed, &*verdict.reason, &*verdict.output.text),
        (false, "timed out after 300ms", "about to hang\n")
    );
    let script = vec!["./run.sh".to_owned()];
    let verdict = bench.verdict(&command(script, minute)).await;
    assert_eq!(
        verdict.reason,
        "program ./run.sh is missing in the workspace"
    );
    let tool = vec!["taskgate-no-such-tool".to_owned()];
    let error = bench
        .check(&command(tool, minute))
        .await
        .expect_err("no verdict");
    assert_eq!(
        error.to_string(),
        "cannot run the check: program taskgate-no-such-tool was not found on PATH"
    );
}

#[tokio::test]
async fn rust_compiles_or_not() {
    let bench = Bench::new();
    for (file, text) in [
        ("good.rs", "pub fn one() -> u32 { 1 }\n"),
        ("src/2-bad.rs", "pub fn two() -> u32 { \"2\" }\n"),
        // A workspace that would rather bring its own compiler.
        ("rust-toolchain.toml", "[toolchain]\npath = \"./planted\"\n"),
    ] {
        let at = bench.workspace.resolve(file).expect("a path");
        bench.workspace.write(&at, text.as_bytes()).expect("a file");
    }
    let criterion = |file: &str| Verification::EachCompilesRust {
        files: vec![RelPath::parse(file).expect("a path")],
    };
    match bench.check(&criterion("good.rs")).await {
        Ok(verdict) => assert!(verdict.passed, "{verdict:?}"),
        Err(VerifyError::CannotRun { reason, .. }) => return skipped(&reason),
        Err(error) => panic!("{error:?}"),
    }
    let verdict = bench.verdict(&criterion("src/2-bad.rs")).await;
    assert_eq!(
        (verdict.passed, &*verdict.reason),
        (false, "src/2-bad.rs does not compile")
    );
    let shown = verdict.output.text.replace('\\', "/");
    assert!(shown.contains("./src/2-bad.rs"), "{shown}");
}
