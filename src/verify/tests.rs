use std::sync::Mutex;
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::{CommandRunner, VerifyError, check};
use crate::base::{Bounded, BoxFuture, ManualClock, RelPath};
use crate::domain::{Verdict, Verification};
use crate::sandbox::{
    Backend, Cap, Ending, Environment, RunSpec, Sandbox, SandboxConfig, SandboxError,
    SandboxLimits, SandboxOutcome, Selected, select,
};
use crate::workspace::Workspace;

/// A sandbox whose commands end as they are told to, and which remembers what it was asked.
struct Scripted {
    endings: Mutex<Vec<Ending>>,
    asked: Mutex<Vec<Asked>>,
    selected: Selected,
}

#[derive(Debug, Clone, PartialEq)]
struct Asked {
    argv: Vec<String>,
    wall: Duration,
    network: bool,
}

impl Scripted {
    fn new(endings: impl IntoIterator<Item = Ending>) -> Self {
        let mut endings: Vec<Ending> = endings.into_iter().collect();
        endings.reverse();
        let floor = select(
            &SandboxConfig::default(),
            std::sync::Arc::new(ManualClock::default()),
        );
        Self {
            endings: Mutex::new(endings),
            asked: Mutex::default(),
            selected: floor.selected().clone(),
        }
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no panic").clone()
    }
}

impl Sandbox for Scripted {
    fn run<'a>(&'a self, spec: RunSpec<'a>) -> BoxFuture<'a, Result<SandboxOutcome, SandboxError>> {
        self.asked.lock().expect("no panic").push(Asked {
            argv: spec.argv.to_vec(),
            wall: spec.limits.wall,
            network: spec.network,
        });
        let ending = self.endings.lock().expect("no panic").pop();
        let part = |text: &str| Bounded {
            text: text.to_owned(),
            total: 5,
            cut: 1,
        };
        Box::pin(async move {
            Ok(SandboxOutcome {
                ending: ending.ok_or(SandboxError::NoProgram)?,
                stdout: part("out"),
                stderr: part("err"),
                duration: Duration::from_millis(7),
                backend: Backend::PortableFloor,
            })
        })
    }

    fn selected(&self) -> &Selected {
        &self.selected
    }
}

struct Bench {
    folder: tempfile::TempDir,
    workspace: Workspace,
    environment: Environment,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("work");
        std::fs::create_dir(&root).expect("a folder");
        Self {
            workspace: Workspace::open(&root).expect("a workspace"),
            environment: Environment::empty()
                .with("TMPDIR", folder.path().join("tmp").display().to_string()),
            folder,
        }
    }

    fn write(&self, path: &str, text: &[u8]) {
        let at = self.workspace.resolve(path).expect("a path");
        self.workspace.write(&at, text).expect("a file");
    }

    async fn check(
        &self,
        verification: &Verification,
        sandbox: &Scripted,
    ) -> Result<Verdict, VerifyError> {
        let runner = CommandRunner {
            sandbox,
            environment: &self.environment,
            limits: SandboxLimits::default(),
        };
        check(verification, &self.workspace, &runner).await
    }

    /// Of a criterion that needs no command.
    async fn file(&self, verification: &Verification) -> Verdict {
        self.check(verification, &Scripted::new([]))
            .await
            .expect("a verdict")
    }
}

fn rel(path: &str) -> RelPath {
    RelPath::parse(path).expect("a path")
}

fn command(program: &str, expect_exit: i32) -> Verification {
    Verification::Command {
        argv: vec![program.to_owned(), "test".to_owned()],
        expect_exit,
        timeout: Duration::from_secs(120),
        network: false,
    }
}

fn contains(file: &str, needle: &str) -> Verification {
    Verification::WorkspaceFileContains {
        file: rel(file),
        needle: needle.to_owned(),
    }
}

fn equals(file: &str, text: &str) -> Verification {
    Verification::WorkspaceFileEquals {
        file: rel(file),
        text: text.to_owned(),
    }
}

