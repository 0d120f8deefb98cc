//! Judges a report by the thresholds of its suites.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::model::{Provider, Report, Suite};
use super::words;
use crate::base::Span;

/// One threshold and what stands against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Check {
    /// The suite.
    pub suite: String,
    /// The threshold's key: `pass_rate`, `p95_wall` or `errors`.
    pub name: String,
    /// The provider, where the threshold is one of a provider.
    pub subject: Option<String>,
    /// What is asked for, as a person reads it.
    pub limit: String,
    /// What there is, as a person reads it.
    pub actual: String,
    /// Whether it is met.
    pub ok: bool,
    /// Whether the suite states it; else it is the default.
    pub stated: bool,
}

/// What a batch came to, as far as an exit code needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// Whether all thresholds but those of errors are met.
    pub thresholds_met: bool,
    /// Whether more cases of a suite could not be judged than its threshold `errors` lets pass; 0 where it has none.
    pub errors_exceeded: bool,
    /// Whether the batch was stopped or has not come to its end.
    pub interrupted: bool,
    /// Whether not one case was judged.
    pub nothing_judged: bool,
    /// Planned cases.
    pub cases: i64,
    /// Cases that the gates, a budget or a refusal decided.
    pub judged: i64,
    /// Cases whose gates all passed.
    pub passed: i64,
    /// Judged cases that did not pass.
    pub failed: i64,
    /// Cases that could not be judged.
    pub errored: i64,
    /// Cases that were left out.
    pub skipped: i64,
    /// Cases that were stopped, and those without an outcome yet.
    pub unfinished: i64,
    /// Cost of the run under the first price table, as a person reads it.
    pub cost: String,
    /// The same as a plain number; none where nothing is priced.
    pub cost_usd: Option<String>,
    /// All thresholds, suite by suite.
    pub checks: Vec<Check>,
}

impl Verdict {
    /// The verdict in a few words.
    #[must_use]
    pub fn headline(&self) -> &'static str {
        if self.interrupted {
            "interrupted, results are partial"
        } else if self.cases == 0 {
            "no cases"
        } else if self.errors_exceeded {
            "cases could not be judged"
        } else if !self.thresholds_met && !self.states_thresholds() {
            "not every case passed"
        } else if !self.thresholds_met {
            "thresholds not met"
        } else if self.nothing_judged {
            "nothing was judged"
        } else if self.states_thresholds() {
            "thresholds met"
        } else {
            "all passed"
        }
    }

    fn states_thresholds(&self) -> bool {
        self.checks
            .iter()
            .any(|check| check.stated && check.name != ERRORS)
    }
}

const PASS_RATE: &str = "pass_rate";
const P95_WALL: &str = "p95_wall";
const ERRORS: &str = "errors";

/// Judges a report.
///
/// A `pass_rate` that is one number is asked of each provider; without one, every judged case has to pass, so that a
/// batch with a failing gate is never green by default. A threshold over cases that were planned and not judged
/// is not met; over cases that were all skipped it is left out, and so is one of a provider without any case here.
/// A threshold that cannot be read is not met.
#[must_use]
pub fn verdict(report: &Report) -> Verdict {
    let mut checks = Vec::new();
    for suite in &report.suites {
        suite_checks(report, suite, &mut checks);
    }
    let sum = |of: fn(&Suite) -> i64| report.suites.iter().map(of).sum::<i64>();
    let judged = sum(|suite| suite.judged);
    let unfinished = sum(|suite| suite.unfinished + suite.interrupted);
    let mut total = words::Total::default();
    for provider in &report.providers {
        let part = words::provider_total(report, provider);
        total.add(part.amount.map(super::Amount), part.missing, part.calls);
        // A provider without any price leaves its calls out of the total.
        if part.amount.is_none() && part.calls > 0 && part.missing == 0 {
            total.missing += part.calls;
        }
    }
    Verdict {
        thresholds_met: checks.iter().all(|check| check.ok || check.name == ERRORS),
        errors_exceeded: checks.iter().any(|check| !check.ok && check.name == ERRORS),
        interrupted: !is_finished(report),
        nothing_judged: judged == 0,
        cases: sum(|suite| suite.cases),
        judged,
        passed: sum(|suite| suite.passed),
        failed: sum(|suite| suite.judged - suite.passed),
        errored: sum(|suite| suite.errored),
        skipped: sum(|suite| suite.skipped),
        unfinished,
        cost: total.shown(),
        cost_usd: total.amount.map(crate::base::Money::plain),
        checks,
    }
}

