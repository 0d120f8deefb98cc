//! The plan, as it was when the batch began.

use rusqlite::{OptionalExtension as _, Row};
use serde_json::Value;

use super::Reader;
use crate::domain::{BatchRecord, CaseId, CaseRecord, Price, PriceRecord, SuiteRecord};
use crate::store::StoreError;

impl Reader<'_> {
    /// The batch's record; times are kept to the millisecond.
    pub(in crate::store) fn batch(self) -> Result<BatchRecord, StoreError> {
        let row = self
            .connection
            .query_row(
                "SELECT started_at, version, platform, options, sandbox FROM batch WHERE id = 1",
                [],
                |row| {
                    Ok((
                        row.get::<_, i64>(0)?,
                        row.get(1)?,
                        row.get(2)?,
                        row.get::<_, String>(3)?,
                        row.get::<_, String>(4)?,
                    ))
                },
            )
            .optional()
            .map_err(|error| self.database(&error))?;
        let (started_at, version, platform, options, sandbox) =
            row.ok_or_else(|| StoreError::NoBatch {
                path: self.path.to_path_buf(),
            })?;
        Ok(BatchRecord {
            started_at: self.time(started_at)?,
            version,
            platform,
            options: self.json("options", &options)?,
            suites: self.suites()?,
            cases: self.cases()?,
            prices: self.prices()?,
            sandbox: self.json("sandbox", &sandbox)?,
        })
    }

    fn suites(self) -> Result<Vec<SuiteRecord>, StoreError> {
        self.rows(
            "SELECT name, description, file, thresholds, warnings FROM suite ORDER BY position",
            |row| {
                Ok((
                    SuiteRecord {
                        name: row.get(0)?,
                        description: row.get(1)?,
                        file: row.get(2)?,
                        thresholds: Value::Null,
                        warnings: Vec::new(),
                    },
                    [row.get::<_, String>(3)?, row.get(4)?],
                ))
            },
        )?
        .into_iter()
        .map(|(mut suite, [thresholds, warnings])| {
            suite.thresholds = self.json("thresholds", &thresholds)?;
            suite.warnings = self.json("warnings", &warnings)?;
            Ok(suite)
        })
        .collect()
    }

    fn cases(self) -> Result<Vec<CaseRecord>, StoreError> {
        let mut gates = self
            .rows(
                "SELECT planned, phase, gate FROM planned_gate ORDER BY planned, position",
                |row| Ok((row.get::<_, i64>(0)?, (row.get(1)?, row.get(2)?))),
            )?
            .into_iter()
            .peekable();
        self.rows(
            "SELECT c.position, c.id, s.name, c.task, c.provider, c.model, c.vars, c.trial, c.tags, c.line, c.digest, c.skip,
                 CASE typeof(c.spec) WHEN 'integer' THEN (SELECT body FROM blob WHERE id = c.spec) ELSE c.spec END
             FROM planned c JOIN suite s ON s.position = c.suite ORDER BY c.position",
            |row| {
                let digest: String = row.get(10)?;
                Ok((
                    row.get::<_, i64>(0)?,
                    Stored {
                        id: row.get(1)?,
                        suite: row.get(2)?,
                        task: row.get(3)?,
                        provider: row.get(4)?,
                        model: row.get(5)?,
                        vars: row.get(6)?,
                        trial: row.get(7)?,
                        tags: row.get(8)?,
                        line: row.get(9)?,
                        digest,
                        skip: row.get(11)?,
                        spec: row.get(12)?,
                    },
                ))
            },
        )?
        .into_iter()
        .map(|(position, stored)| {
            let mut case = self.case(stored)?;
            while let Some((_, gate)) = gates.next_if(|(planned, _)| *planned == position) {
                case.gates.push(gate);
            }
            Ok(case)
        })
        .collect()
    }

    fn case(self, stored: Stored) -> Result<CaseRecord, StoreError> {
        Ok(CaseRecord {
            id: CaseId::from_text(&stored.id),
            suite: stored.suite,
            task: stored.task,
            provider: stored.provider,
            model: stored.model,
            vars: self.json("vars", &stored.vars)?,
            trial: self.number("trial", stored.trial)?,
            tags: self.json("tags", &stored.tags)?,
            line: self.number("line", stored.line)?,
            gates: Vec::new(),
            spec: self.json("spec", &stored.spec)?,
            digest: self.json("digest", &format!("\"{}\"", stored.digest))?,
            skip: stored.skip,
        })
    }

    fn prices(self) -> Result<Vec<PriceRecord>, StoreError> {
        self.rows(
            "SELECT price_table, as_of, model, input, output, cache_read, cache_write, per_server_tool_request
             FROM price ORDER BY id",
            |row| {
                Ok((
                    [row.get::<_, String>(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?],
                    [row.get::<_, Option<String>>(5)?, row.get(6)?, row.get(7)?],
                ))
            },
        )?
        .into_iter()
        .map(|([table, as_of, model, input, output], [cache_read, cache_write, per_request])| {
            let money = |text: &str| {
                text.parse()
                    .map_err(|error| StoreError::damaged(self.path, format_args!("price `{text}`: {error}")))
            };
            let optional = |text: Option<String>| text.map(|text| money(&text)).transpose();
            Ok(PriceRecord {
                table,
                as_of,
                model,
                price: Price {
                    input: money(&input)?,
                    output: money(&output)?,
                    cache_read: optional(cache_read)?,
                    cache_write: optional(cache_write)?,
                    per_server_tool_request: optional(per_request)?,
                },
            })
        })
        .collect()
    }

    pub(super) fn rows<T>(
        self,
        sql: &str,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map([], read)?.collect())
            .map_err(|error| self.database(&error))
    }
}

/// A case with its JSON and its numbers as they are stored.
struct Stored {
    id: String,
    suite: String,
    task: String,
    provider: String,
    model: String,
    vars: String,
    trial: i64,
    tags: String,
    line: i64,
    digest: String,
    skip: Option<String>,
    spec: String,
}
