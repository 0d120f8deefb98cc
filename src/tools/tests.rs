use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

use super::{OBSERVATION_LIMIT, ToolContext, builtin_names, builtin_specs};
use crate::base::{Bounded, BoxFuture, ManualClock};
use crate::domain::{
    Act, ApproveAll, Approver, Arguments, Decision, DenyAll, EventKind, Request, ToolCall,
    ToolOutput,
};
use crate::policy::{Defaults, Policy};
use crate::sandbox::{
    Backend, Cap, Ending, Environment, RunSpec, Sandbox, SandboxError, SandboxLimits,
    SandboxOutcome, Selected,
};
use crate::workspace::Workspace;

/// The command, the folder, the time and the network that were asked for.
type Asked = (Vec<String>, PathBuf, Duration, bool);

/// A sandbox that ends commands as it was told to, and remembers what it was asked.
struct Told {
    endings: Mutex<VecDeque<Result<SandboxOutcome, SandboxError>>>,
    asked: Mutex<Vec<Asked>>,
    selected: Selected,
}

impl Default for Told {
    fn default() -> Self {
        Self {
            endings: Mutex::default(),
            asked: Mutex::default(),
            selected: Selected {
                backend: Backend::PortableFloor,
                tier: "T0".to_owned(),
                os: "none".to_owned(),
                layers: std::collections::BTreeMap::new(),
            },
        }
    }
}

impl Told {
    fn ends(&self, ending: Ending, stdout: &str, stderr: &str) {
        let bounded = |text: &str| Bounded {
            text: text.to_owned(),
            total: text.len() as u64,
            cut: 0,
        };
        self.answers(Ok(SandboxOutcome {
            ending,
            stdout: bounded(stdout),
            stderr: bounded(stderr),
            duration: Duration::ZERO,
            backend: Backend::PortableFloor,
        }));
    }

    fn answers(&self, answer: Result<SandboxOutcome, SandboxError>) {
        self.endings.lock().expect("a lock").push_back(answer);
    }
}

impl Sandbox for Told {
    fn run<'a>(&'a self, spec: RunSpec<'a>) -> BoxFuture<'a, Result<SandboxOutcome, SandboxError>> {
        self.asked.lock().expect("a lock").push((
            spec.argv.to_vec(),
            spec.workdir.to_owned(),
            spec.limits.wall,
            spec.network,
        ));
        let answer = self.endings.lock().expect("a lock").pop_front();
        Box::pin(std::future::ready(
            answer.expect("the test says how the command ends"),
        ))
    }

    fn selected(&self) -> &Selected {
        &self.selected
    }
}

/// A workspace and everything that tools work with.
struct Bench {
    folder: TempDir,
    sandbox: Arc<Told>,
    context: ToolContext,
}

impl Bench {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            put(&folder.path().join(path), text);
        }
        let sandbox = Arc::new(Told::default());
        let context = ToolContext {
            workspace: Arc::new(Workspace::open(folder.path()).expect("a workspace")),
            policy: Arc::new(Policy::permissive()),
            approver: Arc::new(DenyAll),
            sandbox: Arc::clone(&sandbox) as Arc<dyn Sandbox>,
            environment: Arc::new(Environment::empty()),
            limits: SandboxLimits {
                wall: Duration::from_secs(90),
                ..SandboxLimits::default()
            },
            network: false,
            clock: Arc::new(ManualClock::default()),
        };
        Self {
            folder,
            sandbox,
            context,
        }
    }

    fn policy(mut self, policy: Policy) -> Self {
        self.context.policy = Arc::new(policy);
        self
    }

    fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.context.approver = Arc::new(approver);
        self
    }

    /// The answers to these calls, and what happened meanwhile, one line an event.
    async fn run(&self, calls: &[ToolCall]) -> (Vec<ToolOutput>, Vec<String>) {
        let events = Mutex::new(Vec::new());
        let outputs = self
            .context
            .run(calls, &|event| {
                events.lock().expect("a lock").push(shown(&event));
            })
            .await;
        (outputs, events.into_inner().expect("a lock"))
    }

    async fn one(&self, name: &str, arguments: Value) -> ToolOutput {
        let (mut outputs, _) = self.run(&[call(name, arguments)]).await;
        outputs.remove(0)
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(path)).expect(path)
    }
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    File::create(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .expect("a file");
}

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: format!("id-{name}"),
        name: name.to_owned(),
        arguments: Arguments::Json(arguments),
    }
}