/// Whether every case has its verdict, or a reason why it has none.
fn is_finished(report: &Report) -> bool {
    let open: i64 = report.suites.iter().map(|suite| suite.unfinished).sum();
    report.batch.status.as_str() == "finished" && open == 0
}

fn suite_checks(report: &Report, suite: &Suite, checks: &mut Vec<Check>) {
    let thresholds: Value = match suite.thresholds.as_deref() {
        None => Value::Null,
        Some(text) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    };
    let check =
        |name: &str, subject: Option<&str>, limit: String, actual: String, ok: bool| Check {
            suite: suite.suite.to_string(),
            name: name.to_owned(),
            subject: subject.map(str::to_owned),
            limit,
            actual,
            ok,
            stated: thresholds.get(name).is_some_and(|value| !value.is_null()),
        };
    let unreadable = |name: &str, limit: &Value| {
        check(
            name,
            None,
            limit.to_string(),
            "unreadable".to_owned(),
            false,
        )
    };
    if !thresholds.is_null() && !thresholds.is_object() {
        checks.push(unreadable("thresholds", &thresholds));
    }

    let given = |name: &str| thresholds.get(name).filter(|value| !value.is_null());
    let every_case = Value::from(1);
    let limit = given(PASS_RATE).unwrap_or(&every_case);
    let providers = report
        .providers
        .iter()
        .filter(|provider| provider.suite == suite.suite && provider.skipped < provider.cases);
    match rates(limit) {
        Some(rates) => {
            for provider in providers {
                if let Some(limit) = rates.of(&provider.provider) {
                    let (actual, ok) = rate_against(provider, limit);
                    let asked = format!(">= {}", exact_percent(limit));
                    checks.push(check(
                        PASS_RATE,
                        Some(&provider.provider),
                        asked,
                        actual,
                        ok,
                    ));
                }
            }
        }
        None => checks.push(unreadable(PASS_RATE, limit)),
    }
    if let Some(limit) = given(P95_WALL) {
        let span = limit.as_str().and_then(|text| text.parse::<Span>().ok());
        match span {
            Some(_) if suite.skipped == suite.cases => {}
            Some(span) => {
                let ok = suite
                    .wall_p95
                    .is_some_and(|wall| wall <= span.0.as_secs_f64() * 1_000.0);
                let actual = suite
                    .wall_p95
                    .map_or_else(|| "nothing judged".to_owned(), words::millis);
                checks.push(check(P95_WALL, None, format!("<= {span}"), actual, ok));
            }
            None => checks.push(unreadable(P95_WALL, limit)),
        }
    }
    let limit = match given(ERRORS) {
        None => Some(0),
        Some(limit) => limit.as_i64(),
    };
    match (limit, given(ERRORS)) {
        (None, Some(limit)) => checks.push(unreadable(ERRORS, limit)),
        (None, None) => {}
        (Some(limit), _) => {
            // A case that a ceiling or `--fail-fast` kept from starting was not judged either.
            let held_up = if is_finished(report) {
                suite.interrupted
            } else {
                0
            };
            let unjudged = suite.errored + held_up;
            let ok = unjudged <= limit;
            checks.push(check(
                ERRORS,
                None,
                format!("<= {limit}"),
                unjudged.to_string(),
                ok,
            ));
        }
    }
}

/// A `pass_rate` as it is written.
enum Rates {
    Each(f64),
    Of(BTreeMap<String, f64>),
}

impl Rates {
    fn of(&self, provider: &str) -> Option<f64> {
        match self {
            Self::Each(limit) => Some(*limit),
            Self::Of(limits) => limits.get(provider).copied(),
        }
    }
}

fn rates(limit: &Value) -> Option<Rates> {
    match limit {
        Value::Number(number) => number.as_f64().map(Rates::Each),
        Value::Object(map) => map
            .iter()
            .map(|(name, limit)| Some((name.clone(), limit.as_f64()?)))
            .collect::<Option<_>>()
            .map(Rates::Of),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of cases are small")]
fn rate_against(provider: &Provider, limit: f64) -> (String, bool) {
    match provider.rate {
        None => ("nothing judged".to_owned(), false),
        Some(rate) => (
            format!(
                "{} ({}/{})",
                exact_percent(rate),
                provider.passed,
                provider.judged
            ),
            // A rate that is the limit but for the last bit of a fraction meets it.
            provider.passed as f64 >= limit * provider.judged as f64 - 1e-9,
        ),
    }
}

/// A share as percent, with one decimal where it has one.
fn exact_percent(share: f64) -> String {
    let tenths = (share * 1_000.0).round() / 10.0;
    format!("{tenths} %")
}
