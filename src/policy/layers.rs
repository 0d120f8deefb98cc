//! Rules in named layers over defaults, and how they are put together.

use serde::{Deserialize, Serialize};

use super::Rule;
use crate::domain::{Act, Effect};

/// Rules that came from one place, under the name that answers give them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Where the rules came from, for instance `protect` or `suite`.
    pub name: String,
    /// The rules. Their order only decides which of several equal ones is named.
    pub rules: Vec<Rule>,
}

/// What holds where no rule fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// For reading a file.
    pub read: Effect,
    /// For writing a file.
    pub write: Effect,
    /// For starting a program.
    pub exec: Effect,
    /// For reaching a host. A stored policy that does not say denies it.
    #[serde(default = "denied")]
    pub net: Effect,
}

const fn denied() -> Effect {
    Effect::Deny
}

impl Defaults {
    /// One answer for everything.
    #[must_use]
    pub const fn all(effect: Effect) -> Self {
        Self {
            read: effect,
            write: effect,
            exec: effect,
            net: effect,
        }
    }

    /// The default of one act.
    #[must_use]
    pub const fn of(&self, act: Act) -> Effect {
        match act {
            Act::Read => self.read,
            Act::Write => self.write,
            Act::Exec => self.exec,
            Act::Net => self.net,
        }
    }

    /// Act by act the stricter of the two.
    #[must_use]
    pub fn stricter(&self, other: &Self) -> Self {
        Self {
            read: self.read.max(other.read),
            write: self.write.max(other.write),
            exec: self.exec.max(other.exec),
            net: self.net.max(other.net),
        }
    }
}

/// What an agent may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Rules, all of which count.
    pub layers: Vec<Layer>,
    /// What holds where none of them fits.
    pub defaults: Defaults,
}

impl Policy {
    /// No rules over the given defaults.
    #[must_use]
    pub const fn new(defaults: Defaults) -> Self {
        Self {
            layers: Vec::new(),
            defaults,
        }
    }

    /// Opens a layer: the rules that follow go into it.
    #[must_use]
    pub fn layer(mut self, name: impl Into<String>) -> Self {
        self.layers.push(Layer {
            name: name.into(),
            rules: Vec::new(),
        });
        self
    }

    /// Adds a rule to the newest layer; where there is none yet, to one named `rules`.
    #[must_use]
    pub fn rule(mut self, act: Act, effect: Effect, pattern: impl Into<String>) -> Self {
        if self.layers.is_empty() {
            self = self.layer("rules");
        }
        if let Some(layer) = self.layers.last_mut() {
            layer.rules.push(Rule::new(act, effect, pattern));
        }
        self
    }

    /// Sets what holds for an act where no rule fits.
    #[must_use]
    pub const fn default_for(mut self, act: Act, effect: Effect) -> Self {
        match act {
            Act::Read => self.defaults.read = effect,
            Act::Write => self.defaults.write = effect,
            Act::Exec => self.defaults.exec = effect,
            Act::Net => self.defaults.net = effect,
        }
        self
    }

    /// Allows reading what the pattern fits.
    #[must_use]
    pub fn allow_read(self, pattern: impl Into<String>) -> Self {
        self.rule(Act::Read, Effect::Allow, pattern)
    }

    /// Makes reading what the pattern fits a question.
    #[must_use]
    pub fn ask_read(self, pattern: impl Into<String>) -> Self {
        self.rule(Act::Read, Effect::Ask, pattern)
    }

    /// Denies reading what the pattern fits.
    #[must_use]
    pub fn deny_read(self, pattern: impl Into<String>) -> Self {
        self.rule(Act::Read, Effect::Deny, pattern)
    }

    /// Allows writing what the pattern fits.
    #[must_use]
    pub fn allow_write(self, pattern: impl Into<String>) -> Self {
        self.rule(Act::Write, Effect::Allow, pattern)
    }

    /// Makes writing what the pattern fits a question.
    #[must_use]
    pub fn ask_write(self, pattern: impl Into<String>) -> Self {
        self.rule(Act::Write, Effect::Ask, pattern)
    }

    /// Denies writing what the pattern fits.
    #[must_use]
    pub fn deny_write(self, pattern: impl Into<String>) -> Self {
        self.rule(Act::Write, Effect::Deny, pattern)
    }

    /// Allows the programs or command lines that the pattern fits.
    #[must_use]
    pub fn allow_exec(self, pattern: impl Into<String>) -> Self {
        self.rule(Act::Exec, Effect::Allow, pattern)
    }

    /// Makes the programs or command lines that the pattern fits a question.
    #[must_use]
    pub fn ask_exec(self, pattern: impl Into<String>) -> Self {
        self.rule(Act::Exec, Effect::Ask, pattern)
    }

    /// Denies the programs or command lines that the pattern fits.
    #[must_use]
    pub fn deny_exec(self, pattern: impl Into<String>) -> Self {
        self.rule(Act::Exec, Effect::Deny, pattern)
    }

    /// Allows the hosts that the pattern fits.
    #[must_use]
    pub fn allow_net(self, pattern: impl Into<String>) -> Self {
        self.rule(Act::Net, Effect::Allow, pattern)
    }

    /// Makes the hosts that the pattern fits a question.
    #[must_use]
    pub fn ask_net(self, pattern: impl Into<String>) -> Self {
        self.rule(Act::Net, Effect::Ask, pattern)
    }

    /// Denies the hosts that the pattern fits.
    #[must_use]
    pub fn deny_net(self, pattern: impl Into<String>) -> Self {
        self.rule(Act::Net, Effect::Deny, pattern)
    }
}
