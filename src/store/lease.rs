//! One writer at a time: who it is stands in the trace itself.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension as _};

use super::{StoreError, os};

/// The leases that this process holds: its own number alone cannot tell a live lease from one that an earlier process of
/// the same number left behind, as happens in containers.
static HELD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The right to write a trace, until it is released or taken over.
#[derive(Debug)]
pub(super) struct Lease {
    token: String,
}

/// The process that a row of the table names.
struct Holder {
    token: String,
    pid: u32,
    host: String,
    birth: String,
}

impl Lease {
    /// Takes the lease within the caller's transaction. One whose holder is gone, or was on another machine, is taken over.
    pub(super) fn take(connection: &Connection, path: &Path) -> Result<Self, StoreError> {
        let database = |error| StoreError::of(path, &error);
        let host = os::host();
        if let Some(holder) = read(connection).map_err(database)?
            && holder.host == host
            && holder.is_alive()
        {
            return Err(StoreError::Busy {
                path: path.to_path_buf(),
                holder: holder.name(),
            });
        }
        let pid = std::process::id();
        let lease = Self {
            token: format!("{:032x}", fastrand::u128(..)),
        };
        connection
            .execute(
                "INSERT OR REPLACE INTO lease (id, token, pid, host, birth, taken_at)
                 VALUES (1, ?1, ?2, ?3, ?4, CAST(unixepoch('subsec') * 1000 AS INTEGER))",
                (&lease.token, pid, host, os::birth(pid)),
            )
            .map_err(database)?;
        held().insert(lease.token.clone());
        Ok(lease)
    }

    /// Whether nobody has taken the lease over. Asked in each transaction, so that a writer that lost it writes nothing.
    pub(super) fn is_held(&self, connection: &Connection) -> rusqlite::Result<bool> {
        connection
            .prepare_cached("SELECT token = ?1 FROM lease WHERE id = 1")?
            .query_row([&self.token], |row| row.get(0))
            .optional()
            .map(|held| held.unwrap_or(false))
    }

    /// Gives the lease back.
    pub(super) fn release(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection
            .execute("DELETE FROM lease WHERE token = ?1", [&self.token])
            .map(drop)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        held().remove(&self.token);
    }
}

impl Holder {
    fn is_alive(&self) -> bool {
        if self.pid == std::process::id() {
            return held().contains(&self.token);
        }
        if !os::is_alive(self.pid) {
            return false;
        }
        let birth = os::birth(self.pid);
        self.birth.is_empty() || birth.is_empty() || self.birth == birth
    }

    fn name(&self) -> String {
        format!("process {} on {}", self.pid, self.host)
    }
}

/// Who the trace says is writing it, dead or alive.
pub(super) fn holder(connection: &Connection) -> rusqlite::Result<Option<String>> {
    Ok(read(connection)?.map(|holder| holder.name()))
}

fn read(connection: &Connection) -> rusqlite::Result<Option<Holder>> {
    connection
        .query_row(
            "SELECT token, pid, host, birth FROM lease WHERE id = 1",
            [],
            |row| {
                Ok(Holder {
                    token: row.get(0)?,
                    // A number that no process can have belongs to none that lives.
                    pid: u32::try_from(row.get::<_, i64>(1)?).unwrap_or(0),
                    host: row.get(2)?,
                    birth: row.get(3)?,
                })
            },
        )
        .optional()
}

fn held() -> MutexGuard<'static, BTreeSet<String>> {
    // A panic while a set is changed cannot leave it in a state that matters here.
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Holder, os};

    #[test]
    fn a_process_that_is_gone_holds_nothing() {
        for (name, pid) in [
            ("no process", 0),
            ("a number beyond all", u32::MAX),
            ("an earlier process of our own number", std::process::id()),
        ] {
            let holder = Holder {
                token: "nobody's".to_owned(),
                pid,
                host: os::host(),
                birth: String::new(),
            };
            assert!(!holder.is_alive(), "{name}");
        }
    }
}