fn shown(event: &EventKind) -> String {
    match event {
        EventKind::ToolCalling { name, target } => format!("calling {name} {target}"),
        EventKind::ToolCalled {
            name,
            target,
            ok,
            changed,
            decision,
            ..
        } => {
            let how = if *ok { "ok" } else { "failed" };
            let changed = if *changed { ", changed" } else { "" };
            format!("called {name} {target}: {how}{changed}: {decision}")
        }
        EventKind::Refused {
            act,
            target,
            rule,
            layer,
            by,
        } => format!(
            "refused {} {target} by {by} ({}, {})",
            act.as_str(),
            rule.as_deref().unwrap_or("-"),
            layer.as_deref().unwrap_or("-")
        ),
        EventKind::Approved { act, target } => format!("approved {} {target}", act.as_str()),
        other => format!("{other:?}"),
    }
}

#[test]
fn what_a_model_is_offered() {
    let mut text = String::new();
    for spec in &*builtin_specs() {
        let parameters = serde_json::to_string_pretty(&spec.parameters).expect("JSON");
        let (name, description) = (&spec.name, &spec.description);
        writeln!(text, "# {name}\n{description}\n{parameters}\n").expect("a text takes any line");
    }
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn each_tool_does_its_work_and_says_so() {
    let bench = Bench::new(&[
        ("src/lib.rs", "fn one() {}\nfn two() {}\nfn three() {}\n"),
        ("notes.txt", "alpha\r\nbeta\r\n"),
        ("empty.txt", ""),
    ]);
    for (name, arguments, text, changed) in [
        (
            "read_file",
            json!({"path": "src/lib.rs"}),
            "fn one() {}\nfn two() {}\nfn three() {}\n",
            false,
        ),
        (
            "read_file",
            json!({"path": "src/lib.rs", "offset": 2, "limit": 1}),
            "[lines 2 to 2 of 3]\nfn two() {}\n",
            false,
        ),
        (
            "read_file",
            json!({"path": "src/lib.rs", "offset": 9}),
            "src/lib.rs has 3 lines: offset 9 is beyond its end",
            false,
        ),
        (
            "read_file",
            json!({"path": "empty.txt"}),
            "empty.txt is empty",
            false,
        ),
        (
            "write_file",
            json!({"path": "new/deep.txt", "content": "x\n"}),
            "created new/deep.txt",
            true,
        ),
        (
            "write_file",
            json!({"path": "new/deep.txt", "content": "y\n"}),
            "changed new/deep.txt",
            true,
        ),
        (
            "write_file",
            json!({"path": "new/deep.txt", "content": "y\n"}),
            "new/deep.txt has that content already: nothing changed",
            false,
        ),
        (
            "edit_file",
            json!({"path": "notes.txt", "search": "beta", "replace": "gamma\ndelta"}),
            "changed notes.txt",
            true,
        ),
        (
            "grep",
            json!({"pattern": "t[wh]", "path_glob": "src/**/*.rs"}),
            "src/lib.rs:2: fn two() {}\nsrc/lib.rs:3: fn three() {}",
            false,
        ),
        (
            "grep",
            json!({"pattern": "nothing like it"}),
            "no file has a match",
            false,
        ),
        ("find", json!({"name_glob": "*.rs"}), "src/lib.rs", false),
        ("find", json!({"name_glob": "*.py"}), "no file fits", false),
        (
            "list_dir",
            json!({}),
            "empty.txt (0 B)\nnew/\nnotes.txt (21 B)\nsrc/",
            false,
        ),
    ] {
        let output = bench.one(name, arguments.clone()).await;
        assert_eq!(output.text, text, "{name} {arguments}");
        assert!(output.ok, "{name} {arguments}");
        assert_eq!(output.changed, changed, "{name} {arguments}");
        assert_eq!(output.call_id, format!("id-{name}"));
    }
    assert_eq!(bench.read("notes.txt"), "alpha\r\ngamma\r\ndelta\r\n");
    assert_eq!(bench.read("new/deep.txt"), "y\n");
}

#[tokio::test]
async fn a_call_that_does_not_fit_says_what_would() {
    let bench = Bench::new(&[("a.txt", "one one\n")]);
    let long = "x".repeat(50_000);
    for (name, arguments, expected) in [
        (
            "run_shell",
            json!({}),
            "there is no tool `run_shell`: the tools are read_file, ",
        ),
        (long.as_str(), json!({}), "there is no tool `xxx"),
        (
            "read_file",
            json!({}),
            "the arguments of `read_file` do not fit: missing field `path`",
        ),
        (
            "read_file",
            json!({"path": "a.txt", "lines": 3}),
            "unknown field `lines`, expected one of `path`, `offset`, `limit`",
        ),
        ("read_file", json!({"path": 3}), "expected a string"),
        ("read_file", json!("a.txt"), "do not fit"),
        ("read_file", json!({"path": "a.txt", "offset": -1}), "u64"),
        ("read_file", json!({&*long: 1}), "unknown field"),
        ("read_file", json!({"path": "b.txt"}), "does not exist"),
        ("read_file", json!({"path": long}), ""),
        ("read_file", json!({"path": "."}), "not a file"),
        ("list_dir", json!({"path": "a.txt"}), "not a folder"),
        (
            "edit_file",
            json!({"path": "a.txt", "search": "one", "replace": "two"}),
            "2 times",
        ),
        (
            "edit_file",
            json!({"path": "a.txt", "search": "", "replace": "two"}),
            "the search text is empty",
        ),
        ("grep", json!({"pattern": "("}), "regular expression"),
        (
            "grep",
            json!({"pattern": format!("({long}")}),
            "regular expression",
        ),
        ("find", json!({"name_glob": "a[" }), "glob"),
        ("exec", json!({"argv": []}), "argv is empty"),
        ("exec", json!({"argv": "ls -l"}), "expected a sequence"),
    ] {
        let output = bench.one(name, arguments.clone()).await;
        let said = format!(
            "{:.80} {:.80}: {:.300}",
            name,
            arguments.to_string(),
            output.text
        );
        assert!(output.text.contains(expected), "{said}");
        assert!(!output.ok && !output.changed, "{said}");
        assert!(output.text.len() < 5_000, "{said}");
    }
    let mut malformed = call("write_file", json!(null));
    malformed.arguments = Arguments::parse(r#"{"path": "a.txt", "content": "cut o"#);
    let (outputs, events) = bench.run(&[malformed]).await;
    assert!(outputs[0].text.contains("not valid JSON"), "{outputs:?}");
    assert_eq!(
        events,
        [
            "calling write_file ",
            "called write_file : failed: write_file malformed arguments"
        ]
    );
    assert_eq!(bench.read("a.txt"), "one one\n");
}

#[tokio::test]
async fn a_path_outside_is_refused_in_whatever_way_it_is_written() {
    let bench = Bench::new(&[("work/a.txt", "in\n"), ("secret.txt", "out\n")]);
    let context = ToolContext {
        workspace: Arc::new(
            Workspace::open(&bench.folder.path().join("work")).expect("a workspace"),
        ),
        ..bench.context.clone()
    };
    let bench = Bench { context, ..bench };
    let absolute = bench.folder.path().join("secret.txt").display().to_string();
    for path in ["../secret.txt", "x/../../secret.txt", &absolute] {
        for (name, arguments) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "gone"})),
            (
                "edit_file",
                json!({"path": path, "search": "out", "replace": "gone"}),
            ),
            ("list_dir", json!({"path": path})),
        ] {
            let (outputs, events) = bench.run(&[call(name, arguments)]).await;
            assert!(!outputs[0].ok, "{name} {path}: {outputs:?}");
            assert!(!outputs[0].text.contains("out\n"), "{name} {path}");
            assert!(
                outputs[0].text.starts_with("refused: "),
                "{name} {path}: {outputs:?}"
            );
            assert!(
                events[1].contains("by policy (<resolves outside the workspace root>, -)"),
                "{name} {path}: {events:?}"
            );
        }
    }
    assert_eq!(bench.read("secret.txt"), "out\n");

    let deep = format!("../{}", "y/".repeat(50_000));
    let (outputs, events) = bench.run(&[call("read_file", json!({"path": deep}))]).await;
    assert!(outputs[0].text.len() < 5_000, "{}", outputs[0].text.len());
    assert!(events.iter().all(|event| event.len() < 5_000));
}

