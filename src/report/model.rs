//! A report as typed rows: what every format is made of, and what the JSON format writes.
//!
//! Field names are those of the sections' SQL and of the JSON format `taskgate-report/1`; they are a contract.

use std::fmt;
use std::ops::Deref;

use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use serde::Serialize;

use crate::base::{Money, clip_middle, printable};

/// The longest text that a report takes over from one column, in characters.
const LONGEST_TEXT: usize = 64 * 1024;

/// A text of the trace that is safe to show: control characters and terminal sequences are gone, its length is bounded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct Text(String);

impl Text {
    /// Cleans and bounds a text.
    #[must_use]
    pub fn new(raw: &str) -> Self {
        Self(clip_middle(&printable(raw), LONGEST_TEXT).into_owned())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromSql for Text {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                Ok(Self::new(&String::from_utf8_lossy(bytes)))
            }
            ValueRef::Integer(number) => Ok(Self(number.to_string())),
            ValueRef::Real(number) => Ok(Self(number.to_string())),
            ValueRef::Null => Err(FromSqlError::InvalidType),
        }
    }
}

/// An amount of money as the database gives it: decimal text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Amount(pub Money);

impl FromSql for Amount {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value
            .as_str()?
            .parse()
            .map(Self)
            .map_err(|_| FromSqlError::InvalidType)
    }
}

/// A row type that is read by the names of its columns.
pub(crate) trait FromRow: Sized {
    /// The columns whose places [`from_row`](Self::from_row) is given: they are looked for once for a query, not once
    /// for each value.
    const COLUMNS: &'static [&'static str] = &[];

    fn from_row(row: &Row<'_>, places: &[usize]) -> rusqlite::Result<Self>;
}

macro_rules! rows {
    ($($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $kind:ty,)* })*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, PartialEq, Serialize)]
            #[non_exhaustive]
            pub struct $name { $($(#[$field_about])* pub $field: $kind,)* }

            impl FromRow for $name {
                const COLUMNS: &'static [&'static str] = &[$(stringify!($field)),*];

                fn from_row(row: &Row<'_>, places: &[usize]) -> rusqlite::Result<Self> {
                    let mut places = places.iter().copied();
                    $(let $field = row.get(places.next().expect("a place for each column"))?;)*
                    Ok(Self { $($field,)* })
                }
            }
        )*
    };
}

