//! Everything that a plan needs, found before anything starts: price tables, keys, scripts, reachable servers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::BatchError;
use super::error::Problem;
use crate::base::{Clock, Redactor};
use crate::domain::{PriceRecord, PriceTable};
use crate::net::{Client, ClientConfig};
use crate::provider::pricing;
use crate::provider::{
    Built, ConstructError, Parts, Secrets, Throttle, Vendor, construct, reachable,
};
use crate::suite::{CaseSpec, Plan, SuiteInfo};

/// What to do with cases whose provider cannot be used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// Nothing starts, and everything that is missing is named.
    Refuse,
    /// They are left out as skipped.
    Skip,
}

/// What is asked of the machine while a plan is prepared.
#[derive(Debug, Clone, Copy)]
pub struct Host<'a> {
    /// The host's environment.
    pub env: &'a [(String, String)],
    /// The clock.
    pub clock: &'a Arc<dyn Clock>,
    /// Is told every secret that is resolved.
    pub redactor: &'a Redactor,
}

/// A provider that can be called, with the limits that all cases share.
pub(super) struct ReadyProvider {
    pub(super) built: Built,
    pub(super) throttle: Option<Arc<Throttle>>,
}

/// A plan's surroundings, ready to be used.
pub struct Prepared {
    providers: BTreeMap<(String, String), Arc<ReadyProvider>>,
    unavailable: BTreeMap<(String, String), String>,
    models: BTreeMap<(String, String), String>,
    tables: Vec<PriceTable>,
    merged: Option<Arc<PriceTable>>,
    warnings: BTreeMap<String, Vec<String>>,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared")
            .field("models", &self.models)
            .finish_non_exhaustive()
    }
}

impl Prepared {
    pub(super) fn provider(&self, spec: &CaseSpec) -> Option<&Arc<ReadyProvider>> {
        self.providers.get(&key(spec))
    }

    pub(super) fn unavailable(&self, spec: &CaseSpec) -> Option<String> {
        self.unavailable.get(&key(spec)).cloned()
    }

    pub(super) fn model(&self, spec: &CaseSpec) -> String {
        let declared = || spec.provider_config.model.clone();
        self.models
            .get(&key(spec))
            .cloned()
            .or_else(declared)
            .unwrap_or_default()
    }

    /// The prices that budgets are kept under.
    pub(super) const fn prices(&self) -> Option<&Arc<PriceTable>> {
        self.merged.as_ref()
    }

    /// The same for a display.
    #[must_use]
    pub fn any_prices(&self) -> Option<PriceTable> {
        self.merged.as_deref().cloned()
    }

    /// Why cases were left out, provider by provider.
    pub fn left_out(&self) -> impl Iterator<Item = &String> {
        self.unavailable.values()
    }

    pub(super) fn price_tables(&self) -> Vec<&PriceTable> {
        self.tables.iter().collect()
    }

    /// What a reader of every report must know of a suite.
    pub fn warnings(&self, suite: &str) -> impl Iterator<Item = &String> {
        self.warnings.get(suite).into_iter().flatten()
    }
}

fn key(spec: &CaseSpec) -> (String, String) {
    (spec.suite.clone(), spec.provider.clone())
}

/// Checks and builds everything that the plan's cases need. `recorded` are the prices of a batch that goes on.
///
/// # Errors
/// Where something is missing: all of it is named, and nothing has started.
pub async fn prepare(
    plan: &Plan,
    recorded: Option<&[PriceRecord]>,
    host: &Host<'_>,
    unavailable: Unavailable,
    max_cost: bool,
) -> Result<Prepared, BatchError> {
    let mut prepared = Prepared {
        providers: BTreeMap::new(),
        unavailable: BTreeMap::new(),
        models: BTreeMap::new(),
        tables: Vec::new(),
        merged: None,
        warnings: BTreeMap::new(),
    };
    let mut problems = Vec::new();
    match recorded {
        Some(records) => prepared.take_recorded(records),
        None => prepared.load_tables(&plan.suites, &mut problems),
    }
    prepared.merge_tables();
    let client = Client::new(client_config(host));
    let mut missing = prepared.build_providers(plan, &client, host);
    missing.extend(prepared.find_unreachable(&client).await);
    match unavailable {
        Unavailable::Refuse => problems.extend(missing),
        Unavailable::Skip => {
            for problem in missing {
                if let Some(provider) = problem.provider {
                    prepared
                        .unavailable
                        .insert(provider, format!("provider unavailable: {}", problem.text));
                }
            }
        }
    }
    if !problems.is_empty() {
        return Err(BatchError::Unavailable { problems });
    }
    prepared.warn_of_unpriced(plan, max_cost);
    Ok(prepared)
}

impl Prepared {
    /// Loads the tables that the suites name. All cases of a batch are priced under all of them, the first that knows
    /// a model first, as the reports do it.
    fn load_tables(&mut self, suites: &[SuiteInfo], problems: &mut Vec<Problem>) {
        let mut loaded: BTreeMap<&Path, PriceTable> = BTreeMap::new();
        for path in suites.iter().flat_map(|suite| &suite.prices) {
            if loaded.contains_key(path.as_path()) {
                continue;
            }
            let mut problem = |text: String, help: Option<String>| {
                problems.push(Problem {
                    provider: None,
                    text,
                    help,
                });
            };
            match pricing::load(path) {
                Err(error) => problem(error.to_string(), None),
                Ok(table) => {
                    // Reports know a table by its name.
                    let twin = loaded.iter().find(|(_, known)| known.name == table.name);
                    if let Some((other, _)) = twin.filter(|(_, known)| **known != table) {
                        let text = format!(
                            "two price tables of one batch are called `{}`: {} and {}",
                            table.name,
                            other.display(),
                            path.display()
                        );
                        problem(text, Some("rename one of the files".to_owned()));
                    } else if twin.is_none() {
                        self.tables.push(table.clone());
                    }
                    loaded.insert(path, table);
                }
            }
        }
    }

