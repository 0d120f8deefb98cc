//! Ceilings: what was used, and which was crossed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Machine, Otherwise, State};
use crate::base::{Money, Span, format_duration};
use crate::domain::{BudgetKind, EventKind, Overrun};

/// What a run used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Spent {
    pub(super) tokens: u64,
    pub(super) cost: Money,
    pub(super) wall: Duration,
}

impl Machine {
    /// Records the first ceiling that is reached by an agent that wants to go on. Whether one is reached, now
    /// or before.
    pub(super) fn note_budgets(&mut self, events: &mut Vec<EventKind>) -> bool {
        let crossed = self.spent_too_much().or_else(|| self.out_of_steps());
        self.note(crossed, events)
    }

    /// As [`Machine::note_budgets`] for an agent that is done: that it used its last step is no overrun.
    pub(super) fn note_spending(&mut self, events: &mut Vec<EventKind>) -> bool {
        let crossed = self.spent_too_much();
        self.note(crossed, events)
    }

    fn note(&mut self, crossed: Option<Overrun>, events: &mut Vec<EventKind>) -> bool {
        if self.kept.overrun.is_none()
            && let Some(Overrun { kind, limit, used }) = crossed
        {
            events.push(EventKind::BudgetExceeded {
                kind,
                limit: limit.clone(),
                used: used.clone(),
            });
            self.kept.overrun = Some(Overrun { kind, limit, used });
        }
        self.kept.overrun.is_some()
    }

    /// Ends the run in time, unless a step is in the middle: that one is completed first.
    pub(super) fn check_wall(&mut self, events: &mut Vec<EventKind>) {
        let over = self.wall_left().is_some_and(|left| left.is_zero());
        if over
            && matches!(self.kept.state, State::Ready | State::Waiting { .. })
            && self.note_budgets(events)
        {
            self.stop(Otherwise::Exhausted, events);
        }
    }

    fn spent_too_much(&self) -> Option<Overrun> {
        let (budget, spent) = (&self.contract.budget, &self.kept.spent);
        if let Some(limit) = budget.tokens.filter(|limit| spent.tokens > *limit) {
            return Some(Overrun {
                kind: BudgetKind::Tokens,
                limit: limit.to_string(),
                used: spent.tokens.to_string(),
            });
        }
        if let Some(limit) = budget.cost.filter(|limit| spent.cost > *limit) {
            return Some(Overrun {
                kind: BudgetKind::Cost,
                limit: limit.to_string(),
                used: spent.cost.to_string(),
            });
        }
        budget
            .wall
            .filter(|limit| spent.wall >= *limit)
            .map(|limit| Overrun {
                kind: BudgetKind::Wall,
                limit: Span(limit).to_string(),
                used: format_duration(spent.wall),
            })
    }

    fn out_of_steps(&self) -> Option<Overrun> {
        let (limit, used) = (self.contract.budget.steps, self.kept.steps);
        (used >= limit).then(|| Overrun {
            kind: BudgetKind::Steps,
            limit: limit.to_string(),
            used: used.to_string(),
        })
    }
}
