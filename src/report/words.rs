//! Figures and names as people read them, the same in every format.

use std::time::Duration;

use super::model::{Amount, Cost, FirstFailure, Provider, Report, Spend};
use super::stats;
use crate::base::{Money, format_duration, printable};

/// Appends formatted text to a string.
macro_rules! push {
    ($out:ident, $($what:tt)*) => {{
        use std::fmt::Write as _;
        write!($out, $($what)*).expect("a string takes whatever is written to it");
    }};
}
pub(crate) use push;

/// What stands where there is no figure.
pub(crate) const NONE: &str = "–";

/// Milliseconds as a duration.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "negative and absurd values are clamped"
)]
pub(crate) fn millis(ms: f64) -> String {
    format_duration(Duration::from_millis(ms.round().max(0.0) as u64))
}

/// A whole number of milliseconds.
pub(crate) fn whole_millis(ms: i64) -> String {
    format_duration(Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
}

/// Milliseconds that may not be known.
pub(crate) fn maybe_millis(ms: Option<f64>) -> String {
    ms.map_or_else(|| NONE.to_owned(), millis)
}

/// A share as whole percent, `<1 %` and `>99 %` where rounding would read as none or all.
pub(crate) fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.005 {
        "<1 %".to_owned()
    } else if (0.995..1.0).contains(&share) {
        ">99 %".to_owned()
    } else {
        format!("{:.0} %", share * 100.0)
    }
}

/// `part` of `whole` as a share.
#[expect(clippy::cast_precision_loss, reason = "shown as whole percent")]
pub(crate) fn share_of(part: i64, whole: i64) -> f64 {
    if whole <= 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// A chance with two decimals.
pub(crate) fn chance(chance: Option<f64>) -> String {
    chance.map_or_else(|| NONE.to_owned(), |value| format!("{value:.2}"))
}

/// The Wilson interval of a provider: `48–85 %`.
pub(crate) fn interval(provider: &Provider) -> String {
    match (provider.rate_low, provider.rate_high) {
        (Some(low), Some(high)) => format!("{:.0}–{:.0} %", low * 100.0, high * 100.0),
        _ => NONE.to_owned(),
    }
}

/// A count with thin groups of three digits: `1 204 551`.
pub(crate) fn count(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut out = String::from(if number < 0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{a0}');
        }
        out.push(digit);
    }
    out
}

/// A count that the vendor may not have reported.
pub(crate) fn maybe_count(number: Option<i64>) -> String {
    number.map_or_else(|| NONE.to_owned(), count)
}

/// `1 case`, `2 cases`.
pub(crate) fn plural(number: i64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A cost: a floor where calls are missing from it, words where nothing is priced.
pub(crate) fn cost(amount: Option<Money>, missing: i64, calls: i64) -> String {
    match amount {
        _ if calls == 0 => "no calls".to_owned(),
        None => "not priced".to_owned(),
        Some(amount) if missing > 0 => format!(">= {amount}"),
        Some(amount) => amount.to_string(),
    }
}

/// Adds amounts up as the report knows them: a floor stays a floor.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Total {
    pub(crate) amount: Option<Money>,
    pub(crate) missing: i64,
    pub(crate) calls: i64,
    pub(crate) passed: i64,
}

impl Total {
    pub(crate) fn add(&mut self, amount: Option<Amount>, missing: i64, calls: i64) {
        if let Some(Amount(more)) = amount {
            let sum = self
                .amount
                .unwrap_or_default()
                .dollars()
                .checked_add(more.dollars());
            // Beyond what money can count, the total so far stands as a floor.
            match sum {
                Some(sum) => self.amount = Some(Money::new(sum)),
                None => self.missing += 1,
            }
        }
        self.missing += missing;
        self.calls += calls;
    }

    pub(crate) fn shown(&self) -> String {
        cost(self.amount, self.missing, self.calls)
    }

    /// Cost for one passed case.
    pub(crate) fn per_pass(&self) -> String {
        match self.amount.and_then(|all| stats::share(all, self.passed)) {
            Some(each) => cost(Some(each), self.missing, self.calls),
            None => NONE.to_owned(),
        }
    }
}