rows! {
    /// The batch that the trace holds.
    Batch {
        /// When it began, RFC 3339.
        started_at: Option<Text>,
        /// When it ended.
        finished_at: Option<Text>,
        /// `running`, `finished` or `interrupted`.
        status: Text,
        /// The version of the program that ran it.
        version: Text,
        /// Operating system and architecture that it ran on.
        platform: Text,
        /// Wall time in milliseconds.
        wall_ms: Option<i64>,
        /// Planned cases.
        cases: i64,
        /// What the sandbox enforced, as JSON text.
        sandbox: Option<Text>,
    }

    /// A price table in use.
    PriceTable {
        /// Its name.
        price_table: Text,
        /// The day on which its prices held.
        as_of: Text,
        /// How many models it prices.
        models: i64,
    }

    /// A suite with its totals.
    Suite {
        /// Its name.
        suite: Text,
        /// Its description.
        description: Option<Text>,
        /// Its file.
        file: Option<Text>,
        /// Its thresholds as JSON text.
        thresholds: Option<Text>,
        /// Its warnings as a JSON array of texts.
        warnings: Option<Text>,
        /// Planned cases.
        cases: i64,
        /// Cases that the gates, a budget or a refusal decided.
        judged: i64,
        /// Cases whose gates all passed.
        passed: i64,
        /// Cases that could not be judged.
        errored: i64,
        /// Cases that were stopped from outside.
        interrupted: i64,
        /// Cases that were left out.
        skipped: i64,
        /// Cases without an outcome yet.
        unfinished: i64,
        /// Passed cases of tasks without any gate: nothing was checked.
        unchecked: i64,
        /// 95th percentile of the wall time of judged cases, in milliseconds.
        wall_p95: Option<f64>,
    }

    /// How many cases of a suite ended in one way.
    Outcome {
        /// The suite.
        suite: Text,
        /// The outcome, or `unfinished`.
        outcome: Text,
        /// How many.
        cases: i64,
    }

    /// A provider of a suite and what it came to.
    Provider {
        /// The suite.
        suite: Text,
        /// The provider's name in the suite.
        provider: Text,
        /// The model asked for.
        model: Option<Text>,
        /// Planned cases.
        cases: i64,
        /// Cases that enter the rate.
        judged: i64,
        /// Cases whose gates all passed.
        passed: i64,
        /// Cases in which a gate said no.
        failed: i64,
        /// Cases in which a budget ran out.
        exhausted: i64,
        /// Cases that the policy or the provider refused.
        refused: i64,
        /// Cases that could not be judged.
        errored: i64,
        /// Cases that were stopped from outside.
        interrupted: i64,
        /// Cases that were left out.
        skipped: i64,
        /// Cases without an outcome yet.
        unfinished: i64,
        /// Share of judged cases that passed.
        rate: Option<f64>,
        /// Lower end of the rate's Wilson 95 % interval.
        rate_low: Option<f64>,
        /// Upper end of the rate's Wilson 95 % interval.
        rate_high: Option<f64>,
        /// Trials of each task.
        trials: i64,
        /// Over several trials: how many tasks and variable assignments had all of them judged.
        complete_groups: Option<i64>,
        /// Over several trials: the mean chance that one trial passes.
        pass_at_1: Option<f64>,
        /// Over several trials: the mean chance that one of them passes.
        pass_at_k: Option<f64>,
        /// Over several trials: the mean chance that all of them pass.
        pass_hat_k: Option<f64>,
    }

    /// How many cases of a provider failed first in one phase.
    FirstFailure {
        /// The suite.
        suite: Text,
        /// The provider.
        provider: Text,
        /// The phase.
        phase: Text,
        /// How many cases.
        cases: i64,
    }

    /// Tokens and cost of a provider's calls for one task, under one price table.
    Cost {
        /// The suite.
        suite: Text,
        /// The provider.
        provider: Text,
        /// The task.
        task: Text,
        /// The price table; none where no table is in use.
        price_table: Option<Text>,
        /// The day of the table's prices.
        as_of: Option<Text>,
        /// Calls, failed ones and those of earlier attempts included.
        calls: i64,
        /// All prompt tokens, as reported.
        prompt_tokens: Option<i64>,
        /// Prompt tokens read from a cache.
        cache_read_tokens: Option<i64>,
        /// Prompt tokens written to a cache.
        cache_write_tokens: Option<i64>,
        /// All completion tokens.
        completion_tokens: Option<i64>,
        /// Completion tokens spent on reasoning.
        reasoning_tokens: Option<i64>,
        /// Requests of tools that the vendor runs.
        server_tool_requests: Option<i64>,
        /// Cost of the priced calls in dollars.
        cost_usd: Option<Amount>,
        /// Cases of the task that the provider passed.
        passed: Option<i64>,
        /// Calls with usage and without a price.
        unpriced: i64,
        /// Calls without usage.
        unreported: i64,
        /// Calls without usage that were answered all the same.
        unreported_answers: i64,
    }

    /// What a provider's run cost, and which part of it bought passing results.
    Spend {
        /// The suite.
        suite: Text,
        /// The provider.
        provider: Text,
        /// The price table.
        price_table: Text,
        /// The day of the table's prices.
        as_of: Option<Text>,
        /// Cases that the provider passed.
        passed: Option<i64>,
        /// All calls.
        calls: i64,
        /// Cost of all of them.
        cost_usd: Option<Amount>,
        /// Cost of answered calls in the last attempts of passed cases.
        passing_usd: Option<Amount>,
        /// Cost of answered calls in the last attempts of all other cases.
        unpassed_usd: Option<Amount>,
        /// Cost of failed calls in last attempts.
        retried_usd: Option<Amount>,
        /// Cost of attempts that a later one replaced.
        superseded_usd: Option<Amount>,
        /// Failed calls in last attempts.
        retried_calls: i64,
        /// Calls of attempts that a later one replaced.
        superseded_calls: i64,
        /// Calls with usage and without a price.
        unpriced: i64,
        /// Answered calls without usage.
        unreported_answers: i64,
    }

    /// A model that a price table does not know.
    Unpriced {
        /// The price table.
        price_table: Text,
        /// The model.
        model: Text,
        /// How many calls its cost is missing of.
        calls: i64,
    }

    /// Wall times of a provider's calls and cases, in milliseconds.
    Latency {
        /// The suite.
        suite: Text,
        /// The provider.
        provider: Text,
        /// All calls.
        calls: i64,
        /// Calls that brought no answer.
        failed_calls: i64,
        /// Answered calls whose time to the first content was measured.
        ttft_known: i64,
        /// Median time to the first content.
        ttft_p50: Option<f64>,
        /// 95th percentile of it.
        ttft_p95: Option<f64>,
        /// Median time of an answered call.
        call_p50: Option<f64>,
        /// 95th percentile of it.
        call_p95: Option<f64>,
        /// 99th percentile of it.
        call_p99: Option<f64>,
        /// Completion tokens for a second of answered calls.
        output_per_second: Option<f64>,
        /// Median wall time of a judged case.
        wall_p50: Option<f64>,
        /// 95th percentile of it.
        wall_p95: Option<f64>,
    }

    /// Where the wall time of a provider's cases went, in milliseconds.
    Time {
        /// The suite.
        suite: Text,
        /// The provider.
        provider: Text,
        /// Cases that were timed.
        cases: i64,
        /// All of it.
        wall_ms: i64,
        /// Waiting for answers.
        provider_ms: i64,
        /// Waiting before a retry or for a rate limit.
        waiting_ms: i64,
        /// Running tools.
        tool_ms: i64,
        /// Running gates.
        gate_ms: i64,
        /// Laying out the workspace and setup commands.
        setup_ms: i64,
        /// What nothing else accounts for.
        harness_ms: i64,
    }

    /// What a phase of gates let through, in cases.
    GatePhase {
        /// The suite.
        suite: Text,
        /// The provider.
        provider: Text,
        /// The phase.
        phase: Text,
        /// Cases that reached it.
        entered: i64,
        /// Cases that it let through.
        passed: i64,
        /// Cases in which one of its gates said no.
        failed: i64,
        /// Cases that an earlier phase stopped.
        skipped: i64,
        /// Cases in which one of its gates could not be run.
        errored: i64,
        /// Time of its gates in milliseconds.
        duration_ms: i64,
    }

    /// A judged case that did not pass, with the first gate that said no.
    Failure {
        /// The suite.
        suite: Text,
        /// The case.
        case_id: Text,
        /// The task.
        task: Text,
        /// The provider.
        provider: Text,
        /// `failed`, `exhausted` or `refused`.
        outcome: Text,
        /// Why, in one line.
        reason: Option<Text>,
        /// The suite's file.
        file: Option<Text>,
        /// The task's line in it.
        line: Option<i64>,
        /// Steps of the agent.
        steps: Option<i64>,
        /// Wall time in milliseconds.
        wall_ms: Option<i64>,
        /// The phase of the gate; none where no gate said no.
        phase: Option<Text>,
        /// The gate.
        gate: Option<Text>,
        /// What the gate said, in one line.
        gate_reason: Option<Text>,
        /// Exit status of its command.
        exit_code: Option<i64>,
        /// What it printed, bounded.
        output: Option<Text>,
        /// How many bytes it printed.
        output_bytes: Option<i64>,
        /// How many of them the trace does not have.
        output_cut: Option<i64>,
    }

    /// A case that was not judged.
    Unjudged {
        /// The suite.
        suite: Text,
        /// The case.
        case_id: Text,
        /// The task.
        task: Text,
        /// The provider.
        provider: Text,
        /// `errored`, `interrupted` or `skipped`.
        outcome: Text,
        /// Why, in one line.
        reason: Option<Text>,
        /// How often it was tried.
        attempts: Option<i64>,
    }

    /// A task that both passed and did not pass under one provider.
    Flaky {
        /// The suite.
        suite: Text,
        /// The task.
        task: Text,
        /// The provider.
        provider: Text,
        /// The assignment of variables as JSON text.
        vars: Option<Text>,
        /// Trials that passed.
        passed: i64,
        /// Trials that were judged.
        judged: i64,
    }

    /// One of the slowest cases; times in milliseconds.
    Slow {
        /// The suite.
        suite: Text,
        /// The case.
        case_id: Text,
        /// Its outcome.
        outcome: Text,
        /// Wall time.
        wall_ms: i64,
        /// Waiting for answers.
        provider_ms: Option<i64>,
        /// Waiting before a retry or for a rate limit.
        waiting_ms: Option<i64>,
        /// Running tools.
        tool_ms: Option<i64>,
        /// Running gates.
        gate_ms: Option<i64>,
        /// Laying out the workspace and setup commands.
        setup_ms: Option<i64>,
        /// Steps of the agent.
        steps: Option<i64>,
    }

    /// An action that was refused, with how often.
    Refusal {
        /// The kind of action.
        act: Text,
        /// What it would have acted on.
        target: Text,
        /// The rule that decided; none where a default did.
        rule: Option<Text>,
        /// The layer of the rule.
        layer: Option<Text>,
        /// `policy` or `approver`.
        by: Text,
        /// How often.
        refusals: i64,
        /// In how many cases.
        cases: i64,
        /// How many kinds of refusal there are in all, those that are cut included.
        kinds: i64,
    }

    /// Calls that another model served than the one asked for.
    Substitution {
        /// The suite.
        suite: Text,
        /// The provider.
        provider: Text,
        /// The model asked for.
        requested_model: Text,
        /// The model that the vendor says it served.
        served_model: Text,
        /// How many calls.
        calls: i64,
        /// In how many cases.
        cases: i64,
    }

    /// A budget that ran out.
    Overrun {
        /// The suite.
        suite: Text,
        /// The case.
        case_id: Text,
        /// Its outcome.
        outcome: Option<Text>,
        /// Which budget.
        kind: Text,
        /// The ceiling.
        limit: Option<Text>,
        /// What was used.
        used: Option<Text>,
    }

    /// A protected path that was changed and restored.
    Tampered {
        /// The suite.
        suite: Text,
        /// The case.
        case_id: Text,
        /// Its outcome.
        outcome: Option<Text>,
        /// The path.
        path: Option<Text>,
        /// `changed`, `created` or `removed`.
        how: Option<Text>,
    }

    /// A planned case and what became of it.
    Case {
        /// The suite.
        suite: Text,
        /// The case.
        case_id: Text,
        /// The task.
        task: Text,
        /// The provider.
        provider: Text,
        /// The model asked for.
        model: Option<Text>,
        /// The assignment of variables as JSON text.
        vars: Option<Text>,
        /// The trial, from 1.
        trial: i64,
        /// The task's tags as a JSON array.
        tags: Option<Text>,
        /// The suite's file.
        file: Option<Text>,
        /// The task's line in it.
        line: Option<i64>,
        /// How it ended; none while it has not.
        outcome: Option<Text>,
        /// Why, in one line.
        reason: Option<Text>,
        /// A budget that ran out.
        overrun_kind: Option<Text>,
        /// How often it was tried.
        attempts: Option<i64>,
        /// Wall time in milliseconds.
        wall_ms: Option<i64>,
        /// Laying out the workspace and setup commands.
        setup_ms: Option<i64>,
        /// Waiting for answers.
        provider_ms: Option<i64>,
        /// Waiting before a retry or for a rate limit.
        waiting_ms: Option<i64>,
        /// Running tools.
        tool_ms: Option<i64>,
        /// Running gates.
        gate_ms: Option<i64>,
        /// Steps of the agent.
        steps: Option<i64>,
        /// Its tool calls.
        tool_calls: Option<i64>,
        /// Tool calls whose arguments were not valid JSON.
        malformed_calls: Option<i64>,
        /// The phase in which it failed first.
        first_failed_phase: Option<Text>,
        /// The gate that said no first.
        first_failed_gate: Option<Text>,
        /// Protected paths that were changed and restored.
        tampered: Option<i64>,
        /// Files that differ.
        patch_files: Option<i64>,
        /// Lines added.
        patch_added: Option<i64>,
        /// Lines removed.
        patch_removed: Option<i64>,
        /// Gates planned for it.
        gates: Option<i64>,
    }

    /// What a case cost over all of its attempts, under the price table that comes first.
    CaseSpend {
        /// The case.
        case_id: Text,
        /// Cost of its priced calls.
        cost_usd: Option<Amount>,
        /// Calls with usage and without a price.
        unpriced: i64,
        /// Answered calls without usage.
        unreported_answers: i64,
    }
}

