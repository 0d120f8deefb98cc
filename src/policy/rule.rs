//! One rule, and how it is written.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::domain::{Act, Effect};

/// What holds for every target that a pattern fits.
///
/// As text it is three words, of which the last may hold spaces: the effect, the act and the pattern.
/// In a pattern `*` is any run of characters, `/` included, and `?` exactly one.
///
/// ```
/// use taskgate::policy::Rule;
///
/// let rule: Rule = "allow exec cargo *".parse().expect("a rule");
/// assert_eq!(rule.pattern, "cargo *");
/// assert_eq!(rule.to_string(), "allow exec cargo *");
/// assert!("permit exec cargo".parse::<Rule>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What kind of action it is about.
    pub act: Act,
    /// What it answers.
    pub effect: Effect,
    /// Which targets it fits: paths, command lines or hosts, as the act has it.
    pub pattern: String,
}

impl Rule {
    /// Puts a rule together.
    #[must_use]
    pub fn new(act: Act, effect: Effect, pattern: impl Into<String>) -> Self {
        Self {
            act,
            effect,
            pattern: pattern.into(),
        }
    }
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The first word is no effect.
    #[error("`{rule}` begins with `{word}`: a rule begins with `allow`, `ask` or `deny`")]
    Effect {
        /// The whole text.
        rule: String,
        /// Its first word.
        word: String,
    },
    /// The second word is no act.
    #[error("`{rule}` is about `{word}`: write `read`, `write`, `exec` or `net` after the effect")]
    Act {
        /// The whole text.
        rule: String,
        /// Its second word.
        word: String,
    },
    /// There is no pattern.
    #[error("`{0}` has no pattern: write for instance `allow exec cargo *`")]
    NoPattern(String),
}

/// White space around each of the three parts is not part of the rule.
impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (effect, rest) = first_word(text);
        let effect = [Effect::Allow, Effect::Ask, Effect::Deny]
            .into_iter()
            .find(|known| known.as_str() == effect)
            .ok_or_else(|| RuleError::Effect {
                rule: text.to_owned(),
                word: effect.to_owned(),
            })?;
        let (act, pattern) = first_word(rest);
        let act = Act::ALL
            .into_iter()
            .find(|known| known.as_str() == act)
            .ok_or_else(|| RuleError::Act {
                rule: text.to_owned(),
                word: act.to_owned(),
            })?;
        let pattern = pattern.trim();
        if pattern.is_empty() {
            return Err(RuleError::NoPattern(text.trim().to_owned()));
        }
        Ok(Self::new(act, effect, pattern))
    }
}

fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (effect, act) = (self.effect.as_str(), self.act.as_str());
        write!(f, "{effect} {act} {}", self.pattern)
    }
}
