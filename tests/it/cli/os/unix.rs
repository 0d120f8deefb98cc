//! Ctrl-C and the polite request to end.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Child;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pretty_assertions::assert_eq;

use crate::support::taskgate::Taskgate;

/// Two cases; the second one's agent runs a command that waits.
fn waiting(command: &str) -> Taskgate {
    let taskgate = Taskgate::new();
    taskgate.filled(
        "suite.yaml",
        r#"version: 1
name: s
providers: { agent: { vendor: scripted, model: m-1, script: agent.yaml } }
tasks:
  - { id: first, goal: g, gates: [ { name: log, command: ["FAKES", append, "FOLDER/log", first] } ] }
  - id: second
    goal: g
    policy: { exec: ["FAKES *"] }
    gates: [ { name: a, file_equals: { path: a.txt, text: b } } ]
  - { id: third, goal: g, gates: [ { name: log, command: ["FAKES", append, "FOLDER/log", third] } ] }
"#,
    );
    taskgate.filled(
        "agent.yaml",
        &format!(
            r#"version: 1
turns: [ {{ text: done }} ]
scripts:
  - task: second
    turns:
      - calls: [ {{ tool: exec, arguments: {{ argv: ["FAKES", {command}] }} }} ]
      - calls: [ {{ tool: write_file, arguments: {{ path: a.txt, content: b }} }} ]
      - text: done
"#
        ),
    );
    taskgate
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).expect("a process");
    kill(Pid::from_raw(pid), signal).expect("sent");
}

#[test]
fn the_first_request_lets_steps_end_and_a_resume_goes_on() {
    for request in [Signal::SIGINT, Signal::SIGTERM] {
        let taskgate = waiting(r#"block, "FOLDER/started", "FOLDER/go""#);
        let mut child = taskgate.spawn(&["run", "suite.yaml", "--trace", "t.db", "--jobs", "1"]);
        taskgate.wait_for("started", &mut child);
        let mut said = BufReader::new(child.stderr.take().expect("piped"));
        signal(&child, request);
        let mut line = String::new();
        while !line.contains("stopping") {
            line.clear();
            assert_ne!(
                said.read_line(&mut line).expect("text"),
                0,
                "the program has ended"
            );
        }
        // The command is not killed: it ends once it may, and its step is committed.
        taskgate.file("go", "");
        let mut rest = String::new();
        said.read_to_string(&mut rest).expect("text");
        assert_eq!(child.wait().expect("ended").code(), Some(130), "{rest}");
        assert_eq!(
            taskgate.rows("t.db", "SELECT status FROM v_batch"),
            "interrupted"
        );
        let steps = "SELECT step, calls FROM v_step WHERE case_id LIKE '%second%'";
        assert_eq!(taskgate.rows("t.db", steps), "1,1");
        for file in ["t.md", "t.json", "t.xml"] {
            assert!(taskgate.has(file), "{file}");
        }
        assert!(
            taskgate.read("t.md").contains("interrupted"),
            "{}",
            taskgate.read("t.md")
        );
        assert!(rest.contains("taskgate resume t.db"), "{rest}");

        let ran = taskgate.run(&["resume", "t.db"]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        assert_eq!(taskgate.read("log"), "first\nthird\n");
        let steps = "SELECT step FROM v_step WHERE case_id LIKE '%second%' ORDER BY step";
        assert_eq!(taskgate.rows("t.db", steps), "1\n2\n3");
        assert!(!taskgate.has("t.db.work"));
    }
}

#[test]
fn the_second_request_kills_what_runs() {
    let taskgate = waiting(r#"fork-and-hang, "FOLDER/child", "FOLDER/started""#);
    let mut child = taskgate.spawn(&["run", "suite.yaml", "--trace", "t.db", "--jobs", "1"]);
    taskgate.wait_for("started", &mut child);
    let mut said = BufReader::new(child.stderr.take().expect("piped"));
    signal(&child, Signal::SIGINT);
    let mut line = String::new();
    while !line.contains("stopping") {
        line.clear();
        assert_ne!(
            said.read_line(&mut line).expect("text"),
            0,
            "the program has ended"
        );
    }
    signal(&child, Signal::SIGINT);
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("ended").code(), Some(130), "{rest}");
    for name in ["child", "started"] {
        // A daemon is found on Linux alone.
        if name == "started" && !cfg!(target_os = "linux") {
            continue;
        }
        let pid: i32 = taskgate.read(name).parse().expect("a number");
        for _ in 0..12_000 {
            if kill(Pid::from_raw(pid), None).is_err() {
                break;
            }
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        }
        assert!(kill(Pid::from_raw(pid), None).is_err(), "{name} survived");
    }
    let cases = "SELECT task, coalesce(outcome, '-') FROM v_case ORDER BY position";
    assert_eq!(
        taskgate.rows("t.db", cases),
        "first,passed\nsecond,-\nthird,-"
    );
    assert!(taskgate.has("t.md"));
}

#[test]
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the builder keeps standard output for itself"
)]
fn data_that_cannot_be_printed_is_not_taken_for_printed() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        println!("SKIPPED: this system has no /dev/full");
        return;
    };
    let taskgate = Taskgate::new();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_taskgate"));
    let output = command
        .arg("schema")
        .current_dir(taskgate.folder())
        .stdout(full)
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("standard output cannot be written"), "{said}");
}
