//! A user's own SQL, and figures that were worked out by hand.

use rusqlite::Connection;
use serde_json::json;
use taskgate::base::Redactor;
use taskgate::report::{ReportError, load, prepare, run_sql};
use taskgate::store::{BatchStatus, Store, open_read_only};

use super::fixture::{self, at, batch, case, run, suite};

#[test]
fn the_figures_of_the_batch() {
    let (_folder, conn) = fixture::open();
    for (sql, expected) in [
        // 2000 fresh and 2000 cached tokens in, 300 out: 0.006 + 0.0006 + 0.0045.
        (
            "SELECT cost_usd FROM v_spend WHERE price_table = 'list' AND case_id = 'parser/empty-input/sonnet#1'",
            json!([["0.0111"]]),
        ),
        (
            "SELECT count(*), count(cost_usd) FROM v_spend",
            json!([[20, 10]]),
        ),
        (
            "SELECT provider, round(percentile(latency_ms, 50)) FROM v_call WHERE failure IS NULL GROUP BY provider ORDER BY 1",
            json!([["local", 1_250.0], ["sonnet", 1_600.0]]),
        ),
        (
            "SELECT first_failed_phase FROM v_case WHERE case_id = 'parser/empty-input/local#1'",
            json!([["build"]]),
        ),
    ] {
        let table = run_sql(&conn, sql).expect(sql);
        assert_eq!(json!(table.rows), expected, "{sql}");
    }
    let report = load(&conn).expect("a report");
    let sonnet = &report.providers[0];
    assert_eq!((sonnet.passed, sonnet.judged, sonnet.trials), (3, 4, 2));
    // empty-input: 1 of 2, long-line: 2 of 2.
    let close =
        |value: Option<f64>, expected: f64| (value.expect("a figure") - expected).abs() < 1e-9;
    assert!(
        close(sonnet.pass_at_1, 0.75)
            && close(sonnet.pass_at_k, 1.0)
            && close(sonnet.pass_hat_k, 0.5)
    );
    let spend = &report.spend[0];
    let parts = [spend.passing_usd, spend.unpassed_usd, spend.superseded_usd]
        .map(|part| part.expect("a part").0);
    assert_eq!(
        parts.into_iter().sum::<taskgate::base::Money>(),
        spend.cost_usd.expect("a cost").0
    );
    assert_eq!((spend.retried_calls, spend.superseded_calls), (1, 2));
    let funnel: Vec<_> = report
        .gate_phases
        .iter()
        .filter(|row| row.provider.as_str() == "sonnet")
        .map(|row| {
            (
                row.phase.to_string(),
                row.entered,
                row.passed,
                row.failed,
                row.skipped,
            )
        })
        .collect();
    assert_eq!(
        funnel,
        [
            ("build".to_owned(), 4, 4, 0, 0),
            ("test".to_owned(), 4, 3, 1, 0),
            ("accept".to_owned(), 3, 3, 0, 1),
        ]
    );
    assert_eq!(report.flaky.len(), 1);
    assert_eq!(
        report.tampered[0].path.as_deref(),
        Some("tests/held|out.rs")
    );
    assert_eq!(report.substitutions[0].calls, 5);
    assert_eq!(report.latency[1].ttft_p50, None, "unknown stays unknown");
}