impl From<&Cost> for Total {
    fn from(row: &Cost) -> Self {
        let mut total = Self {
            passed: row.passed.unwrap_or(0),
            ..Self::default()
        };
        total.add(
            row.cost_usd,
            row.unpriced + row.unreported_answers,
            row.calls,
        );
        total
    }
}

impl From<&Spend> for Total {
    fn from(row: &Spend) -> Self {
        let mut total = Self {
            passed: row.passed.unwrap_or(0),
            ..Self::default()
        };
        total.add(
            row.cost_usd,
            row.unpriced + row.unreported_answers,
            row.calls,
        );
        total
    }
}

/// What a provider's run cost under the price table that comes first.
pub(crate) fn provider_total(report: &Report, provider: &Provider) -> Total {
    let table = report.prices.first().map(|table| &table.price_table);
    let spend = report.spend.iter().find(|row| {
        Some(&row.price_table) == table
            && row.suite == provider.suite
            && row.provider == provider.provider
    });
    if let Some(row) = spend {
        return row.into();
    }
    let calls = report
        .latency
        .iter()
        .filter(|row| row.suite == provider.suite && row.provider == provider.provider)
        .map(|row| row.calls)
        .sum();
    Total {
        calls,
        passed: provider.passed,
        ..Total::default()
    }
}

/// Where a provider's cases failed first: `test (5), accept (1)`.
pub(crate) fn first_failures(report: &Report, provider: &Provider) -> String {
    let of_provider =
        |row: &&FirstFailure| row.suite == provider.suite && row.provider == provider.provider;
    let mut phases: Vec<String> = report
        .first_failures
        .iter()
        .filter(of_provider)
        .take(4)
        .map(|row| format!("{} ({})", row.phase, row.cases))
        .collect();
    if report.first_failures.iter().filter(of_provider).count() > phases.len() {
        phases.push("…".to_owned());
    }
    if phases.is_empty() {
        NONE.to_owned()
    } else {
        phases.join(", ")
    }
}

/// `14/20`, with whatever was not judged: `2/18, 2 errored`.
pub(crate) fn passed(provider: &Provider) -> String {
    let mut parts = vec![format!("{}/{}", provider.passed, provider.judged)];
    for (number, word) in [
        (provider.errored, "errored"),
        (provider.interrupted, "interrupted"),
        (provider.skipped, "skipped"),
        (provider.unfinished, "unfinished"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {word}"));
        }
    }
    parts.join(", ")
}

/// Variables as people write them: `style=terse`.
pub(crate) fn vars(json: Option<&str>) -> String {
    let Some(Ok(serde_json::Value::Object(map))) = json.map(serde_json::from_str) else {
        return String::new();
    };
    map.iter()
        .map(|(name, value)| match value {
            serde_json::Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={other}"),
        })
        .collect::<Vec<_>>()
        .join(",")
}

/// The last `limit` lines of an output, what was cut above them said; each line is bounded as well.
pub(crate) fn last_lines(output: &str, limit: usize) -> Vec<String> {
    const LONGEST_LINE: usize = 400;
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let skipped = lines.len().saturating_sub(limit);
    let mut shown = Vec::with_capacity(limit + 1);
    if skipped > 0 {
        shown.push(format!("[… {skipped} lines above …]"));
    }
    for line in &lines[skipped..] {
        let mut clipped: String = line.chars().take(LONGEST_LINE).collect();
        if clipped.len() < line.len() {
            clipped.push('…');
        }
        shown.push(clipped);
    }
    shown
}

/// Text that a runner of workflows would read as a command is told apart from one by a character without width.
pub(crate) fn neutral(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let trimmed = line.trim_start();
        if trimmed.starts_with("::") {
            out.push_str(&line[..line.len() - trimmed.len()]);
            out.push('\u{200b}');
            out.push_str(&trimmed.replace("##[", "#\u{200b}#["));
        } else {
            out.push_str(&line.replace("##[", "#\u{200b}#["));
        }
    }
    out
}

/// A text of a person's or a model's on lines that can be shown in a terminal.
pub(crate) fn shown_lines(text: &str) -> Vec<String> {
    neutral(&printable(text))
        .trim_end()
        .lines()
        .map(str::to_owned)
        .collect()
}
