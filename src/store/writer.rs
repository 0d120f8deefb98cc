//! The one thread that writes: it takes everything that waits and commits it together.

use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::StoreError;
use super::apply::{Fault, Request, apply};
use super::lease::Lease;

/// How many requests share one transaction at most: enough for any number of cases at once, and a bound on what a
/// rollback has to do again.
const GROUP_LIMIT: usize = 256;

/// How long closing waits for readers that are in the middle of something before it leaves the log to them.
const CLOSE_PATIENCE: Duration = Duration::from_secs(1);

type Answer = oneshot::Sender<Result<(), StoreError>>;

/// What the thread is sent.
#[derive(Debug)]
pub(super) enum Job {
    Write { request: Request, answer: Answer },
    Close { answer: Answer },
}

/// A transaction whose statements are not read anew each time. Dropped without [`commit`](Self::commit), it is rolled
/// back.
struct Transaction<'c>(&'c Connection);

impl<'c> Transaction<'c> {
    fn begin(connection: &'c Connection) -> rusqlite::Result<Self> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(Self(connection))
    }

    fn commit(self) -> rusqlite::Result<()> {
        self.0.prepare_cached("COMMIT")?.execute([]).map(drop)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // Where that fails, so does the next one to begin, which is told why.
            drop(self.0.execute_batch("ROLLBACK"));
        }
    }
}

/// The writing connection, in its own thread.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) lease: Lease,
    pub(super) path: PathBuf,
}

impl Writer {
    /// Serves until it is told to close or nobody is left who could ask.
    pub(super) fn serve(self, jobs: &Receiver<Job>) {
        let mut group = Vec::new();
        let mut closing = None;
        while closing.is_none() {
            let Ok(first) = jobs.recv() else { break };
            let mut next = Some(first);
            while let Some(job) = next {
                match job {
                    Job::Write { request, answer } => group.push((request, answer)),
                    Job::Close { answer } => {
                        closing = Some(answer);
                        break;
                    }
                }
                next = (group.len() < GROUP_LIMIT)
                    .then(|| jobs.try_recv().ok())
                    .flatten();
            }
            if group.is_empty() {
                continue;
            }
            let requests: Vec<&Request> = group.iter().map(|(request, _)| request).collect();
            let results = self.write_group(&requests);
            for ((_, answer), result) in group.drain(..).zip(results) {
                // Whoever asked may have been cancelled; what was asked is done all the same.
                drop(answer.send(result));
            }
        }
        let closed = self.close();
        if let Some(answer) = closing {
            drop(answer.send(closed));
        }
    }

    /// Applies all requests in one transaction. Where that fails, each gets a transaction of its own, so that one bad
    /// request costs its neighbours nothing but time.
    pub(super) fn write_group(&self, requests: &[&Request]) -> Vec<Result<(), StoreError>> {
        let together = self.write_together(requests);
        match &together {
            // Where somebody else writes, the wait would be the same for each.
            Ok(()) | Err(StoreError::Busy { .. }) => vec![together; requests.len()],
            Err(_) if requests.len() == 1 => vec![together],
            Err(_) => requests
                .iter()
                .map(|request| self.write_together(&[request]))
                .collect(),
        }
    }

    fn write_together(&self, requests: &[&Request]) -> Result<(), StoreError> {
        let path = &self.path;
        let database = |error| StoreError::of(path, &error);
        let transaction = Transaction::begin(&self.connection).map_err(database)?;
        if !self.lease.is_held(transaction.0).map_err(database)? {
            return Err(StoreError::Busy {
                path: path.clone(),
                holder: "another process, which took the trace over,".to_owned(),
            });
        }
        for request in requests {
            apply(transaction.0, request).map_err(|fault| match fault {
                Fault::Database(error) => StoreError::of(path, &error),
                Fault::Refused(error) => error,
                Fault::BatchExists => StoreError::BatchExists { path: path.clone() },
                Fault::NoBatch => StoreError::NoBatch { path: path.clone() },
            })?;
        }
        // Dropped without this, the transaction is rolled back.
        transaction.commit().map_err(database)
    }

    /// Gives the lease back and folds the log into the file, so that the trace is one file that reads anywhere.
    fn close(self) -> Result<(), StoreError> {
        let Self {
            connection,
            lease,
            path,
        } = self;
        let database = |error| StoreError::of(&path, &error);
        connection.flush_prepared_statement_cache();
        let released = lease.release(&connection);
        let folded = connection
            .busy_timeout(CLOSE_PATIENCE)
            .and_then(|()| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
        // A reader that holds the file open keeps the log in use; then the last one of all to close folds it in.
        let plain = connection
            .busy_timeout(Duration::ZERO)
            .and_then(|()| connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())));
        drop(plain);
        let ended = connection.close().map_err(|(_, error)| error);
        released.and(folded).and(ended).map_err(database)
    }
}
