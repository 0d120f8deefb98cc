//! What thresholds make of a batch.

use serde_json::{Value, json};
use taskgate::report::{Verdict, load, verdict};
use taskgate::store::open_read_only;

use super::fixture::{self, at, batch, case, run, suite};
use taskgate::base::Redactor;
use taskgate::store::{BatchStatus, Store};

/// The verdict of the batch of the fixture under other thresholds.
fn under(path: &std::path::Path, thresholds: &Value) -> Verdict {
    let raw = rusqlite::Connection::open(path).expect("a database");
    raw.execute("UPDATE suite SET thresholds = ?1", [thresholds.to_string()])
        .expect("other thresholds");
    drop(raw);
    verdict(&load(&open_read_only(path).expect("a trace")).expect("a report"))
}

#[test]
fn each_threshold() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    run(fixture::write(&path));
    // sonnet passed 3 of 4, local 0 of 2; 1 errored; p95 of wall times is below 70 s and above 60 s.
    for (thresholds, met, exceeded) in [
        // Without a pass rate every judged case has to pass.
        (json!({}), false, true),
        (json!({ "errors": 1 }), false, false),
        (json!({ "errors": null, "pass_rate": null }), false, true),
        (
            json!({ "errors": 1, "pass_rate": { "sonnet": 0.75 } }),
            true,
            false,
        ),
        (
            json!({ "errors": 1, "pass_rate": { "sonnet": 0.76 } }),
            false,
            false,
        ),
        (
            json!({ "errors": 1, "pass_rate": { "absent": 1 } }),
            true,
            false,
        ),
        (json!({ "errors": 1, "pass_rate": 0 }), true, false),
        (json!({ "errors": 1, "pass_rate": 0.5 }), false, false),
        (
            json!({ "errors": 1, "pass_rate": 0, "p95_wall": "70s" }),
            true,
            false,
        ),
        (json!({ "errors": 1, "p95_wall": "1m" }), false, false),
        (json!({ "errors": 1, "p95_wall": 90 }), false, false),
        (json!({ "errors": 1, "pass_rate": "most" }), false, false),
        (json!({ "errors": "few", "pass_rate": 0 }), true, true),
        (json!("none"), false, true),
    ] {
        let verdict = under(&path, &thresholds);
        assert_eq!(
            (verdict.thresholds_met, verdict.errors_exceeded),
            (met, exceeded),
            "{thresholds}: {:?}",
            verdict.checks
        );
    }
    let verdict = under(
        &path,
        &json!({ "errors": 1, "pass_rate": { "sonnet": 0.9 } }),
    );
    let check = &verdict.checks[0];
    assert_eq!(
        (
            check.subject.as_deref(),
            check.limit.as_str(),
            check.actual.as_str()
        ),
        (Some("sonnet"), ">= 90 %", "75 % (3/4)")
    );
    assert_eq!(
        (
            verdict.cases,
            verdict.judged,
            verdict.passed,
            verdict.failed,
            verdict.errored,
            verdict.skipped
        ),
        (8, 6, 3, 3, 1, 1)
    );
    assert!(!verdict.interrupted && !verdict.nothing_judged);
    assert_eq!(
        verdict.cost, ">= $0.10",
        "the calls of the other provider have no price"
    );
}

#[test]
fn what_was_planned_and_not_judged_meets_no_threshold() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    run(async {
        let store = Store::create(&path, Redactor::default()).expect("a trace");
        let cases = vec![case("empty-input", "local", 1)];
        let record = batch(
            vec![suite("parser", json!({ "pass_rate": 0, "p95_wall": "1h" }))],
            cases,
        );
        store.begin_batch(record).await.expect("a batch");
        store
            .finish_batch(BatchStatus::Interrupted, at(5))
            .await
            .expect("an end");
        store.close().await.expect("a clean end");
    });
    let verdict = verdict(&load(&open_read_only(&path).expect("a trace")).expect("a report"));
    assert!(verdict.interrupted && verdict.nothing_judged && !verdict.thresholds_met);
    assert_eq!(verdict.headline(), "interrupted, results are partial");
    assert!(
        verdict
            .checks
            .iter()
            .filter(|check| !check.ok)
            .all(|check| check.actual == "nothing judged")
    );
}