#[tokio::test]
async fn the_policy_is_asked_before_anything_happens() {
    let policy = Policy::new(Defaults::all(crate::domain::Effect::Allow))
        .layer("suite")
        .deny_write("tests/*")
        .ask_write("*.lock")
        .ask_exec("make *")
        .deny_exec("rm");
    let calls = [
        call("write_file", json!({"path": "tests/a.rs", "content": "x"})),
        call("write_file", json!({"path": "a.lock", "content": "x"})),
        call("exec", json!({"argv": ["/bin/rm", "-rf", "."]})),
        call("exec", json!({"argv": ["make", "all"]})),
        call("read_file", json!({"path": "tests/a.rs"})),
    ];

    let bench = Bench::new(&[("tests/a.rs", "old")]).policy(policy.clone());
    let (outputs, events) = bench.run(&calls).await;
    assert_eq!(
        events,
        [
            "calling write_file tests/a.rs",
            "refused write tests/a.rs by policy (deny write tests/*, suite)",
            "called write_file tests/a.rs: failed: write refused",
            "calling write_file a.lock",
            "refused write a.lock by approver (ask write *.lock, suite)",
            "called write_file a.lock: failed: write refused",
            "calling exec /bin/rm -rf .",
            "refused exec /bin/rm -rf . by policy (deny exec rm, suite)",
            "called exec /bin/rm -rf .: failed: exec refused",
            "calling exec make all",
            "refused exec make all by approver (ask exec make *, suite)",
            "called exec make all: failed: exec refused",
            "calling read_file tests/a.rs",
            "called read_file tests/a.rs: ok: read tests/a.rs",
        ]
    );
    assert!(
        outputs[1].text.ends_with("nobody is there to approve it"),
        "{outputs:?}"
    );
    assert!(!bench.folder.path().join("a.lock").exists());

    let bench = Bench::new(&[("tests/a.rs", "old")])
        .policy(policy)
        .approver(ApproveAll);
    bench.sandbox.ends(Ending::Exited(0), "", "");
    let (_, events) = bench.run(&calls).await;
    assert_eq!(
        events,
        [
            "calling write_file tests/a.rs",
            "refused write tests/a.rs by policy (deny write tests/*, suite)",
            "called write_file tests/a.rs: failed: write refused",
            "calling write_file a.lock",
            "approved write a.lock",
            "called write_file a.lock: ok, changed: wrote a.lock",
            "calling exec /bin/rm -rf .",
            "refused exec /bin/rm -rf . by policy (deny exec rm, suite)",
            "called exec /bin/rm -rf .: failed: exec refused",
            "calling exec make all",
            "approved exec make all",
            "called exec make all: ok: exec make exit 0",
            "calling read_file tests/a.rs",
            "called read_file tests/a.rs: ok: read tests/a.rs",
        ]
    );
    assert_eq!(bench.read("tests/a.rs"), "old");
    assert_eq!(bench.read("a.lock"), "x");
    let asked = bench.sandbox.asked.lock().expect("a lock").clone();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].0, ["make", "all"]);
    assert_eq!(asked[0].1, bench.context.workspace.root());
    assert_eq!((asked[0].2, asked[0].3), (Duration::from_secs(90), false));
}

