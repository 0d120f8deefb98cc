//! Many cases and calls: every section is read in one pass.

use rusqlite::Connection;
use taskgate::report::{Format, RenderOptions, load, render};

/// Plain tables in place of the views, filled by the database itself.
pub(super) fn plain(cases: i64, calls: i64) -> Connection {
    let conn = Connection::open_in_memory().expect("a database");
    conn.execute_batch(&format!(
        "CREATE TABLE v_batch AS SELECT '2026-11-01T00:00:00.000Z' started_at, '2026-11-01T01:00:00.000Z' finished_at,
             'finished' status, '0.1.0' version, 'linux/x86_64' platform, 3600000 wall_ms, {cases} cases, '{{}}' sandbox, '{{}}' options;
         CREATE TABLE v_suite AS SELECT 'big' suite, 0 position, '' description, 'tasks/big.yaml' file,
             '{{\"pass_rate\": 0.5}}' thresholds, '[]' warnings;
         CREATE TABLE v_case AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {cases})
           SELECT 'big' suite, 'big/t' || (i / 10) || '/p' || (i % 5) || '#' || (i % 2 + 1) case_id, i position,
             't' || (i / 10) task, 'p' || (i % 5) provider, 'm' || (i % 5) model, '{{}}' vars, i % 2 + 1 trial, '[]' tags,
             'tasks/big.yaml' file, 1 line, CASE i % 3 WHEN 0 THEN 'passed' WHEN 1 THEN 'failed' ELSE 'errored' END outcome,
             'because' reason, NULL overrun_kind, NULL overrun_limit, NULL overrun_used, 1 attempts, 1000 + i % 777 wall_ms,
             10 setup_ms, 500 provider_ms, 0 waiting_ms, 100 tool_ms, 100 gate_ms, 5 steps, 9 tool_calls, 0 malformed_calls,
             CASE i % 3 WHEN 1 THEN 'test' END first_failed_phase, CASE i % 3 WHEN 1 THEN 'unit' END first_failed_gate,
             0 tampered, 1 patch_files, 2 patch_added, 3 patch_removed, NULL patch, 2 gates FROM n;
         CREATE TABLE v_gate AS SELECT c.suite, c.case_id, c.task, c.provider, c.trial, 1 attempt, 1 last_attempt, g.p position,
             g.phase, g.p phase_position, g.gate, CASE WHEN g.p = 1 AND c.outcome = 'failed' THEN 'failed' ELSE 'passed' END status,
             'exit' reason, 0 exit_code, 50 duration_ms, 'output of a gate' output, 16 output_bytes, 0 output_cut
           FROM v_case c, (SELECT 0 p, 'build' phase, 'b' gate UNION ALL SELECT 1, 'test', 'unit') g;
         CREATE TABLE v_call AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {calls})
           SELECT c.suite, c.case_id, c.task, c.provider, 1 attempt, 1 last_attempt, i run_id, i / {cases} + 1 step, 1 call,
             c.provider provider_name, c.model requested_model, c.model served_model, 9223372036854775807 prompt_tokens,
             100 completion_tokens, 1 total_tokens, 10 cache_read_tokens, 0 cache_write_tokens, 0 reasoning_tokens,
             0 server_tool_requests, 1 reported, 1000 + i % 991 latency_ms, 100 + i % 97 ttft_ms, 0 queued_ms, 'stop' finish_reason,
             NULL failure, NULL failure_status, NULL failure_message, 0 malformed_calls, NULL at
           FROM n JOIN v_case c ON c.position = n.i % {cases};
         CREATE TABLE v_price AS SELECT 'list' price_table, 0 position, '2026-11-01' as_of, 'm' || value model, '3' input,
             '15' output, '0.3' cache_read, NULL cache_write, NULL per_server_tool_request FROM json_each('[0, 1, 2, 3, 4]');
         CREATE TABLE v_refusal (suite, case_id, task, provider, attempt, run_id, step, act, target, rule, layer, \"by\", at);
         CREATE TABLE v_event (id, suite, case_id, attempt, run_id, step, at, event, detail);"
    ))
    .expect("tables");
    conn
}

#[test]
fn absurd_counts_neither_overflow_nor_stop_a_report() {
    let conn = plain(200, 1_000);
    let report = load(&conn).expect("a report");
    assert_eq!(report.cases.len(), 200);
    assert_eq!(
        report.latency.iter().map(|row| row.calls).sum::<i64>(),
        1_000
    );
    let markdown = render(&report, Format::Markdown, &RenderOptions::default()).expect("Markdown");
    assert!(markdown.len() <= 60_000);
    let failing = report.failures.len();
    assert!(markdown.contains(&format!("{} more failing cases are left out", failing - 20)));
}
