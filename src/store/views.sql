-- The public views of a trace: what reports and queries of your own may rely on.
--
-- Durations and token counts are integers, durations in milliseconds. Columns called `at` or ending in `_at` are
-- RFC 3339 text in UTC with three decimals, so that they sort as they read. A yes or no is 1 or 0. NULL always
-- means *not known* or *does not apply*, never zero. Rows come in no particular order: a query says its own.
--
-- A case may have been attempted more than once (`--retries`). `attempt` counts from 1, and `last_attempt` is 1 on
-- the rows of the attempt whose verdict counts. A run that belongs to no case has NULL in the case's columns.

-- The batch as a whole: one row, or none in a trace that holds bare runs. `status` is `running`, `finished` or
-- `interrupted`. `wall_ms` is NULL while the batch runs and leaves out the time between an interruption and its resume.
-- `sandbox` and `options` are JSON.
CREATE VIEW v_batch AS
SELECT
    strftime('%Y-%m-%dT%H:%M:%fZ', b.started_at / 1000.0, 'unixepoch') AS started_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', b.finished_at / 1000.0, 'unixepoch') AS finished_at,
    b.status AS status,
    b.version AS version,
    b.platform AS platform,
    b.finished_at - b.started_at - b.idle_ms AS wall_ms,
    (SELECT count(*) FROM planned) AS cases,
    b.sandbox AS sandbox,
    b.options AS options
FROM batch b;

-- The suites in the order in which they were given, from 0. `thresholds` is JSON, `warnings` a JSON array of texts.
CREATE VIEW v_suite AS
SELECT
    s.name AS suite,
    s.position AS position,
    s.description AS description,
    s.file AS file,
    s.thresholds AS thresholds,
    s.warnings AS warnings
FROM suite s;

-- The cases in the order of the plan, from 0; one row each, with the facts of the last attempt. `outcome` is NULL
-- while the case has none, and `skipped` where the plan leaves the case out, with `reason` saying why. `attempts` is 0
-- before the first. `first_failed_phase` and `first_failed_gate` name the first gate, in the order in which gates run, that
-- said no; a gate that could not be run did not say no. `tampered` counts protected paths that were found changed.
-- `gates` counts the planned ones. `vars` is a JSON object, `tags` a JSON array, `patch` a unified diff, bounded.
CREATE VIEW v_case AS
SELECT
    s.name AS suite,
    c.id AS case_id,
    c.position AS position,
    c.task AS task,
    c.provider AS provider,
    c.model AS model,
    c.vars AS vars,
    c.trial AS trial,
    c.tags AS tags,
    s.file AS file,
    c.line AS line,
    coalesce(a.outcome, CASE WHEN c.skip IS NOT NULL THEN 'skipped' END) AS outcome,
    coalesce(a.reason, c.skip) AS reason,
    a.overrun_kind AS overrun_kind,
    a.overrun_limit AS overrun_limit,
    a.overrun_used AS overrun_used,
    coalesce(a.attempt, 0) AS attempts,
    strftime('%Y-%m-%dT%H:%M:%fZ', a.started_at / 1000.0, 'unixepoch') AS started_at,
    a.wall_ms AS wall_ms,
    a.setup_ms AS setup_ms,
    a.provider_ms AS provider_ms,
    a.waiting_ms AS waiting_ms,
    a.tool_ms AS tool_ms,
    a.gate_ms AS gate_ms,
    coalesce(a.steps, 0) AS steps,
    coalesce(a.tool_calls, 0) AS tool_calls,
    coalesce(a.malformed_calls, 0) AS malformed_calls,
    (SELECT g.phase FROM gate g WHERE g.attempt = a.id AND g.status = 'failed' ORDER BY g.position LIMIT 1) AS first_failed_phase,
    (SELECT g.gate FROM gate g WHERE g.attempt = a.id AND g.status = 'failed' ORDER BY g.position LIMIT 1) AS first_failed_gate,
    (SELECT count(*) FROM tampered t WHERE t.attempt = a.id) AS tampered,
    a.patch_files AS patch_files,
    a.patch_added AS patch_added,
    a.patch_removed AS patch_removed,
    CASE typeof(a.patch) WHEN 'integer' THEN (SELECT body FROM blob WHERE id = a.patch) ELSE a.patch END AS patch,
    c.gates AS gates,
    c.digest AS digest
FROM planned c
JOIN suite s ON s.position = c.suite
LEFT JOIN attempt a ON a.id = c.last_attempt;