/// An edit tells whether a text is in a file: that is reading it.
#[tokio::test]
async fn a_file_that_may_not_be_read_is_not_edited_either() {
    let policy = Policy::permissive().layer("suite").deny_read("answers.txt");
    let bench = Bench::new(&[("answers.txt", "42\n")]).policy(policy);
    for search in ["42", "43"] {
        let arguments = json!({"path": "answers.txt", "search": search, "replace": "42"});
        let (outputs, events) = bench.run(&[call("edit_file", arguments)]).await;
        assert!(outputs[0].text.starts_with("refused: "), "{outputs:?}");
        assert_eq!(
            events[1],
            "refused read answers.txt by policy (deny read answers.txt, suite)"
        );
    }
    let arguments = json!({"path": "answers.txt", "content": "new"});
    assert!(bench.one("write_file", arguments).await.ok);
}

#[tokio::test]
async fn what_may_not_be_read_without_asking_is_not_found_by_searching() {
    let files = [
        ("open.txt", "needle here\n"),
        ("asked/plan.txt", "needle there\n"),
        ("denied.key", "needle nowhere\n"),
    ];
    let policy = Policy::permissive()
        .layer("suite")
        .ask_read("asked/*")
        .deny_read("*.key");
    // Nobody is asked on account of a search, also where somebody would agree.
    let bench = Bench::new(&files).policy(policy).approver(ApproveAll);
    for (name, arguments) in [
        ("grep", json!({"pattern": "needle"})),
        ("grep", json!({"pattern": "needle", "path_glob": "**/*"})),
        ("find", json!({"name_glob": "*"})),
        ("list_dir", json!({"path": "asked"})),
        ("list_dir", json!({})),
    ] {
        let (outputs, events) = bench.run(&[call(name, arguments)]).await;
        let text = &outputs[0].text;
        for hidden in ["plan.txt", "there", "denied", "nowhere"] {
            assert!(!text.contains(hidden), "{name}: {text}");
        }
        assert!(events.iter().all(|event| !event.starts_with("approved")));
    }
    let read = bench
        .one("read_file", json!({"path": "asked/plan.txt"}))
        .await;
    assert_eq!(read.text, "needle there\n");
}

