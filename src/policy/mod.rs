//! Pure rules about what an agent may do: which files it reads and writes, which programs it starts,
//! which hosts it reaches. Nothing here touches a file, a process or a socket.
//!
//! A [`Policy`] is a list of named layers of [`Rule`]s and a default for each act. [`Policy::decide`] is
//! the only function that answers: a rule that denies beats one that asks, which beats one that allows,
//! over all layers; where none fits, the default decides. The order of layers only matters for which of
//! several equal rules is named in the answer.
//!
//! ```
//! use taskgate::domain::{Act, Effect};
//! use taskgate::policy::{Policy, Target};
//!
//! let policy = Policy::ci_default().layer("protect").deny_write("tests/**");
//! let verdict = policy.decide(Act::Write, &Target::Path("tests/parser.rs"));
//! assert_eq!(verdict.effect, Effect::Deny);
//! assert_eq!(verdict.rule.as_deref(), Some("deny write tests/**"));
//! assert_eq!(verdict.layer.as_deref(), Some("protect"));
//! ```

mod contain;
mod decide;
mod layers;
pub mod os;
mod presets;
mod rule;
#[cfg(test)]
mod tests;

pub use decide::{Target, Verdict};
pub use layers::{Defaults, Layer, Policy};
pub use presets::SECRETS_LAYER;
pub use rule::{Rule, RuleError};
