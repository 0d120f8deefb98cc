//! The SQL functions that reports use, and that a user's own query may use too.
//!
//! | function | gives |
//! |---|---|
//! | `percentile(x, p)` | aggregate: the `p`-th percentile (0 to 100) of `x`, linear between the two closest ranks; NULLs are left out; NULL of no values |
//! | `money_sum(text)` | aggregate: the exact sum of decimal texts as text; NULLs are left out; NULL of no values |
//! | `wilson_low(passed, n [, confidence])` | lower end of the Wilson score interval, 95 % where no confidence is given |
//! | `wilson_high(passed, n [, confidence])` | its upper end |
//! | `pass_at_k(n, c, k)` | unbiased chance that one of `k` trials passes, of `c` passes in `n` |
//! | `pass_hat_k(n, c, k)` | unbiased chance that all of `k` trials pass |
//! | `call_cost(prompt, cache_read, cache_write, completion, server_requests, input, output, cache_read_price, cache_write_price, per_request)` | cost of a call as decimal text; NULL without usage or without a price |

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Result};
use rust_decimal::Decimal;

use super::stats::{self, Prices, Tokens};
use crate::base::Money;

const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8.union(FunctionFlags::SQLITE_DETERMINISTIC);

/// Registers the functions on a connection; doing so twice does no harm.
///
/// # Errors
/// Where SQLite does not take a function, for instance while a statement runs.
pub(crate) fn register(conn: &Connection) -> Result<()> {
    conn.create_aggregate_function("percentile", 2, FLAGS, Percentile)?;
    conn.create_aggregate_function("money_sum", 1, FLAGS, MoneySum)?;
    for arguments in [2, 3] {
        conn.create_scalar_function("wilson_low", arguments, FLAGS, |ctx| {
            interval(ctx).map(|found| found.map(|(low, _)| low))
        })?;
        conn.create_scalar_function("wilson_high", arguments, FLAGS, |ctx| {
            interval(ctx).map(|found| found.map(|(_, high)| high))
        })?;
    }
    conn.create_scalar_function("pass_at_k", 3, FLAGS, |ctx| trials(ctx, stats::pass_at_k))?;
    conn.create_scalar_function("pass_hat_k", 3, FLAGS, |ctx| trials(ctx, stats::pass_hat_k))?;
    conn.create_scalar_function("call_cost", 10, FLAGS, |ctx| {
        Ok(call_cost(ctx)?.map(Money::plain))
    })
}

fn interval(ctx: &Context<'_>) -> Result<Option<(f64, f64)>> {
    let confidence = if ctx.len() > 2 {
        ctx.get::<Option<f64>>(2)?
    } else {
        Some(0.95)
    };
    Ok((|| {
        stats::wilson(integer(ctx, 0)?, integer(ctx, 1)?, confidence?)
    })())
}

fn trials(ctx: &Context<'_>, of: fn(i64, i64, i64) -> Option<f64>) -> Result<Option<f64>> {
    Ok((|| {
        of(integer(ctx, 0)?, integer(ctx, 1)?, integer(ctx, 2)?)
    })())
}

fn call_cost(ctx: &Context<'_>) -> Result<Option<Money>> {
    let (Some(prompt), Some(completion)) = (integer(ctx, 0), integer(ctx, 3)) else {
        return Ok(None);
    };
    let (Some(input), Some(output)) = (amount(ctx, 5)?, amount(ctx, 6)?) else {
        return Ok(None);
    };
    let tokens = Tokens {
        prompt,
        cache_read: integer(ctx, 1).unwrap_or(0),
        cache_write: integer(ctx, 2).unwrap_or(0),
        completion,
        server_requests: integer(ctx, 4).unwrap_or(0),
    };
    let prices = Prices {
        input,
        output,
        cache_read: amount(ctx, 7)?,
        cache_write: amount(ctx, 8)?,
        per_request: amount(ctx, 9)?,
    };
    Ok(stats::call_cost(tokens, &prices))
}

/// A whole number; a fraction, a text or NULL is none.
fn integer(ctx: &Context<'_>, index: usize) -> Option<i64> {
    match ctx.get_raw(index) {
        ValueRef::Integer(number) => Some(number),
        _ => None,
    }
}

/// An amount of money written as text or as a whole number.
fn amount(ctx: &Context<'_>, index: usize) -> Result<Option<Money>> {
    match ctx.get_raw(index) {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(number) => Ok(Some(Money::new(Decimal::from(number)))),
        ValueRef::Text(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            text.parse()
                .map(Some)
                .map_err(|_| complain(format!("`{text}` is not an amount of money")))
        }
        ValueRef::Real(number) => Err(complain(format!(
            "{number} is a binary fraction: write an amount of money as text"
        ))),
        ValueRef::Blob(_) => Err(complain("a blob is not an amount of money".to_owned())),
    }
}

fn complain(message: String) -> Error {
    Error::UserFunctionError(message.into())
}

struct Percentile;

/// The percentile asked for, and the values so far.
type Values = (f64, Vec<f64>);

