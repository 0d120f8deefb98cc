//! Whether an agent still gets anywhere. Part of the checkpoint, so that a resume forgets nothing.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::base::sha256;
use crate::domain::{Arguments, StallPolicy, ToolCall};

/// What a step means for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaction {
    GoOn,
    Replan,
    Stop,
}

/// The last steps, as far as repetition is concerned. Never longer than the window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// How often the newest signature came in a row.
    repeated: u32,
    /// Steps since the workspace last changed.
    unproductive: u32,
    /// Signatures of those steps, oldest first.
    recent: VecDeque<String>,
    replans: u32,
}

impl Progress {
    /// Takes a step by the signature of its calls. A stall is the same step `window` times in a row, changes or
    /// not; or `window` steps without a change of which the newest did what an earlier one did.
    pub(super) fn step(&mut self, policy: StallPolicy, signature: &str, changed: bool) -> Reaction {
        if policy.window == 0 {
            return Reaction::GoOn;
        }
        let again = self.recent.back().is_some_and(|last| last == signature);
        self.repeated = if again { self.repeated + 1 } else { 1 };
        let seen = self.recent.iter().any(|earlier| earlier == signature);
        if changed {
            self.unproductive = 0;
            self.recent.clear();
        } else {
            self.unproductive += 1;
        }
        self.recent.push_back(signature.to_owned());
        while self.recent.len() > policy.window as usize {
            self.recent.pop_front();
        }
        let stalled = self.repeated >= policy.window
            || (!changed && seen && self.unproductive >= policy.window);
        if !stalled {
            return Reaction::GoOn;
        }
        let replans = self.replans;
        if replans >= policy.max_replans {
            return Reaction::Stop;
        }
        *self = Self {
            replans: replans + 1,
            ..Self::default()
        };
        Reaction::Replan
    }
}

/// What a step did, comparable in constant space. A step without a call has the empty signature.
pub(super) fn signature(calls: &[ToolCall]) -> String {
    if calls.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    for call in calls {
        text.push_str(&call.name);
        text.push('\0');
        match &call.arguments {
            Arguments::Json(value) => text.push_str(&value.to_string()),
            Arguments::Invalid { raw, .. } => text.push_str(raw),
        }
        text.push('\0');
    }
    sha256(text).short().to_owned()
}
