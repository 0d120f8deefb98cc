//! Policies to start from.

use super::{Defaults, Policy};
use crate::domain::{Act, Effect};

/// The name of the layer that keeps keys and credentials out of reach.
pub const SECRETS_LAYER: &str = "builtin-secrets";

/// Names under which keys and credentials usually lie, anywhere in a tree.
const SECRETS: [&str; 5] = [".env", "*.pem", "id_rsa", "id_ed25519", "*.key"];

impl Policy {
    /// Everything is allowed and nothing is looked at. For trees that hold nothing to lose.
    #[must_use]
    pub const fn permissive() -> Self {
        Self::new(Defaults::all(Effect::Allow))
    }

    /// Whether nothing at all is asked or denied, by any rule or default.
    #[must_use]
    pub fn is_permissive(&self) -> bool {
        self.defaults == Defaults::all(Effect::Allow)
            && self
                .layers
                .iter()
                .flat_map(|layer| &layer.rules)
                .all(|rule| rule.effect == Effect::Allow)
    }

    /// What holds where nobody watches: files may be read and written but for secrets, programs ask,
    /// the network is shut.
    #[must_use]
    pub fn ci_default() -> Self {
        Self::default().default_for(Act::Write, Effect::Allow)
    }
}

/// Reading is allowed, writing and programs ask, the network is shut; secrets are neither read nor written.
impl Default for Policy {
    fn default() -> Self {
        let policy = Self::new(Defaults {
            read: Effect::Allow,
            write: Effect::Ask,
            exec: Effect::Ask,
            net: Effect::Deny,
        });
        SECRETS
            .into_iter()
            .fold(policy.layer(SECRETS_LAYER), |policy, name| {
                policy.deny_read(name).deny_write(name)
            })
    }
}
