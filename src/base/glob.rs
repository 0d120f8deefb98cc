//! The glob of rules and filters: `*` is any run of characters, `?` exactly one.

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
        matches_folded(&self.text, target)
    }
}

/// [`Pattern::matches_folded`] for a text that is no pattern yet.
pub(crate) fn matches_folded(pattern: &str, target: &str) -> bool {
    matches(&fold(pattern), &fold(target))
}

fn fold(text: &str) -> String {
    text.replace('\\', "/").to_lowercase()
}

/// [`Pattern::matches`] for a text that is no pattern yet: what is tried against many rules is copied for none.
pub(crate) fn matches(pattern: &str, target: &str) -> bool {
    let (mut pattern, mut target) = (pattern.chars(), target.chars());
    // What stands behind the last `*`, and the part of the target that it does not cover yet.
    let mut star = None;
    loop {
        let (mut wanted, mut found) = (pattern.clone(), target.clone());
        match (wanted.next(), found.next()) {
            (Some('*'), _) => {
                pattern = wanted;
                star = Some((pattern.clone(), target.clone()));
            }
            (None, None) => return true,
            (Some(w), Some(f)) if w == '?' || w == f => (pattern, target) = (wanted, found),
            // However much the `*` covers, what is left of the target is too short.
            (Some(_), None) => return false,
            (_, Some(_)) => match &mut star {
                Some((behind, uncovered)) => {
                    uncovered.next();
                    (pattern, target) = (behind.clone(), uncovered.clone());
                }
                None => return false,
            },
        }
    }
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
            ("*?", "ü", true),
            ("*??", "ü", false),
            ("*ü?", "aüüb", true),
            ("a*b*", "ab", true),
            ("a*b", "abbbc", false),
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
