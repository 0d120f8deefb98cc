//! How far the cases have come.

use super::Reader;
use crate::domain::{CaseId, CaseOutcome, RunId};
use crate::store::{CaseProgress, CurrentAttempt, StoreError};

/// What is stored of a case's last attempt.
struct Last {
    id: i64,
    fixture: Option<String>,
    attempt: i64,
    outcome: Option<String>,
    workspace: Option<String>,
    started_at: i64,
    run: Option<(i64, bool)>,
}

impl Reader<'_> {
    /// Every planned case, in the order of the plan.
    pub(in crate::store) fn case_progress(self) -> Result<Vec<CaseProgress>, StoreError> {
        self.rows(
            "SELECT c.id, c.skip, a.attempt, a.outcome, a.workspace, a.started_at, r.id, r.outcome IS NOT NULL, a.id, a.workspace_digest
             FROM planned c
             LEFT JOIN attempt a ON a.id = c.last_attempt
             LEFT JOIN run r ON r.id = (SELECT max(id) FROM run WHERE attempt = a.id)
             ORDER BY c.position",
            |row| {
                let last = match row.get(2)? {
                    Some(attempt) => Some(Last {
                        id: row.get(8)?,
                        fixture: row.get(9)?,
                        attempt,
                        outcome: row.get(3)?,
                        workspace: row.get(4)?,
                        started_at: row.get(5)?,
                        run: match row.get(6)? {
                            Some(run) => Some((run, row.get(7)?)),
                            None => None,
                        },
                    }),
                    None => None,
                };
                Ok((row.get::<_, String>(0)?, row.get(1)?, last))
            },
        )?
        .into_iter()
        .map(|(id, skip, last)| self.progress(&id, skip, last))
        .collect()
    }

    fn progress(
        self,
        id: &str,
        skip: Option<String>,
        last: Option<Last>,
    ) -> Result<CaseProgress, StoreError> {
        let mut progress = CaseProgress {
            id: CaseId::from_text(id),
            skip,
            outcome: None,
            attempts: 0,
            current: None,
        };
        let Some(last) = last else {
            return Ok(progress);
        };
        progress.attempts = self.number("attempt", last.attempt)?;
        if let Some(outcome) = last.outcome {
            let known = CaseOutcome::parse(&outcome).ok_or_else(|| {
                StoreError::damaged(self.path, format_args!("outcome `{outcome}`"))
            })?;
            progress.outcome = Some(known);
        } else {
            progress.current = Some(CurrentAttempt {
                attempt: progress.attempts,
                workspace: last.workspace,
                run: last.run.map(|(run, ended)| (RunId(run), ended)),
                started_at: self.time(last.started_at)?,
                fixture: last.fixture,
                times: self.times(last.id)?,
            });
        }
        Ok(progress)
    }
}
