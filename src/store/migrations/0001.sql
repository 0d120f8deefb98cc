-- The tables of a trace. They are nobody's contract: read the views.
--
-- Times are milliseconds since 1970-01-01T00:00:00Z. A column of type ANY holds a text: either the text itself
-- or, where it is long, the number of its row in `blob`.

-- Facts about the file itself.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who writes the trace now; no row where nobody does.
CREATE TABLE lease (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    token    TEXT NOT NULL,
    pid      INTEGER NOT NULL,
    host     TEXT NOT NULL,
    birth    TEXT NOT NULL,
    taken_at INTEGER NOT NULL
) STRICT;

-- Long texts, each once.
CREATE TABLE blob (
    id     INTEGER PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE,
    body   TEXT NOT NULL
) STRICT;

-- The plan.

CREATE TABLE batch (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    idle_ms     INTEGER NOT NULL DEFAULT 0,
    status      TEXT NOT NULL,
    version     TEXT NOT NULL,
    platform    TEXT NOT NULL,
    options     TEXT NOT NULL,
    sandbox     TEXT NOT NULL
) STRICT;

CREATE TABLE suite (
    position    INTEGER PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    description TEXT NOT NULL,
    file        TEXT NOT NULL,
    thresholds  TEXT NOT NULL,
    warnings    TEXT NOT NULL
) STRICT;

CREATE TABLE planned (
    position     INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    suite        INTEGER NOT NULL REFERENCES suite (position),
    task         TEXT NOT NULL,
    provider     TEXT NOT NULL,
    model        TEXT NOT NULL,
    vars         TEXT NOT NULL,
    trial        INTEGER NOT NULL,
    tags         TEXT NOT NULL,
    line         INTEGER NOT NULL,
    gates        INTEGER NOT NULL,
    digest       TEXT NOT NULL,
    skip         TEXT,
    last_attempt INTEGER REFERENCES attempt (id),
    spec         ANY NOT NULL
) STRICT;

