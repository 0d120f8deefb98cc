//! From requests to rows: the only place that knows what an event means for the tables.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::clean::{CleanCommit, CleanEvent, CleanMessage, CleanRun};
use super::plan::{self, CleanBatch};
use super::{BatchStatus, StoreError, StoredCheckpoint};
use crate::base::Timestamp;
use crate::domain::{CaseRef, EventKind, ProviderCall, RunEvent, RunId};

/// What the writer is asked to store; applied as often as it takes.
#[derive(Debug)]
pub(super) enum Request {
    Begin(Box<CleanBatch>),
    Start(Box<CleanRun>),
    Commit(CleanCommit),
    Finish { status: BatchStatus, at: Timestamp },
    Resume { at: Timestamp },
    LimitPages(u32),
}

/// Why a request could not be applied.
#[derive(Debug)]
pub(super) enum Fault {
    Database(rusqlite::Error),
    Refused(StoreError),
    BatchExists,
    NoBatch,
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

/// Applies one request within the caller's transaction. Where it fails, the caller must roll back.
pub(super) fn apply(connection: &Connection, request: &Request) -> Result<(), Fault> {
    match request {
        Request::Begin(batch) => plan::begin(connection, batch),
        Request::Start(run) => start_run(connection, run),
        Request::Commit(commit) => apply_commit(connection, commit),
        Request::Finish { status, at } => plan::finish(connection, *status, *at),
        Request::Resume { at } => plan::resume(connection, *at),
        Request::LimitPages(pages) => connection
            .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
            .map_err(Fault::from),
    }
}

/// A count as the database keeps it.
pub(super) fn count(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// Plain data as JSON.
pub(super) fn text(data: &impl serde::Serialize) -> String {
    serde_json::to_string(data).expect("lists and maps of text are plain data")
}

fn start_run(connection: &Connection, run: &CleanRun) -> Result<(), Fault> {
    let record = &run.record;
    let at = record.started_at.as_millisecond();
    let of = match &record.case {
        Some(case) => Some(attempt(connection, case, at)?),
        None => None,
    };
    let contract = run.contract.store(connection)?;
    let policy = run.policy.store(connection)?;
    connection
        .prepare_cached(
            "INSERT INTO run (id, planned, attempt, provider, model, started_at, contract, policy)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            record.id.0,
            of.map(|of| of.planned),
            of.map(|of| of.id),
            record.provider,
            record.model,
            at,
            contract,
            policy
        ])?;
    Ok(())
}

/// The row of an attempt, and that of its case.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    id: i64,
    planned: i64,
}

/// What the events of one commit count up in their attempt.
#[derive(Debug, Default)]
struct Counts {
    steps: i64,
    tool_calls: i64,
    malformed_calls: i64,
}

/// What one commit has found out so far: its events are nearly always of one case, one run and one step.
#[derive(Default)]
struct Memo<'a> {
    case: Option<(&'a CaseRef, Attempt)>,
    run: Option<(RunId, Option<Attempt>)>,
    counts: Vec<(i64, Counts)>,
    tools: Vec<((RunId, u32), i64)>,
}

fn apply_commit(connection: &Connection, commit: &CleanCommit) -> Result<(), Fault> {
    let mut memo = Memo::default();
    for clean in &commit.events {
        let event = &clean.event;
        let of = memo.attempt(connection, event)?;
        connection
            .prepare_cached(
                "INSERT INTO event (planned, attempt, run, step, at, kind, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                of.map(|of| of.planned),
                of.map(|of| of.id),
                event.run_id.map(|run| run.0),
                event.step,
                event.at.as_millisecond(),
                event.kind.name(),
                clean.detail
            ])?;
        let row = Row {
            connection,
            event,
            clean,
            id: connection.last_insert_rowid(),
            attempt: of.map(|of| of.id),
        };
        row.write(&mut memo)?;
    }
    for message in &commit.messages {
        memo.require_run(connection, message.run_id)?;
        insert_message(connection, message)?;
    }
    if let Some(checkpoint) = &commit.checkpoint {
        memo.require_run(connection, checkpoint.run_id)?;
        insert_checkpoint(connection, checkpoint)?;
    }
    for (attempt, counts) in &memo.counts {
        connection
            .prepare_cached(
                "UPDATE attempt SET steps = steps + ?2, tool_calls = tool_calls + ?3, malformed_calls = malformed_calls + ?4
                 WHERE id = ?1",
            )?
            .execute(params![
                attempt,
                counts.steps,
                counts.tool_calls,
                counts.malformed_calls
            ])?;
    }
    Ok(())
}