#[test]
fn a_query_reads_and_does_nothing_else() {
    let (folder, conn) = fixture::open();
    let other = folder.path().join("other.db");
    for sql in [
        "DELETE FROM planned",
        "CREATE TEMP TABLE t (x)",
        "PRAGMA query_only = OFF",
        "-- a remark\n/* another */ PRAGMA journal_mode",
        &format!("ATTACH '{}' AS other", other.display()),
        "",
        "BEGIN",
    ] {
        let error = run_sql(&conn, sql).expect_err(sql);
        assert!(
            matches!(error, ReportError::NotAQuery | ReportError::Query { .. }),
            "{sql}: {error}"
        );
    }
    assert!(!other.exists());
    let two = run_sql(&conn, "SELECT 1; SELECT 2").expect_err("two statements");
    assert!(matches!(two, ReportError::Query { .. }), "{two}");
    let table = run_sql(
        &conn,
        "SELECT provider, count(*) AS n, NULL AS none FROM v_case GROUP BY provider ORDER BY 1;\n",
    )
    .expect("a query");
    assert_eq!(
        table.to_text(),
        "provider  n  none\nlocal     4\nsonnet    4\n"
    );
    assert_eq!(table.to_csv(), "provider,n,none\nlocal,4,\nsonnet,4,\n");
    assert!(table.to_json().expect("JSON").contains("\"n\": 4"));
    assert_eq!(
        run_sql(&conn, "SELECT 1 WHERE 0")
            .expect("a query")
            .to_text(),
        "no rows\n"
    );
}

#[test]
fn every_section_is_a_query_of_its_own() {
    let (_folder, conn) = fixture::open();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
    let mut tried = 0;
    for file in std::fs::read_dir(folder).expect("the sections") {
        let path = file.expect("a file").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if path.extension().is_none_or(|ending| ending != "sql")
            || ["v_spend.sql", "materialise.sql"].contains(&name.as_str())
        {
            continue;
        }
        let sql = std::fs::read_to_string(&path).expect("SQL");
        run_sql(&conn, &sql).unwrap_or_else(|error| panic!("{name}: {error}"));
        tried += 1;
    }
    assert!(tried > 15);
}

#[test]
fn a_report_leaves_the_connection_as_it_was() {
    let (_folder, conn) = fixture::open();
    prepare(&conn).expect("ready");
    let first = load(&conn).expect("a report");
    let spend = run_sql(&conn, "SELECT count(*) FROM v_spend").expect("a query");
    assert_eq!(json!(spend.rows), json!([[20]]));
    let patch = run_sql(&conn, "SELECT count(patch) FROM v_case").expect("the view is back");
    assert_eq!(json!(patch.rows), json!([[2]]));
    assert_eq!(load(&conn).expect("a report again"), first);
    let query_only: bool = conn
        .query_row("PRAGMA query_only", [], |row| row.get(0))
        .expect("a setting");
    assert!(query_only);
}

#[test]
fn what_is_no_batch_is_said() {
    let conn = Connection::open_in_memory().expect("a database");
    let error = load(&conn).expect_err("no trace");
    assert!(
        error.to_string().starts_with("cannot read the trace with "),
        "{error}"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    run(async {
        let store = Store::create(&path, Redactor::default()).expect("a trace");
        store.close().await.expect("a clean end");
    });
    let error = load(&open_read_only(&path).expect("a trace")).expect_err("no batch");
    assert_eq!(
        error.to_string(),
        "the trace holds no batch, and reports are of batches"
    );
}

#[test]
fn a_batch_without_calls_reads_as_sentences() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    run(async {
        let store = Store::create(&path, Redactor::default()).expect("a trace");
        let mut skipped = case("empty-input", "local", 1);
        skipped.skip = Some("not on linux".to_owned());
        let mut record = batch(
            vec![suite("parser", json!({ "pass_rate": 0.5 }))],
            vec![skipped],
        );
        record.prices.clear();
        store.begin_batch(record).await.expect("a batch");
        store
            .finish_batch(BatchStatus::Finished, at(5))
            .await
            .expect("an end");
        store.close().await.expect("a clean end");
    });
    let report = load(&open_read_only(&path).expect("a trace")).expect("a report");
    let markdown = taskgate::report::render(
        &report,
        taskgate::report::Format::Markdown,
        &taskgate::report::RenderOptions::default(),
    )
    .expect("Markdown");
    for sentence in ["nothing was judged", "No gate ran.", "No model was called."] {
        assert!(markdown.contains(sentence), "{sentence}: {markdown}");
    }
}
