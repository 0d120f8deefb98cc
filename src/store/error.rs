//! What can go wrong with a trace.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rusqlite::ffi;

use crate::domain::{CaseId, RunId};

/// Why a trace could not be opened, read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such file, or for a new trace no such folder.
    #[error("{}: there is no such {what}", path.display())]
    Missing {
        /// What was looked for.
        path: PathBuf,
        /// `trace` or `folder`.
        what: &'static str,
    },
    /// A new trace was asked for where one stands already.
    #[error("{}: there is a trace already: resume it, or name another file", path.display())]
    Exists {
        /// The trace.
        path: PathBuf,
    },
    /// The file is something else; it was left as it is.
    #[error("{}: this is not a trace: {reason}", path.display())]
    NotATrace {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        reason: &'static str,
    },
    /// A newer version of this program wrote the trace.
    #[error("{}: the trace has format {found} and this program reads up to {supported}: use the version that wrote it, or a newer one", path.display())]
    Newer {
        /// The trace.
        path: PathBuf,
        /// The trace's format.
        found: u32,
        /// The newest format that is understood.
        supported: u32,
    },
    /// An older version of this program wrote the trace, and it was to be read without changing it.
    #[error("{}: the trace has format {found} and this program reads {supported}: resume it once to bring it up to date", path.display())]
    Older {
        /// The trace.
        path: PathBuf,
        /// The trace's format.
        found: u32,
        /// The format that is read.
        supported: u32,
    },
    /// Somebody else writes the trace.
    #[error("{}: {holder} is writing this trace: wait for it, or end it", path.display())]
    Busy {
        /// The trace.
        path: PathBuf,
        /// Who: a process and a host.
        holder: String,
    },
    /// The disk, a quota or a size limit leaves no room. Everything that was acknowledged before is safe.
    #[error("{}: no room to write on: free some space and resume the trace", path.display())]
    Full {
        /// The trace.
        path: PathBuf,
    },
    /// The file or its folder must not be written.
    #[error("{}: the trace cannot be written: check the permissions of the file and its folder", path.display())]
    ReadOnly {
        /// The trace.
        path: PathBuf,
    },
    /// Steps that were committed stand in a second file which cannot be read where it is.
    #[error("{}: a part of the trace stands in the `-wal` file beside it, which cannot be read in a folder that must not be written: copy both files elsewhere", path.display())]
    UnreadableLog {
        /// The trace.
        path: PathBuf,
    },
    /// The operating system could not read or write the file.
    #[error("{}: {message}", path.display())]
    Io {
        /// The trace.
        path: PathBuf,
        /// What it said.
        message: String,
    },
    /// The database could not do what it was asked.
    #[error("{}: {message}", path.display())]
    Database {
        /// The trace.
        path: PathBuf,
        /// What it said.
        message: String,
    },
    /// A stored value cannot be what this program wrote.
    #[error("{}: the trace is damaged: {what}", path.display())]
    Damaged {
        /// The trace.
        path: PathBuf,
        /// Which value, and what is wrong with it.
        what: String,
    },
    /// A run's state was stored by a version with another idea of it.
    #[error(
        "{run}: its state has format {found} and this program goes on from format {supported}: resume it with the version that wrote it"
    )]
    CheckpointFormat {
        /// The run.
        run: RunId,
        /// The format of the state.
        found: u32,
        /// The only format that is understood.
        supported: u32,
    },
    /// The trace holds no batch.
    #[error("{}: the trace holds no batch", path.display())]
    NoBatch {
        /// The trace.
        path: PathBuf,
    },
    /// The trace holds a batch, and a second one was to begin.
    #[error("{}: the trace holds a batch already", path.display())]
    BatchExists {
        /// The trace.
        path: PathBuf,
    },
    /// A record names a case that is not in the plan.
    #[error("`{case}` is no case of this trace")]
    UnknownCase {
        /// The case.
        case: CaseId,
    },
    /// A record or a question names a run that never began.
    #[error("{run} is not in this trace")]
    UnknownRun {
        /// The run.
        run: RunId,
    },
    /// The trace was closed before.
    #[error("the trace is closed")]
    Closed,
}

impl StoreError {
    /// Says what an error of the database means for the trace at `path`.
    pub(super) fn of(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        let rusqlite::Error::SqliteFailure(failure, _) = error else {
            return Self::Database {
                path,
                message: error.to_string(),
            };
        };
        match failure.code {
            ErrorCode::DiskFull => Self::Full { path },
            // A quota shows as a failed write, a full disk under the log's index as a failed resize.
            ErrorCode::SystemIoFailure
                if matches!(
                    failure.extended_code,
                    ffi::SQLITE_IOERR_WRITE
                        | ffi::SQLITE_IOERR_FSYNC
                        | ffi::SQLITE_IOERR_DIR_FSYNC
                        | ffi::SQLITE_IOERR_TRUNCATE
                        | ffi::SQLITE_IOERR_SHMSIZE
                ) =>
            {
                Self::Full { path }
            }
            ErrorCode::SystemIoFailure | ErrorCode::CannotOpen => Self::Io {
                path,
                message: error.to_string(),
            },
            ErrorCode::NotADatabase => Self::NotATrace {
                path,
                reason: "the file is no database",
            },
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied => Self::ReadOnly { path },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy {
                path,
                holder: "another program".to_owned(),
            },
            ErrorCode::DatabaseCorrupt => Self::Damaged {
                path,
                what: error.to_string(),
            },
            _ => Self::Database {
                path,
                message: error.to_string(),
            },
        }
    }

    /// A stored value that cannot be read back.
    pub(super) fn damaged(path: &Path, what: impl std::fmt::Display) -> Self {
        Self::Damaged {
            path: path.to_path_buf(),
            what: what.to_string(),
        }
    }
}