-- What each gate said in each attempt. `position` counts gates and `phase_position` phases from 0, in the order in which
-- the task runs them. `status` is `passed`, `failed`, `skipped` or `errored`. `output` is bounded: `output_bytes` is how much
-- there was and `output_cut` how much of that is not in `output`.
CREATE VIEW v_gate AS
SELECT
    s.name AS suite,
    c.id AS case_id,
    c.task AS task,
    c.provider AS provider,
    c.trial AS trial,
    a.attempt AS attempt,
    a.id = c.last_attempt AS last_attempt,
    g.position AS position,
    g.phase AS phase,
    coalesce(p.phase_position, g.position) AS phase_position,
    g.gate AS gate,
    g.status AS status,
    g.reason AS reason,
    g.exit_code AS exit_code,
    g.duration_ms AS duration_ms,
    CASE typeof(g.output) WHEN 'integer' THEN (SELECT body FROM blob WHERE id = g.output) ELSE g.output END AS output,
    g.output_bytes AS output_bytes,
    g.output_cut AS output_cut
FROM gate g
JOIN attempt a ON a.id = g.attempt
JOIN planned c ON c.position = a.planned
JOIN suite s ON s.position = c.suite
LEFT JOIN planned_gate p ON p.planned = c.position AND p.position = g.position;

-- Every call of a model, answered or failed, those of superseded attempts included: the ledger. `call` counts the tries
-- at one step from 1. The token counts are the vendor's; all are NULL and `reported` is 0 where it reported none.
-- `latency_ms` is our wall time to the end of the answer, `ttft_ms` to its first content, `queued_ms` the wait for a rate limit
-- before the request was sent.
CREATE VIEW v_call AS
SELECT
    s.name AS suite,
    c.id AS case_id,
    c.task AS task,
    c.provider AS provider,
    a.attempt AS attempt,
    coalesce(a.id = c.last_attempt, 1) AS last_attempt,
    e.run AS run_id,
    e.step AS step,
    k.call AS call,
    k.provider_name AS provider_name,
    k.requested_model AS requested_model,
    k.served_model AS served_model,
    k.prompt_tokens AS prompt_tokens,
    k.completion_tokens AS completion_tokens,
    k.total_tokens AS total_tokens,
    k.cache_read_tokens AS cache_read_tokens,
    k.cache_write_tokens AS cache_write_tokens,
    k.reasoning_tokens AS reasoning_tokens,
    k.server_tool_requests AS server_tool_requests,
    k.total_tokens IS NOT NULL AS reported,
    k.latency_ms AS latency_ms,
    k.ttft_ms AS ttft_ms,
    k.queued_ms AS queued_ms,
    k.finish_reason AS finish_reason,
    k.failure AS failure,
    k.failure_status AS failure_status,
    k.failure_message AS failure_message,
    k.malformed_calls AS malformed_calls,
    strftime('%Y-%m-%dT%H:%M:%fZ', e.at / 1000.0, 'unixepoch') AS at
FROM call k
JOIN event e ON e.id = k.event
LEFT JOIN attempt a ON a.id = e.attempt
LEFT JOIN planned c ON c.position = e.planned
LEFT JOIN suite s ON s.position = c.suite;

-- Every committed step: how many tools it called, how many tokens the vendor reported for it, whether it changed the workspace.
CREATE VIEW v_step AS
SELECT
    s.name AS suite,
    c.id AS case_id,
    a.attempt AS attempt,
    e.run AS run_id,
    e.step AS step,
    k.calls AS calls,
    k.tokens AS tokens,
    k.changed AS changed,
    strftime('%Y-%m-%dT%H:%M:%fZ', e.at / 1000.0, 'unixepoch') AS at
FROM step k
JOIN event e ON e.id = k.event
LEFT JOIN attempt a ON a.id = e.attempt
LEFT JOIN planned c ON c.position = e.planned
LEFT JOIN suite s ON s.position = c.suite;

-- Every tool call that was answered; `position` counts the calls of one step from 0.
CREATE VIEW v_tool AS
SELECT
    s.name AS suite,
    c.id AS case_id,
    c.provider AS provider,
    a.attempt AS attempt,
    e.run AS run_id,
    e.step AS step,
    k.position AS position,
    k.tool AS tool,
    k.target AS target,
    k.ok AS ok,
    k.changed AS changed,
    k.decision AS decision,
    k.duration_ms AS duration_ms,
    strftime('%Y-%m-%dT%H:%M:%fZ', e.at / 1000.0, 'unixepoch') AS at
