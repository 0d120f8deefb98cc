//! What goes in comes out: batches, attempts, runs.

use pretty_assertions::assert_eq;
use taskgate::base::Redactor;
use taskgate::domain::{
    Block, CaseOutcome, CaseTimes, EventKind, GateStatus, Message, RunId, RunOutcome, ToolCall,
};
use taskgate::store::{
    BatchStatus, CHECKPOINT_FORMAT, CaseProgress, Commit, CurrentAttempt, Store, StoreError,
    StoredCheckpoint, StoredMessage, open_read_only,
};

use super::support::{
    at, batch, beginning, case, case_id, case_ref, commit, end, finished, gate, run, step,
};

/// A query's rows as text, fields separated by `|`.
fn rows(store: &Store, sql: &str) -> Vec<String> {
    let connection = open_read_only(store.path()).expect("a trace");
    let mut statement = connection.prepare(sql).expect(sql);
    let columns = statement.column_count();
    statement
        .query_map([], |row| {
            let fields: Result<Vec<String>, _> = (0..columns)
                .map(|column| {
                    row.get::<_, rusqlite::types::Value>(column)
                        .map(|value| match value {
                            rusqlite::types::Value::Null => "-".to_owned(),
                            rusqlite::types::Value::Integer(number) => number.to_string(),
                            rusqlite::types::Value::Text(text) => text,
                            other => format!("{other:?}"),
                        })
                })
                .collect();
            Ok(fields?.join("|"))
        })
        .expect(sql)
        .collect::<Result<_, _>>()
        .expect(sql)
}