fn insert_message(connection: &Connection, message: &CleanMessage) -> Result<(), Fault> {
    let body = message.body.store(connection)?;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO message (run, position, role, body) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![
            message.run_id.0,
            message.position,
            message.role,
            body
        ])?;
    Ok(())
}

fn insert_checkpoint(connection: &Connection, checkpoint: &StoredCheckpoint) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO checkpoint (run, format, step, state) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![
            checkpoint.run_id.0,
            checkpoint.format,
            checkpoint.step,
            checkpoint.state
        ])?;
    Ok(())
}

/// The row of an attempt, made where it is new: whatever is said of it first opens it.
fn attempt(connection: &Connection, case: &CaseRef, at: i64) -> Result<Attempt, Fault> {
    let known = connection
        .prepare_cached(
            "SELECT a.id, c.position FROM planned c JOIN attempt a ON a.planned = c.position WHERE c.id = ?1 AND a.attempt = ?2",
        )?
        .query_row(params![case.id.as_str(), case.attempt], |row| {
            Ok(Attempt {
                id: row.get(0)?,
                planned: row.get(1)?,
            })
        })
        .optional()?;
    if let Some(known) = known {
        return Ok(known);
    }
    let planned: Option<i64> = connection
        .prepare_cached("SELECT position FROM planned WHERE id = ?1")?
        .query_row([case.id.as_str()], |row| row.get(0))
        .optional()?;
    let planned = planned.ok_or_else(|| StoreError::UnknownCase {
        case: case.id.clone(),
    })?;
    connection
        .prepare_cached("INSERT INTO attempt (planned, attempt, started_at) VALUES (?1, ?2, ?3)")?
        .execute(params![planned, case.attempt, at])?;
    let id = connection.last_insert_rowid();
    connection
        .prepare_cached(
            "UPDATE planned SET last_attempt = (SELECT id FROM attempt WHERE planned = ?1 ORDER BY attempt DESC LIMIT 1)
             WHERE position = ?1",
        )?
        .execute([planned])?;
    Ok(Attempt { id, planned })
}

impl<'a> Memo<'a> {
    /// The attempt that an event belongs to: that of its case, else that of its run.
    fn attempt(
        &mut self,
        connection: &Connection,
        event: &'a RunEvent,
    ) -> Result<Option<Attempt>, Fault> {
        let of_run = match event.run_id {
            Some(run) => self.require_run(connection, run)?,
            None => None,
        };
        let Some(case) = &event.case else {
            return Ok(of_run);
        };
        if let Some((known, id)) = self.case
            && known == case
        {
            return Ok(Some(id));
        }
        let id = attempt(connection, case, event.at.as_millisecond())?;
        self.case = Some((case, id));
        Ok(Some(id))
    }

    /// The attempt that a run belongs to; a run that never began is an error.
    fn require_run(
        &mut self,
        connection: &Connection,
        run: RunId,
    ) -> Result<Option<Attempt>, Fault> {
        if let Some((known, attempt)) = self.run
            && known == run
        {
            return Ok(attempt);
        }
        let attempt = connection
            .prepare_cached("SELECT attempt, planned FROM run WHERE id = ?1")?
            .query_row([run.0], |row| {
                let planned: Option<i64> = row.get(1)?;
                let id: Option<i64> = row.get(0)?;
                Ok(id.zip(planned).map(|(id, planned)| Attempt { id, planned }))
            })
            .optional()?
            .ok_or(StoreError::UnknownRun { run })?;
        self.run = Some((run, attempt));
        Ok(attempt)
    }

    fn count(&mut self, attempt: Option<i64>, add: impl FnOnce(&mut Counts)) {
        let Some(attempt) = attempt else { return };
        let known = self.counts.iter().position(|(id, _)| *id == attempt);
        let at = known.unwrap_or_else(|| {
            self.counts.push((attempt, Counts::default()));
            self.counts.len() - 1
        });
        add(&mut self.counts[at].1);
    }

