//! How many cases run at once, and what keeps further ones from starting.

use std::sync::Arc;

use pretty_assertions::assert_eq;
use taskgate::base::{Clock, ManualClock};
use taskgate::batch::BatchEnd;

use super::{IDLE, Inside, bench, outcomes, run};
use crate::support::taskgate::Taskgate;

/// Cases that log when they begin and end.
const LOGGED: &str = r#"tasks:
  - id: t
    goal: g
    setup: [ { name: begin, command: ["FAKES", append, "FOLDER/log", begins] } ]
    gates: [ { name: end, command: ["FAKES", append, "FOLDER/log", ends] } ]
matrix: { trials: 3 }
"#;

#[test]
fn one_job_is_one_case_at_a_time() {
    let taskgate = bench(LOGGED, IDLE);
    assert_eq!(run(&taskgate, &[]).code, Some(0));
    assert_eq!(taskgate.read("log"), "begins\nends\n".repeat(3));
}

#[test]
fn two_jobs_are_two_cases_at_once() {
    // Each waits for the other.
    let taskgate = bench(
        r#"tasks:
  - { id: a, goal: g, gates: [ { name: meets, command: ["FAKES", block, "FOLDER/a", "FOLDER/b"], timeout: 1m } ] }
  - { id: b, goal: g, gates: [ { name: meets, command: ["FAKES", block, "FOLDER/b", "FOLDER/a"], timeout: 1m } ] }
"#,
        IDLE,
    );
    let ran = taskgate.run(&["run", "suite.yaml", "--trace", "t.db", "--jobs", "2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
}

#[test]
fn the_first_failure_ends_a_fast_batch() {
    let taskgate = bench(
        r#"tasks:
  - { id: good, goal: g, gates: [ { name: a, command: ["FAKES", exit, "0"] } ] }
  - { id: bad, goal: g, gates: [ { name: a, command: ["FAKES", exit, "1"] } ] }
  - { id: rest, goal: g, gates: [ { name: a, command: ["FAKES", exit, "0"] } ] }
"#,
        IDLE,
    );
    let ran = run(&taskgate, &["--fail-fast"]);
    let said = outcomes(&taskgate);
    insta::assert_snapshot!(said, @r#"
    good 1 passed
    bad 1 failed: accept/a: exit 1 (expected 0)
    "rest 1 interrupted: not started: --fail-fast, after s/bad/agent#1 failed"
    "#);
    assert_eq!(ran.code, Some(20), "{}", ran.stdout);
    assert!(taskgate.has("t.md") && taskgate.has("t.json") && taskgate.has("t.xml"));
    // What was held up is run by a resume.
    let ran = taskgate.run(&["resume", "t.db"]);
    assert_eq!(ran.code, Some(10), "{}", ran.stdout);
    let last = taskgate.rows(
        "t.db",
        "SELECT outcome, attempts FROM v_case WHERE task = 'rest'",
    );
    assert_eq!(last, "passed,2");
}

/// Cases of one dollar each.
fn priced(more: &str) -> Taskgate {
    let taskgate = bench(
        &format!(
            "prices: [prices.toml]\ntasks: [ {{ id: t, goal: g, gates: [] }} ]\nmatrix: {{ trials: 3 }}\n{more}"
        ),
        "turns: [ { text: done, usage: { prompt_tokens: 1M, completion_tokens: 0 } } ]",
    );
    taskgate.file(
        "prices.toml",
        "as_of = \"2026-01-01\"\n[models.\"m-1\"]\ninput = \"1\"\noutput = \"1\"\n",
    );
    taskgate
}

#[test]
fn a_ceiling_keeps_new_cases_from_starting() {
    let money = priced("");
    let said = run(&money, &["--max-cost", "2"]);
    insta::assert_snapshot!(outcomes(&money), @r#"
    t 1 passed: nothing was checked: the task has no gates
    t 2 passed: nothing was checked: the task has no gates
    t 3 interrupted: not started: the batch reached its cost ceiling of $2.00 ($2.00 spent)
    "#);
    assert_eq!(said.code, Some(20), "{}", said.stdout);
    let suite = priced("budget: { cost_usd: 1 }\n");
    assert_eq!(run(&suite, &[]).code, Some(20));
    insta::assert_snapshot!(outcomes(&suite), @r#"
    t 1 passed: nothing was checked: the task has no gates
    t 2 interrupted: not started: the suite reached its cost ceiling of $1.00 ($1.00 spent)
    t 3 interrupted: not started: the suite reached its cost ceiling of $1.00 ($1.00 spent)
    "#);
    let wall = priced("budget: { wall: 1ms }\n");
    assert_eq!(run(&wall, &[]).code, Some(20));
    let said = outcomes(&wall);
    assert!(
        said.starts_with("t 1 passed")
            && said.contains(
                "t 3 interrupted: not started: the suite reached its wall ceiling of 1ms ("
            ),
        "{said}"
    );
}

#[test]
fn a_ceiling_holds_over_a_resume() {
    let taskgate = priced("");
    assert_eq!(run(&taskgate, &["--max-cost", "2"]).code, Some(20));
    let again = taskgate.run(&["resume", "t.db"]);
    assert_eq!(again.code, Some(20), "{}", again.stdout);
    let last = "SELECT outcome, attempts FROM v_case WHERE trial = 3";
    assert_eq!(taskgate.rows("t.db", last), "interrupted,2");
    let more = taskgate.run(&["resume", "t.db", "--max-cost", "2.50"]);
    assert_eq!(more.code, Some(0), "{}", more.stdout);
}

#[test]
fn a_case_that_could_not_be_judged_is_tried_again() {
    let suite = r#"tasks:
  - id: flaky
    goal: g
    setup: [ { name: fetch, command: ["FAKES", fail-first, "FOLDER/tried"] } ]
    gates: []
  - { id: bad, goal: g, gates: [ { name: a, command: ["FAKES", exit, "1"] } ] }
  - id: broken
    goal: g
    setup: [ { name: fetch, command: ["FAKES", exit, "1"] } ]
    gates: []
thresholds: { pass_rate: 0, errors: 1 }
"#;
    let taskgate = bench(suite, IDLE);
    assert_eq!(run(&taskgate, &["--retries", "2"]).code, Some(0));
    let attempts = "SELECT task, outcome, attempts FROM v_case ORDER BY position";
    assert_eq!(
        taskgate.rows("t.db", attempts),
        "flaky,passed,2\nbad,failed,1\nbroken,errored,3"
    );
    let kept = "SELECT task, attempt, ok FROM v_setup JOIN v_case USING (case_id) ORDER BY 1, 2";
    assert_eq!(
        taskgate.rows("t.db", kept),
        "broken,1,0\nbroken,2,0\nbroken,3,0\nflaky,1,0\nflaky,2,1"
    );

    // A batch that is over may still be given another try.
    let taskgate = bench(suite, IDLE);
    assert_eq!(run(&taskgate, &[]).code, Some(20));
    let ran = taskgate.run(&["resume", "t.db", "--retries", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert_eq!(
        taskgate.rows("t.db", attempts),
        "flaky,passed,2\nbad,failed,1\nbroken,errored,2"
    );
}

#[test]
fn workspaces_are_kept_where_that_is_asked_for() {
    let suite = r#"tasks:
  - { id: good, goal: g, workspace: { files: { a.txt: a } }, gates: [] }
  - { id: bad, goal: g, workspace: { files: { a.txt: a } }, gates: [ { name: a, file_contains: { path: a.txt, text: b } } ] }
"#;
    for (which, expected) in [
        ("none", &[][..]),
        ("failed", &["bad"]),
        ("all", &["bad", "good"]),
    ] {
        let taskgate = bench(suite, IDLE);
        run(&taskgate, &["--keep-workspaces", which]);
        let work = taskgate.folder().join("t.db.work");
        let mut kept: Vec<String> = std::fs::read_dir(&work)
            .into_iter()
            .flatten()
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        kept.sort();
        assert_eq!(kept.len(), expected.len(), "{which}: {kept:?}");
        for (folder, task) in kept.iter().zip(expected) {
            assert!(folder.starts_with(task), "{folder}");
            let inside: Vec<_> = std::fs::read_dir(work.join(folder))
                .expect("a folder")
                .flatten()
                .map(|entry| entry.file_name())
                .collect();
            assert_eq!(inside, ["workspace"]);
        }
    }
}

#[tokio::test]
async fn requests_per_minute_hold_over_all_cases() {
    let taskgate = bench(
        "tasks: [ { id: t, goal: g, gates: [] } ]\nmatrix: { trials: 5 }\n",
        IDLE,
    );
    let limited = taskgate.read("suite.yaml").replace(
        "model: m-1,",
        "model: m-1, limits: { requests_per_minute: 2 },",
    );
    taskgate.file("suite.yaml", &limited);
    let clock = Arc::new(ManualClock::default());
    let inside = Inside {
        jobs: 4,
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        ..Inside::default()
    };
    assert_eq!(
        inside.run(&taskgate).await.expect("a batch"),
        BatchEnd::Finished
    );
    // Two at once, two a minute later, one after another minute.
    let waits: u64 = clock.slept().iter().map(|span| span.as_secs()).sum();
    assert_eq!(waits, 120, "{:?}", clock.slept());
    assert_eq!(
        taskgate.rows(
            "t.db",
            "SELECT count(*) FROM v_case WHERE outcome = 'passed'"
        ),
        "5"
    );
}
