//! A plan as the trace keeps it, and back.

use serde::{Deserialize, Serialize};

use super::prepare::Prepared;
use super::{BatchError, BatchOptions};
use crate::base::Clock;
use crate::domain::{BatchRecord, CaseRecord, PriceRecord};
use crate::sandbox::Sandbox;
use crate::suite::{CaseSpec, Plan, SuiteInfo};

/// What the trace is told before the first case starts. The specs of the cases are null: [`run`](super::run) takes them
/// from the plan one by one, since all of them at once are most of what a large batch would hold in memory.
#[must_use]
pub fn batch_record(
    plan: &Plan,
    prepared: &Prepared,
    options: &BatchOptions,
    sandbox: &dyn Sandbox,
    clock: &dyn Clock,
) -> BatchRecord {
    let suites = plan.suites.iter().map(|suite| {
        let mut record = suite.record();
        record
            .warnings
            .extend(prepared.warnings(&suite.name).cloned());
        record
    });
    let suites = suites.collect();
    let prices = prepared
        .price_tables()
        .into_iter()
        .flat_map(|table| {
            table.models.iter().map(move |(model, price)| PriceRecord {
                table: table.name.clone(),
                as_of: table.as_of.to_string(),
                model: model.clone(),
                price: *price,
            })
        })
        .collect();
    BatchRecord {
        started_at: clock.now(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        platform: format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        options: serde_json::to_value(Settings {
            options: options.clone(),
            suites: plan.suites.clone(),
        })
        .unwrap_or_default(),
        suites,
        cases: plan
            .cases
            .iter()
            .map(|case| case_record(case, prepared))
            .collect(),
        prices,
        sandbox: serde_json::to_value(sandbox.selected()).unwrap_or_default(),
    }
}

fn case_record(spec: &CaseSpec, prepared: &Prepared) -> CaseRecord {
    let record = spec.outline();
    let skip = record.skip.clone().or_else(|| prepared.unavailable(spec));
    CaseRecord {
        model: prepared.model(spec),
        skip,
        ..record
    }
}

/// What a resume needs beside the cases.
#[derive(Debug, Serialize, Deserialize)]
struct Settings {
    #[serde(flatten)]
    options: BatchOptions,
    suites: Vec<SuiteInfo>,
}

/// The plan and the options of a batch that was begun before.
///
/// # Errors
/// Where they were written by another version.
pub fn plan_of(batch: &BatchRecord) -> Result<(Plan, BatchOptions), BatchError> {
    let unreadable = |error: serde_json::Error| BatchError::Plan(error.to_string());
    let Settings { options, suites } =
        serde_json::from_value(batch.options.clone()).map_err(unreadable)?;
    let cases = batch.cases.iter().map(|case| {
        let spec: CaseSpec = serde_json::from_value(case.spec.clone()).map_err(unreadable)?;
        Ok(CaseSpec {
            skip: case.skip.clone(),
            ..spec
        })
    });
    Ok((
        Plan {
            suites,
            cases: cases.collect::<Result<_, BatchError>>()?,
        },
        options,
    ))
}
