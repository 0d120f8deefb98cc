//! How a run ends. The criterion is always tried before a run ends for want of anything, so that work which
//! was done is seen, and the ceiling that was crossed is kept beside the verdict.

use super::{Machine, Otherwise, State, prompt};
use crate::domain::{EventKind, RunOutcome, Verdict, Verification};

impl Machine {
    /// The agent may not go on.
    pub(super) fn stop(&mut self, why: Otherwise, events: &mut Vec<EventKind>) {
        if matches!(self.contract.verify, Verification::None) {
            let outcome = self.fallen_short();
            self.end(outcome, events);
        } else {
            self.kept.state = State::Verifying { then: why };
        }
    }

    /// The criterion was tried.
    pub(super) fn judged(
        &mut self,
        verdict: Verdict,
        then: Otherwise,
        events: &mut Vec<EventKind>,
    ) {
        let feedback = (!verdict.passed).then(|| prompt::not_yet(&verdict));
        events.push(EventKind::Verified(verdict));
        match (feedback, then) {
            (None, _) => self.end(RunOutcome::Success, events),
            (Some(feedback), Otherwise::GoOn) if !self.note_budgets(events) => {
                self.say(&feedback);
                self.check_repeated_claims(events);
            }
            (Some(_), Otherwise::GoOn | Otherwise::Exhausted | Otherwise::Stalled) => {
                let outcome = self.fallen_short();
                self.end(outcome, events);
            }
        }
    }

    /// A model that says again and again that it is done, and changes nothing, is stalled as well.
    fn check_repeated_claims(&mut self, events: &mut Vec<EventKind>) {
        match self.kept.progress.step(self.contract.stall, "", false) {
            super::Reaction::GoOn => {}
            super::Reaction::Replan => {
                events.push(EventKind::Replan {
                    window: self.contract.stall.window,
                });
                self.say(prompt::REPLAN);
            }
            super::Reaction::Stop => {
                events.push(EventKind::Stalled);
                // The criterion was tried just now.
                self.end(RunOutcome::Stalled, events);
            }
        }
    }

    /// The ending without success: the ceiling that was crossed, else the stall.
    fn fallen_short(&self) -> RunOutcome {
        self.kept
            .overrun
            .as_ref()
            .map_or(RunOutcome::Stalled, |overrun| {
                RunOutcome::exhausted(overrun.kind)
            })
    }

    pub(super) fn end(&mut self, outcome: RunOutcome, events: &mut Vec<EventKind>) {
        events.push(EventKind::Finished {
            outcome: outcome.clone(),
            steps: self.kept.steps,
            tokens: self.kept.spent.tokens,
            error: self.kept.error.clone(),
        });
        self.kept.state = State::Done { outcome };
    }
}
