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
    spent: Mutex<BTreeMap<String, Money>>,
}

impl Ledger {
    pub(super) fn new(max_cost: Option<Money>, ceilings: BTreeMap<String, SuiteCeiling>) -> Self {
        Self {
            max_cost,
            ceilings,
            spent: Mutex::default(),
        }
    }

    pub(super) fn charge(&self, suite: &str, cost: Money) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        match spent.get_mut(suite) {
            Some(sum) => *sum += cost,
            None => drop(spent.insert(suite.to_owned(), cost)),
        }
    }

    /// Why no further case of this suite may begin, where none may.
    pub(super) fn closed(&self, suite: &str, elapsed: Duration) -> Option<String> {
        let spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let total: Money = spent.values().copied().sum();
        if let Some(limit) = self.max_cost.filter(|limit| total >= *limit) {
            return Some(format!(
                "not started: the batch reached its cost ceiling of {limit} ({total} spent)"
            ));
        }
        let ceiling = self.ceilings.get(suite).copied().unwrap_or_default();
        let own = spent.get(suite).copied().unwrap_or_default();
        if let Some(limit) = ceiling.cost.filter(|limit| own >= *limit) {
            return Some(format!(
                "not started: the suite reached its cost ceiling of {limit} ({own} spent)"
            ));
        }
        let limit = ceiling.wall.filter(|limit| elapsed >= *limit)?;
        Some(format!(
            "not started: the suite reached its wall ceiling of {} ({} passed)",
            Span(limit),
            format_duration(elapsed)
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
        let early = Duration::from_secs(59);
        assert_eq!(ledger.closed("a", early), None);
        assert!(
            ledger
                .closed("a", Duration::from_secs(60))
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
