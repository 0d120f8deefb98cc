//! A batch that was killed goes on where it was.

use pretty_assertions::assert_eq;

use super::{IDLE, bench, outcomes};
use crate::support::taskgate::{Ran, Taskgate};

const RUN: [&str; 6] = ["run", "suite.yaml", "--trace", "t.db", "--jobs", "1"];

/// Starts the batch, kills it once `started` is there, lets what it left behind end, and resumes.
fn kill_and_resume(taskgate: &Taskgate) -> Ran {
    let mut child = taskgate.spawn(&RUN);
    taskgate.wait_for("started", &mut child);
    child.kill().expect("killed");
    child.wait().expect("ended");
    taskgate.file("go", "");
    // A report of what there is says that this is not all.
    let ran = taskgate.run(&["report", "t.db"]);
    assert!(ran.stdout.contains("interrupted"), "{}", ran.stdout);
    taskgate.run(&["resume", "t.db"])
}

/// The case that finishes before the one that is killed, and logs that it ran.
const FIRST: &str = r#"tasks:
  - id: first
    goal: g
    workspace: { files: { a.txt: a } }
    gates: [ { name: log, command: ["FAKES", append, "FOLDER/log", first] } ]
"#;

fn complete(taskgate: &Taskgate, ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(
        taskgate.read("log"),
        "first\n",
        "a finished case does not run again"
    );
    assert_eq!(outcomes(taskgate), "first 1 passed\nsecond 1 passed");
    let batch = taskgate.rows(
        "t.db",
        "SELECT status, finished_at IS NOT NULL FROM v_batch",
    );
    assert_eq!(batch, "finished,1");
    assert!(!taskgate.has("t.db.work"), "nothing is left behind");
    for file in ["t.md", "t.json", "t.xml"] {
        assert!(taskgate.has(file), "{file}");
    }
    let twice = "SELECT run_id, step FROM v_step GROUP BY 1, 2 HAVING count(*) > 1";
    assert_eq!(taskgate.rows("t.db", twice), "");
}

/// The calls of a step that a kill made the agent ask for anew: what was paid for twice is on the ledger twice.
fn paid_twice(taskgate: &Taskgate) -> String {
    let again = "SELECT run_id, step, call FROM v_call GROUP BY 1, 2, 3 HAVING count(*) > 1";
    taskgate.rows("t.db", again)
}

#[test]
fn killed_while_the_agent_works() {
    let taskgate = bench(
        &format!(
            r#"{FIRST}
  - id: second
    goal: g
    workspace: {{ files: {{ a.txt: a }} }}
    policy: {{ exec: ["FAKES *"] }}
    gates: [ {{ name: a, file_equals: {{ path: a.txt, text: b }} }} ]
"#
        ),
        r#"scripts:
  - task: first
    turns: [ { text: done } ]
  - task: second
    turns:
      - calls: [ { tool: write_file, arguments: { path: a.txt, content: b } } ]
        usage: { prompt_tokens: 10, completion_tokens: 1 }
      - calls: [ { tool: exec, arguments: { argv: ["FAKES", block, "FOLDER/started", "FOLDER/go"] } } ]
        usage: { prompt_tokens: 20, completion_tokens: 1 }
      - text: done
        usage: { prompt_tokens: 30, completion_tokens: 1 }
"#,
    );
    let ran = kill_and_resume(&taskgate);
    complete(&taskgate, &ran);
    let steps = "SELECT step FROM v_step WHERE case_id LIKE '%second%' ORDER BY step";
    assert_eq!(taskgate.rows("t.db", steps), "1\n2\n3");
    let calls = "SELECT step, prompt_tokens FROM v_call WHERE task = 'second' ORDER BY step";
    assert_eq!(taskgate.rows("t.db", calls), "1,10\n2,20\n2,20\n3,30");
    assert_eq!(
        paid_twice(&taskgate),
        "2,2,1",
        "the step in the middle, and no other"
    );
    let runs = "SELECT count(*), min(steps), min(tokens) FROM v_run WHERE case_id LIKE '%second%'";
    // The lost step was paid for, and counts against the budget.
    assert_eq!(taskgate.rows("t.db", runs), "1,3,84");
    let told = "SELECT count(*) FROM v_event WHERE event = 'resumed'";
    assert_eq!(taskgate.rows("t.db", told), "1");
}

