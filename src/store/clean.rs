//! From what a caller hands over to what the writer stores: without secrets, long texts addressed, details cut.
//!
//! All of it happens in the caller's thread, so that the one writer has nothing to do but write.

use rusqlite::Connection;
use serde_json::Value;

use super::blob::{Body, Column};
use super::{Commit, RunRecord, StoredCheckpoint, StoredMessage};
use crate::base::{Bounded, Redactor, clip_head};
use crate::domain::{
    Arguments, Block, EventKind, Overrun, ProviderCall, Role, RunEvent, RunId, RunOutcome,
};

/// How many characters of a text stay in an event's detail.
const DETAIL_LIMIT: usize = 200;

/// A commit, ready to be written, as often as it takes.
#[derive(Debug)]
pub(super) struct CleanCommit {
    pub(super) events: Vec<CleanEvent>,
    pub(super) messages: Vec<CleanMessage>,
    pub(super) checkpoint: Option<StoredCheckpoint>,
}

/// An event whose long output, where it has one, was moved to `output`.
#[derive(Debug)]
pub(super) struct CleanEvent {
    pub(super) event: RunEvent,
    pub(super) detail: String,
    output: Option<Body>,
}

#[derive(Debug)]
pub(super) struct CleanMessage {
    pub(super) run_id: RunId,
    pub(super) position: u32,
    pub(super) role: &'static str,
    pub(super) body: Body,
}

/// A run's beginning, ready to be written.
#[derive(Debug)]
pub(super) struct CleanRun {
    pub(super) record: RunRecord,
    pub(super) contract: Body,
    pub(super) policy: Body,
}

impl CleanCommit {
    /// Whether there is nothing to write.
    pub(super) const fn is_empty(&self) -> bool {
        self.events.is_empty() && self.messages.is_empty() && self.checkpoint.is_none()
    }
}

impl CleanEvent {
    /// What belongs in the column of the event's output.
    pub(super) fn store_output(&self, connection: &Connection) -> rusqlite::Result<Column<'_>> {
        self.output
            .as_ref()
            .map_or(Ok(Column::Text("")), |body| body.store(connection))
    }
}

/// Removes secrets from values before they are serialised: a secret with a quote or a line break in it would not be
/// recognised afterwards, and a secret that reads like a key of ours must not break the structure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cleaner<'a>(pub(super) &'a Redactor);

