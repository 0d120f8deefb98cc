//! Two policies made one: beside each other, or one within the other.

use super::{Layer, Policy};
use crate::domain::Effect;

impl Policy {
    /// Both together: every rule of both counts, and of two defaults the stricter one. A rule of the
    /// overlay that allows something does allow it.
    #[must_use]
    pub fn merge(mut self, overlay: Self) -> Self {
        self.defaults = self.defaults.stricter(&overlay.defaults);
        self.layers.extend(overlay.layers);
        self
    }

    /// This policy, narrowed by `child`: whatever the child's rules say, the result answers nothing more
    /// freely than this policy does.
    ///
    /// Of the child's rules, those that allow are left out, and those that ask become denials where this
    /// policy's own default for their act is to deny: an `ask` there would open what was shut.
    #[must_use]
    pub fn contain(&self, child: &Self) -> Self {
        let narrowing = child.layers.iter().map(|layer| Layer {
            name: layer.name.clone(),
            rules: layer
                .rules
                .iter()
                .filter(|rule| rule.effect != Effect::Allow)
                .cloned()
                .map(|mut rule| {
                    rule.effect = match self.defaults.of(rule.act) {
                        Effect::Deny => Effect::Deny,
                        Effect::Allow | Effect::Ask => rule.effect,
                    };
                    rule
                })
                .collect(),
        });
        Self {
            layers: self.layers.iter().cloned().chain(narrowing).collect(),
            defaults: self.defaults.stricter(&child.defaults),
        }
    }
}
