//! A run, to go on with it.

use rusqlite::OptionalExtension as _;
use serde_json::Value;

use super::Reader;
use crate::domain::{Message, RunId};
use crate::store::checkpoint::require_format;
use crate::store::{StoreError, StoredCheckpoint, StoredRun};

impl Reader<'_> {
    /// Everything that was committed of a run. A snapshot: no commit falls between its parts.
    pub(in crate::store) fn run(self, run: RunId) -> Result<StoredRun, StoreError> {
        let snapshot = self
            .connection
            .unchecked_transaction()
            .map_err(|error| self.database(&error))?;
        let (provider, model, outcome, contract, policy) = snapshot
            .prepare_cached(
                "SELECT provider, model, outcome,
                     CASE typeof(contract) WHEN 'integer' THEN (SELECT body FROM blob WHERE id = contract) ELSE contract END,
                     CASE typeof(policy) WHEN 'integer' THEN (SELECT body FROM blob WHERE id = policy) ELSE policy END
                 FROM run WHERE id = ?1",
            )
            .and_then(|mut statement| {
                statement
                    .query_row([run.0], |row| {
                        Ok((
                            row.get(0)?,
                            row.get(1)?,
                            row.get(2)?,
                            row.get::<_, String>(3)?,
                            row.get::<_, String>(4)?,
                        ))
                    })
                    .optional()
            })
            .map_err(|error| self.database(&error))?
            .ok_or(StoreError::UnknownRun { run })?;
        Ok(StoredRun {
            run_id: run,
            contract: self.json::<Value>("contract", &contract)?,
            policy: self.json::<Value>("policy", &policy)?,
            provider,
            model,
            outcome,
            checkpoint: self.checkpoint(run)?,
            messages: self.messages(run)?,
            usage: self.usage_of(run)?,
        })
    }

    fn checkpoint(self, run: RunId) -> Result<Option<StoredCheckpoint>, StoreError> {
        let stored = self
            .connection
            .prepare_cached("SELECT format, step, state FROM checkpoint WHERE run = ?1")
            .and_then(|mut statement| {
                statement
                    .query_row([run.0], |row| {
                        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get(2)?))
                    })
                    .optional()
            })
            .map_err(|error| self.database(&error))?;
        let Some((format, step, state)) = stored else {
            return Ok(None);
        };
        let format = self.number("checkpoint format", format)?;
        require_format(run, format)?;
        Ok(Some(StoredCheckpoint {
            run_id: run,
            format,
            step: self.number("step", step)?,
            state,
        }))
    }

    fn messages(self, run: RunId) -> Result<Vec<Message>, StoreError> {
        let bodies: Vec<String> = self
            .connection
            .prepare_cached(
                "SELECT CASE typeof(body) WHEN 'integer' THEN (SELECT b.body FROM blob b WHERE b.id = m.body) ELSE body END
                 FROM message m WHERE run = ?1 ORDER BY position",
            )
            .and_then(|mut statement| {
                statement.query_map([run.0], |row| row.get(0))?.collect()
            })
            .map_err(|error| self.database(&error))?;
        bodies
            .iter()
            .map(|body| self.json("message", body))
            .collect()
    }
}
