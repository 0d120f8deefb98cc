//! Runs the sections' SQL, and a user's own, over the public views of a trace.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement};
use serde_json::Value;

use super::model::{FromRow, Report, Text};
use super::{ReportError, functions};

/// SQL of one section with the name that errors give it.
macro_rules! section {
    ($conn:expr, $name:literal) => {
        read($conn, $name, include_str!(concat!("../../reports/", $name)))
    };
}

/// Readies a connection for reports: registers the SQL functions and creates the temporary view `v_spend`.
/// The trace itself is not written to, so the connection may be read-only. Doing so twice does no harm.
///
/// # Errors
/// Where the connection is not one to a trace or cannot take a temporary view.
pub fn prepare(conn: &Connection) -> Result<(), ReportError> {
    let at = failure("v_spend.sql");
    functions::register(conn).map_err(at)?;
    let store: i64 = conn
        .query_row("PRAGMA temp_store", [], |row| row.get(0))
        .map_err(at)?;
    if store != 2 {
        // A change drops what is temporary, so it is made only where it is one.
        conn.execute_batch("PRAGMA temp_store = MEMORY")
            .map_err(at)?;
    }
    query_only(conn, false, || {
        conn.execute_batch(include_str!("../../reports/v_spend.sql"))
            .map_err(at)
    })
}

/// Reads everything that a report shows, from one snapshot of the trace. [`prepare`] is part of it.
///
/// # Errors
/// Where the connection is not one to a trace, a view lacks a column, or a transaction is open on the connection.
pub fn load(conn: &Connection) -> Result<Report, ReportError> {
    prepare(conn)?;
    let at = failure("materialise.sql");
    query_only(conn, false, || {
        // The copies in memory live as long as the transaction: going back on it brings the views back.
        let snapshot = conn.unchecked_transaction().map_err(at)?;
        conn.execute_batch(include_str!("../../reports/materialise.sql"))
            .map_err(at)?;
        let report = sections(conn)?;
        snapshot.rollback().map_err(at)?;
        Ok(report)
    })
}

/// Does something while the connection does or does not refuse to write, and restores what it did before.
fn query_only<T>(
    conn: &Connection,
    on: bool,
    work: impl FnOnce() -> Result<T, ReportError>,
) -> Result<T, ReportError> {
    let at = failure("PRAGMA query_only");
    let before: bool = conn
        .query_row("PRAGMA query_only", [], |row| row.get(0))
        .map_err(at)?;
    conn.pragma_update(None, "query_only", on).map_err(at)?;
    let done = work();
    conn.pragma_update(None, "query_only", before).map_err(at)?;
    done
}

/// What an error of SQLite becomes, by what was read.
fn failure(section: &str) -> impl Fn(rusqlite::Error) -> ReportError + Copy {
    move |source| ReportError::Query {
        section: section.to_owned(),
        source,
    }
}

fn sections(conn: &Connection) -> Result<Report, ReportError> {
    let cases: Vec<super::model::Case> = section!(conn, "cases.sql")?;
    // The events of a trace are many; they are searched only where there is something to find.
    let tampered = if cases.iter().any(|case| case.tampered.unwrap_or(0) > 0) {
        section!(conn, "tampered.sql")?
    } else {
        Vec::new()
    };
    Ok(Report {
        batch: section!(conn, "batch.sql")?
            .pop()
            .ok_or(ReportError::NoBatch)?,
        prices: section!(conn, "prices.sql")?,
        suites: section!(conn, "suites.sql")?,
        outcomes: section!(conn, "outcomes.sql")?,
        providers: section!(conn, "providers.sql")?,
        first_failures: section!(conn, "first_failures.sql")?,
        cost: section!(conn, "cost.sql")?,
        spend: section!(conn, "spend.sql")?,
        unpriced: section!(conn, "unpriced.sql")?,
        latency: section!(conn, "latency.sql")?,
        time: section!(conn, "time.sql")?,
        gate_phases: section!(conn, "gate_phases.sql")?,
        failures: section!(conn, "failures.sql")?,
        errors: section!(conn, "errors.sql")?,
        flaky: section!(conn, "flaky.sql")?,
        slowest: section!(conn, "slowest.sql")?,
        refusals: section!(conn, "refusals.sql")?,
        substitutions: section!(conn, "substitutions.sql")?,
        overruns: section!(conn, "overruns.sql")?,
        case_spend: section!(conn, "case_spend.sql")?,
        tampered,
        cases,
    })
}

/// All rows of a query as typed rows.
pub(crate) fn read<T: FromRow>(
    conn: &Connection,
    section: &str,
    sql: &str,
) -> Result<Vec<T>, ReportError> {
    read_with(conn, section, sql, [])
}

/// All rows of a query with parameters.
pub(crate) fn read_with<T: FromRow>(
    conn: &Connection,
    section: &str,
    sql: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<T>, ReportError> {
    let at = failure(section);
    let mut statement = conn.prepare(sql).map_err(at)?;
    let places: Vec<usize> = T::COLUMNS
        .iter()
        .map(|name| statement.column_index(name))
        .collect::<Result<_, _>>()
        .map_err(at)?;
    statement
        .query_map(parameters, |row| T::from_row(row, &places))
        .and_then(Iterator::collect)
        .map_err(at)
}

/// The answer to a query of the user's own.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values row by row. A text is cleaned and bounded; a blob is shown as its size.
    pub rows: Vec<Vec<Value>>,
}

/// Runs one query of the user's own over the views, with the functions of reports at hand. It can read and nothing else.
///
/// # Errors
/// Where the text is not exactly one statement that reads, or where SQLite rejects it.
pub fn run_sql(conn: &Connection, sql: &str) -> Result<Table, ReportError> {
    prepare(conn)?;
    query_only(conn, true, || {
        conn.prepare(sql)
            .map_err(failure("the query"))
            .and_then(|statement| answer(statement, sql))
    })
}

fn answer(mut statement: Statement<'_>, sql: &str) -> Result<Table, ReportError> {
    // What attaches a file or changes a setting passes as reading, and gives no columns or is a pragma.
    if !statement.readonly() || statement.column_count() == 0 || is_pragma(sql) {
        return Err(ReportError::NotAQuery);
    }
    let at = failure("the query");
    let columns: Vec<String> = statement
        .column_names()
        .map(|name| Text::new(name).to_string())
        .collect();
    let count = columns.len();
    let rows = statement
        .query_map([], |row| {
            (0..count)
                .map(|index| Ok(value(row.get_ref(index)?)))
                .collect()
        })
        .and_then(Iterator::collect)
        .map_err(at)?;
    Ok(Table { columns, rows })
}

fn is_pragma(sql: &str) -> bool {
    let mut rest = sql.trim_start();
    loop {
        rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, tail)| tail)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, tail)| tail)
        } else if let Some(tail) = rest.strip_prefix(';') {
            tail
        } else {
            let word: String = rest.chars().take(6).collect();
            return word.eq_ignore_ascii_case("pragma");
        }
        .trim_start();
    }
}

fn value(raw: ValueRef<'_>) -> Value {
    match raw {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(bytes) => Text::new(&String::from_utf8_lossy(bytes)).as_str().into(),
        ValueRef::Blob(bytes) => format!("({} bytes)", bytes.len()).into(),
    }
}
