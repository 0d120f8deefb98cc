//! What was used before a batch is gone on with.

use std::time::Duration;

use rusqlite::{OptionalExtension as _, Row};

use super::Reader;
use crate::base::Timestamp;
use crate::domain::{CaseTimes, Usage};
use crate::store::{BatchSpent, StoreError};

/// Sums over one unfinished attempt.
const TIMES: &str = "
    SELECT
        (SELECT coalesce(sum(duration_ms), 0) FROM setup WHERE attempt = ?1),
        (SELECT coalesce(sum(c.latency_ms), 0) FROM event e JOIN call c ON c.event = e.id
         WHERE e.planned = a.planned AND e.attempt = ?1),
        (SELECT coalesce(sum(c.queued_ms), 0) FROM event e JOIN call c ON c.event = e.id
         WHERE e.planned = a.planned AND e.attempt = ?1)
        + (SELECT coalesce(sum(e.detail ->> 'delay_ms'), 0) FROM event e
           WHERE e.planned = a.planned AND e.attempt = ?1 AND e.kind = 'retry'),
        (SELECT coalesce(sum(t.duration_ms), 0) FROM event e JOIN tool t ON t.event = e.id
         WHERE e.planned = a.planned AND e.attempt = ?1)
    FROM attempt a WHERE a.id = ?1";

const USAGE: &str = "
    SELECT s.name, coalesce(c.served_model, c.requested_model),
           sum(c.prompt_tokens), sum(c.completion_tokens), sum(c.total_tokens), sum(c.cache_read_tokens),
           sum(c.cache_write_tokens), sum(c.reasoning_tokens), sum(c.server_tool_requests)
    FROM call c
    JOIN event e ON e.id = c.event
    JOIN planned p ON p.position = e.planned
    JOIN suite s ON s.position = p.suite
    WHERE c.total_tokens IS NOT NULL
    GROUP BY 1, 2
    ORDER BY 1, 2";

impl Reader<'_> {
    /// Where the time of an attempt went so far, as its rows say.
    pub(super) fn times(self, attempt: i64) -> Result<CaseTimes, StoreError> {
        let read = |row: &Row<'_>| {
            let [setup, provider, waiting, tools] = [0, 1, 2, 3].map(|column| count(row, column));
            let (setup, provider, waiting, tools) = (setup?, provider?, waiting?, tools?);
            let wall = setup + provider + waiting + tools;
            Ok(CaseTimes {
                wall,
                setup,
                provider,
                waiting,
                tools,
                gates: 0,
            })
        };
        self.connection
            .prepare_cached(TIMES)
            .and_then(|mut statement| statement.query_row([attempt], read))
            .map_err(|error| self.database(&error))
    }

    /// What the batch had used at `at`.
    pub(in crate::store) fn spent(self, at: Timestamp) -> Result<BatchSpent, StoreError> {
        let began = self
            .connection
            .query_row("SELECT started_at + idle_ms FROM batch", [], |row| {
                row.get::<_, i64>(0)
            })
            .optional()
            .map_err(|error| self.database(&error))?;
        let active = began.map_or(0, |began| at.as_millisecond().saturating_sub(began));
        let usage = self.rows(USAGE, |row| {
            let usage = Usage {
                prompt_tokens: count(row, 2)?,
                completion_tokens: count(row, 3)?,
                total_tokens: count(row, 4)?,
                cache_read_tokens: count(row, 5)?,
                cache_write_tokens: count(row, 6)?,
                reasoning_tokens: count(row, 7)?,
                server_tool_requests: count(row, 8)?,
            };
            Ok((row.get(0)?, row.get(1)?, usage))
        })?;
        Ok(BatchSpent {
            active: Duration::from_millis(u64::try_from(active).unwrap_or(0)),
            usage,
        })
    }
}

/// A sum of counts, none of which is negative.
fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.unsigned_abs())
}
