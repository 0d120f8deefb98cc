//! Finding out whether a file is a trace, and opening it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, TransactionBehavior};

use super::lease::{self, Lease};
use super::{StoreError, TraceInfo};
use crate::base::sha256;

/// Marks a file as a trace: the letters `TGTR`.
const APPLICATION_ID: i64 = 0x5447_5452;

/// What turns an empty file into a trace of today, step by step: each brings the format up by one.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001.sql")];

/// The format of traces that this program writes, and the newest that it reads.
#[expect(clippy::cast_possible_truncation, reason = "a handful of migrations")]
pub const SCHEMA_VERSION: u32 = MIGRATIONS.len() as u32;

/// The public views.
const VIEWS: &str = include_str!("views.sql");

/// How long one connection waits for another that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection that may write, and the right to.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) lease: Lease,
    /// The greatest run number in use.
    pub(super) last_run: i64,
}

/// How much a crash of the machine may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// A crash of the program costs nothing; one of the machine the last moments.
    Normal,
    /// The file does not outlive the program anyway.
    None,
}

/// Says what the file at `path` is, without changing it.
///
/// # Errors
/// Where there is no file, it is no trace, or a newer version of this program wrote it.
pub fn check(path: &Path) -> Result<TraceInfo, StoreError> {
    let connection = open_plain(path)?;
    let version = read_version(&connection, path)?;
    let holder = if version == 0 {
        None
    } else {
        lease::holder(&connection).map_err(|error| StoreError::of(path, &error))?
    };
    Ok(TraceInfo { version, holder })
}

/// Opens a trace for reading, also while it is being written and on media that cannot be written.
///
/// The views are this program's own, whatever views the file holds: they are made as temporary views of the connection.
/// `query_only` is set; to make temporary views of your own, unset it and set it again.
///
/// # Errors
/// Where there is no file, it is no trace, or its format is not the one that this program reads.
pub fn open_read_only(path: &Path) -> Result<Connection, StoreError> {
    let connection = open_plain(path)?;
    let version = read_version(&connection, path)?;
    if version < SCHEMA_VERSION {
        return Err(StoreError::Older {
            path: path.to_path_buf(),
            found: version,
            supported: SCHEMA_VERSION,
        });
    }
    connection
        .execute_batch("PRAGMA temp_store = MEMORY")
        .and_then(|()| {
            connection.execute_batch(&VIEWS.replace("CREATE VIEW ", "CREATE TEMP VIEW "))
        })
        .and_then(|()| connection.pragma_update(None, "query_only", true))
        .map_err(|error| StoreError::of(path, &error))?;
    Ok(connection)
}

/// Makes a new trace.
pub(super) fn create(path: &Path, durability: Durability) -> Result<Opened, StoreError> {
    if path.exists() {
        return Err(match check(path) {
            Ok(_) | Err(StoreError::Newer { .. }) => StoreError::Exists {
                path: path.to_path_buf(),
            },
            Err(error) => error,
        });
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    if let Some(folder) = folder
        && !folder.is_dir()
    {
        return Err(StoreError::Missing {
            path: folder.to_path_buf(),
            what: "folder",
        });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)
        .and_then(harden)
        .map_err(|error| StoreError::of(path, &error))?;
    claim(&mut connection, path)?;
    open_writing(connection, path, durability)
}

/// Marks an empty file as a trace, unless somebody else was quicker.
fn claim(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let database = |error| StoreError::of(path, &error);
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(database)?;
    let marked: i64 = transaction
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .map_err(database)?;
    if marked != 0 {
        return Err(StoreError::Exists {
            path: path.to_path_buf(),
        });
    }
    transaction
        .pragma_update(None, "application_id", APPLICATION_ID)
        .map_err(database)?;
    transaction.commit().map_err(database)
}

/// Opens a trace to go on with it.
pub(super) fn open(path: &Path) -> Result<Opened, StoreError> {
    require_file(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)
        .and_then(harden)
        .map_err(|error| StoreError::of(path, &error))?;
    read_version(&connection, path)?;
    open_writing(connection, path, Durability::Normal)
}

/// Takes the lease, brings the tables and views up to date, and switches to the log.
fn open_writing(
    mut connection: Connection,
    path: &Path,
    durability: Durability,
) -> Result<Opened, StoreError> {
    let database = |error| StoreError::of(path, &error);
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(database)?;
    let mut version = read_version(&transaction, path)?;
    // The lease has a table from the first format on.
    if version == 0 {
        migrate(&transaction, 0, 1).map_err(database)?;
        version = 1;
    }
    let lease = Lease::take(&transaction, path)?;
    migrate(&transaction, version, SCHEMA_VERSION).map_err(database)?;
    refresh_views(&transaction).map_err(database)?;
    transaction.commit().map_err(database)?;
    let settled = settle(&connection, durability).and_then(|()| {
        connection.query_row("SELECT coalesce(max(id), 0) FROM run", [], |row| row.get(0))
    });
    match settled {
        Ok(last_run) => Ok(Opened {
            connection,
            lease,
            last_run,
        }),
        Err(error) => {
            // The next one to come must not wait for a writer that never was.
            drop(lease.release(&connection));
            Err(database(error))
        }
    }
}

fn migrate(connection: &Connection, from: u32, to: u32) -> rusqlite::Result<()> {
    for version in from..to {
        connection.execute_batch(MIGRATIONS[version as usize])?;
        connection.pragma_update(None, "user_version", version + 1)?;
    }
    Ok(())
}

/// Makes the views again where the file has those of another version of this program.
fn refresh_views(connection: &Connection) -> rusqlite::Result<()> {
    let ours = sha256(VIEWS);
    let theirs: Option<String> = connection
        .query_row("SELECT value FROM meta WHERE key = 'views'", [], |row| {
            row.get(0)
        })
        .optional()?;
    if theirs.as_deref() == Some(ours.as_str()) {
        return Ok(());
    }
    let names: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'view'")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for name in names {
        connection.execute_batch(&format!("DROP VIEW \"{}\"", name.replace('"', "\"\"")))?;
    }
    connection.execute_batch(VIEWS)?;
    connection.execute(
        "INSERT OR REPLACE INTO meta (key, value) VALUES ('views', ?1)",
        [ours.as_str()],
    )?;
    Ok(())
}

