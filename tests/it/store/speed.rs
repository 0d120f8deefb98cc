//! What writing and listing cost. Left out of ordinary runs: `cargo test store::speed -- --ignored --nocapture`.

use std::sync::Arc;

use taskgate::base::{Clock as _, Redactor, SystemClock};
use taskgate::domain::{CaseOutcome, EventKind, Message};
use taskgate::store::{
    CHECKPOINT_FORMAT, Commit, Store, StoredCheckpoint, StoredMessage, open_read_only,
};

use super::support::{batch, beginning, call, case, case_id, commit, end, run, tool};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn steps_per_second() {
    const TASKS: u32 = 8;
    const STEPS: u32 = 2_500;
    let folder = tempfile::tempdir().expect("a folder");
    let redactor = Redactor::default();
    redactor.add("sk-a-key-that-never-shows");
    let store = Store::create(&folder.path().join("trace.db"), redactor).expect("a new trace");
    store
        .begin_batch(batch((1..=TASKS).map(|trial| case("a", trial)).collect()))
        .await
        .expect("a batch");
    let clock = Arc::new(SystemClock::default());
    let begun = clock.monotonic();
    let tasks: Vec<_> = (1..=TASKS)
        .map(|trial| {
            let store = store.clone();
            tokio::spawn(async move {
                let case = taskgate::domain::CaseRef {
                    id: case_id("a", trial),
                    attempt: 1,
                };
                let id = store.next_run_id();
                store
                    .commit(commit(Some(&case), None, 0, beginning("w")))
                    .await
                    .expect("a commit");
                store
                    .start_run(run(id, Some(case.clone())))
                    .await
                    .expect("a run");
                for step in 1..=STEPS {
                    let kinds = [
                        EventKind::ModelCalled(call(1)),
                        tool("read_file", "src/lib.rs"),
                        tool("write_file", "src/lib.rs"),
                        tool("exec", "cargo test"),
                        tool("grep", "needle"),
                        EventKind::Step {
                            calls: 4,
                            tokens: 120,
                            changed: true,
                        },
                    ];
                    let say = |offset, text: String| StoredMessage {
                        run_id: id,
                        position: step * 2 + offset,
                        message: Message::user(text),
                    };
                    store
                        .commit(Commit {
                            messages: vec![
                                say(0, format!("{trial}/{step} {}", "call ".repeat(60))),
                                say(1, format!("{trial}/{step} {}", "result ".repeat(150))),
                            ],
                            checkpoint: Some(StoredCheckpoint {
                                run_id: id,
                                format: CHECKPOINT_FORMAT,
                                step,
                                state: format!(
                                    "{{\"step\":{step},\"rest\":\"{}\"}}",
                                    "x".repeat(600)
                                ),
                            }),
                            ..commit(Some(&case), Some(id), step, kinds)
                        })
                        .await
                        .expect("a commit");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a task");
    }
    let took = clock.monotonic() - begun;
    println!(
        "{} commits of 6 events, 2 messages and a checkpoint in {took:?}: {:.0} per second",
        TASKS * STEPS,
        f64::from(TASKS * STEPS) / took.as_secs_f64()
    );
    store.close().await.expect("a clean end");
}

#[tokio::test]
#[ignore = "a measurement"]
async fn listing_ten_thousand_cases() {
    let store = Store::memory().expect("a trace");
    store
        .begin_batch(batch((1..=10_000).map(|trial| case("a", trial)).collect()))
        .await
        .expect("a batch");
    let ends = (1..=10_000).map(|trial| {
        let case = taskgate::domain::CaseRef {
            id: case_id("a", trial),
            attempt: 1,
        };
        commit(Some(&case), None, 0, end(CaseOutcome::Failed))
    });
    for mut one in ends {
        one.events.remove(0);
        store.commit(one).await.expect("a commit");
    }
    let clock = SystemClock::default();
    let reader = open_read_only(store.path()).expect("a trace");
    for sql in [
        "SELECT count(*), sum(length(reason)), sum(first_failed_gate = 'unit'), sum(tampered), sum(steps), sum(wall_ms) FROM v_case",
        "SELECT sum(length(patch)) FROM v_case",
        "SELECT count(*), sum(phase_position) FROM v_gate",
    ] {
        let begun = clock.monotonic();
        reader.query_row(sql, [], |_| Ok(())).expect(sql);
        println!("{:?}: {sql}", clock.monotonic() - begun);
    }
    let mut statement = reader
        .prepare("SELECT * FROM v_case ORDER BY position")
        .expect("a query");
    let begun = clock.monotonic();
    let columns = statement.column_count();
    let mut rows = statement.query([]).expect("rows");
    let mut bytes = 0;
    while let Some(row) = rows.next().expect("a row") {
        for column in 0..columns {
            bytes += row
                .get_ref(column)
                .expect("a value")
                .as_str()
                .map_or(8, str::len);
        }
    }
    println!(
        "{:?}: every column of every case, {bytes} bytes",
        clock.monotonic() - begun
    );
    let begun = clock.monotonic();
    let progress = store.case_progress().expect("progress").len();
    println!(
        "{:?}: progress of {progress} cases",
        clock.monotonic() - begun
    );
    let begun = clock.monotonic();
    let planned = store.batch().expect("a batch").cases.len();
    println!("{:?}: plan of {planned} cases", clock.monotonic() - begun);
}
