//! What a run works with, put together and checked before anything is billed.

use std::sync::Arc;

use super::entry::RunRequest;
use super::error::BuildError;
use super::observer::{Ignore, Observer};
use crate::base::{Clock, Redactor, SystemClock};
use crate::domain::{Approver, DenyAll, PriceTable, RunId, TaskContract};
use crate::policy::Policy;
use crate::provider::{Provider, Throttle};
use crate::sandbox::{Environment, Sandbox, SandboxLimits};
use crate::store::Store;

/// Everything that a run works with.
pub(super) struct Parts {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) store: Store,
    pub(super) policy: Arc<Policy>,
    pub(super) approver: Arc<dyn Approver>,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) sandbox: Arc<dyn Sandbox>,
    pub(super) environment: Arc<Environment>,
    pub(super) limits: SandboxLimits,
    pub(super) network: bool,
    pub(super) prices: Option<Arc<PriceTable>>,
    pub(super) throttle: Option<Arc<Throttle>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) redactor: Redactor,
}

/// Runs contracts. Cheap to clone; runs of one harness may go on at the same time.
#[derive(Clone)]
pub struct Harness {
    pub(super) parts: Arc<Parts>,
}

impl std::fmt::Debug for Harness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Harness")
            .field("provider", &self.parts.provider.name())
            .finish_non_exhaustive()
    }
}

impl Harness {
    /// Begins with nothing but defaults.
    #[must_use]
    pub fn builder() -> HarnessBuilder {
        HarnessBuilder::default()
    }

    /// A run of `contract`, which begins when the request is awaited.
    pub fn start(&self, contract: TaskContract) -> RunRequest {
        RunRequest::start(self.clone(), contract)
    }

    /// Goes on with a run at its last committed step, under the contract and the policy that it was stored with.
    pub fn resume(&self, run: RunId) -> RunRequest {
        RunRequest::resume(self.clone(), run)
    }
}

/// Collects what a [`Harness`] works with.
#[derive(Default)]
pub struct HarnessBuilder {
    provider: Option<Arc<dyn Provider>>,
    store: Option<Store>,
    policy: Option<Policy>,
    approver: Option<Arc<dyn Approver>>,
    observer: Option<Arc<dyn Observer>>,
    sandbox: Option<Arc<dyn Sandbox>>,
    environment: Option<Arc<Environment>>,
    limits: SandboxLimits,
    network: bool,
    prices: Option<Arc<PriceTable>>,
    throttle: Option<Arc<Throttle>>,
    clock: Option<Arc<dyn Clock>>,
    redactor: Redactor,
}

impl std::fmt::Debug for HarnessBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HarnessBuilder").finish_non_exhaustive()
    }
}

impl HarnessBuilder {
    /// The model. Required.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.provider = Some(provider);
        self
    }

    /// Where the trace goes. Required.
    #[must_use]
    pub fn store(mut self, store: Store) -> Self {
        self.store = Some(store);
        self
    }

    /// What the agent may do. Default: [`Policy::ci_default`].
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Who answers where the policy says *ask*. Default: nobody, so that it is denied.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Who watches. Default: nobody.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Where commands run. Required.
    #[must_use]
    pub fn sandbox(mut self, sandbox: Arc<dyn Sandbox>) -> Self {
        self.sandbox = Some(sandbox);
        self
    }

    /// What commands see of the environment. Required.
    #[must_use]
    pub fn environment(mut self, environment: Arc<Environment>) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Caps of one command; the contract's time limits hold beside them.
    #[must_use]
    pub const fn limits(mut self, limits: SandboxLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Whether the agent's commands may reach the network. Default: no.
    #[must_use]
    pub const fn network(mut self, network: bool) -> Self {
        self.network = network;
        self
    }

    /// The table that the cost budget is kept under. Default: none, so that every call is unpriced.
    #[must_use]
    pub fn prices(self, prices: Option<PriceTable>) -> Self {
        self.shared_prices(prices.map(Arc::new))
    }

    /// As [`HarnessBuilder::prices`], for a table that many harnesses share.
    pub(crate) fn shared_prices(mut self, prices: Option<Arc<PriceTable>>) -> Self {
        self.prices = prices;
        self
    }

    /// Limits of the provider that other runs share. Default: none.
    #[must_use]
    pub fn throttle(mut self, throttle: Option<Arc<Throttle>>) -> Self {
        self.throttle = throttle;
        self
    }

    /// The clock. Default: the machine's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Knows the secrets that must not leave the process.
    #[must_use]
    pub fn redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Puts the harness together.
    ///
    /// # Errors
    /// Where a required part is missing; all of them are named.
    pub fn build(self) -> Result<Harness, BuildError> {
        match (self.provider, self.store, self.sandbox, self.environment) {
            (Some(provider), Some(store), Some(sandbox), Some(environment)) => {
                let parts = Parts {
                    provider,
                    store,
                    policy: Arc::new(self.policy.unwrap_or_else(Policy::ci_default)),
                    approver: self.approver.unwrap_or_else(|| Arc::new(DenyAll)),
                    observer: self.observer.unwrap_or_else(|| Arc::new(Ignore)),
                    sandbox,
                    environment,
                    limits: self.limits,
                    network: self.network,
                    prices: self.prices,
                    throttle: self.throttle,
                    clock: self
                        .clock
                        .unwrap_or_else(|| Arc::new(SystemClock::default())),
                    redactor: self.redactor,
                };
                Ok(Harness {
                    parts: Arc::new(parts),
                })
            }
            (provider, store, sandbox, environment) => {
                let present = [
                    ("provider", provider.is_some()),
                    ("store", store.is_some()),
                    ("sandbox", sandbox.is_some()),
                    ("environment", environment.is_some()),
                ];
                let missing = present
                    .into_iter()
                    .filter(|(_, there)| !there)
                    .map(|(name, _)| name)
                    .collect();
                Err(BuildError { missing })
            }
        }
    }
}