/// How the writing connection works from now on.
fn settle(connection: &Connection, durability: Durability) -> rusqlite::Result<()> {
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    let synchronous = match durability {
        Durability::None => "OFF",
        Durability::Normal if mode == "wal" => "NORMAL",
        // A file system that cannot share memory keeps the rollback journal, which needs every flush.
        Durability::Normal => "FULL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    // 16 MiB of pages, and a log as large: a step's pages are seldom read back from the disk.
    connection.pragma_update(None, "cache_size", -16_384)?;
    connection.query_row("PRAGMA wal_autocheckpoint = 4096", [], |_| Ok(()))?;
    connection.set_prepared_statement_cache_capacity(64);
    // A statement is planned once, not anew for each value that it is given.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// What holds for every connection: patience, and no code that a file brings along.
fn harden(connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // References are looked up where rows are made; checking each again would double the work of a commit.
    connection.pragma_update(None, "foreign_keys", false)?;
    Ok(connection)
}

/// Opens a file for reading as it is.
fn open_plain(path: &Path) -> Result<Connection, StoreError> {
    require_file(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags)
        .and_then(harden)
        .and_then(|connection| {
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
            Ok(connection)
        });
    match opened {
        Ok(connection) => Ok(connection),
        Err(error) if cannot_log(&error) => open_immutable(path),
        Err(error) => Err(StoreError::of(path, &error)),
    }
}

/// Whether the database asks for files beside the trace that cannot be made there.
fn cannot_log(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly)
    )
}

/// Opens a file that nobody can write, so that no lock and no log is needed. What stands in a log is not seen this way, so
/// that there must be none.
pub(super) fn open_immutable(path: &Path) -> Result<Connection, StoreError> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if std::fs::metadata(PathBuf::from(log)).is_ok_and(|log| log.len() > 0) {
        return Err(StoreError::UnreadableLog {
            path: path.to_path_buf(),
        });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("{}?immutable=1", uri(path)), flags)
        .and_then(harden)
        .map_err(|error| StoreError::of(path, &error))
}

/// The path as a `file:` address.
fn uri(path: &Path) -> String {
    use std::fmt::Write as _;
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_separator = |byte: &u8| std::path::is_separator(char::from(*byte));
    let mut uri = "file:".to_owned();
    // What follows two slashes would be read as a host, and so would a drive's letter.
    if bytes.len() > 1 && bytes.iter().take(2).all(is_separator) {
        uri.push_str("//");
    } else if path.is_absolute() && !bytes.first().is_some_and(is_separator) {
        uri.push('/');
    }
    for &byte in bytes {
        match byte {
            byte if is_separator(&byte) => uri.push('/'),
            b'-' | b'_' | b'.' | b':' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => write!(uri, "%{byte:02X}").expect("writing into a string cannot fail"),
        }
    }
    uri
}

fn require_file(path: &Path) -> Result<(), StoreError> {
    let not_a_trace = |reason| StoreError::NotATrace {
        path: path.to_path_buf(),
        reason,
    };
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(not_a_trace("it is a folder")),
        // A pipe or a device could keep the reader waiting for ever.
        Ok(metadata) if !metadata.is_file() => Err(not_a_trace("it is no regular file")),
        Ok(metadata) if metadata.len() == 0 => Err(not_a_trace("the file is empty")),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(StoreError::Missing {
            path: path.to_path_buf(),
            what: "trace",
        }),
        Err(error) => Err(StoreError::Io {
            path: path.to_path_buf(),
            message: error.to_string(),
        }),
    }
}

/// The format of a trace; 0 where it was marked as one and nothing more.
fn read_version(connection: &Connection, path: &Path) -> Result<u32, StoreError> {
    let pragma = |name| {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
            .map_err(|error| StoreError::of(path, &error))
    };
    if pragma("application_id")? != APPLICATION_ID {
        return Err(StoreError::NotATrace {
            path: path.to_path_buf(),
            reason: "it is a database of another program",
        });
    }
    let stored = pragma("user_version")?;
    let version = u32::try_from(stored)
        .map_err(|_| StoreError::damaged(path, format_args!("format {stored}")))?;
    if version > SCHEMA_VERSION {
        return Err(StoreError::Newer {
            path: path.to_path_buf(),
            found: version,
            supported: SCHEMA_VERSION,
        });
    }
    Ok(version)
}
