//! Reading a trace back, for going on with it.

mod batch;
mod case;
mod run;
mod spent;

use std::path::Path;

use rusqlite::Connection;

use super::StoreError;
use crate::base::Timestamp;

/// A connection that only reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) connection: &'a Connection,
    pub(super) path: &'a Path,
}

impl Reader<'_> {
    fn database(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::of(self.path, error)
    }

    /// A moment as it is stored.
    fn time(&self, milliseconds: i64) -> Result<Timestamp, StoreError> {
        Timestamp::from_millisecond(milliseconds)
            .map_err(|error| StoreError::damaged(self.path, error))
    }

    /// A count as it is stored.
    fn number(&self, what: &str, number: i64) -> Result<u32, StoreError> {
        u32::try_from(number)
            .map_err(|_| StoreError::damaged(self.path, format_args!("{what} {number}")))
    }

    /// Stored JSON.
    fn json<T: serde::de::DeserializeOwned>(
        &self,
        what: &str,
        json: &str,
    ) -> Result<T, StoreError> {
        serde_json::from_str(json)
            .map_err(|error| StoreError::damaged(self.path, format_args!("{what}: {error}")))
    }
}