impl Cleaner<'_> {
    pub(super) fn commit(self, commit: Commit) -> CleanCommit {
        CleanCommit {
            events: commit
                .events
                .into_iter()
                .filter(|event| event.kind.is_recorded())
                .map(|event| self.event(event))
                .collect(),
            messages: commit
                .messages
                .into_iter()
                .map(|message| self.message(message))
                .collect(),
            checkpoint: commit.checkpoint.map(|mut checkpoint| {
                self.json_text(&mut checkpoint.state);
                checkpoint
            }),
        }
    }

    pub(super) fn run(self, mut record: RunRecord) -> CleanRun {
        self.text(&mut record.provider);
        self.text(&mut record.model);
        CleanRun {
            contract: Body::new(self.json(std::mem::take(&mut record.contract))),
            policy: Body::new(self.json(std::mem::take(&mut record.policy))),
            record,
        }
    }

    pub(super) fn text(self, text: &mut String) {
        self.0.clean_in_place(text);
    }

    /// A value as the text of its JSON.
    pub(super) fn json(self, mut value: Value) -> String {
        self.value(&mut value);
        value.to_string()
    }

    /// A text that is JSON already and is rarely worth the reading: only where a secret shows.
    fn json_text(self, text: &mut String) {
        let std::borrow::Cow::Owned(clean) = self.0.clean(text) else {
            return;
        };
        *text = match serde_json::from_str(text) {
            Ok(mut value) => {
                self.strings(&mut value);
                Value::to_string(&value)
            }
            Err(_) => clean,
        };
    }

    /// The strings of a value, keys left as they are.
    fn strings(self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.strings(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.strings(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The strings of somebody else's value, keys included.
    fn value(self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.value(field));
                let dirty = |key: &String| matches!(self.0.clean(key), std::borrow::Cow::Owned(_));
                if fields.keys().any(dirty) {
                    *fields = std::mem::take(fields)
                        .into_iter()
                        .map(|(key, field)| (self.0.clean(&key).into_owned(), field))
                        .collect();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn message(self, stored: StoredMessage) -> CleanMessage {
        let StoredMessage {
            run_id,
            position,
            mut message,
        } = stored;
        for block in &mut message.blocks {
            self.block(block);
        }
        let body = serde_json::to_string(&message).expect("a message is plain data");
        CleanMessage {
            run_id,
            position,
            role: match message.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            },
            body: Body::new(body),
        }
    }

    fn block(self, block: &mut Block) {
        match block {
            Block::Text { text } => self.text(text),
            Block::ToolCall(call) => {
                self.text(&mut call.id);
                self.text(&mut call.name);
                match &mut call.arguments {
                    Arguments::Json(value) => self.value(value),
                    Arguments::Invalid { raw, error } => {
                        self.text(raw);
                        self.text(error);
                    }
                }
            }
            Block::ToolResult {
                call_id,
                text,
                ok: _,
            } => {
                self.text(call_id);
                self.text(text);
            }
            Block::Opaque { vendor, value } => {
                self.text(vendor);
                self.value(value);
            }
        }
    }

    fn event(self, mut event: RunEvent) -> CleanEvent {
        self.kind(&mut event.kind);
        let output = match &mut event.kind {
            EventKind::SetupFinished { output, .. }
            | EventKind::GateFinished {
                result: crate::domain::GateResult { output, .. },
                ..
            }
            | EventKind::Patched { patch: output, .. } => {
                let text = std::mem::take(&mut output.text);
                output.text = clip_head(&text, DETAIL_LIMIT).into_owned();
                Some(Body::new(text))
            }
            _ => None,
        };
        CleanEvent {
            detail: detail(&event.kind),
            event,
            output,
        }
    }

    /// Every text of an event; a new event must say here which texts it has.
    fn kind(self, kind: &mut EventKind) {
        match kind {
            EventKind::CaseStarted { workspace } => self.text(workspace),
            EventKind::SetupFinished {
                name,
                ok: _,
                reason,
                duration_ms: _,
                output,
            } => {
                self.texts([name, reason]);
                self.bounded(output);
            }
            EventKind::GateStarted { phase, name } => self.texts([phase, name]),
            EventKind::GateFinished {
                position: _,
                result,
            } => {
                self.texts([&mut result.phase, &mut result.name, &mut result.reason]);
                self.bounded(&mut result.output);
            }
            EventKind::Tampered { path, how: _ } => self.text(path),
            EventKind::Patched {
                files: _,
                added: _,
                removed: _,
                patch,
            } => self.bounded(patch),
            EventKind::CaseFinished {
                outcome: _,
                reason,
                overrun,
                times: _,
            } => {
                self.text(reason);
                if let Some(Overrun {
                    kind: _,
                    limit,
                    used,
                }) = overrun
                {
                    self.texts([limit, used]);
                }
            }
            EventKind::Started {
                goal,
                provider,
                model,
            } => self.texts([goal, provider, model]),
            EventKind::ModelCalled(call) => self.call(call),
            EventKind::ToolCalling { name, target } => self.texts([name, target]),
            EventKind::ToolCalled {
                call_id,
                name,
                target,
                ok: _,
                changed: _,
                decision,
                duration_ms: _,
            } => self.texts([call_id, name, target, decision]),
            EventKind::Refused {
                act: _,
                target,
                rule,
                layer,
                by,
            } => {
                self.texts([target, by]);
                self.texts([rule, layer].into_iter().flatten());
            }
            EventKind::Approved { act: _, target } => self.text(target),
            EventKind::Verified(verdict) => {
                self.text(&mut verdict.reason);
                self.bounded(&mut verdict.output);
            }
            EventKind::BudgetExceeded {
                kind: _,
                limit,
                used,
            } => self.texts([limit, used]),
            EventKind::Finished {
                outcome,
                steps: _,
                tokens: _,
                error,
            } => {
                if let RunOutcome::Escalated { failure } = outcome {
                    self.text(&mut failure.message);
                }
                self.texts(error);
            }
            EventKind::Materialised {
                digest: _,
                files: _,
            }
            | EventKind::Resumed { after_step: _ }
            | EventKind::ModelCalling { attempt: _ }
            | EventKind::Retry {
                kind: _,
                attempt: _,
                delay_ms: _,
            }
            | EventKind::Step {
                calls: _,
                tokens: _,
                changed: _,
            }
            | EventKind::Replan { window: _ }
            | EventKind::Stalled => {}
        }
    }

    fn call(self, call: &mut ProviderCall) {
        self.texts([&mut call.provider, &mut call.requested_model]);
        self.texts(
            [
                &mut call.served_model,
                &mut call.fingerprint,
                &mut call.finish_reason,
            ]
            .into_iter()
            .flatten(),
        );
        if let Some(failure) = &mut call.failure {
            self.text(&mut failure.message);
        }
    }

    fn texts<'t>(self, texts: impl IntoIterator<Item = &'t mut String>) {
        texts.into_iter().for_each(|text| self.text(text));
    }

    fn bounded(self, bounded: &mut Bounded) {
        self.text(&mut bounded.text);
    }
}

/// The event's own fields as JSON, each text cut.
fn detail(kind: &EventKind) -> String {
    let mut value = serde_json::to_value(kind).expect("an event is plain data");
    if let Value::Object(fields) = &mut value {
        // The kind has a column of its own.
        fields.remove("event");
    }
    clip(&mut value);
    value.to_string()
}

fn clip(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(cut) = clip_head(text, DETAIL_LIMIT) {
                *text = cut;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clip),
        Value::Object(fields) => fields.values_mut().for_each(clip),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