#[test]
fn killed_before_the_agent_begins() {
    let taskgate = bench(
        &format!(
            r#"{FIRST}
  - id: second
    goal: g
    setup:
      - {{ name: begin, command: ["FAKES", write, made.txt, made] }}
      - {{ name: block, command: ["FAKES", block, "FOLDER/started", "FOLDER/go"] }}
    gates: [ {{ name: a, file_equals: {{ path: made.txt, text: made }} }} ]
"#
        ),
        IDLE,
    );
    let ran = kill_and_resume(&taskgate);
    complete(&taskgate, &ran);
    assert_eq!(paid_twice(&taskgate), "");
    let setups = "SELECT name, ok FROM v_setup";
    assert_eq!(taskgate.rows("t.db", setups), "begin,1\nblock,1");
}

#[test]
fn killed_while_the_gates_run() {
    let taskgate = bench(
        &format!(
            r#"{FIRST}
  - id: second
    goal: g
    workspace: {{ files: {{ a.txt: a, tests/t.txt: right }} }}
    protect: ["tests/**"]
    policy: {{ exec: ["FAKES *"] }}
    gates:
      - {{ name: leaves, phase: one, command: ["FAKES", write, built.txt, x], files: {{ tests/held.txt: held.txt }} }}
      - {{ name: leaves-more, phase: one, command: ["FAKES", write, tests/cache.txt, x] }}
      - {{ name: block, phase: two, command: ["FAKES", block, "FOLDER/started", "FOLDER/go"] }}
      - {{ name: right, phase: three, file_equals: {{ path: tests/t.txt, text: right }} }}
"#
        ),
        r#"turns:
  - calls:
      - { tool: write_file, arguments: { path: a.txt, content: b } }
      - { tool: exec, arguments: { argv: ["FAKES", write, tests/t.txt, wrong] } }
  - text: done
"#,
    );
    taskgate.file("held.txt", "held");
    let ran = kill_and_resume(&taskgate);
    complete(&taskgate, &ran);
    assert_eq!(paid_twice(&taskgate), "");
    // What the gates of the killed process left behind is neither the agent's work nor its tampering.
    let facts = "SELECT tampered, patch_files, patch_added, patch_removed FROM v_case WHERE task = 'second'";
    assert_eq!(taskgate.rows("t.db", facts), "1,1,1,1");
    let gates = "SELECT gate, status FROM v_gate WHERE task = 'second' ORDER BY position";
    assert_eq!(
        taskgate.rows("t.db", gates),
        "leaves,passed\nleaves-more,passed\nblock,passed\nright,passed"
    );
    assert_eq!(
        taskgate.rows("t.db", "SELECT count(*) FROM v_call WHERE task = 'second'"),
        "2"
    );
}

#[test]
fn a_workspace_that_is_gone_begins_anew() {
    let taskgate = bench(
        &format!(
            r#"{FIRST}
  - id: second
    goal: g
    workspace: {{ dir: fixture }}
    policy: {{ exec: ["FAKES *"] }}
    gates: [ {{ name: a, file_equals: {{ path: a.txt, text: b }} }} ]
"#
        ),
        r#"scripts:
  - task: first
    turns: [ { text: done } ]
  - task: second
    turns:
      - calls: [ { tool: write_file, arguments: { path: a.txt, content: b } } ]
      - calls: [ { tool: exec, arguments: { argv: ["FAKES", block, "FOLDER/started", "FOLDER/go"] } } ]
      - text: done
"#,
    );
    taskgate.file("fixture/a.txt", "a");
    let mut child = taskgate.spawn(&RUN);
    taskgate.wait_for("started", &mut child);
    child.kill().expect("killed");
    child.wait().expect("ended");
    taskgate.file("go", "");
    // The trace is carried elsewhere, and what it names is still found from there.
    for name in ["t.db", "t.db-wal"] {
        let from = taskgate.folder().join(name);
        if from.exists() {
            let folder = taskgate.folder().join("elsewhere");
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::rename(from, folder.join(name)).expect("moved");
        }
    }
    let mut command = taskgate.command(&["resume", "t.db"]);
    command.current_dir(taskgate.folder().join("elsewhere"));
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let runs = "SELECT attempt, outcome FROM v_run WHERE case_id LIKE '%second%' ORDER BY run_id";
    assert_eq!(taskgate.rows("elsewhere/t.db", runs), "1,\n1,finished");
}

#[test]
fn a_batch_that_is_over_has_nothing_left() {
    let taskgate = bench(FIRST, IDLE);
    assert_eq!(taskgate.run(&RUN).code, Some(0));
    let before = taskgate.read("t.json");
    let ran = taskgate.run(&["resume", "t.db"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.starts_with("0 of 1 case left to run\n"),
        "{}",
        ran.stderr
    );
    assert_eq!(taskgate.read("log"), "first\n");
    assert_eq!(taskgate.read("t.json"), before);
}
