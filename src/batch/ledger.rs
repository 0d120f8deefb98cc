//! The money and the time of a batch: what was spent, and whether another case may begin.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::base::{Money, Span, format_duration};

/// The ceilings of one suite.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SuiteCeiling {
    pub(super) cost: Option<Money>,
    pub(super) wall: Option<Duration>,
}

/// Shared by all cases of a batch.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    max_cost: Option<Money>,
    ceilings: BTreeMap<String, SuiteCeiling>,
    suites: Mutex<BTreeMap<String, Suite>>,
}

/// What a suite has used so far.
#[derive(Debug, Clone, Copy, Default)]
struct Suite {
    spent: Money,
    /// When its first case began, from the batch's beginning.
    began: Option<Duration>,
}

impl Ledger {
    pub(super) fn new(max_cost: Option<Money>, ceilings: BTreeMap<String, SuiteCeiling>) -> Self {
        Self {
            max_cost,
            ceilings,
            suites: Mutex::default(),
        }
    }

    pub(super) fn charge(&self, suite: &str, cost: Money) {
        self.with(suite, |known| known.spent += cost);
    }

    /// Takes note that a case of a suite begins: the suite's time runs from its first one on.
    pub(super) fn begin(&self, suite: &str, elapsed: Duration) {
        self.with(suite, |known| {
            known.began.get_or_insert(elapsed);
        });
    }

    fn with(&self, suite: &str, change: impl FnOnce(&mut Suite)) {
        let mut suites = self.suites.lock().unwrap_or_else(PoisonError::into_inner);
        match suites.get_mut(suite) {
            Some(known) => change(known),
            None => change(suites.entry(suite.to_owned()).or_default()),
        }
    }

    /// Why no further case of this suite may begin, where none may. `elapsed` counts from the batch's beginning.
    pub(super) fn closed(&self, suite: &str, elapsed: Duration) -> Option<String> {
        let suites = self.suites.lock().unwrap_or_else(PoisonError::into_inner);
        let total: Money = suites.values().map(|suite| suite.spent).sum();
        if let Some(limit) = self.max_cost.filter(|limit| total >= *limit) {
            return Some(format!(
                "not started: the batch reached its cost ceiling of {limit} ({total} spent)"
            ));
        }
        let ceiling = self.ceilings.get(suite).copied().unwrap_or_default();
        let own = suites.get(suite).copied().unwrap_or_default();
        if let Some(limit) = ceiling.cost.filter(|limit| own.spent >= *limit) {
            return Some(format!(
                "not started: the suite reached its cost ceiling of {limit} ({} spent)",
                own.spent
            ));
        }
        let passed = elapsed.saturating_sub(own.began?);
        let limit = ceiling.wall.filter(|limit| passed >= *limit)?;
        Some(format!(
            "not started: the suite reached its wall ceiling of {} ({} passed)",
            Span(limit),
            format_duration(passed)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{Ledger, SuiteCeiling};
    use std::time::Duration;

    #[test]
    fn each_ceiling_closes_what_it_is_for() {
        let amount = |text: &str| text.parse().expect("an amount");
        let ceilings = [(
            "a".to_owned(),
            SuiteCeiling {
                cost: Some(amount("1")),
                wall: Some(Duration::from_secs(60)),
            },
        )]
        .into();
        let ledger = Ledger::new(Some(amount("3")), ceilings);
        let early = Duration::from_secs(1059);
        assert_eq!(ledger.closed("a", Duration::from_secs(5000)), None);
        // Only the first case of a suite counts.
        ledger.begin("a", Duration::from_secs(1000));
        ledger.begin("a", Duration::from_secs(1050));
        assert_eq!(ledger.closed("a", early), None);
        assert_eq!(ledger.closed("b", Duration::from_secs(5000)), None);
        assert!(
            ledger
                .closed("a", Duration::from_secs(1060))
                .is_some_and(|why| why.contains("wall ceiling of 1m"))
        );
        ledger.charge("a", amount("1"));
        assert!(
            ledger
                .closed("a", early)
                .is_some_and(|why| why.contains("suite reached its cost ceiling of $1.00"))
        );
        assert_eq!(ledger.closed("b", early), None);
        ledger.charge("b", amount("2"));
        assert!(
            ledger
                .closed("b", early)
                .is_some_and(|why| why.contains("batch reached its cost ceiling of $3.00"))
        );
    }
}
