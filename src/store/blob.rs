//! Long texts, stored once however often they are said.

use rusqlite::Connection;
use rusqlite::types::{ToSql, ToSqlOutput, Value};

use crate::base::{Digest, sha256};

/// Texts of this many bytes and more are stored by their content: below it the address would cost more than the text.
const INLINE_LIMIT: usize = 256;

/// A text on its way into a column that holds either the text or the number of its blob.
#[derive(Debug)]
pub(super) enum Body {
    Inline(String),
    Addressed { address: Digest, text: String },
}

impl Body {
    /// Decides where `text` goes. The hash is made here, so that the writer need not make it.
    pub(super) fn new(text: String) -> Self {
        if text.len() < INLINE_LIMIT {
            Self::Inline(text)
        } else {
            Self::Addressed {
                address: sha256(&text),
                text,
            }
        }
    }

    /// Stores the text where it is long and new, and returns what belongs in the column.
    pub(super) fn store(&self, connection: &Connection) -> rusqlite::Result<Column<'_>> {
        let (address, text) = match self {
            Self::Inline(text) => return Ok(Column::Text(text)),
            Self::Addressed { address, text } => (address, text),
        };
        let mut insert = connection.prepare_cached(
            "INSERT INTO blob (sha256, body) VALUES (?1, ?2) ON CONFLICT (sha256) DO NOTHING",
        )?;
        if insert.execute((address.as_str(), text))? == 1 {
            return Ok(Column::Blob(connection.last_insert_rowid()));
        }
        connection
            .prepare_cached("SELECT id FROM blob WHERE sha256 = ?1")?
            .query_row([address.as_str()], |row| row.get(0))
            .map(Column::Blob)
    }
}

/// The value of a column that holds a text or the number of a blob.
#[derive(Debug, Clone, Copy)]
pub(super) enum Column<'a> {
    Text(&'a str),
    Blob(i64),
}

impl ToSql for Column<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match *self {
            Self::Text(text) => ToSqlOutput::from(text),
            Self::Blob(id) => ToSqlOutput::Owned(Value::Integer(id)),
        })
    }
}
