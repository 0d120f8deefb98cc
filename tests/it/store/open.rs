//! What is a trace, and what is not.

use std::path::Path;

use rusqlite::Connection;
use taskgate::base::Redactor;
use taskgate::store::{SCHEMA_VERSION, Store, StoreError, check, open_read_only};

use super::support::{at, batch, case};

/// Every way in, by name.
fn ways(path: &Path) -> [(&'static str, Option<StoreError>); 4] {
    [
        ("open", Store::open(path, Redactor::default()).err()),
        ("create", Store::create(path, Redactor::default()).err()),
        ("check", check(path).err()),
        ("read", open_read_only(path).err()),
    ]
}

#[test]
#[expect(clippy::disallowed_methods, reason = "files that are no traces")]
fn what_is_no_trace_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let noise = folder.path().join("noise.db");
    std::fs::write(
        &noise,
        "not a database at all, but long enough ".repeat(100),
    )
    .expect("a file");
    let empty = folder.path().join("empty.db");
    std::fs::write(&empty, "").expect("a file");
    let other = folder.path().join("other.db");
    Connection::open(&other)
        .and_then(|connection| {
            connection.execute_batch("CREATE TABLE theirs (x); PRAGMA user_version = 7")
        })
        .expect("a database");
    for path in [&noise, &empty, &other, &folder.path().to_path_buf()] {
        let before = std::fs::read(path).ok();
        for (way, error) in ways(path) {
            assert!(
                matches!(error, Some(StoreError::NotATrace { .. })),
                "{way} {}: {error:?}",
                path.display()
            );
        }
        assert_eq!(std::fs::read(path).ok(), before, "{}", path.display());
    }
    let names = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(names, 3, "no file was left beside them");
}

#[test]
fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("no").join("trace.db");
    for (way, error) in ways(&path) {
        let what = if way == "create" { "folder" } else { "trace" };
        let named = if way == "create" {
            path.parent().expect("a folder")
        } else {
            &path
        };
        assert_eq!(
            error,
            Some(StoreError::Missing {
                path: named.to_path_buf(),
                what
            }),
            "{way}"
        );
    }
}

#[tokio::test]
async fn a_newer_trace_is_refused_by_every_way_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    let store = Store::create(&path, Redactor::default()).expect("a new trace");
    store.close().await.expect("a clean end");
    Connection::open(&path)
        .and_then(|connection| connection.pragma_update(None, "user_version", SCHEMA_VERSION + 1))
        .expect("a newer trace");
    for (way, error) in ways(&path) {
        let expected = if way == "create" {
            StoreError::Exists { path: path.clone() }
        } else {
            StoreError::Newer {
                path: path.clone(),
                found: SCHEMA_VERSION + 1,
                supported: SCHEMA_VERSION,
            }
        };
        assert_eq!(error, Some(expected), "{way}");
    }
}

#[tokio::test]
async fn a_trace_that_was_only_just_marked_is_brought_up_to_date() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    Connection::open(&path)
        .and_then(|connection| connection.pragma_update(None, "application_id", 0x5447_5452))
        .expect("a file");
    assert_eq!(check(&path).expect("a trace").version, 0);
    assert_eq!(
        open_read_only(&path).err(),
        Some(StoreError::Older {
            path: path.clone(),
            found: 0,
            supported: SCHEMA_VERSION
        })
    );
    let store = Store::open(&path, Redactor::default()).expect("a trace");
    store
        .begin_batch(batch(vec![case("a", 1)]))
        .await
        .expect("a batch");
    store.close().await.expect("a clean end");
    let info = check(&path).expect("a trace");
    assert_eq!((info.version, info.holder), (SCHEMA_VERSION, None));
}

#[tokio::test]
async fn a_closed_trace_is_one_file_and_reading_leaves_none_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    let names = || {
        let mut names: Vec<_> = std::fs::read_dir(folder.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        names
    };
    for end in ["close", "drop"] {
        let store = if end == "close" {
            Store::create(&path, Redactor::default()).expect("a new trace")
        } else {
            Store::open(&path, Redactor::default()).expect("the trace")
        };
        if end == "close" {
            store
                .begin_batch(batch(vec![case("a", 1)]))
                .await
                .expect("a batch");
            let other = store.clone();
            assert_eq!(store.batch().expect("a batch").cases.len(), 1);
            store.close().await.expect("a clean end");
            let error = other.resume_batch(at(1)).await.expect_err("it is closed");
            assert_eq!(error, StoreError::Closed);
        } else {
            store.resume_batch(at(1)).await.expect("a batch");
            drop(store);
        }
        assert_eq!(names(), ["trace.db"], "{end}");
        let reader = open_read_only(&path).expect("a trace");
        let cases: i64 = reader
            .query_row("SELECT count(*) FROM v_case", [], |row| row.get(0))
            .expect("a count");
        drop(reader);
        assert_eq!((cases, names()), (1, vec!["trace.db".into()]), "{end}");
    }
    assert!(matches!(
        Store::create(&path, Redactor::default()),
        Err(StoreError::Exists { .. })
    ));
}

#[tokio::test]
async fn what_a_file_brings_along_is_neither_trusted_nor_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    let store = Store::create(&path, Redactor::default()).expect("a new trace");
    store
        .begin_batch(batch(vec![case("a", 1)]))
        .await
        .expect("a batch");
    store.close().await.expect("a clean end");
    Connection::open(&path)
        .and_then(|connection| {
            connection.execute_batch(
                "DROP VIEW v_suite;
                 CREATE VIEW v_suite AS SELECT 'forged' AS suite;
                 CREATE VIEW \"v \"\"odd\" AS SELECT 1;
                 UPDATE meta SET value = 'of another version' WHERE key = 'views';
                 CREATE TRIGGER spy AFTER UPDATE ON batch BEGIN DELETE FROM planned; END;",
            )
        })
        .expect("a forgery");
    let suite = |connection: &Connection| -> String {
        connection
            .query_row("SELECT suite FROM v_suite", [], |row| row.get(0))
            .expect("a suite")
    };
    assert_eq!(suite(&open_read_only(&path).expect("a trace")), "parser");
    let store = Store::open(&path, Redactor::default()).expect("the trace");
    store.resume_batch(at(10)).await.expect("a batch");
    assert_eq!(store.batch().expect("a batch").cases.len(), 1);
    store.close().await.expect("a clean end");
    let plain = Connection::open(&path).expect("a database");
    assert_eq!(suite(&plain), "parser");
    assert!(plain.prepare("SELECT * FROM \"v \"\"odd\"").is_err());
}

#[tokio::test]
async fn a_reader_cannot_write_but_may_have_views_of_its_own() {
    let store = Store::memory().expect("a trace");
    let reader = open_read_only(store.path()).expect("a trace");
    assert!(reader.execute("DELETE FROM event", []).is_err());
    assert!(
        reader
            .execute_batch("CREATE TEMP VIEW mine AS SELECT 1")
            .is_err()
    );
    reader
        .execute_batch("PRAGMA query_only = 0; CREATE TEMP VIEW mine AS SELECT case_id FROM v_case; PRAGMA query_only = 1")
        .expect("a view");
    assert!(reader.execute("DELETE FROM event", []).is_err());
    let path = store.path().to_path_buf();
    drop(reader);
    drop(store);
    assert!(!path.exists());
}
