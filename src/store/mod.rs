//! The trace: one SQLite file that holds a batch, its cases and their runs.
//!
//! Writing goes through one thread. A caller hands over what belongs together and waits; the thread takes everything that
//! waits, stores it in one transaction, and answers. What was answered survives the end of the process. Reading has
//! connections of its own and is never in the way.
//!
//! What others may read is the views of `views.sql`; the tables beneath are nobody's contract.

mod apply;
mod blob;
mod checkpoint;
mod clean;
mod error;
mod lease;
mod open;
mod os;
mod plan;
mod read;
mod records;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::oneshot;

pub use checkpoint::CHECKPOINT_FORMAT;
pub use error::StoreError;
pub use open::{SCHEMA_VERSION, check, open_read_only};
pub use records::{
    BatchStatus, CaseProgress, Commit, CurrentAttempt, RunRecord, StoredCheckpoint, StoredMessage,
    StoredRun, SuiteSpent, TraceInfo,
};

use crate::base::{Redactor, Timestamp};
use crate::domain::{BatchRecord, RunId};
use apply::Request;
use clean::Cleaner;
use open::{Durability, Opened};
use plan::CleanBatch;
use read::Reader;
use writer::{Job, Writer};

/// A trace that is open for writing. Clones write the same trace; when the last one goes, or one is closed, everything that
/// was handed over is stored and the trace is a single file. Dropping the last one waits for that.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    redactor: Redactor,
    next_run: AtomicI64,
    reader: Mutex<Option<Connection>>,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// Removed, where there is one, after the thread has ended.
    _folder: Option<TempDir>,
}

impl Store {
    /// Makes a new trace. Everything that is stored passes `redactor` first.
    ///
    /// # Errors
    /// Where something stands at `path` already, its folder is missing, or it cannot be written.
    pub fn create(path: &Path, redactor: Redactor) -> Result<Self, StoreError> {
        let opened = open::create(path, Durability::Normal)?;
        Self::start(path.to_path_buf(), redactor, opened, None)
    }

    /// Opens a trace to go on with it.
    ///
    /// # Errors
    /// Where there is none, the file is something else, a newer version wrote it, or another process is writing it.
    pub fn open(path: &Path, redactor: Redactor) -> Result<Self, StoreError> {
        let opened = open::open(path)?;
        Self::start(path.to_path_buf(), redactor, opened, None)
    }

    /// Makes a trace that is gone when the last handle is. It is a file all the same, so that [`open_read_only`] and every
    /// report work on its [`path`](Self::path).
    ///
    /// # Errors
    /// Where no temporary file can be made.
    pub fn memory() -> Result<Self, StoreError> {
        let folder = tempfile::tempdir().map_err(|error| StoreError::Io {
            path: PathBuf::from("temporary trace"),
            message: error.to_string(),
        })?;
        let path = folder.path().join("trace.db");
        let opened = open::create(&path, Durability::None)?;
        Self::start(path, Redactor::default(), opened, Some(folder))
    }

    fn start(
        path: PathBuf,
        redactor: Redactor,
        opened: Opened,
        folder: Option<TempDir>,
    ) -> Result<Self, StoreError> {
        let writer = Writer {
            connection: opened.connection,
            lease: opened.lease,
            path: path.clone(),
        };
        let (jobs, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("trace-writer".to_owned())
            .spawn(move || writer.serve(&receiver))
            .map_err(|error| StoreError::Io {
                path: path.clone(),
                message: format!("no thread could be started: {error}"),
            })?;
        Ok(Self {
            inner: Arc::new(Inner {
                path,
                redactor,
                next_run: AtomicI64::new(opened.last_run + 1),
                reader: Mutex::default(),
                jobs: Some(jobs),
                thread: Some(thread),
                _folder: folder,
            }),
        })
    }

    /// Where the trace is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Stores the plan. A trace holds one batch.
    ///
    /// # Errors
    /// Where there is a batch already, a case names a suite that is not in the batch, or the plan cannot be written.
    pub async fn begin_batch(&self, mut batch: BatchRecord) -> Result<(), StoreError> {
        let cases = batch.cases.iter_mut();
        let mut specs: Vec<_> = cases.map(|case| std::mem::take(&mut case.spec)).collect();
        self.begin_batch_with(batch, |case| std::mem::take(&mut specs[case]))
            .await
    }

    /// As [`begin_batch`](Self::begin_batch), with the spec of each case made when it is its turn instead of held by its
    /// record: `spec` is called once for each case, with its place in the batch.
    ///
    /// # Errors
    /// As [`begin_batch`](Self::begin_batch).
    pub async fn begin_batch_with(
        &self,
        batch: BatchRecord,
        spec: impl FnMut(usize) -> serde_json::Value,
    ) -> Result<(), StoreError> {
        let batch = CleanBatch::new(self.cleaner(), batch, spec);
        self.send(Request::Begin(Box::new(batch))).await
    }

    /// Marks the batch as running again, so that the time between its interruption and `at` does not count as its own.
    ///
    /// # Errors
    /// Where there is no batch, or the trace cannot be written.
    pub async fn resume_batch(&self, at: Timestamp) -> Result<(), StoreError> {
        self.send(Request::Resume { at }).await
    }

    /// Stores how the batch ended.
    ///
    /// # Errors
    /// Where there is no batch, or the trace cannot be written.
    pub async fn finish_batch(&self, status: BatchStatus, at: Timestamp) -> Result<(), StoreError> {
        self.send(Request::Finish { status, at }).await
    }

    /// A number that no run of this trace has.
    #[must_use]
    pub fn next_run_id(&self) -> RunId {
        RunId(self.inner.next_run.fetch_add(1, Ordering::Relaxed))
    }

    /// Stores a run's beginning; only then may it be spoken of.
    ///
    /// # Errors
    /// Where its number is taken, its case is not planned, or the trace cannot be written.
    pub async fn start_run(&self, run: RunRecord) -> Result<(), StoreError> {
        let run = self.cleaner().run(run);
        self.send(Request::Start(Box::new(run))).await
    }

    /// Stores everything in `commit`, or nothing of it.
    ///
    /// # Errors
    /// Where it speaks of a case that is not planned or a run that never began, or the trace cannot be written.
    pub async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        let commit = self.cleaner().commit(commit);
        if commit.is_empty() {
            return Ok(());
        }
        self.send(Request::Commit(commit)).await
    }