    fn take_recorded(&mut self, records: &[PriceRecord]) {
        for record in records {
            let Ok(as_of) = record.as_of.parse() else {
                continue;
            };
            let known = self
                .tables
                .iter()
                .position(|table| table.name == record.table);
            let position = known.unwrap_or_else(|| {
                let (name, models) = (record.table.clone(), BTreeMap::new());
                self.tables.push(PriceTable {
                    name,
                    as_of,
                    models,
                });
                self.tables.len() - 1
            });
            self.tables[position]
                .models
                .insert(record.model.clone(), record.price);
        }
    }

    /// The prices that budgets are kept under.
    fn merge_tables(&mut self) {
        let Some((first, rest)) = self.tables.split_first() else {
            return;
        };
        let mut merged = first.clone();
        for (model, price) in rest.iter().flat_map(|table| &table.models) {
            merged.models.entry(model.clone()).or_insert(*price);
        }
        self.merged = Some(Arc::new(merged));
    }

    /// Builds every provider that a case needs, and says which cannot be built.
    fn build_providers(&mut self, plan: &Plan, client: &Client, host: &Host<'_>) -> Vec<Problem> {
        let mut problems = Vec::new();
        let lookup = |name: &str| {
            host.env
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.clone())
        };
        for spec in plan.cases.iter().filter(|spec| spec.skip.is_none()) {
            let key = key(spec);
            if self.providers.contains_key(&key)
                || problems
                    .iter()
                    .any(|problem: &Problem| problem.provider.as_ref() == Some(&key))
            {
                continue;
            }
            let secrets = Secrets {
                env: &lookup,
                base: &spec.base,
            };
            let parts = Parts {
                client: client.clone(),
                clock: Arc::clone(host.clock),
                redactor: host.redactor.clone(),
            };
            match construct(&spec.provider, &spec.provider_config, &secrets, &parts) {
                Ok(built) => {
                    self.models.insert(
                        key.clone(),
                        built.for_case(&spec.task, spec.trial).model().to_owned(),
                    );
                    let throttle = spec
                        .provider_config
                        .limits
                        .map(|limits| Arc::new(Throttle::new(limits, Arc::clone(host.clock))));
                    self.providers
                        .insert(key, Arc::new(ReadyProvider { built, throttle }));
                }
                Err(error) => {
                    let text = format!("suite `{}`: {error}", spec.suite);
                    problems.push(Problem {
                        provider: Some(key),
                        text,
                        help: way_out(&error),
                    });
                }
            }
        }
        problems
    }

    async fn find_unreachable(&mut self, client: &Client) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (key, provider) in &self.providers {
            if let Err(error) = reachable(&provider.built, client).await {
                let (suite, name) = key;
                problems.push(Problem {
                    provider: Some(key.clone()),
                    text: format!("provider `{name}` of suite `{suite}` cannot be reached: {}", error.message),
                    help: Some("start the server, mend `base_url`, or leave its cases out with --skip-unavailable".to_owned()),
                });
            }
        }
        for key in problems
            .iter()
            .filter_map(|problem| problem.provider.as_ref())
        {
            self.providers.remove(key);
        }
        problems
    }

    /// A ceiling in money that no price can be held against must not look like one that holds.
    fn warn_of_unpriced(&mut self, plan: &Plan, max_cost: bool) {
        for suite in &plan.suites {
            let mut unpriced: BTreeSet<String> = BTreeSet::new();
            for spec in plan
                .cases
                .iter()
                .filter(|spec| spec.suite == suite.name && spec.skip.is_none())
            {
                let limited =
                    max_cost || suite.budget.cost_usd.is_some() || spec.budget.cost.is_some();
                let model = self.model(spec);
                let priced = self
                    .prices()
                    .is_some_and(|table| table.models.contains_key(&model));
                if limited && !priced && spec.provider_config.vendor != Vendor::Scripted {
                    unpriced.insert(format!("`{}` ({model})", spec.provider));
                }
            }
            if !unpriced.is_empty() {
                let names: Vec<String> = unpriced.into_iter().collect();
                let warning = format!(
                    "no price is known for {}: a ceiling in money does not hold for its calls; add its model to a table under `prices`",
                    names.join(", ")
                );
                self.warnings
                    .entry(suite.name.clone())
                    .or_default()
                    .push(warning);
            }
        }
    }
}

/// Proxies are named by the environment, which only this room's caller has read.
fn client_config(host: &Host<'_>) -> ClientConfig {
    let lookup = |names: [&str; 2]| {
        let found = host
            .env
            .iter()
            .find(|(name, value)| names.contains(&name.as_str()) && !value.is_empty());
        found.map(|(_, value)| value.clone())
    };
    ClientConfig {
        proxy: lookup(["HTTPS_PROXY", "https_proxy"]).map(Into::into),
        no_proxy: lookup(["NO_PROXY", "no_proxy"]).unwrap_or_default(),
        ..ClientConfig::default()
    }
}

fn way_out(error: &ConstructError) -> Option<String> {
    let text = match error {
        ConstructError::Unset { variable, .. } => {
            format!("set {variable}, or leave its cases out with --skip-unavailable")
        }
        ConstructError::File { .. } | ConstructError::KeyForOther { .. } => {
            "give it, or leave its cases out with --skip-unavailable".to_owned()
        }
        _ => return None,
    };
    Some(text)
}
