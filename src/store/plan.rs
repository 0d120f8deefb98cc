//! The batch at its beginning: what is planned, in rows.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::apply::{Fault, count, text};
use super::blob::Body;
use super::clean::Cleaner;
use super::{BatchStatus, StoreError};
use crate::base::Timestamp;
use crate::domain::{BatchRecord, CaseRecord, PriceRecord, SuiteRecord};

/// A batch, ready to be written.
#[derive(Debug)]
pub(super) struct CleanBatch {
    record: BatchRecord,
    options: String,
    sandbox: String,
    thresholds: Vec<String>,
    specs: Vec<Body>,
}

impl CleanBatch {
    /// Removes secrets from everything but names: they are what rows are found by. `spec` gives the spec of each case.
    pub(super) fn new(
        cleaner: Cleaner<'_>,
        mut record: BatchRecord,
        spec: impl FnMut(usize) -> serde_json::Value,
    ) -> Self {
        for suite in &mut record.suites {
            cleaner.text(&mut suite.description);
            for warning in &mut suite.warnings {
                cleaner.text(warning);
            }
        }
        for case in &mut record.cases {
            case.vars.values_mut().for_each(|value| cleaner.text(value));
            if let Some(skip) = &mut case.skip {
                cleaner.text(skip);
            }
        }
        Self {
            options: cleaner.json(std::mem::take(&mut record.options)),
            sandbox: cleaner.json(std::mem::take(&mut record.sandbox)),
            thresholds: record
                .suites
                .iter_mut()
                .map(|suite| cleaner.json(std::mem::take(&mut suite.thresholds)))
                .collect(),
            specs: (0..record.cases.len())
                .map(spec)
                .map(|spec| Body::new(cleaner.json(spec)))
                .collect(),
            record,
        }
    }
}

/// Writes the plan; there is one in a trace.
pub(super) fn begin(connection: &Connection, batch: &CleanBatch) -> Result<(), Fault> {
    let record = &batch.record;
    let inserted = connection.execute(
        "INSERT INTO batch (id, started_at, status, version, platform, options, sandbox)
         VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO NOTHING",
        params![
            record.started_at.as_millisecond(),
            BatchStatus::Running.as_str(),
            record.version,
            record.platform,
            batch.options,
            batch.sandbox,
        ],
    )?;
    if inserted == 0 {
        return Err(Fault::BatchExists);
    }
    let mut suites = BTreeMap::new();
    for (position, (suite, thresholds)) in record.suites.iter().zip(&batch.thresholds).enumerate() {
        insert_suite(connection, position, suite, thresholds)?;
        suites.insert(suite.name.as_str(), position);
    }
    for (position, (case, spec)) in record.cases.iter().zip(&batch.specs).enumerate() {
        let suite = suites.get(case.suite.as_str()).copied();
        let suite = suite.ok_or_else(|| StoreError::UnknownCase {
            case: case.id.clone(),
        })?;
        insert_case(connection, position, suite, case, spec)?;
    }
    insert_prices(connection, &record.prices)
}

fn insert_suite(
    connection: &Connection,
    position: usize,
    suite: &SuiteRecord,
    thresholds: &str,
) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT INTO suite (position, name, description, file, thresholds, warnings)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            count(position),
            suite.name,
            suite.description,
            suite.file,
            thresholds,
            text(&suite.warnings),
        ])?;
    Ok(())
}

fn insert_case(
    connection: &Connection,
    position: usize,
    suite: usize,
    case: &CaseRecord,
    spec: &Body,
) -> Result<(), Fault> {
    let spec = spec.store(connection)?;
    connection
        .prepare_cached(
            "INSERT INTO planned (position, id, suite, task, provider, model, vars, trial, tags, line, gates, digest, skip, spec)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            count(position),
            case.id.as_str(),
            count(suite),
            case.task,
            case.provider,
            case.model,
            text(&case.vars),
            case.trial,
            text(&case.tags),
            case.line,
            count(case.gates.len()),
            case.digest.as_str(),
            case.skip,
            spec,
        ])?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO planned_gate (planned, position, phase, phase_position, gate) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let mut phases: Vec<&str> = Vec::new();
    for (gate_position, (phase, gate)) in case.gates.iter().enumerate() {
        let known = phases.iter().position(|known| known == phase);
        let phase_position = known.unwrap_or_else(|| {
            phases.push(phase);
            phases.len() - 1
        });
        insert.execute(params![
            count(position),
            count(gate_position),
            phase,
            count(phase_position),
            gate
        ])?;
    }
    Ok(())
}

fn insert_prices(connection: &Connection, prices: &[PriceRecord]) -> Result<(), Fault> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO price (price_table, position, as_of, model, input, output, cache_read, cache_write, per_server_tool_request)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    let mut tables: Vec<&str> = Vec::new();
    for record in prices {
        let known = tables.iter().position(|known| *known == record.table);
        let position = known.unwrap_or_else(|| {
            tables.push(&record.table);
            tables.len() - 1
        });
        let price = &record.price;
        insert.execute(params![
            record.table,
            count(position),
            record.as_of,
            record.model,
            price.input.plain(),
            price.output.plain(),
            price.cache_read.map(crate::base::Money::plain),
            price.cache_write.map(crate::base::Money::plain),
            price.per_server_tool_request.map(crate::base::Money::plain),
        ])?;
    }
    Ok(())
}

/// Writes how the batch stands.
pub(super) fn finish(
    connection: &Connection,
    status: BatchStatus,
    at: Timestamp,
) -> Result<(), Fault> {
    let finished_at = (status != BatchStatus::Running).then(|| at.as_millisecond());
    let changed = connection.execute(
        "UPDATE batch SET status = ?1, finished_at = ?2 WHERE id = 1",
        params![status.as_str(), finished_at],
    )?;
    if changed == 0 {
        return Err(Fault::NoBatch);
    }
    Ok(())
}

/// Marks the batch as running again. The time since its end, or since its last sign of life, is not time that it took.
pub(super) fn resume(connection: &Connection, at: Timestamp) -> Result<(), Fault> {
    let changed = connection.execute(
        "UPDATE batch SET
             idle_ms = idle_ms + max(0, ?1 - coalesce(
                 finished_at,
                 max(started_at, (SELECT at FROM event ORDER BY id DESC LIMIT 1)),
                 started_at
             )),
             status = ?2,
             finished_at = NULL
         WHERE id = 1",
        params![at.as_millisecond(), BatchStatus::Running.as_str()],
    )?;
    if changed == 0 {
        return Err(Fault::NoBatch);
    }
    Ok(())
}