#[tokio::test]
async fn a_batch_reads_back_as_it_was() {
    let store = Store::memory().expect("a trace");
    assert!(matches!(store.batch(), Err(StoreError::NoBatch { .. })));
    let mut skipped = case("windows-only", 1);
    skipped.skip = Some("runs on windows alone".to_owned());
    let record = batch(vec![case("a", 1), case("a", 2), skipped]);
    store.begin_batch(record.clone()).await.expect("a batch");
    assert_eq!(store.batch().expect("a batch"), record);
    assert!(matches!(
        store.begin_batch(record).await,
        Err(StoreError::BatchExists { .. })
    ));
    assert_eq!(
        rows(
            &store,
            "SELECT case_id, outcome, reason, attempts, steps, gates FROM v_case ORDER BY position"
        ),
        [
            "parser/a/local#1|-|-|0|0|4",
            "parser/a/local#2|-|-|0|0|4",
            "parser/windows-only/local#1|skipped|runs on windows alone|0|0|4",
        ]
    );
    assert_eq!(
        rows(
            &store,
            "SELECT price_table, position, model, input, cache_read FROM v_price ORDER BY position, model"
        ),
        [
            "list|0|tiny-1|0.15|0.015",
            "list|0|tiny-2|0.15|-",
            "contract|1|tiny-1|0.15|-"
        ]
    );
    assert_eq!(
        rows(
            &store,
            "SELECT suite, position, file, thresholds, warnings FROM v_suite"
        ),
        [r#"parser|0|tasks/parser.yaml|{"pass_rate":0.5}|["nothing enforces a cost"]"#]
    );
}

#[tokio::test]
async fn a_batch_knows_how_long_it_ran() {
    let store = Store::memory().expect("a trace");
    assert!(matches!(
        store.finish_batch(BatchStatus::Finished, at(1)).await,
        Err(StoreError::NoBatch { .. })
    ));
    store
        .begin_batch(batch(vec![case("a", 1)]))
        .await
        .expect("a batch");
    let line = || {
        rows(
            &store,
            "SELECT status, started_at, finished_at, wall_ms, cases FROM v_batch",
        )
        .remove(0)
    };
    assert_eq!(line(), "running|2023-11-14T22:13:20.000Z|-|-|1");
    store
        .finish_batch(BatchStatus::Interrupted, at(1_001))
        .await
        .expect("an end");
    assert_eq!(
        line(),
        "interrupted|2023-11-14T22:13:20.000Z|2023-11-14T22:13:21.001Z|1001|1"
    );
    // The night between does not count, nor does the one after a crash whose last sign of life is an event.
    store.resume_batch(at(100_000)).await.expect("a batch");
    let event = commit(Some(&case_ref("a", 1)), None, 101, beginning("w"));
    store.commit(event).await.expect("a commit");
    store.resume_batch(at(200_002)).await.expect("a batch");
    store
        .finish_batch(BatchStatus::Finished, at(200_102))
        .await
        .expect("an end");
    assert_eq!(
        line(),
        "finished|2023-11-14T22:13:20.000Z|2023-11-14T22:16:40.102Z|2103|1"
    );
}

/// A case that errored once and failed then, and one that has begun.
async fn two_attempts(store: &Store) {
    store
        .begin_batch(batch(vec![case("a", 1), case("b", 1), case("c", 1)]))
        .await
        .expect("a batch");
    for (attempt, outcome) in [(1, CaseOutcome::Errored), (2, CaseOutcome::Failed)] {
        let case = case_ref("a", attempt);
        let id = store.next_run_id();
        store
            .commit(commit(Some(&case), None, 0, beginning("w")))
            .await
            .expect("a commit");
        store
            .start_run(run(id, Some(case.clone())))
            .await
            .expect("a run");
        // The run's own events need not name the case: the run does.
        store
            .commit(commit(None, Some(id), 1, step()))
            .await
            .expect("a commit");
        store
            .commit(commit(Some(&case), Some(id), 2, end(outcome)))
            .await
            .expect("a commit");
    }
    let case = case_ref("b", 1);
    store
        .commit(commit(Some(&case), None, 0, beginning("work/b")))
        .await
        .expect("a commit");
    store
        .start_run(run(store.next_run_id(), Some(case)))
        .await
        .expect("a run");
}

#[tokio::test]
async fn two_attempts_of_one_case_are_told_apart() {
    let store = Store::memory().expect("a trace");
    two_attempts(&store).await;
    insta::assert_snapshot!(
        rows(
            &store,
            "SELECT case_id, outcome, reason, overrun_kind, overrun_limit, overrun_used, attempts, started_at, wall_ms, setup_ms,
                 provider_ms, waiting_ms, tool_ms, gate_ms, steps, tool_calls, malformed_calls, first_failed_phase,
                 first_failed_gate, tampered, patch_files, patch_added, patch_removed, length(patch)
             FROM v_case ORDER BY position"
        )
        .join("\n"),
        @r"
    parser/a/local#1|failed|because failed|tokens|200k|201k|2|2023-11-14T22:13:20.000Z|5000|100|3000|200|400|600|1|2|2|test|unit|1|2|10|3|800
    parser/b/local#1|-|-|-|-|-|1|2023-11-14T22:13:20.000Z|-|-|-|-|-|-|0|0|0|-|-|0|-|-|-|-
    parser/c/local#1|-|-|-|-|-|0|-|-|-|-|-|-|-|0|0|0|-|-|0|-|-|-|-
    "
    );
    insta::assert_snapshot!(
        rows(
            &store,
            "SELECT attempt, last_attempt, position, phase, phase_position, gate, status, reason, exit_code, length(output), output_bytes,
                 output_cut
             FROM v_gate ORDER BY attempt, position"
        )
        .join("\n"),
        @r"
    1|0|0|build|0|compiles|passed|compiles passed|0|4|14|10
    1|0|1|test|1|unit|failed|unit failed|1|850|860|10
    1|0|3|accept|2|style|skipped|style skipped|-|0|10|10
    2|1|0|build|0|compiles|passed|compiles passed|0|4|14|10
    2|1|1|test|1|unit|failed|unit failed|1|850|860|10
    2|1|3|accept|2|style|skipped|style skipped|-|0|10|10
    "
    );
    insta::assert_snapshot!(
        rows(
            &store,
            "SELECT case_id, attempt, last_attempt, run_id, step, call, served_model, prompt_tokens, total_tokens, reported, latency_ms,
                 ttft_ms, queued_ms, finish_reason, failure, failure_status, failure_message, malformed_calls, at
             FROM v_call ORDER BY run_id, step, call"
        )
        .join("\n"),
        @r"
    parser/a/local#1|1|0|1|1|1|-|-|-|0|900|-|5|-|overloaded|503|come back later|2|2023-11-14T22:13:21.000Z
    parser/a/local#1|1|0|1|1|2|tiny-1-2026|100|120|1|900|100|5|tool_calls|-|-|-|0|2023-11-14T22:13:21.002Z
    parser/a/local#1|2|1|2|1|1|-|-|-|0|900|-|5|-|overloaded|503|come back later|2|2023-11-14T22:13:21.000Z
    parser/a/local#1|2|1|2|1|2|tiny-1-2026|100|120|1|900|100|5|tool_calls|-|-|-|0|2023-11-14T22:13:21.002Z
    "
    );
    for (sql, expected) in [
        (
            "SELECT attempt, run_id, step, position, tool, target, changed FROM v_tool ORDER BY run_id, position",
            vec![
                "1|1|1|0|read_file|a|0",
                "1|1|1|1|write_file|b|1",
                "2|2|1|0|read_file|a|0",
                "2|2|1|1|write_file|b|1",
            ],
        ),
        (
            "SELECT attempt, run_id, step, calls, tokens, changed FROM v_step ORDER BY run_id",
            vec!["1|1|1|2|120|1", "2|2|1|2|120|1"],
        ),
        (
            "SELECT attempt, act, target, rule, layer, \"by\" FROM v_refusal ORDER BY attempt",
            vec![
                "1|exec|rm -rf /|deny exec rm *|suite|policy",
                "2|exec|rm -rf /|deny exec rm *|suite|policy",
            ],
        ),
        (
            "SELECT case_id, attempt, name, ok, output FROM v_setup ORDER BY case_id, attempt",
            vec![
                "parser/a/local#1|1|fetch|1|fetched",
                "parser/a/local#1|2|fetch|1|fetched",
                "parser/b/local#1|1|fetch|1|fetched",
            ],
        ),
        (
            "SELECT run_id, case_id, attempt, outcome, steps, tokens, finished_at IS NULL FROM v_run ORDER BY run_id",
            vec![
                "1|parser/a/local#1|1|success|1|120|0",
                "2|parser/a/local#1|2|success|1|120|0",
                "3|parser/b/local#1|1|-|-|-|1",
            ],
        ),
        (
            "SELECT count(*), count(DISTINCT id), sum(event = 'tool_calling'), max(length(detail)) < 600 FROM v_event",
            vec!["37|37|0|1"],
        ),
        (
            "SELECT detail FROM v_event WHERE event = 'tool_called' LIMIT 1",
            vec![
                r#"{"call_id":"call-a","changed":false,"decision":"read_file a","duration_ms":7,"name":"read_file","ok":true,"target":"a"}"#,
            ],
        ),
    ] {
        assert_eq!(rows(&store, sql), expected, "{sql}");
    }
}

#[tokio::test]
async fn progress_says_what_to_go_on_with() {
    let store = Store::memory().expect("a trace");
    two_attempts(&store).await;
    let progress = |task, outcome, attempts, current| CaseProgress {
        id: case_id(task, 1),
        skip: None,
        outcome,
        attempts,
        current,
    };
    let current = |ended, run| CurrentAttempt {
        attempt: 1,
        workspace: Some("work/b".to_owned()),
        run: Some((RunId(run), ended)),
        started_at: at(0),
        fixture: Some(taskgate::base::sha256("files").to_string()),
        // Its setup is on record, and nothing else of it yet.
        times: CaseTimes {
            wall: 80,
            setup: 80,
            ..CaseTimes::default()
        },
    };
    assert_eq!(
        store.case_progress().expect("progress"),
        [
            progress("a", Some(CaseOutcome::Failed), 2, None),
            progress("b", None, 1, Some(current(false, 3))),
            progress("c", None, 0, None),
        ]
    );
    let run_ended = EventKind::Finished {
        outcome: RunOutcome::Cancelled,
        steps: 0,
        tokens: 0,
        error: None,
    };
    store
        .commit(commit(None, Some(RunId(3)), 0, [run_ended]))
        .await
        .expect("a commit");
    assert_eq!(
        store.case_progress().expect("progress")[1].current,
        Some(current(true, 3))
    );
    // Going on takes the ending back.
    let resumed = EventKind::Resumed { after_step: 0 };
    store
        .commit(commit(None, Some(RunId(3)), 0, [resumed]))
        .await
        .expect("a commit");
    assert_eq!(
        store.case_progress().expect("progress")[1].current,
        Some(current(false, 3))
    );
}

#[tokio::test]
async fn what_was_used_before_is_known_to_who_goes_on() {
    let store = Store::memory().expect("a trace");
    two_attempts(&store).await;
    let spent = store.spent().expect("what was used");
    assert_eq!(spent.len(), 1);
    let [(model, usage)] = &spent[0].calls[..] else {
        panic!("one model: {spent:?}")
    };
    assert_eq!(
        (spent[0].suite.as_str(), model.as_str(), usage.prompt_tokens),
        ("parser", "tiny-1-2026", 200)
    );
    assert_eq!(store.active_ms(at(3_600)).expect("a time"), 3_600);
    store.resume_batch(at(7_200)).await.expect("a resume");
    let later = store.active_ms(at(7_260)).expect("a time");
    assert!(later < 3_600, "{later}: idle time does not count");
}

#[tokio::test]
async fn a_resumed_attempt_replaces_what_it_does_again() {
    let store = Store::memory().expect("a trace");
    store
        .begin_batch(batch(vec![case("a", 1)]))
        .await
        .expect("a batch");
    let case = case_ref("a", 1);
    let first = [
        gate(0, "build", "compiles", GateStatus::Failed, "no"),
        finished(CaseOutcome::Interrupted),
    ];
    store
        .commit(commit(Some(&case), None, 0, beginning("w")))
        .await
        .expect("a commit");
    store
        .commit(commit(Some(&case), None, 0, first))
        .await
        .expect("a commit");
    store
        .commit(commit(Some(&case), None, 0, beginning("w2")))
        .await
        .expect("a commit");
    assert_eq!(
        rows(&store, "SELECT outcome, attempts FROM v_case"),
        ["-|1"]
    );
    let second = [
        gate(0, "build", "compiles", GateStatus::Passed, "yes"),
        finished(CaseOutcome::Passed),
    ];
    store
        .commit(commit(Some(&case), None, 0, second))
        .await
        .expect("a commit");
    assert_eq!(
        rows(
            &store,
            "SELECT outcome, attempts, first_failed_gate FROM v_case"
        ),
        ["passed|1|-"]
    );
    assert_eq!(
        rows(&store, "SELECT status, output FROM v_gate"),
        ["passed|yes"]
    );
    assert_eq!(rows(&store, "SELECT name FROM v_setup"), ["fetch"]);
}

#[tokio::test]
async fn a_run_of_no_case_reads_back_after_the_process_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    let store = Store::create(&path, Redactor::default()).expect("a new trace");
    let id = store.next_run_id();
    store.start_run(run(id, None)).await.expect("a run");
    let odd = "a NUL \0, a bell \u{7}, \u{2028} and \u{10ffff} ".repeat(20);
    let messages = [
        Message::user("short"),
        Message::user(odd.clone()),
        Message::assistant(vec![
            Block::ToolCall(ToolCall {
                id: "1".to_owned(),
                name: "exec".to_owned(),
                arguments: taskgate::domain::Arguments::parse("{\"cut"),
            }),
            Block::Text { text: odd.clone() },
        ]),
        Message::user(odd.clone()),
    ];
    let checkpoint = |step| StoredCheckpoint {
        run_id: id,
        format: CHECKPOINT_FORMAT,
        step,
        state: format!(r#"{{"step":{step}}}"#),
    };
    for (position, message) in (0..).zip(&messages) {
        store
            .commit(Commit {
                messages: vec![StoredMessage {
                    run_id: id,
                    position,
                    message: message.clone(),
                }],
                checkpoint: Some(checkpoint(position)),
                ..commit(None, Some(id), position, step())
            })
            .await
            .expect("a commit");
    }
    let verified = gate(0, "p", "g", GateStatus::Passed, &odd);
    store
        .commit(commit(None, Some(id), 9, [verified]))
        .await
        .expect("an event of no case");
    store.close().await.expect("a clean end");

    let store = Store::open(&path, Redactor::default()).expect("the trace");
    assert_eq!(store.next_run_id(), RunId(id.0 + 1));
    let loaded = store.load_run(id).expect("the run");
    assert_eq!(loaded.messages, messages);
    assert_eq!(loaded.checkpoint, Some(checkpoint(3)));
    assert_eq!(loaded.contract, run(id, None).contract);
    assert_eq!((loaded.provider.as_str(), loaded.outcome), ("local", None));
    assert_eq!(
        rows(
            &store,
            "SELECT count(*), sum(case_id IS NULL), sum(last_attempt) FROM v_call"
        ),
        ["8|8|8"]
    );
    assert_eq!(
        rows(
            &store,
            "SELECT position, role FROM v_message WHERE run_id = 1 ORDER BY position"
        ),
        ["0|user", "1|user", "2|assistant", "3|user"]
    );
    // Said twice, stored once.
    let connection = open_read_only(&path).expect("a trace");
    let blobs: i64 = connection
        .query_row("SELECT count(*) FROM blob", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(blobs, 2);
}

#[tokio::test]
async fn a_state_of_another_format_is_refused_with_both_named() {
    let store = Store::memory().expect("a trace");
    let id = store.next_run_id();
    store.start_run(run(id, None)).await.expect("a run");
    for format in [CHECKPOINT_FORMAT - 1, CHECKPOINT_FORMAT + 1] {
        let checkpoint = StoredCheckpoint {
            run_id: id,
            format,
            step: 1,
            state: "{}".to_owned(),
        };
        let stored = Commit {
            checkpoint: Some(checkpoint),
            ..Commit::default()
        };
        store.commit(stored).await.expect("a commit");
        assert_eq!(
            store.load_run(id).expect_err("another format"),
            StoreError::CheckpointFormat {
                run: id,
                found: format,
                supported: CHECKPOINT_FORMAT
            }
        );
    }
    assert_eq!(
        store.load_run(RunId(99)).expect_err("no such run"),
        StoreError::UnknownRun { run: RunId(99) }
    );
}

#[tokio::test]
async fn what_is_only_about_to_happen_is_not_stored() {
    let store = Store::memory().expect("a trace");
    // A run that never began would be refused, if anything were stored.
    let calling = EventKind::ModelCalling { attempt: 1 };
    store
        .commit(commit(None, Some(RunId(5)), 1, [calling]))
        .await
        .expect("nothing to store");
    let attempted = commit(Some(&case_ref("a", 1)), None, 0, beginning("w"));
    assert!(matches!(
        store.commit(attempted).await,
        Err(StoreError::UnknownCase { .. })
    ));
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_the_process_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    let store = Store::create(&path, Redactor::default()).expect("a new trace");
    two_attempts(&store).await;
    // What a killed process leaves behind: both files as they are, and a lease that nobody holds.
    let left = folder.path().join("left.db");
    for end in ["", "-wal"] {
        let name = |path: &std::path::Path| format!("{}{end}", path.display());
        std::fs::copy(name(&path), name(&left)).expect("a copy");
    }
    rusqlite::Connection::open(&left)
        .and_then(|connection| connection.execute("UPDATE lease SET token = 'of the dead'", []))
        .expect("a lease");
    let resumed = Store::open(&left, Redactor::default()).expect("the trace");
    assert_eq!(
        resumed.case_progress().expect("progress"),
        store.case_progress().expect("progress")
    );
    let sql = "SELECT * FROM v_event ORDER BY id";
    assert_eq!(rows(&resumed, sql), rows(&store, sql));
    assert_eq!(resumed.next_run_id(), store.next_run_id());
}

#[tokio::test]
async fn many_at_once_all_get_their_answer() {
    let store = Store::memory().expect("a trace");
    let id = store.next_run_id();
    store.start_run(run(id, None)).await.expect("a run");
    let answers = futures_util::future::join_all((0..1_000).map(|number| {
        // Every tenth speaks of a run that never began.
        let run = if number % 10 == 0 { RunId(99) } else { id };
        store.commit(commit(None, Some(run), number, step()))
    }))
    .await;
    for (number, answer) in answers.iter().enumerate() {
        assert_eq!(answer.is_err(), number % 10 == 0, "{number}: {answer:?}");
    }
    assert_eq!(
        rows(&store, "SELECT count(*), max(step) FROM v_step"),
        ["900|999"]
    );
}