CREATE TABLE planned_gate (
    planned        INTEGER NOT NULL REFERENCES planned (position),
    position       INTEGER NOT NULL,
    phase          TEXT NOT NULL,
    phase_position INTEGER NOT NULL,
    gate           TEXT NOT NULL,
    PRIMARY KEY (planned, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE price (
    id                      INTEGER PRIMARY KEY,
    price_table             TEXT NOT NULL,
    position                INTEGER NOT NULL,
    as_of                   TEXT NOT NULL,
    model                   TEXT NOT NULL,
    input                   TEXT NOT NULL,
    output                  TEXT NOT NULL,
    cache_read              TEXT,
    cache_write             TEXT,
    per_server_tool_request TEXT
) STRICT;

-- What happened to the cases.

-- `steps`, `tool_calls` and `malformed_calls` are counted while events are written, so that a list of cases reads no event.
CREATE TABLE attempt (
    id               INTEGER PRIMARY KEY,
    planned          INTEGER NOT NULL REFERENCES planned (position),
    attempt          INTEGER NOT NULL,
    started_at       INTEGER NOT NULL,
    finished_at      INTEGER,
    workspace        TEXT,
    workspace_digest TEXT,
    workspace_files  INTEGER,
    outcome          TEXT,
    reason           TEXT,
    overrun_kind     TEXT,
    overrun_limit    TEXT,
    overrun_used     TEXT,
    wall_ms          INTEGER,
    setup_ms         INTEGER,
    provider_ms      INTEGER,
    waiting_ms       INTEGER,
    tool_ms          INTEGER,
    gate_ms          INTEGER,
    steps            INTEGER NOT NULL DEFAULT 0,
    tool_calls       INTEGER NOT NULL DEFAULT 0,
    malformed_calls  INTEGER NOT NULL DEFAULT 0,
    patch_files      INTEGER,
    patch_added      INTEGER,
    patch_removed    INTEGER,
    patch_bytes      INTEGER,
    patch_cut        INTEGER,
    patch            ANY,
    UNIQUE (planned, attempt)
) STRICT;

CREATE TABLE setup (
    attempt      INTEGER NOT NULL REFERENCES attempt (id),
    event        INTEGER NOT NULL REFERENCES event (id),
    name         TEXT NOT NULL,
    ok           INTEGER NOT NULL,
    reason       TEXT NOT NULL,
    duration_ms  INTEGER NOT NULL,
    output       ANY NOT NULL,
    output_bytes INTEGER NOT NULL,
    output_cut   INTEGER NOT NULL,
    PRIMARY KEY (attempt, event)
) STRICT, WITHOUT ROWID;

CREATE TABLE gate (
    attempt      INTEGER NOT NULL REFERENCES attempt (id),
    position     INTEGER NOT NULL,
    phase        TEXT NOT NULL,
    gate         TEXT NOT NULL,
    status       TEXT NOT NULL,
    reason       TEXT NOT NULL,
    exit_code    INTEGER,
    duration_ms  INTEGER NOT NULL,
    output       ANY NOT NULL,
    output_bytes INTEGER NOT NULL,
    output_cut   INTEGER NOT NULL,
    PRIMARY KEY (attempt, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE tampered (
    attempt INTEGER NOT NULL REFERENCES attempt (id),
    path    TEXT NOT NULL,
    how     TEXT NOT NULL,
    PRIMARY KEY (attempt, path)
) STRICT, WITHOUT ROWID;

-- What happened in the runs. `planned` says again what `attempt` implies: a case's rows are found by it without a detour.

CREATE TABLE run (
    id          INTEGER PRIMARY KEY,
    planned     INTEGER REFERENCES planned (position),
    attempt     INTEGER REFERENCES attempt (id),
    provider    TEXT NOT NULL,
    model       TEXT NOT NULL,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    outcome     TEXT,
    steps       INTEGER,
    tokens      INTEGER,
    error       TEXT,
    contract    ANY NOT NULL,
    policy      ANY NOT NULL
) STRICT;
CREATE INDEX run_planned ON run (planned) WHERE planned IS NOT NULL;
CREATE INDEX run_attempt ON run (attempt) WHERE attempt IS NOT NULL;

CREATE TABLE checkpoint (
    run    INTEGER PRIMARY KEY REFERENCES run (id),
    format INTEGER NOT NULL,
    step   INTEGER NOT NULL,
    state  TEXT NOT NULL
) STRICT;

CREATE TABLE message (
    run      INTEGER NOT NULL REFERENCES run (id),
    position INTEGER NOT NULL,
    role     TEXT NOT NULL,
    body     ANY NOT NULL,
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

-- Every recorded event. The tables below hold what an event of one kind says beside, under the event's number.
CREATE TABLE event (
    id      INTEGER PRIMARY KEY,
    planned INTEGER REFERENCES planned (position),
    attempt INTEGER REFERENCES attempt (id),
    run     INTEGER REFERENCES run (id),
    step    INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    detail  TEXT NOT NULL
) STRICT;
CREATE INDEX event_planned ON event (planned) WHERE planned IS NOT NULL;
CREATE INDEX event_run ON event (run) WHERE run IS NOT NULL;

CREATE TABLE call (
    event                INTEGER PRIMARY KEY REFERENCES event (id),
    call                 INTEGER NOT NULL,
    provider_name        TEXT NOT NULL,
    requested_model      TEXT NOT NULL,
    served_model         TEXT,
    fingerprint          TEXT,
    prompt_tokens        INTEGER,
    completion_tokens    INTEGER,
    total_tokens         INTEGER,
    cache_read_tokens    INTEGER,
    cache_write_tokens   INTEGER,
    reasoning_tokens     INTEGER,
    server_tool_requests INTEGER,
    latency_ms           INTEGER NOT NULL,
    ttft_ms              INTEGER,
    queued_ms            INTEGER NOT NULL,
    finish_reason        TEXT,
    failure              TEXT,
    failure_status       INTEGER,
    failure_message      TEXT,
    malformed_calls      INTEGER NOT NULL
) STRICT;

CREATE TABLE step (
    event   INTEGER PRIMARY KEY REFERENCES event (id),
    calls   INTEGER NOT NULL,
    tokens  INTEGER NOT NULL,
    changed INTEGER NOT NULL
) STRICT;

CREATE TABLE tool (
    event       INTEGER PRIMARY KEY REFERENCES event (id),
    position    INTEGER NOT NULL,
    call_id     TEXT NOT NULL,
    tool        TEXT NOT NULL,
    target      TEXT NOT NULL,
    ok          INTEGER NOT NULL,
    changed     INTEGER NOT NULL,
    decision    TEXT NOT NULL,
    duration_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE refusal (
    event  INTEGER PRIMARY KEY REFERENCES event (id),
    act    TEXT NOT NULL,
    target TEXT NOT NULL,
    rule   TEXT,
    layer  TEXT,
    "by"   TEXT NOT NULL
) STRICT;