#[tokio::test]
async fn every_ending_of_a_command_reads_as_a_reason() {
    let bench = Bench::new();
    for (ending, expected, passed, reason) in [
        (Ending::Exited(0), 0, true, "exit 0"),
        (Ending::Exited(3), 3, true, "exit 3"),
        (Ending::Exited(101), 0, false, "exit 101 (expected 0)"),
        (Ending::Exited(0), 1, false, "exit 0 (expected 1)"),
        // Whatever status a shell would make of it.
        (Ending::Signalled(9), 137, false, "killed by signal 9"),
        (Ending::Cap(Cap::Wall), 0, false, "timed out after 2m"),
        (
            Ending::Cap(Cap::Output),
            0,
            false,
            "printed more than 64 MiB",
        ),
        (
            Ending::Cap(Cap::Cpu),
            0,
            false,
            "used more than 1h of processor time",
        ),
        (
            Ending::Cap(Cap::Disk),
            0,
            false,
            "wrote a file of more than 4 GiB",
        ),
        (
            Ending::Cap(Cap::Memory),
            0,
            false,
            "used more than 4 GiB of memory",
        ),
        (
            Ending::Cap(Cap::Processes),
            0,
            false,
            "started more processes than it may",
        ),
    ] {
        let exit_code = match ending {
            Ending::Exited(status) => Some(status),
            _ => None,
        };
        let sandbox = Scripted::new([ending]);
        let verdict = bench
            .check(&command("cargo", expected), &sandbox)
            .await
            .expect("a verdict");
        let output = Bounded {
            text: "err\nout".to_owned(),
            total: 10,
            cut: 2,
        };
        let wanted = Verdict {
            passed,
            reason: reason.to_owned(),
            exit_code,
            output,
            duration_ms: 7,
        };
        assert_eq!(verdict, wanted);
        let asked = Asked {
            argv: vec!["cargo".to_owned(), "test".to_owned()],
            wall: Duration::from_secs(120),
            network: false,
        };
        assert_eq!(sandbox.asked(), [asked]);
    }
}

#[tokio::test]
async fn a_missing_tool_is_the_machines_fault_and_a_missing_script_the_works() {
    let bench = Bench::new();
    let inside = bench.workspace.root().join("tool").display().to_string();
    let not_found = |program: &str| Ending::NotFound {
        program: program.to_owned(),
    };
    let broken = |stage| Ending::NotStarted {
        stage,
        error: "no".to_owned(),
    };
    for (program, ending, blamed, reason) in [
        (
            "cargo",
            not_found("cargo"),
            false,
            "program cargo was not found on PATH",
        ),
        (
            "/opt/tool",
            not_found("/opt/tool"),
            false,
            "program /opt/tool does not exist",
        ),
        (
            "cargo",
            broken("spawn"),
            false,
            "program cargo did not start (spawn: no)",
        ),
        (
            "./run.sh",
            not_found("./run.sh"),
            true,
            "program ./run.sh is missing in the workspace",
        ),
        (
            "./run.sh",
            broken("spawn"),
            true,
            "program ./run.sh did not start (spawn: no)",
        ),
        (
            "cargo",
            broken("workdir"),
            true,
            "program cargo did not start (workdir: no)",
        ),
        (
            &inside,
            not_found(&inside),
            true,
            &format!("program {inside} is missing in the workspace"),
        ),
    ] {
        let result = bench
            .check(&command(program, 0), &Scripted::new([ending]))
            .await;
        match result {
            Ok(verdict) => {
                assert!(blamed && !verdict.passed, "{program}");
                assert_eq!(verdict.reason, reason);
            }
            Err(error) => {
                assert!(!blamed, "{program}");
                assert_eq!(error.to_string(), format!("cannot run the check: {reason}"));
            }
        }
    }
    let result = bench.check(&command("cargo", 0), &Scripted::new([])).await;
    assert!(matches!(result, Err(VerifyError::Sandbox { .. })));
}

#[tokio::test]
async fn a_file_holds_a_text_or_not() {
    let bench = Bench::new();
    bench.write("README.md", b"# A\r\n## Errors\r\nnone\r\n");
    bench.write("odd.bin", b"\xff needle \0");
    bench.write("folder/file", b"");
    for (file, needle, passed, reason) in [
        (
            "README.md",
            "## Errors",
            true,
            "README.md contains \"## Errors\"",
        ),
        (
            "README.md",
            "Errors\nnone",
            true,
            "README.md contains \"Errors\\nnone\"",
        ),
        (
            "README.md",
            "## errors",
            false,
            "README.md does not contain \"## errors\"",
        ),
        ("odd.bin", "needle", true, "odd.bin contains \"needle\""),
        ("READ.md", "x", false, "READ.md is missing"),
        ("README.md/x", "x", false, "README.md/x is missing"),
        ("folder", "x", false, "folder is a folder, not a file"),
    ] {
        let verdict = bench.file(&contains(file, needle)).await;
        assert_eq!((verdict.passed, &*verdict.reason), (passed, reason));
    }
    let long = bench
        .file(&contains("README.md", &"x".repeat(10_000)))
        .await;
    assert!(long.reason.chars().count() < 200, "{}", long.reason);
}

