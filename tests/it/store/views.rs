//! The public views: their columns are a contract, and reading one case or run costs the same in a big trace.

use pretty_assertions::assert_eq;
use taskgate::store::{Store, open_read_only};

/// Every view with its columns, in order.
const VIEWS: &[(&str, &str)] = &[
    (
        "v_batch",
        "started_at finished_at status version platform wall_ms cases sandbox options",
    ),
    (
        "v_suite",
        "suite position description file thresholds warnings",
    ),
    (
        "v_case",
        "suite case_id position task provider model vars trial tags file line outcome reason overrun_kind overrun_limit overrun_used \
         attempts started_at wall_ms setup_ms provider_ms waiting_ms tool_ms gate_ms steps tool_calls malformed_calls \
         first_failed_phase first_failed_gate tampered patch_files patch_added patch_removed patch gates digest",
    ),
    (
        "v_gate",
        "suite case_id task provider trial attempt last_attempt position phase phase_position gate status reason exit_code duration_ms \
         output output_bytes output_cut",
    ),
    (
        "v_call",
        "suite case_id task provider attempt last_attempt run_id step call provider_name requested_model served_model prompt_tokens \
         completion_tokens total_tokens cache_read_tokens cache_write_tokens reasoning_tokens server_tool_requests reported latency_ms \
         ttft_ms queued_ms finish_reason failure failure_status failure_message malformed_calls at",
    ),
    (
        "v_step",
        "suite case_id attempt run_id step calls tokens changed at",
    ),
    (
        "v_tool",
        "suite case_id provider attempt run_id step position tool target ok changed decision duration_ms at",
    ),
    (
        "v_refusal",
        "suite case_id task provider attempt run_id step act target rule layer by at",
    ),
    (
        "v_price",
        "price_table position as_of model input output cache_read cache_write per_server_tool_request",
    ),
    (
        "v_setup",
        "suite case_id attempt name ok reason duration_ms output",
    ),
    (
        "v_run",
        "run_id suite case_id attempt provider model outcome steps tokens error started_at finished_at",
    ),
    ("v_message", "run_id case_id attempt position role body"),
    (
        "v_event",
        "id suite case_id attempt run_id step at event detail",
    ),
];

fn lines(connection: &rusqlite::Connection, sql: &str, column: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).expect(sql);
    statement
        .query_map([], |row| row.get(column))
        .expect(sql)
        .collect::<Result<_, _>>()
        .expect(sql)
}

#[test]
fn the_columns_are_these_and_no_others() {
    let store = Store::memory().expect("a trace");
    let ours = open_read_only(store.path()).expect("a trace");
    let stored = rusqlite::Connection::open(store.path()).expect("a database");
    for (connection, schema) in [(&ours, "sqlite_temp_schema"), (&stored, "sqlite_schema")] {
        let mut names = lines(
            connection,
            &format!("SELECT name FROM {schema} WHERE type = 'view'"),
            "name",
        );
        let mut expected: Vec<_> = VIEWS.iter().map(|(name, _)| *name).collect();
        names.sort();
        expected.sort_unstable();
        assert_eq!(names, expected, "{schema}");
        for (view, columns) in VIEWS {
            let found = lines(connection, &format!("PRAGMA table_info({view})"), "name");
            assert_eq!(
                found.join(" "),
                columns.split_whitespace().collect::<Vec<_>>().join(" "),
                "{view}"
            );
        }
    }
}

#[test]
fn reading_one_case_or_run_scans_nothing() {
    let store = Store::memory().expect("a trace");
    let connection = open_read_only(store.path()).expect("a trace");
    let mut asked = 0;
    for (view, columns) in VIEWS {
        for key in ["case_id", "run_id"] {
            if !columns.split_whitespace().any(|column| column == key) {
                continue;
            }
            let sql = format!("EXPLAIN QUERY PLAN SELECT * FROM {view} WHERE {key} = ?1");
            let mut statement = connection.prepare(&sql).expect(&sql);
            let plan: Vec<String> = statement
                .query_map([rusqlite::types::Null], |row| row.get("detail"))
                .expect(&sql)
                .collect::<Result<_, _>>()
                .expect(&sql);
            let scans = plan.iter().any(|line| line.starts_with("SCAN"));
            assert!(!scans, "{view} by {key}: {plan:#?}");
            asked += 1;
        }
    }
    assert_eq!(asked, 17);
}
