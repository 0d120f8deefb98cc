-- Takes the views that several sections read into memory once, for the length of one transaction. The copies go by the
-- names of the views, so that a section's SQL reads the same over a trace and over its copy. Calls that belong to no case
-- are left out. Counts are clipped at 10^12: no honest vendor reports more, and no sum overflows. Output is kept of
-- gates that said no alone, its first and last 4096 characters.
CREATE TEMP TABLE m_case AS SELECT suite, case_id, position, task, provider, model, vars, trial, tags, file, line, outcome, reason,
    overrun_kind, overrun_limit, overrun_used, attempts, wall_ms, setup_ms, provider_ms, waiting_ms, tool_ms, gate_ms,
    steps, tool_calls, malformed_calls, first_failed_phase, first_failed_gate, tampered,
    patch_files, patch_added, patch_removed, gates
  FROM v_case;
CREATE INDEX temp.m_case_by_id ON m_case (case_id);
CREATE TEMP TABLE m_price AS SELECT price_table, position, as_of, model, input, output, cache_read, cache_write,
    per_server_tool_request
  FROM v_price;
CREATE INDEX temp.m_price_by_model ON m_price (price_table, model);
CREATE TEMP TABLE m_call AS SELECT suite, case_id, task, provider, attempt, last_attempt, run_id, step, call,
    provider_name, requested_model, served_model, reported, latency_ms, ttft_ms, failure,
    MIN(prompt_tokens, 1000000000000) AS prompt_tokens,
    MIN(completion_tokens, 1000000000000) AS completion_tokens,
    MIN(cache_read_tokens, 1000000000000) AS cache_read_tokens,
    MIN(cache_write_tokens, 1000000000000) AS cache_write_tokens,
    MIN(reasoning_tokens, 1000000000000) AS reasoning_tokens,
    MIN(server_tool_requests, 1000000000000) AS server_tool_requests
  FROM v_call
  WHERE case_id IS NOT NULL;
CREATE TEMP TABLE m_gate AS SELECT suite, case_id, provider, last_attempt, phase, phase_position, gate, status, reason, exit_code,
    duration_ms, output_bytes, output_cut,
    CASE WHEN status NOT IN ('failed', 'errored') OR last_attempt = 0 THEN ''
         WHEN length(output) > 8192 THEN substr(output, 1, 4096) || char(10) || '[… cut …]' || char(10) || substr(output, -4096)
         ELSE output END AS output
  FROM v_gate;
CREATE INDEX temp.m_gate_by_case ON m_gate (case_id);
DROP VIEW IF EXISTS temp.v_case;
DROP VIEW IF EXISTS temp.v_price;
DROP VIEW IF EXISTS temp.v_call;
DROP VIEW IF EXISTS temp.v_gate;
CREATE TEMP VIEW v_case AS SELECT * FROM temp.m_case;
CREATE TEMP VIEW v_price AS SELECT * FROM temp.m_price;
CREATE TEMP VIEW v_call AS SELECT * FROM temp.m_call;
CREATE TEMP VIEW v_gate AS SELECT * FROM temp.m_gate;
CREATE TEMP TABLE m_spend AS SELECT * FROM v_spend;
DROP VIEW temp.v_spend;
CREATE TEMP VIEW v_spend AS SELECT * FROM temp.m_spend;