    /// The position of the next tool call within its step.
    fn next_tool(&mut self, event: &RunEvent) -> i64 {
        let key = (event.run_id.unwrap_or(RunId(0)), event.step);
        match self.tools.iter_mut().find(|(known, _)| *known == key) {
            Some((_, next)) => {
                *next += 1;
                *next - 1
            }
            None => {
                self.tools.push((key, 1));
                0
            }
        }
    }
}

/// An event that stands in `event` already, on its way to the tables of its kind.
struct Row<'a> {
    connection: &'a Connection,
    event: &'a RunEvent,
    clean: &'a CleanEvent,
    id: i64,
    attempt: Option<i64>,
}

impl Row<'_> {
    fn write(&self, memo: &mut Memo<'_>) -> Result<(), Fault> {
        match &self.event.kind {
            EventKind::CaseStarted { .. }
            | EventKind::Materialised { .. }
            | EventKind::SetupFinished { .. }
            | EventKind::GateFinished { .. }
            | EventKind::Tampered { .. }
            | EventKind::Patched { .. }
            | EventKind::CaseFinished { .. } => match self.attempt {
                Some(attempt) => self.write_case(attempt),
                None => Ok(()),
            },
            EventKind::ModelCalled(call) => {
                memo.count(self.attempt, |counts| {
                    counts.malformed_calls += i64::from(call.malformed_calls);
                });
                self.write_call(call)
            }
            EventKind::ToolCalled { .. } => {
                memo.count(self.attempt, |counts| counts.tool_calls += 1);
                let position = memo.next_tool(self.event);
                self.write_tool(position)
            }
            EventKind::Step {
                calls,
                tokens,
                changed,
            } => {
                memo.count(self.attempt, |counts| counts.steps += 1);
                self.execute(
                    "INSERT INTO step (event, calls, tokens, changed) VALUES (?1, ?2, ?3, ?4)",
                    params![self.id, calls, count(*tokens), changed],
                )
            }
            EventKind::Refused {
                act,
                target,
                rule,
                layer,
                by,
            } => self.execute(
                "INSERT INTO refusal (event, act, target, rule, layer, \"by\") VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![self.id, act.as_str(), target, rule, layer, by],
            ),
            // A run that goes on has no outcome yet, whatever was said when it stopped.
            EventKind::Resumed { .. } => self.execute(
                "UPDATE run SET outcome = NULL, error = NULL, steps = NULL, tokens = NULL, finished_at = NULL WHERE id = ?1",
                params![self.event.run_id.map(|run| run.0)],
            ),
            EventKind::Finished {
                outcome,
                steps,
                tokens,
                error,
            } => self.execute(
                "UPDATE run SET outcome = ?2, steps = ?3, tokens = ?4, error = ?5, finished_at = ?6 WHERE id = ?1",
                params![
                    self.event.run_id.map(|run| run.0),
                    outcome.as_str(),
                    steps,
                    count(*tokens),
                    error,
                    self.event.at.as_millisecond()
                ],
            ),
            EventKind::GateStarted { .. }
            | EventKind::Started { .. }
            | EventKind::ModelCalling { .. }
            | EventKind::Retry { .. }
            | EventKind::ToolCalling { .. }
            | EventKind::Approved { .. }
            | EventKind::Verified(_)
            | EventKind::BudgetExceeded { .. }
            | EventKind::Replan { .. }
            | EventKind::Stalled => Ok(()),
        }
    }

    fn write_case(&self, attempt: i64) -> Result<(), Fault> {
        match &self.event.kind {
            // An attempt that begins again is not finished, whatever was said when it stopped.
            EventKind::CaseStarted { workspace } => self.execute(
                "UPDATE attempt SET workspace = ?2, outcome = NULL, reason = NULL, finished_at = NULL WHERE id = ?1",
                params![attempt, workspace],
            ),
            EventKind::Materialised { digest, files } => {
                self.execute("DELETE FROM setup WHERE attempt = ?1", params![attempt])?;
                self.execute(
                    "UPDATE attempt SET workspace_digest = ?2, workspace_files = ?3 WHERE id = ?1",
                    params![attempt, digest.as_str(), count(*files)],
                )
            }
            EventKind::SetupFinished {
                name,
                ok,
                reason,
                duration_ms,
                output,
            } => self.execute(
                "INSERT INTO setup (attempt, event, name, ok, reason, duration_ms, output, output_bytes, output_cut)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    attempt,
                    self.id,
                    name,
                    ok,
                    reason,
                    count(*duration_ms),
                    self.clean.store_output(self.connection)?,
                    count(output.total),
                    count(output.cut)
                ],
            ),
            EventKind::GateFinished { position, result } => self.execute(
                "INSERT OR REPLACE INTO gate
                     (attempt, position, phase, gate, status, reason, exit_code, duration_ms, output, output_bytes, output_cut)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    attempt,
                    position,
                    result.phase,
                    result.name,
                    result.status.as_str(),
                    result.reason,
                    result.exit_code,
                    count(result.duration_ms),
                    self.clean.store_output(self.connection)?,
                    count(result.output.total),
                    count(result.output.cut)
                ],
            ),
            EventKind::Tampered { path, how } => self.execute(
                "INSERT OR REPLACE INTO tampered (attempt, path, how) VALUES (?1, ?2, ?3)",
                params![attempt, path, how.as_str()],
            ),
            EventKind::Patched {
                files,
                added,
                removed,
                patch,
            } => self.execute(
                "UPDATE attempt SET patch_files = ?2, patch_added = ?3, patch_removed = ?4, patch = ?5, patch_bytes = ?6, patch_cut = ?7
                 WHERE id = ?1",
                params![
                    attempt,
                    count(*files),
                    count(*added),
                    count(*removed),
                    self.clean.store_output(self.connection)?,
                    count(patch.total),
                    count(patch.cut)
                ],
            ),
            EventKind::CaseFinished {
                outcome,
                reason,
                overrun,
                times,
            } => self.execute(
                "UPDATE attempt SET outcome = ?2, reason = ?3, overrun_kind = ?4, overrun_limit = ?5, overrun_used = ?6,
                     wall_ms = ?7, setup_ms = ?8, provider_ms = ?9, waiting_ms = ?10, tool_ms = ?11, gate_ms = ?12, finished_at = ?13
                 WHERE id = ?1",
                params![
                    attempt,
                    outcome.as_str(),
                    reason,
                    overrun.as_ref().map(|overrun| overrun.kind.as_str()),
                    overrun.as_ref().map(|overrun| &overrun.limit),
                    overrun.as_ref().map(|overrun| &overrun.used),
                    count(times.wall),
                    count(times.setup),
                    count(times.provider),
                    count(times.waiting),
                    count(times.tools),
                    count(times.gates),
                    self.event.at.as_millisecond()
                ],
            ),
            _ => Ok(()),
        }
    }

    fn write_call(&self, call: &ProviderCall) -> Result<(), Fault> {
        let usage = call.usage.as_ref();
        let failure = call.failure.as_ref();
        self.execute(
            "INSERT INTO call (event, call, provider_name, requested_model, served_model, fingerprint, prompt_tokens,
                 completion_tokens, total_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, server_tool_requests,
                 latency_ms, ttft_ms, queued_ms, finish_reason, failure, failure_status, failure_message, malformed_calls)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
            params![
                self.id,
                call.attempt,
                call.provider,
                call.requested_model,
                call.served_model,
                call.fingerprint,
                usage.map(|usage| count(usage.prompt_tokens)),
                usage.map(|usage| count(usage.completion_tokens)),
                usage.map(|usage| count(usage.total_tokens)),
                usage.map(|usage| count(usage.cache_read_tokens)),
                usage.map(|usage| count(usage.cache_write_tokens)),
                usage.map(|usage| count(usage.reasoning_tokens)),
                usage.map(|usage| count(usage.server_tool_requests)),
                count(call.latency_ms),
                call.ttft_ms.map(count),
                count(call.queued_ms),
                call.finish_reason,
                failure.map(|failure| failure.kind.as_str()),
                failure.and_then(|failure| failure.status),
                failure.map(|failure| &failure.message),
                call.malformed_calls
            ],
        )
    }

    fn write_tool(&self, position: i64) -> Result<(), Fault> {
        let EventKind::ToolCalled {
            call_id,
            name,
            target,
            ok,
            changed,
            decision,
            duration_ms,
        } = &self.event.kind
        else {
            return Ok(());
        };
        self.execute(
            "INSERT INTO tool (event, position, call_id, tool, target, ok, changed, decision, duration_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                self.id,
                position,
                call_id,
                name,
                target,
                ok,
                changed,
                decision,
                count(*duration_ms)
            ],
        )
    }

    fn execute(&self, sql: &str, values: impl rusqlite::Params) -> Result<(), Fault> {
        self.connection.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }
}