    /// Stores what was handed over before, and makes the trace a single file. Other handles get [`StoreError::Closed`]
    /// from now on, when they write.
    ///
    /// # Errors
    /// Where the trace was closed before, or something could not be written.
    pub async fn close(self) -> Result<(), StoreError> {
        // An open reader would keep the log in use.
        drop(lock(&self.inner.reader).take());
        self.ask(|answer| Job::Close { answer }).await
    }

    /// The plan as it was stored.
    ///
    /// # Errors
    /// Where there is no batch, or the trace cannot be read.
    pub fn batch(&self) -> Result<BatchRecord, StoreError> {
        self.read(|reader| reader.batch())
    }

    /// How far each planned case has come, in the order of the plan.
    ///
    /// # Errors
    /// Where the trace cannot be read.
    pub fn case_progress(&self) -> Result<Vec<CaseProgress>, StoreError> {
        self.read(|reader| reader.case_progress())
    }

    /// What each suite has used up, in the order of the suites.
    ///
    /// # Errors
    /// Where the trace cannot be read.
    pub fn spent(&self) -> Result<Vec<SuiteSpent>, StoreError> {
        self.read(|reader| reader.spent())
    }

    /// How many milliseconds the batch has been running up to `now`; the time between an interruption and its resume
    /// does not count.
    ///
    /// # Errors
    /// Where the trace cannot be read.
    pub fn active_ms(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.read(|reader| reader.active_ms(now.as_millisecond()))
    }

    /// Everything that was committed of a run.
    ///
    /// # Errors
    /// Where there is no such run, its state has another format than [`CHECKPOINT_FORMAT`], or the trace cannot be read.
    pub fn load_run(&self, run: RunId) -> Result<StoredRun, StoreError> {
        self.read(|reader| reader.run(run))
    }

    /// Lets the trace grow to `pages` pages of 4 KiB at most, so that a test can see a full disk.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    #[doc(hidden)]
    pub async fn limit_pages(&self, pages: u32) -> Result<(), StoreError> {
        self.send(Request::LimitPages(pages)).await
    }

    fn cleaner(&self) -> Cleaner<'_> {
        Cleaner(&self.inner.redactor)
    }

    async fn send(&self, request: Request) -> Result<(), StoreError> {
        self.ask(|answer| Job::Write { request, answer }).await
    }

    async fn ask(
        &self,
        job: impl FnOnce(oneshot::Sender<Result<(), StoreError>>) -> Job,
    ) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        let jobs = self.inner.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(job(answer)).map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    fn read<T>(
        &self,
        read: impl FnOnce(Reader<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut connection = lock(&self.inner.reader);
        let connection = match &mut *connection {
            Some(open) => open,
            empty => empty.insert(open_read_only(&self.inner.path)?),
        };
        read(Reader {
            connection,
            path: &self.inner.path,
        })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        drop(lock(&self.reader).take());
        // Nobody can ask any more: the thread stores what waits, closes the trace and ends.
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.inner.path)
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A reader that panicked has changed nothing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