#[tokio::test]
async fn a_file_is_a_text_to_the_byte() {
    let bench = Bench::new();
    bench.write("a.txt", b"one\ntwo\n");
    bench.write("dos.txt", b"one\r\ntwo\r\n");
    for (file, text, passed, reason) in [
        ("a.txt", "one\ntwo\n", true, "a.txt is as expected"),
        (
            "a.txt",
            "one\ntoo\n",
            false,
            "a.txt differs from the expected text at line 2",
        ),
        (
            "a.txt",
            "one\ntwo",
            false,
            "a.txt differs from the expected text at line 2",
        ),
        (
            "a.txt",
            "one\ntwo\n3",
            false,
            "a.txt differs from the expected text at line 3",
        ),
        (
            "a.txt",
            "",
            false,
            "a.txt differs from the expected text at line 1",
        ),
        (
            "dos.txt",
            "one\ntwo\n",
            false,
            "dos.txt differs from the expected text in its line ends alone",
        ),
        ("b.txt", "", false, "b.txt is missing"),
    ] {
        let verdict = bench.file(&equals(file, text)).await;
        assert_eq!(
            (verdict.passed, &*verdict.reason),
            (passed, reason),
            "{text:?}"
        );
    }
}

#[tokio::test]
async fn several_criteria_are_tried_in_order_until_one_fails() {
    let bench = Bench::new();
    bench.write("a.txt", b"yes");
    let all = |of| Verification::All { of };

    let sandbox = Scripted::new([Ending::Exited(0), Ending::Exited(2), Ending::Exited(0)]);
    let nested = all(vec![
        command("one", 0),
        all(vec![contains("a.txt", "yes"), command("two", 0)]),
        command("three", 0),
    ]);
    let verdict = bench.check(&nested, &sandbox).await.expect("a verdict");
    assert_eq!(
        (verdict.passed, &*verdict.reason, verdict.duration_ms),
        (false, "exit 2 (expected 0)", 14)
    );
    assert_eq!(sandbox.asked().len(), 2);

    let sandbox = Scripted::new([Ending::Exited(0)]);
    let good = all(vec![command("one", 0), contains("a.txt", "yes")]);
    let verdict = bench.check(&good, &sandbox).await.expect("a verdict");
    assert_eq!(
        (verdict.passed, &*verdict.reason, &*verdict.output.text),
        (true, "all 2 criteria hold", "err\nout")
    );

    for nothing in [Verification::None, all(vec![]), all(vec![all(vec![])])] {
        let verdict = bench.file(&nothing).await;
        assert_eq!(verdict, Verdict::of(true, "nothing to check"));
    }
}

#[tokio::test]
async fn documents_need_their_feature() {
    let criterion = Verification::DocumentContains {
        file: rel("a.docx"),
        needle: "x".to_owned(),
    };
    let result = Bench::new().check(&criterion, &Scripted::new([])).await;
    match result {
        Err(VerifyError::FeatureMissing { feature, file }) => {
            assert_eq!((feature, file.as_str()), ("documents", "a.docx"));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_compiler_is_asked_about_each_file_outside_of_the_workspace() {
    let bench = Bench::new();
    bench.write("src/1 odd.rs", b"");
    bench.write("b.rs", b"");
    let criterion = |files: &[&str]| Verification::EachCompilesRust {
        files: files.iter().map(|file| rel(file)).collect(),
    };

    let sandbox = Scripted::new([Ending::Exited(0), Ending::Exited(1)]);
    let both = criterion(&["src/1 odd.rs", "b.rs", "c.rs"]);
    let verdict = bench.check(&both, &sandbox).await.expect("a verdict");
    assert_eq!(
        (
            verdict.passed,
            &*verdict.reason,
            verdict.exit_code,
            verdict.duration_ms
        ),
        (false, "b.rs does not compile", Some(1), 14)
    );
    for asked in sandbox.asked() {
        assert_eq!((asked.argv[0].as_str(), asked.network), ("rustc", false));
        let at = asked
            .argv
            .iter()
            .position(|argument| argument == "-o")
            .expect("an output");
        assert!(!std::path::Path::new(&asked.argv[at + 1]).starts_with(bench.workspace.root()));
    }

    for (files, endings, passed, reason) in [
        (
            &["b.rs"][..],
            vec![Ending::Exited(0)],
            true,
            "b.rs compiles",
        ),
        (
            &["b.rs", "src/1 odd.rs"],
            vec![Ending::Exited(0), Ending::Exited(0)],
            true,
            "each of 2 files compiles",
        ),
        (&["c.rs"], vec![], false, "c.rs is missing"),
        (&["src"], vec![], false, "src is missing"),
        (
            &["b.rs"],
            vec![Ending::Cap(Cap::Wall)],
            false,
            "b.rs was not compiled: timed out after 10m",
        ),
    ] {
        let sandbox = Scripted::new(endings);
        let verdict = bench
            .check(&criterion(files), &sandbox)
            .await
            .expect("a verdict");
        assert_eq!((verdict.passed, &*verdict.reason), (passed, reason));
    }
    // Nothing is left of it.
    let tmp = bench.folder.path().join("tmp");
    assert_eq!(std::fs::read_dir(tmp).expect("the folder").count(), 0);
}
