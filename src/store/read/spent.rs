//! What a batch has used up, for ceilings and times that hold over a resume.

use rusqlite::Row;

use super::Reader;
use crate::domain::{CaseTimes, RunId, Usage};
use crate::store::{StoreError, SuiteSpent};

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

const USAGE_OF_RUN: &str = "
    SELECT coalesce(c.served_model, c.requested_model), NULL,
           sum(c.prompt_tokens), sum(c.completion_tokens), sum(c.total_tokens), sum(c.cache_read_tokens),
           sum(c.cache_write_tokens), sum(c.reasoning_tokens), sum(c.server_tool_requests)
    FROM event e JOIN call c ON c.event = e.id
    WHERE e.run = ?1 AND c.total_tokens IS NOT NULL
    GROUP BY 1 ORDER BY 1";

impl Reader<'_> {
    /// What all calls of a run used, by model.
    pub(super) fn usage_of(self, run: RunId) -> Result<Vec<(String, Usage)>, StoreError> {
        self.connection
            .prepare_cached(USAGE_OF_RUN)
            .and_then(|mut statement| {
                statement
                    .query_map([run.0], |row| Ok((row.get(0)?, usage(row)?)))?
                    .collect()
            })
            .map_err(|error| self.database(&error))
    }

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

    /// What each suite of the batch has used, in the order of the suites.
    pub(in crate::store) fn spent(self) -> Result<Vec<SuiteSpent>, StoreError> {
        let mut suites = self.rows(
            "SELECT s.name, min(a.started_at) - (SELECT started_at FROM batch WHERE id = 1)
             FROM suite s
             LEFT JOIN planned c ON c.suite = s.position
             LEFT JOIN attempt a ON a.planned = c.position AND a.workspace IS NOT NULL
             GROUP BY s.position ORDER BY s.position",
            |row| {
                Ok(SuiteSpent {
                    suite: row.get(0)?,
                    began_after_ms: row
                        .get::<_, Option<i64>>(1)?
                        .map(|after| after.max(0).unsigned_abs()),
                    calls: Vec::new(),
                })
            },
        )?;
        let calls = self.rows(
            "SELECT suite, coalesce(served_model, requested_model), sum(prompt_tokens), sum(completion_tokens),
                 sum(total_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(reasoning_tokens),
                 sum(server_tool_requests)
             FROM v_call WHERE reported = 1 AND suite IS NOT NULL GROUP BY 1, 2",
            |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, usage(row)?))
            },
        )?;
        for (suite, model, usage) in calls {
            let known = suites.iter_mut().find(|known| known.suite == suite);
            if let Some(known) = known {
                known.calls.push((model, usage));
            }
        }
        Ok(suites)
    }

    /// How long the batch has been running up to `now`, the time between an interruption and its resume apart.
    pub(in crate::store) fn active_ms(self, now: i64) -> Result<u64, StoreError> {
        let active: Vec<i64> = self.rows(
            "SELECT started_at + idle_ms FROM batch WHERE id = 1",
            |row| row.get(0),
        )?;
        let since = active.first().copied().unwrap_or(now);
        Ok(now.saturating_sub(since).max(0).unsigned_abs())
    }
}

/// Sums of counts in the columns from the third on.
fn usage(row: &Row<'_>) -> rusqlite::Result<Usage> {
    Ok(Usage {
        prompt_tokens: count(row, 2)?,
        completion_tokens: count(row, 3)?,
        total_tokens: count(row, 4)?,
        cache_read_tokens: count(row, 5)?,
        cache_write_tokens: count(row, 6)?,
        reasoning_tokens: count(row, 7)?,
        server_tool_requests: count(row, 8)?,
    })
}

/// A sum of counts, none of which is negative.
fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.unsigned_abs())
}