FROM tool k
JOIN event e ON e.id = k.event
LEFT JOIN attempt a ON a.id = e.attempt
LEFT JOIN planned c ON c.position = e.planned
LEFT JOIN suite s ON s.position = c.suite;

-- Every action that was refused. `rule` and `layer` are NULL where a default decided; `by` is `policy` or `approver`.
CREATE VIEW v_refusal AS
SELECT
    s.name AS suite,
    c.id AS case_id,
    c.task AS task,
    c.provider AS provider,
    a.attempt AS attempt,
    e.run AS run_id,
    e.step AS step,
    k.act AS act,
    k.target AS target,
    k.rule AS rule,
    k.layer AS layer,
    k."by" AS "by",
    strftime('%Y-%m-%dT%H:%M:%fZ', e.at / 1000.0, 'unixepoch') AS at
FROM refusal k
JOIN event e ON e.id = k.event
LEFT JOIN attempt a ON a.id = e.attempt
LEFT JOIN planned c ON c.position = e.planned
LEFT JOIN suite s ON s.position = c.suite;

-- The price tables in use: dollars for a million tokens of each kind and for one request of a vendor's tool, as decimal
-- text. `position` is that of the table, from 0: budgets are kept under table 0.
CREATE VIEW v_price AS
SELECT
    p.price_table AS price_table,
    p.position AS position,
    p.as_of AS as_of,
    p.model AS model,
    p.input AS input,
    p.output AS output,
    p.cache_read AS cache_read,
    p.cache_write AS cache_write,
    p.per_server_tool_request AS per_server_tool_request
FROM price p;

-- The setup commands of each attempt; where an attempt was laid out afresh, those of the last time. `output` is bounded.
CREATE VIEW v_setup AS
SELECT
    s.name AS suite,
    c.id AS case_id,
    a.attempt AS attempt,
    k.name AS name,
    k.ok AS ok,
    k.reason AS reason,
    k.duration_ms AS duration_ms,
    CASE typeof(k.output) WHEN 'integer' THEN (SELECT body FROM blob WHERE id = k.output) ELSE k.output END AS output
FROM setup k
JOIN attempt a ON a.id = k.attempt
JOIN planned c ON c.position = a.planned
JOIN suite s ON s.position = c.suite;

-- Every run. `outcome`, `steps`, `tokens` and `finished_at` are NULL while it has not ended; `error` says what broke, where
-- something did.
CREATE VIEW v_run AS
SELECT
    r.id AS run_id,
    s.name AS suite,
    c.id AS case_id,
    a.attempt AS attempt,
    r.provider AS provider,
    r.model AS model,
    r.outcome AS outcome,
    r.steps AS steps,
    r.tokens AS tokens,
    r.error AS error,
    strftime('%Y-%m-%dT%H:%M:%fZ', r.started_at / 1000.0, 'unixepoch') AS started_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', r.finished_at / 1000.0, 'unixepoch') AS finished_at
FROM run r
LEFT JOIN attempt a ON a.id = r.attempt
LEFT JOIN planned c ON c.position = r.planned
LEFT JOIN suite s ON s.position = c.suite;

-- The conversation of each run. `position` counts from 0, `role` is `user` or `assistant`, `body` is the whole message as
-- JSON: `{"role": …, "blocks": [{"type": "text", "text": …}, …]}`.
CREATE VIEW v_message AS
SELECT
    m.run AS run_id,
    c.id AS case_id,
    a.attempt AS attempt,
    m.position AS position,
    m.role AS role,
    CASE typeof(m.body) WHEN 'integer' THEN (SELECT body FROM blob WHERE id = m.body) ELSE m.body END AS body
FROM message m
JOIN run r ON r.id = m.run
LEFT JOIN attempt a ON a.id = r.attempt
LEFT JOIN planned c ON c.position = r.planned;

-- Every recorded event in the order of `id`. `detail` is a JSON object with the event's own fields; a text in it is cut to
-- its first 200 characters: the other views have the whole of it.
CREATE VIEW v_event AS
SELECT
    e.id AS id,
    s.name AS suite,
    c.id AS case_id,
    a.attempt AS attempt,
    e.run AS run_id,
    e.step AS step,
    strftime('%Y-%m-%dT%H:%M:%fZ', e.at / 1000.0, 'unixepoch') AS at,
    e.kind AS event,
    e.detail AS detail
FROM event e
LEFT JOIN attempt a ON a.id = e.attempt
LEFT JOIN planned c ON c.position = e.planned
LEFT JOIN suite s ON s.position = c.suite;
