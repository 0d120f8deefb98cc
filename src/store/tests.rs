//! What only the inside can show: groups, full disks, media that cannot be written.

use std::path::Path;

use rusqlite::Connection;

use super::apply::Request;
use super::clean::Cleaner;
use super::open::{self, Durability};
use super::writer::Writer;
use super::{Commit, RunRecord, Store, StoreError, StoredCheckpoint};
use crate::base::{Redactor, Timestamp};
use crate::domain::{CaseId, CaseRef, EventKind, RunEvent, RunId};

fn event(case: Option<&str>, run: Option<i64>, kind: EventKind) -> RunEvent {
    RunEvent {
        at: Timestamp::from_millisecond(1_000).expect("a time"),
        case: case.map(|id| CaseRef {
            id: CaseId::from_text(id),
            attempt: 1,
        }),
        run_id: run.map(RunId),
        step: 1,
        kind,
    }
}

fn step() -> EventKind {
    EventKind::Step {
        calls: 1,
        tokens: 10,
        changed: false,
    }
}

fn commit(events: Vec<RunEvent>) -> Request {
    Request::Commit(Cleaner(&Redactor::default()).commit(Commit {
        events,
        ..Commit::default()
    }))
}

fn record(id: i64) -> RunRecord {
    RunRecord {
        id: RunId(id),
        case: None,
        contract: serde_json::json!({}),
        policy: serde_json::json!({}),
        provider: "scripted".to_owned(),
        model: "none".to_owned(),
        started_at: Timestamp::UNIX_EPOCH,
    }
}

fn count(path: &Path, table: &str) -> i64 {
    let connection = open::open_read_only(path).expect("a trace");
    let sql = format!("SELECT count(*) FROM {table}");
    connection
        .query_row(&sql, [], |row| row.get(0))
        .expect("a count")
}

#[test]
fn a_bad_request_costs_its_neighbours_nothing_and_leaves_nothing_of_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    let opened = open::create(&path, Durability::Normal).expect("a new trace");
    let writer = Writer {
        connection: opened.connection,
        lease: opened.lease,
        path: path.clone(),
    };
    let start = Request::Start(Box::new(Cleaner(&Redactor::default()).run(record(1))));
    let good = commit(vec![event(None, Some(1), step())]);
    let half = commit(vec![
        event(None, Some(1), step()),
        event(Some("no/such/case#1"), Some(1), step()),
    ]);
    let stray = commit(vec![event(None, Some(9), step())]);
    let results = writer.write_group(&[&start, &good, &half, &good, &stray, &good]);
    let good_ones = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(good_ones, 4, "{results:?}");
    assert_eq!(
        results[2],
        Err(StoreError::UnknownCase {
            case: CaseId::from_text("no/such/case#1")
        })
    );
    assert_eq!(results[4], Err(StoreError::UnknownRun { run: RunId(9) }));
    assert_eq!((count(&path, "event"), count(&path, "step")), (3, 3));
}

#[test]
fn a_writer_whose_lease_was_taken_over_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    let opened = open::create(&path, Durability::Normal).expect("a new trace");
    let writer = Writer {
        connection: opened.connection,
        lease: opened.lease,
        path: path.clone(),
    };
    let other = Connection::open(&path).expect("a connection");
    other
        .execute("UPDATE lease SET token = 'another', host = 'elsewhere'", [])
        .expect("a lease");
    let start = Request::Start(Box::new(Cleaner(&Redactor::default()).run(record(1))));
    let results = writer.write_group(&[&start]);
    assert!(
        matches!(results[..], [Err(StoreError::Busy { .. })]),
        "{results:?}"
    );
    assert_eq!(count(&path, "run"), 0);
}

#[tokio::test]
async fn a_full_disk_is_said_and_costs_only_what_was_not_acknowledged() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    let store = Store::create(&path, Redactor::default()).expect("a new trace");
    store.start_run(record(1)).await.expect("room for a run");
    store.limit_pages(100).await.expect("a limit");
    let mut stored = 0;
    let error = loop {
        let commit = Commit {
            events: vec![event(None, Some(1), step())],
            messages: Vec::new(),
            checkpoint: Some(StoredCheckpoint {
                run_id: RunId(1),
                format: super::CHECKPOINT_FORMAT,
                step: stored + 1,
                state: "x".repeat(2_000 * (stored as usize + 1)),
            }),
        };
        match store.commit(commit).await {
            Ok(()) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 10_000, "the limit holds");
    };
    assert_eq!(error, StoreError::Full { path: path.clone() });
    // What fits still fits, and what was acknowledged is there.
    let run = store.load_run(RunId(1)).expect("the run");
    assert_eq!(
        run.checkpoint.map(|checkpoint| checkpoint.step),
        Some(stored)
    );
    store.limit_pages(1_000_000).await.expect("room again");
    let more = Commit {
        events: vec![event(None, Some(1), step())],
        ..Commit::default()
    };
    store.commit(more).await.expect("room again");
    store.close().await.expect("a clean end");
    assert_eq!(count(&path, "event"), i64::from(stored) + 1);
}

#[tokio::test]
async fn a_trace_on_media_that_cannot_be_written_is_read_unless_a_log_would_be_missed() {
    let folder = tempfile::tempdir().expect("a folder");
    // Every character that means something in an address.
    let path = folder.path().join("a ?#%20&=\u{fc} trace.db");
    let store = Store::create(&path, Redactor::default()).expect("a new trace");
    store.start_run(record(1)).await.expect("a run");
    let error = open::open_immutable(&path).expect_err("the run stands in the log");
    assert_eq!(error, StoreError::UnreadableLog { path: path.clone() });
    store.close().await.expect("a clean end");
    let connection = open::open_immutable(&path).expect("a trace");
    let runs: i64 = connection
        .query_row("SELECT count(*) FROM v_run", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(runs, 1);
}
