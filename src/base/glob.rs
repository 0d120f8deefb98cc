//! The glob of rules and filters: `*` is any run of characters, `?` exactly one.

use std::borrow::Cow;

/// A pattern in which `*` stands for any run of characters, separators and newlines included, and
/// `?` for exactly one character; everything else is literal, and both ends are anchored.
///
/// ```
/// use taskgate::base::Pattern;
///
/// let pattern = Pattern::new("src/**");
/// assert!(pattern.matches("src/a/b.rs"));
/// assert!(!pattern.matches("tests/src/a.rs"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    text: String,
}

impl Pattern {
    /// Any text is a pattern.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the whole of `target` fits, in time linear in both but for one backtrack per `*`.
    #[must_use]
    pub fn matches(&self, target: &str) -> bool {
        matches(&self.text, target)
    }

    /// As [`Pattern::matches`], with `\` read as `/` and letter case ignored on both sides: the
    /// way Windows compares paths.
    #[must_use]
    pub fn matches_folded(&self, target: &str) -> bool {
        matches(&fold(&self.text), &fold(target))
    }
}

fn fold(text: &str) -> Cow<'_, str> {
    Cow::Owned(text.replace('\\', "/").to_lowercase())
}

fn matches(pattern: &str, target: &str) -> bool {
    let (pattern, target): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), target.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where the last `*` stood and how much of the target it covers so far.
    let mut star: Option<(usize, usize)> = None;
    while t < target.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == target[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, covered)) => {
                    star = Some((at, covered + 1));
                    p = at + 1;
                    t = covered + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn table() {
        for (pattern, target, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "a/b\nc", true),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*.pem", "x/y.pem", true),
            ("cargo *", "cargo test --all", true),
            ("cargo *", "cargo", false),
            ("*a*b*a", "xxabxba", true),
            ("é?", "éü", true),
            ("[a]", "a", false),
        ] {
            assert_eq!(
                Pattern::new(pattern).matches(target),
                expected,
                "{pattern:?} on {target:?}"
            );
        }
        assert!(Pattern::new("SRC\\*").matches_folded("src/a"));
    }

    #[test]
    fn many_stars_stay_polynomial() {
        let pattern = Pattern::new("*a".repeat(20) + "b");
        assert!(!pattern.matches(&"a".repeat(2_000)));
    }
}
