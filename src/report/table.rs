//! The answer to a user's query as text, CSV and JSON.

use serde_json::{Map, Value};

use super::query::Table;
use super::{ReportError, json, words};
use crate::base::one_line;

/// The widest cell of the text form, in characters.
const WIDEST_CELL: usize = 80;

impl Table {
    /// Columns aligned for a terminal; a long value is cut, a line break in one becomes a space.
    #[must_use]
    pub fn to_text(&self) -> String {
        if self.rows.is_empty() {
            return "no rows\n".to_owned();
        }
        let rows = self.rows.iter().map(|row| {
            row.iter()
                .map(|value| words::neutral(&one_line(&plain(value), WIDEST_CELL)))
                .collect()
        });
        let header = self.columns.iter().map(|name| words::neutral(name));
        aligned(header.collect(), rows.collect())
    }

    /// CSV with a header, lines ended by a line feed, a field quoted where it must be.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut out = String::new();
        let header = self.columns.iter().cloned().map(Value::String).collect();
        for row in std::iter::once(&header).chain(&self.rows) {
            let fields: Vec<String> = row.iter().map(|value| field(&plain(value))).collect();
            out.push_str(&fields.join(","));
            out.push('\n');
        }
        out
    }

    /// A JSON array with one object for each row; of two columns of one name the later one wins.
    ///
    /// # Errors
    /// Where the JSON writer fails.
    pub fn to_json(&self) -> Result<String, ReportError> {
        let rows: Vec<Map<String, Value>> = self
            .rows
            .iter()
            .map(|row| {
                self.columns
                    .iter()
                    .cloned()
                    .zip(row.iter().cloned())
                    .collect()
            })
            .collect();
        Ok(json::written(&rows)?)
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn field(text: &str) -> String {
    if text.contains(['"', ',', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Rows under a header, columns apart by two spaces, no trailing space.
pub(crate) fn aligned(header: Vec<String>, rows: Vec<Vec<String>>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(header);
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let mut out = String::new();
    for line in table.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
