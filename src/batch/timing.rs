//! Adds up where the time and the money of a case go, from the events that pass by.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::ledger::Ledger;
use crate::domain::{CaseTimes, EventKind, PriceTable, RunEvent};
use crate::run::{Flow, Observer};

/// Watches one case and passes every event on.
pub(super) struct CaseWatch {
    pub(super) next: Arc<dyn Observer>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) suite: String,
    pub(super) prices: Option<Arc<PriceTable>>,
    pub(super) provider_ms: AtomicU64,
    pub(super) waiting_ms: AtomicU64,
    pub(super) tools_ms: AtomicU64,
}

impl CaseWatch {
    pub(super) fn new(
        next: Arc<dyn Observer>,
        ledger: Arc<Ledger>,
        suite: String,
        prices: Option<Arc<PriceTable>>,
    ) -> Self {
        Self {
            next,
            ledger,
            suite,
            prices,
            provider_ms: AtomicU64::new(0),
            waiting_ms: AtomicU64::new(0),
            tools_ms: AtomicU64::new(0),
        }
    }

    /// Adds the share of the agent's run to a case's times.
    pub(super) fn fill(&self, times: &mut CaseTimes) {
        times.provider += self.provider_ms.load(Ordering::Relaxed);
        times.waiting += self.waiting_ms.load(Ordering::Relaxed);
        times.tools += self.tools_ms.load(Ordering::Relaxed);
    }
}

impl Observer for CaseWatch {
    fn event(&self, event: &RunEvent) -> Flow {
        match &event.kind {
            EventKind::ModelCalled(call) => {
                self.provider_ms
                    .fetch_add(call.latency_ms, Ordering::Relaxed);
                self.waiting_ms.fetch_add(call.queued_ms, Ordering::Relaxed);
                let model = call.served_model.as_ref().unwrap_or(&call.requested_model);
                let priced = self.prices.as_deref().zip(call.usage.as_ref());
                let cost = priced.and_then(|(table, usage)| table.cost(model, usage));
                self.ledger.charge(&self.suite, cost.unwrap_or_default());
            }
            EventKind::Retry { delay_ms, .. } => {
                self.waiting_ms.fetch_add(*delay_ms, Ordering::Relaxed);
            }
            EventKind::ToolCalled { duration_ms, .. } => {
                self.tools_ms.fetch_add(*duration_ms, Ordering::Relaxed);
            }
            _ => {}
        }
        self.next.event(event)
    }
}