/// Agrees to whatever is asked, but to `first.txt` only once it was asked about `second.txt`.
#[derive(Default)]
struct SecondFirst(Notify);

impl Approver for SecondFirst {
    fn decide<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            match request.target.as_str() {
                "first.txt" => self.0.notified().await,
                _ => self.0.notify_one(),
            }
            Decision::Approve
        })
    }
}

#[tokio::test]
async fn reads_of_one_step_run_beside_each_other_and_answer_in_order() {
    let bench = Bench::new(&[("first.txt", "1"), ("second.txt", "2")])
        .policy(Policy::permissive().default_for(Act::Read, crate::domain::Effect::Ask))
        .approver(SecondFirst::default());
    let calls = [
        call("read_file", json!({"path": "first.txt"})),
        call("read_file", json!({"path": "second.txt"})),
    ];
    let (outputs, events) = tokio::time::timeout(Duration::from_secs(60), bench.run(&calls))
        .await
        .expect("the second read does not wait for the first");
    assert_eq!((&*outputs[0].text, &*outputs[1].text), ("1", "2"));
    assert_eq!(
        events,
        [
            "calling read_file first.txt",
            "calling read_file second.txt",
            "approved read first.txt",
            "called read_file first.txt: ok: read first.txt",
            "approved read second.txt",
            "called read_file second.txt: ok: read second.txt",
        ]
    );
}

#[tokio::test]
async fn a_change_stands_between_the_reads_around_it() {
    let bench = Bench::new(&[("a.txt", "old")]);
    let read = || call("read_file", json!({"path": "a.txt"}));
    let write = call("write_file", json!({"path": "a.txt", "content": "new"}));
    let (outputs, _) = bench.run(&[read(), read(), write, read(), read()]).await;
    let texts: Vec<&str> = outputs.iter().map(|output| output.text.as_str()).collect();
    assert_eq!(texts, ["old", "old", "changed a.txt", "new", "new"]);
}

#[tokio::test]
async fn any_number_of_reads_is_answered() {
    let bench = Bench::new(&[("a.txt", "old")]);
    let calls: Vec<ToolCall> = (0..1_200)
        .map(|_| call("read_file", json!({"path": "a.txt"})))
        .collect();
    let (outputs, events) = bench.run(&calls).await;
    assert_eq!((outputs.len(), events.len()), (1_200, 2_400));
    assert!(outputs.iter().all(|output| output.text == "old"));
}

