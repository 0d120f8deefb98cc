//! One writer at a time.

use rusqlite::Connection;
use taskgate::base::Redactor;
use taskgate::store::{Store, StoreError, check, open_read_only};

use super::support::{batch, case};

#[tokio::test]
async fn a_second_writer_is_told_who_the_first_is_and_readers_are_not_in_the_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    let store = Store::create(&path, Redactor::default()).expect("a new trace");
    let error = Store::open(&path, Redactor::default()).expect_err("it is being written");
    let us = format!("process {} on ", std::process::id());
    assert!(
        matches!(&error, StoreError::Busy { holder, .. } if holder.starts_with(&us)),
        "{error}"
    );
    assert!(
        check(&path)
            .expect("a trace")
            .holder
            .is_some_and(|holder| holder.starts_with(&us))
    );
    let reader = open_read_only(&path).expect("a trace");
    reader
        .execute_batch("BEGIN; SELECT * FROM v_case")
        .expect("a snapshot");
    store
        .begin_batch(batch(vec![case("a", 1)]))
        .await
        .expect("readers are not in the way");
    let seen: i64 = reader
        .query_row("SELECT count(*) FROM v_case", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(seen, 0, "the snapshot is from before");
    drop(reader);
    store.close().await.expect("a clean end");
    Store::open(&path, Redactor::default()).expect("the lease was given back");
}

#[tokio::test]
async fn the_lease_of_a_process_that_is_gone_is_taken_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    let store = Store::create(&path, Redactor::default()).expect("a new trace");
    store.close().await.expect("a clean end");
    let us = i64::from(std::process::id());
    for (name, pid, host) in [
        ("a process that never was", i64::from(i32::MAX), None),
        ("a number that no process has", -5, None),
        ("an earlier process of our number", us, None),
        ("our number on another machine", us, Some("elsewhere")),
    ] {
        let open = Store::open(&path, Redactor::default()).expect(name);
        let raw = Connection::open(&path).expect("a database");
        let host: String = raw
            .query_row("SELECT coalesce(?1, host) FROM lease", [host], |row| {
                row.get(0)
            })
            .expect("a lease");
        drop(open);
        raw.execute(
            "INSERT INTO lease (id, token, pid, host, birth, taken_at) VALUES (1, 'stale', ?1, ?2, '', 0)",
            (pid, host),
        )
        .expect("a stale lease");
        drop(raw);
        assert!(check(&path).expect("a trace").holder.is_some(), "{name}");
        Store::open(&path, Redactor::default()).expect(name);
    }
}
