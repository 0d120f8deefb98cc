//! `--filter`: which cases of a plan are meant.

use std::str::FromStr;

use super::diagnose::nearest;
use super::plan::CaseSpec;
use crate::base::Pattern;

const KEYS: [&str; 5] = ["suite", "task", "provider", "tag", "case"];

/// A selection of cases: terms that must all hold.
///
/// Terms are joined by `,` or `and`. A term is `suite=GLOB`, `task=GLOB`, `provider=GLOB`, `tag=GLOB` or
/// `case=GLOB`, or a bare glob, which is tried on the case's id. `not` or `!` before a term turns it round. In a glob
/// `*` is any run of characters, `/` included, and `?` exactly one.
///
/// ```
/// use taskgate::suite::Filter;
///
/// assert!("task=empty-*, not provider=local".parse::<Filter>().is_ok());
/// assert!("tsk=empty-input".parse::<Filter>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    negated: bool,
    key: Key,
    glob: Pattern,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Suite,
    Task,
    Provider,
    Tag,
    Case,
}

/// Why an expression selects nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// There is nothing between two separators, after a `not`, or at all.
    #[error("the filter `{0}` has an empty term: {GRAMMAR}")]
    Empty(String),
    /// No case has such a property.
    #[error("the filter `{term}` names `{key}`{}: {GRAMMAR}", .nearest.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)")))]
    Key {
        /// The term as it was written.
        term: String,
        /// What stands before its `=`.
        key: String,
        /// The property that was most likely meant.
        nearest: Option<&'static str>,
    },
    /// A term of several words.
    #[error(
        "the filter's term `{0}` has several words: {GRAMMAR}; `?` stands for a space in a glob"
    )]
    Words(String),
}

/// What a filter may be.
pub(crate) const GRAMMAR: &str = "terms are `suite=`, `task=`, `provider=`, `tag=` or `case=` and a glob, or a bare glob on the case's id, each with `not` or `!` before it where it is turned round, joined by `,` or `and`";

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let mut terms = Vec::new();
        for part in text.split(',') {
            let mut words: Vec<&str> = Vec::new();
            for word in part.split_whitespace() {
                if word == "and" {
                    terms.push(term(&words, text)?);
                    words.clear();
                } else {
                    words.push(word);
                }
            }
            terms.push(term(&words, text)?);
        }
        Ok(Self { terms })
    }
}

fn term(words: &[&str], whole: &str) -> Result<Term, FilterError> {
    let mut negated = false;
    let mut words = words;
    while let [first, rest @ ..] = words
        && *first == "not"
    {
        negated = !negated;
        words = rest;
    }
    let mut glob = match words {
        [] => return Err(FilterError::Empty(whole.to_owned())),
        [one] => *one,
        [..] => return Err(FilterError::Words(words.join(" "))),
    };
    while let Some(rest) = glob.strip_prefix('!') {
        negated = !negated;
        glob = rest;
    }
    let (key, glob) = match glob.split_once('=') {
        Some(("suite", glob)) => (Key::Suite, glob),
        Some(("task", glob)) => (Key::Task, glob),
        Some(("provider", glob)) => (Key::Provider, glob),
        Some(("tag", glob)) => (Key::Tag, glob),
        Some(("case", glob)) => (Key::Case, glob),
        // An id holds `=` between a variable and its value, always behind a `/`.
        Some((key, _)) if !key.contains(['/', '*', '?']) => {
            return Err(FilterError::Key {
                term: glob.to_owned(),
                key: key.to_owned(),
                nearest: nearest(key, KEYS)
                    .and_then(|near| KEYS.into_iter().find(|key| *key == near)),
            });
        }
        _ => (Key::Case, glob),
    };
    if glob.is_empty() {
        return Err(FilterError::Empty(whole.to_owned()));
    }
    Ok(Term {
        negated,
        key,
        glob: Pattern::new(glob),
    })
}

impl Filter {
    /// Whether a case is meant.
    #[must_use]
    pub fn matches(&self, case: &CaseSpec) -> bool {
        self.terms.iter().all(|term| {
            let holds = match term.key {
                Key::Suite => term.glob.matches(&case.suite),
                Key::Task => term.glob.matches(&case.task),
                Key::Provider => term.glob.matches(&case.provider),
                Key::Tag => case.tags.iter().any(|tag| term.glob.matches(tag)),
                Key::Case => term.glob.matches(case.id.as_str()),
            };
            holds != term.negated
        })
    }
}
