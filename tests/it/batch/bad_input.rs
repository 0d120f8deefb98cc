//! What is wrong before, beside and beneath a batch: a clear error or a recorded outcome, and nothing lost.

use std::sync::Arc;

use pretty_assertions::assert_eq;
use taskgate::batch::BatchEnd;
use taskgate::domain::RunEvent;
use taskgate::run::{Flow, Observer};

use super::{IDLE, Inside, bench, outcomes, run};

const ONE: &str = "tasks: [ { id: t, goal: g, gates: [] } ]\n";

#[test]
fn a_broken_suite_says_where_and_nothing_runs() {
    let taskgate = bench(
        "tasks:\n  - id: t\n    goal: g\n    gate: []\n    gates: [ { name: a, file_contains: { path: ../x, text: y } } ]\nmatrix: { providers: [agnet] }\n",
        IDLE,
    );
    let ran = run(&taskgate, &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(ran.stderr, @r#"
    error: unknown key `gate` in a task
     --> suite.yaml:8:5
      |
    8 |     gate: []
      |     ^^^^ did you mean `gates`?
      |
      = help: a task takes: id, approve, budget, constraints, exec_timeout, gates, goal, platforms, policy, protect, retry, sandbox, setup, stall, tags, workspace (taskgate schema)

    error: `../x` climbs out of the workspace root
     --> suite.yaml:9:48
      |
    9 |     gates: [ { name: a, file_contains: { path: ../x, text: y } } ]
      |                                                ^^^^

    error: unknown provider `agnet`
      --> suite.yaml:10:23
       |
    10 | matrix: { providers: [agnet] }
       |                       ^^^^^ did you mean `agent`?
       |
       = help: declared are: agent
    nothing was run
    "#);
    assert!(!taskgate.has("t.db"));
}

#[test]
fn a_broken_price_table_or_script_says_where_and_nothing_runs() {
    let taskgate = bench(
        &format!("prices: [prices.toml]\n{ONE}"),
        "turns: [ { txt: done } ]",
    );
    taskgate.file(
        "prices.toml",
        "[models.\"m-1\"]\ninput = \"1\"\noutput = \"1\"\n",
    );
    let ran = run(&taskgate, &[]);
    assert_eq!(ran.code, Some(2));
    insta::assert_snapshot!(ran.stderr, @r#"
    error: [FOLDER]/prices.toml: a price table needs a date: add `as_of = "2026-11-01"`, the day on which its prices held
    error: suite `s`: provider `agent`: [FOLDER]/agent.yaml:2:12: unknown field `txt`, expected one of text, calls, usage, delay, finish, error
    nothing was run
    "#);
    assert!(!taskgate.has("t.db"));
    let checked = taskgate.run(&["validate", "suite.yaml"]);
    assert_eq!(checked.code, Some(2));
    insta::assert_snapshot!(checked.stderr, @r#"
    warning: the task `t` has no gates: its cases pass when the agent finishes
    error: [FOLDER]/prices.toml: a price table needs a date: add `as_of = "2026-11-01"`, the day on which its prices held
    error: suite.yaml: provider `agent`: [FOLDER]/agent.yaml:2:12: unknown field `txt`, expected one of text, calls, usage, delay, finish, error
    "#);
}

#[test]
fn a_missing_fixture_is_said_before_or_recorded() {
    let taskgate = bench(
        "tasks: [ { id: t, goal: g, workspace: { dir: nowhere }, gates: [] } ]\n",
        IDLE,
    );
    let ran = run(&taskgate, &[]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    insta::assert_snapshot!(ran.stderr, @r#"
    error: a missing fixture: `nowhere`
     --> suite.yaml:5:46
      |
    5 | tasks: [ { id: t, goal: g, workspace: { dir: nowhere }, gates: [] } ]
      |                                              ^^^^^^^ nothing is there
      |
      = help: looked for [FOLDER]/nowhere
    nothing was run
    "#);

    // One that cannot be laid out is found when it is, and the batch goes on.
    let taskgate = bench(
        "tasks:\n  - { id: t, goal: g, workspace: { git: { path: repository, rev: 0123456789012345678901234567890123456789 } }, gates: [] }\n  - { id: u, goal: g, gates: [] }\n",
        IDLE,
    );
    taskgate.file("repository/HEAD", "ref: refs/heads/main\n");
    let ran = run(&taskgate, &[]);
    assert_eq!(ran.code, Some(20), "{}", ran.stderr);
    insta::assert_snapshot!(outcomes(&taskgate), @r#"
    "t 1 errored: the workspace cannot be laid out: `[FOLDER]/repository` is not a git repository: give the folder that holds `.git`, or a bare repository's own"
    u 1 passed: nothing was checked: the task has no gates
    "#);
}

#[test]
fn a_file_that_is_no_trace_is_left_as_it_is() {
    let taskgate = bench(ONE, IDLE);
    taskgate.file("text.db", "this is a text, and longer than a database's header is: one hundred bytes in all, at the least, I think\n");
    taskgate.file("empty.db", "");
    std::fs::create_dir(taskgate.folder().join("folder.db")).expect("a folder");
    let mut said = Vec::new();
    for trace in ["text.db", "empty.db", "folder.db", "nowhere.db"] {
        for verb in [
            &["report", trace][..],
            &["resume", trace],
            &["show", trace, "s"],
            &["run", "suite.yaml", "--trace", trace],
        ] {
            if verb[0] == "run" && trace == "nowhere.db" {
                continue;
            }
            let ran = taskgate.run(verb);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{verb:?}");
            said.push(format!("{} {trace}\n{}", verb[0], ran.stderr));
        }
    }
    insta::assert_snapshot!(said.join(""), @r#"
    report text.db
    error: text.db: this is not a trace: the file is no database
    resume text.db
    error: text.db: this is not a trace: the file is no database
    show text.db
    error: text.db: this is not a trace: the file is no database
    run text.db
    error: text.db exists already and is not a trace of this version
      = help: name another file with --trace
    report empty.db
    error: empty.db: this is not a trace: the file is empty
    resume empty.db
    error: empty.db: this is not a trace: the file is empty
    show empty.db
    error: empty.db: this is not a trace: the file is empty
    run empty.db
    error: empty.db exists already and is not a trace of this version
      = help: name another file with --trace
    report folder.db
    error: folder.db: this is not a trace: it is a folder
    resume folder.db
    error: folder.db: this is not a trace: it is a folder
    show folder.db
    error: folder.db: this is not a trace: it is a folder
    run folder.db
    error: folder.db is a folder, not a trace
      = help: name another file with --trace
    report nowhere.db
    error: nowhere.db: there is no such trace
    resume nowhere.db
    error: nowhere.db: there is no such trace
    show nowhere.db
    error: nowhere.db: there is no such trace
    "#);
    assert!(taskgate.read("text.db").starts_with("this is a text"));
    assert!(taskgate.read("empty.db").is_empty() && !taskgate.has("nowhere.db"));
}

#[test]
fn a_trace_of_a_newer_version_is_refused() {
    let taskgate = bench(ONE, IDLE);
    assert_eq!(run(&taskgate, &[]).code, Some(0));
    // The format stands in the header of the file, at a fixed place.
    let path = taskgate.folder().join("t.db");
    let mut bytes = std::fs::read(&path).expect("a trace");
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    #[expect(clippy::disallowed_methods, reason = "a test breaks its own trace")]
    std::fs::write(&path, &bytes).expect("written");
    for verb in [
        &["report", "t.db"][..],
        &["resume", "t.db"],
        &["show", "t.db", "s"],
    ] {
        let ran = taskgate.run(verb);
        assert_eq!(ran.code, Some(2), "{verb:?}");
        assert_eq!(
            ran.stderr.lines().next().expect("a line"),
            "error: t.db: the trace has format 99 and this program reads up to 1: use the version that wrote it, or a newer one"
        );
    }
    assert_eq!(std::fs::read(&path).expect("a trace"), bytes);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let taskgate = bench(ONE, IDLE);
    taskgate.file("file", "");
    let ran = taskgate.run(&["run", "suite.yaml", "--trace", "file/t.db"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(
        ran.stderr.contains("file cannot be made") && ran.stderr.contains("--trace"),
        "{}",
        ran.stderr
    );

    // Nor does a batch start whose report has no place to go.
    let ran = run(
        &taskgate,
        &["--report", "json=file/r.json", "--report", "markdown=.home"],
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(
        ran.stderr.contains("file/r.json cannot be written")
            && ran
                .stderr
                .contains(".home cannot be written: it is a folder")
            && ran.stderr.ends_with("nothing was run\n"),
        "{}",
        ran.stderr
    );
    assert!(!taskgate.has("t.db"));
}

#[test]
fn a_report_that_cannot_be_written_costs_no_result() {
    let taskgate = bench(
        r#"tasks: [ { id: t, goal: g, gates: [ { name: a, command: ["FAKES", folder, "FOLDER/r.json"] } ] } ]"#,
        IDLE,
    );
    let ran = run(
        &taskgate,
        &[
            "--report",
            "json=r.json",
            "--report",
            "markdown=deep/er/r.md",
        ],
    );
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stdout.contains("all passed"), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("r.json cannot be written")
            && ran
                .stderr
                .contains("taskgate report t.db --report json=PATH"),
        "{}",
        ran.stderr
    );
    assert!(taskgate.has("deep/er/r.md"));
    assert_eq!(taskgate.run(&["report", "t.db"]).code, Some(0));
}

#[tokio::test]
async fn a_full_disk_ends_the_batch_and_loses_nothing() {
    let content = "a".repeat(9000);
    let taskgate = bench(
        "tasks: [ { id: t, goal: g, gates: [ { name: a, file_contains: { path: a.txt, text: a } } ] } ]\nmatrix: { trials: 40 }\n",
        &format!(
            "turns:\n  - calls: [ {{ tool: write_file, arguments: {{ path: a.txt, content: {content} }} }} ]\n  - text: done\n"
        ),
    );
    let pages = Some(64);
    let ended = Inside {
        pages,
        ..Inside::default()
    }
    .run(&taskgate)
    .await;
    let error = ended.expect_err("no room").to_string();
    assert!(
        error.ends_with("t.db: no room to write on: free some space and resume the trace"),
        "{error}"
    );
    let passed = "SELECT count(*) FROM v_case WHERE outcome = 'passed'";
    let done: usize = taskgate.rows("t.db", passed).parse().expect("a count");
    assert!((1..40).contains(&done), "{done} cases passed");
    let ran = taskgate.run(&["resume", "t.db"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr
            .starts_with(&format!("{} of 40 cases left to run\n", 40 - done)),
        "{}",
        ran.stderr
    );
}

/// Breaks where one case ends.
struct Breaks;

impl Observer for Breaks {
    fn event(&self, event: &RunEvent) -> Flow {
        let second = event
            .case
            .as_ref()
            .is_some_and(|case| case.id.as_str().ends_with("#2"));
        assert!(
            !(second && event.kind.name() == "patched"),
            "as the test wants it"
        );
        Flow::Continue
    }
}

#[tokio::test]
async fn a_bug_in_one_case_leaves_the_others_alone() {
    let taskgate = bench(&format!("{ONE}matrix: {{ trials: 3 }}\n"), IDLE);
    let observer = Arc::new(Breaks);
    let ended = Inside {
        observer,
        ..Inside::default()
    }
    .run(&taskgate)
    .await;
    assert_eq!(ended.expect("a batch"), BatchEnd::Broken);
    let cases = "SELECT trial, coalesce(outcome, '-') FROM v_case ORDER BY 1";
    assert_eq!(taskgate.rows("t.db", cases), "1,passed\n2,-\n3,passed");
    assert_eq!(taskgate.run(&["resume", "t.db"]).code, Some(0));
    assert_eq!(taskgate.rows("t.db", cases), "1,passed\n2,passed\n3,passed");
}

#[test]
fn two_price_tables_of_one_name_are_not_told_apart_by_guessing() {
    let taskgate = bench(ONE, IDLE);
    for name in ["a", "b"] {
        let named = format!("name: {name}\nprices: [{name}/prices.toml]");
        let suite = taskgate.read("suite.yaml").replace("name: s", &named);
        taskgate.file(&format!("{name}.yaml"), &suite);
    }
    for (folder, input) in [("a", "1"), ("b", "9")] {
        let table = format!(
            "as_of = \"2026-11-01\"\n[models.\"m-1\"]\ninput = \"{input}\"\noutput = \"1\"\n"
        );
        taskgate.file(&format!("{folder}/prices.toml"), &table);
    }
    let ran = taskgate.run(&["run", "a.yaml", "b.yaml", "--trace", "t.db"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("two price tables of one batch are called `prices`"),
        "{}",
        ran.stderr
    );
}