/// Everything that the formats show, section by section. The order of rows is that of the sections' SQL.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The batch.
    pub batch: Batch,
    /// Price tables in use, in order of preference.
    pub prices: Vec<PriceTable>,
    /// Suites in order.
    pub suites: Vec<Suite>,
    /// Outcomes per suite.
    pub outcomes: Vec<Outcome>,
    /// Providers side by side.
    pub providers: Vec<Provider>,
    /// Phases in which cases failed first.
    pub first_failures: Vec<FirstFailure>,
    /// Tokens and cost per provider, task and price table.
    pub cost: Vec<Cost>,
    /// Cost of the run against cost of the passing results.
    pub spend: Vec<Spend>,
    /// Models without a price.
    pub unpriced: Vec<Unpriced>,
    /// Latency per provider.
    pub latency: Vec<Latency>,
    /// Where time went per provider.
    pub time: Vec<Time>,
    /// Gate phases per provider.
    pub gate_phases: Vec<GatePhase>,
    /// Judged cases that did not pass.
    pub failures: Vec<Failure>,
    /// Cases that were not judged.
    pub errors: Vec<Unjudged>,
    /// Flaky tasks.
    pub flaky: Vec<Flaky>,
    /// The slowest cases.
    pub slowest: Vec<Slow>,
    /// What was refused most often.
    pub refusals: Vec<Refusal>,
    /// Models that served in place of others.
    pub substitutions: Vec<Substitution>,
    /// Budgets that ran out.
    pub overruns: Vec<Overrun>,
    /// Protected paths that were changed.
    pub tampered: Vec<Tampered>,
    /// All cases.
    pub cases: Vec<Case>,
    /// Cost of each case that made a call.
    pub case_spend: Vec<CaseSpend>,
}

impl Report {
    /// The warnings of all suites, in order.
    #[must_use]
    pub fn warnings(&self) -> Vec<(&Text, Text)> {
        self.suites
            .iter()
            .flat_map(|suite| {
                let warnings = suite.warnings.as_deref().unwrap_or("[]");
                let warnings: Vec<String> = serde_json::from_str(warnings).unwrap_or_default();
                warnings
                    .into_iter()
                    .map(move |warning| (&suite.suite, Text::new(&warning)))
            })
            .collect()
    }
}