#[tokio::test]
async fn every_ending_of_a_command_has_its_words() {
    let bench = Bench::new(&[]);
    for (ending, stdout, stderr, text, decision) in [
        (Ending::Exited(0), "", "", "exit 0", "exec tool exit 0"),
        (
            Ending::Exited(101),
            "out\n",
            "\u{1b}[31merr\u{1b}[0m\r\n",
            "exit 101\n[stdout]\nout\n[stderr]\nerr",
            "exec tool exit 101",
        ),
        (
            Ending::Signalled(11),
            "",
            "",
            "ended by signal 11",
            "exec tool (signal 11)",
        ),
        (
            Ending::Cap(Cap::Wall),
            "so far",
            "",
            "stopped: it took longer than 1m30s\n[stdout]\nso far",
            "exec tool timed out",
        ),
        (
            Ending::Cap(Cap::Cpu),
            "",
            "",
            "stopped: it reached the cpu limit",
            "exec tool stopped by cap cpu",
        ),
        (
            Ending::Cap(Cap::Memory),
            "",
            "",
            "stopped: it reached the memory limit",
            "exec tool stopped by cap memory",
        ),
        (
            Ending::Cap(Cap::Processes),
            "",
            "",
            "stopped: it reached the processes limit",
            "exec tool stopped by cap processes",
        ),
        (
            Ending::Cap(Cap::Disk),
            "",
            "",
            "stopped: it reached the disk limit",
            "exec tool stopped by cap disk",
        ),
        (
            Ending::Cap(Cap::Output),
            "",
            "",
            "stopped: it reached the output limit",
            "exec tool stopped by cap output",
        ),
        (
            Ending::NotFound {
                program: "tool".to_owned(),
            },
            "",
            "",
            "there is no program `tool` here",
            "exec tool unavailable",
        ),
        (
            Ending::NotStarted {
                stage: "spawn",
                error: "permission denied".to_owned(),
            },
            "",
            "",
            "could not be started (spawn): permission denied",
            "exec tool not started",
        ),
    ] {
        let ok = ending == Ending::Exited(0);
        bench.sandbox.ends(ending.clone(), stdout, stderr);
        let (outputs, events) = bench
            .run(&[call("exec", json!({"argv": ["tool", "now"]}))])
            .await;
        assert_eq!(outputs[0].text, text, "{ending:?}");
        assert_eq!(
            (outputs[0].ok, outputs[0].changed),
            (ok, false),
            "{ending:?}"
        );
        let how = if ok { "ok" } else { "failed" };
        assert_eq!(
            events[1],
            format!("called exec tool now: {how}: {decision}")
        );
    }
    bench.sandbox.answers(Err(SandboxError::Survivors {
        count: 2,
        program: "tool".to_owned(),
    }));
    let output = bench.one("exec", json!({"argv": ["tool"]})).await;
    assert!(output.text.contains("could not be killed"), "{output:?}");
    assert!(!output.ok);
}

#[tokio::test]
async fn no_answer_is_longer_than_its_limit() {
    let line = "0123456789abcdef\n";
    let big = line.repeat(10_000);
    let wide = "é".repeat(100_000);
    let mut files: Vec<(String, &str)> =
        vec![("big.txt".to_owned(), &big), ("wide.txt".to_owned(), &wide)];
    files.extend((0..700).map(|n| (format!("many/{n:03}-{}.txt", "x".repeat(60)), line)));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
    let bench = Bench::new(&files);
    bench.sandbox.ends(Ending::Exited(1), &big, &big);
    for (name, arguments, note) in [
        (
            "read_file",
            json!({"path": "big.txt"}),
            "[lines 1 to 400 of 10000]",
        ),
        (
            "read_file",
            json!({"path": "big.txt", "limit": 10_000}),
            "[lines 1 to 941 of 10000]",
        ),
        (
            "read_file",
            json!({"path": "wide.txt"}),
            " 84000 characters cut ",
        ),
        ("grep", json!({"pattern": "abcdef"}), "[the first 100 of "),
        (
            "find",
            json!({"name_glob": "*.txt"}),
            "[the first 500 of 702 paths]",
        ),
        ("list_dir", json!({"path": "many"}), "characters cut"),
        ("exec", json!({"argv": ["tool"]}), "[stderr]"),
    ] {
        let output = bench.one(name, arguments.clone()).await;
        let end: String = output.text.chars().rev().take(200).collect();
        let end: String = end.chars().rev().collect();
        assert!(
            output.text.chars().count() <= OBSERVATION_LIMIT + 300,
            "{name} {arguments}"
        );
        assert!(output.text.contains(note), "{name} {arguments}: {end}");
    }
}

#[test]
fn the_names_are_those_of_the_schemas() {
    let specs = builtin_specs();
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, builtin_names());
}
