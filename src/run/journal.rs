//! From what happens to what is stored: stamps events, shows them to who watches, and commits them with the
//! checkpoint that they lead to.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::machine::{Input, Machine};
use super::observer::{Flow, Observer};
use crate::base::Clock;
use crate::domain::{CaseRef, EventKind, RunEvent, RunId};
use crate::store::{CHECKPOINT_FORMAT, Commit, Store, StoreError, StoredCheckpoint, StoredMessage};

/// The record of one run while it is driven.
pub(super) struct Journal<'a> {
    pub(super) store: &'a Store,
    pub(super) clock: &'a dyn Clock,
    pub(super) observer: &'a dyn Observer,
    pub(super) case: Option<CaseRef>,
    pub(super) run_id: RunId,
    /// The step that events belong to.
    step: AtomicU32,
    pending: Mutex<Vec<RunEvent>>,
    cancelled: AtomicBool,
}

impl<'a> Journal<'a> {
    pub(super) fn new(
        store: &'a Store,
        clock: &'a dyn Clock,
        observer: &'a dyn Observer,
        case: Option<CaseRef>,
        run_id: RunId,
    ) -> Self {
        let (step, pending, cancelled) =
            (AtomicU32::new(0), Mutex::default(), AtomicBool::new(false));
        Self {
            store,
            clock,
            observer,
            case,
            run_id,
            step,
            pending,
            cancelled,
        }
    }

    /// Events that follow belong to this step.
    pub(super) fn at_step(&self, step: u32) {
        self.step.store(step, Ordering::Relaxed);
    }

    /// Shows an event and keeps it for the next commit.
    pub(super) fn record(&self, kind: EventKind) {
        let event = RunEvent {
            at: self.clock.now(),
            case: self.case.clone(),
            run_id: Some(self.run_id),
            step: self.step.load(Ordering::Relaxed),
            kind,
        };
        // Who watches may fail; the run it watches does not.
        let flow = catch_unwind(AssertUnwindSafe(|| self.observer.event(&event)))
            .unwrap_or(Flow::Continue);
        if flow == Flow::Cancel {
            self.cancelled.store(true, Ordering::Relaxed);
        }
        if event.kind.is_recorded() {
            self.pending
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .push(event);
        }
    }

    /// Whether an observer wants the run to end.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Tells the machine what came of a step, and records what that means.
    pub(super) fn feed(&self, machine: &mut Machine, input: Input) {
        for event in machine.feed(input) {
            self.record(event);
        }
    }

    /// Stores what happened so far in the middle of a step, without a checkpoint: a resume asks for the step anew, and
    /// what was paid for stays on the ledger. What happens from now on is left to the commit of the step.
    pub(super) fn commit_events(&self) -> impl Future<Output = Result<(), StoreError>> + use<'a> {
        let (store, events) = (self.store, self.take_pending());
        async move {
            let commit = Commit {
                events,
                ..Commit::default()
            };
            if commit.events.is_empty() {
                Ok(())
            } else {
                store.commit(commit).await
            }
        }
    }

    fn take_pending(&self) -> Vec<RunEvent> {
        let mut pending = self
            .pending
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        std::mem::take(&mut *pending)
    }

    /// Stores what happened since the last commit, with the checkpoint that it led to, in one transaction.
    pub(super) async fn commit(&self, machine: &mut Machine) -> Result<(), StoreError> {
        let events = self.take_pending();
        if events.is_empty() {
            return Ok(());
        }
        let (first, step) = (machine.committed_messages(), machine.steps());
        let (state, new) = machine.checkpoint();
        let messages = new
            .iter()
            .enumerate()
            .map(|(offset, message)| StoredMessage {
                run_id: self.run_id,
                position: u32::try_from(first + offset).unwrap_or(u32::MAX),
                message: message.clone(),
            })
            .collect();
        let checkpoint = Some(StoredCheckpoint {
            run_id: self.run_id,
            format: CHECKPOINT_FORMAT,
            step,
            state,
        });
        self.store
            .commit(Commit {
                events,
                messages,
                checkpoint,
            })
            .await
    }
}