impl Aggregate<Values, Option<f64>> for Percentile {
    fn init(&self, _: &mut Context<'_>) -> Result<Values> {
        Ok((f64::NAN, Vec::new()))
    }

    fn step(&self, ctx: &mut Context<'_>, (p, values): &mut Values) -> Result<()> {
        *p = ctx.get(1)?;
        if !(0.0..=100.0).contains(p) {
            return Err(complain(format!("percentile {p} is not between 0 and 100")));
        }
        if let Some(value) = ctx.get::<Option<f64>>(0)? {
            values.push(value);
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, values: Option<Values>) -> Result<Option<f64>> {
        Ok(values.and_then(|(p, mut values)| {
            values.sort_unstable_by(f64::total_cmp);
            stats::percentile(&values, p)
        }))
    }
}

struct MoneySum;

impl Aggregate<Option<Decimal>, Option<String>> for MoneySum {
    fn init(&self, _: &mut Context<'_>) -> Result<Option<Decimal>> {
        Ok(None)
    }

    fn step(&self, ctx: &mut Context<'_>, total: &mut Option<Decimal>) -> Result<()> {
        if let Some(next) = amount(ctx, 0)? {
            let sum = total
                .unwrap_or_default()
                .checked_add(next.dollars())
                .ok_or_else(|| complain("the sum has more digits than money has".to_owned()))?;
            *total = Some(sum);
        }
        Ok(())
    }

    fn finalize(
        &self,
        _: &mut Context<'_>,
        total: Option<Option<Decimal>>,
    ) -> Result<Option<String>> {
        Ok(total.flatten().map(|sum| Money::new(sum).plain()))
    }
}

#[cfg(test)]
mod tests {
    use super::register;
    use rusqlite::Connection;
    use rusqlite::types::Value;

    fn evaluate(sql: &str) -> Result<Value, String> {
        let conn = Connection::open_in_memory().expect("a database in memory");
        register(&conn).expect("functions");
        register(&conn).expect("functions again");
        conn.query_row(sql, [], |row| row.get(0))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn each_function_as_sql() {
        let real = |number: f64| Value::Real(number);
        let text = |text: &str| Value::Text(text.to_owned());
        for (sql, expected) in [
            ("SELECT round(wilson_low(8, 10), 4)", real(0.4902)),
            ("SELECT round(wilson_high(8, 10), 4)", real(0.9433)),
            ("SELECT round(wilson_low(8, 10, 0.95), 4)", real(0.4902)),
            ("SELECT wilson_low(0, 0)", Value::Null),
            ("SELECT wilson_low(NULL, 10)", Value::Null),
            ("SELECT round(pass_at_k(5, 2, 2), 6)", real(0.7)),
            ("SELECT round(pass_hat_k(5, 2, 2), 6)", real(0.1)),
            ("SELECT pass_at_k(2, 1, 3)", Value::Null),
            (
                "WITH t(x) AS (VALUES (1), (NULL), (3), (2)) SELECT percentile(x, 50) FROM t",
                real(2.0),
            ),
            (
                "WITH t(x) AS (VALUES (10), (20)) SELECT percentile(x, 95) FROM t",
                real(19.5),
            ),
            (
                "WITH t(x) AS (VALUES (NULL)) SELECT percentile(x, 50) FROM t",
                Value::Null,
            ),
            ("SELECT percentile(1, 50) WHERE 0", Value::Null),
            (
                "WITH t(x) AS (VALUES ('0.1'), ('0.2'), (NULL), (1)) SELECT money_sum(x) FROM t",
                text("1.3"),
            ),
            ("SELECT money_sum(NULL)", Value::Null),
            ("SELECT money_sum('1') WHERE 0", Value::Null),
            (
                "SELECT call_cost(1000000, 900000, 0, 100000, 0, '3', '15', '0.3', NULL, NULL)",
                text("2.07"),
            ),
            (
                "SELECT call_cost(1000, NULL, NULL, 10, 3, '1', '2', NULL, NULL, '0.01')",
                text("0.03102"),
            ),
            (
                "SELECT call_cost(NULL, NULL, NULL, NULL, NULL, '3', '15', NULL, NULL, NULL)",
                Value::Null,
            ),
            (
                "SELECT call_cost(1, 0, 0, 1, 0, NULL, NULL, NULL, NULL, NULL)",
                Value::Null,
            ),
            (
                "SELECT call_cost(9223372036854775807, 0, 0, 1, 0, '79228162514264337593543950335', '1', NULL, NULL, NULL)",
                Value::Null,
            ),
        ] {
            assert_eq!(evaluate(sql), Ok(expected), "{sql}");
        }
        for (sql, complaint) in [
            ("SELECT percentile(1, 101)", "not between 0 and 100"),
            (
                "SELECT money_sum('cheap')",
                "`cheap` is not an amount of money",
            ),
            ("SELECT money_sum(0.5)", "binary fraction"),
        ] {
            let error = evaluate(sql).expect_err(sql);
            assert!(error.contains(complaint), "{sql}: {error}");
        }
    }
}
