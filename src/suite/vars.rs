//! `{{name}}` in texts, replaced in one pass.
//!
//! A placeholder is two braces, a name of letters, digits, `_` and `-`, and two braces; spaces around the name are
//! allowed. A name without a value is an error, never an empty string. What a value holds is not looked at again.
//! Four braces on both sides stand for two: `{{{{name}}}}` is the text `{{name}}`. Braces around anything else,
//! `{{}}` or `{{ a.b }}` for instance, are text.

use std::collections::BTreeMap;
use std::ops::Range;

use super::node::{Kind, Node};

/// A placeholder that has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    pub name: String,
    /// Its bytes in the text, braces included.
    pub range: Range<usize>,
}

enum Piece<'a> {
    Text(&'a str),
    Placeholder(&'a str, Range<usize>),
    Escaped(&'a str),
}

/// Takes a text apart.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut done = 0;
    let mut from = 0;
    while let Some(found) = text[from..].find("{{") {
        let at = from + found;
        let (piece, end) = match (placeholder(text, at, 4), placeholder(text, at, 2)) {
            (Some((_, end)), _) => (Piece::Escaped(&text[at + 2..end - 2]), end),
            (None, Some((name, end))) => (Piece::Placeholder(name, at..end), end),
            (None, None) => {
                from = at + 1;
                continue;
            }
        };
        if done < at {
            pieces.push(Piece::Text(&text[done..at]));
        }
        pieces.push(piece);
        (done, from) = (end, end);
    }
    if done < text.len() {
        pieces.push(Piece::Text(&text[done..]));
    }
    pieces
}

/// The name between so many braces at `at`, and where the closing ones end.
fn placeholder(text: &str, at: usize, braces: usize) -> Option<(&str, usize)> {
    let (open, close) = ("{{{{".get(..braces)?, "}}}}".get(..braces)?);
    let inner = text[at..].strip_prefix(open)?;
    // A name is short: a long text with many braces stays linear.
    let limit = inner
        .char_indices()
        .nth(100)
        .map_or(inner.len(), |(at, _)| at);
    let end = inner[..limit].find('}')?;
    inner[end..].strip_prefix(close)?;
    let name = inner[..end].trim_matches(' ');
    is_name(name).then_some((name, at + braces + end + braces))
}

/// Whether a text can be the name of a variable.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Replaces every placeholder by its value.
///
/// # Errors
/// Every placeholder without a value.
pub(crate) fn substitute(
    text: &str,
    vars: &BTreeMap<String, String>,
) -> Result<String, Vec<Missing>> {
    let mut out = String::with_capacity(text.len());
    let mut missing = Vec::new();
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) | Piece::Escaped(text) => out.push_str(text),
            Piece::Placeholder(name, range) => match vars.get(name) {
                Some(value) => out.push_str(value),
                None => missing.push(Missing {
                    name: name.to_owned(),
                    range,
                }),
            },
        }
    }
    if missing.is_empty() {
        Ok(out)
    } else {
        Err(missing)
    }
}

/// Whether a placeholder of this name stands anywhere in a tree, keys included.
pub(crate) fn uses(node: &Node, name: &str) -> bool {
    let in_text = |text: &str| {
        pieces(text)
            .iter()
            .any(|piece| matches!(piece, Piece::Placeholder(found, _) if *found == name))
    };
    match &node.kind {
        Kind::Scalar(_, text) => in_text(text),
        Kind::Seq(items) => items.iter().any(|item| uses(item, name)),
        Kind::Map(entries) => entries
            .iter()
            .any(|entry| in_text(&entry.key) || uses(&entry.value, name)),
    }
}

#[cfg(test)]
mod tests {
    use super::substitute;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn vars() -> BTreeMap<String, String> {
        [
            ("style".to_owned(), "terse".to_owned()),
            ("loop".to_owned(), "{{style}}".to_owned()),
        ]
        .into()
    }

    #[test]
    fn table() {
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("{{style}}", "terse"),
            ("a {{ style }} b {{style}}", "a terse b terse"),
            // One pass: a value is not read again.
            ("{{loop}}", "{{style}}"),
            ("{{{{style}}}}", "{{style}}"),
            ("{{{{ style }}}}", "{{ style }}"),
            (
                "{{}} {{ a.b }} {{#each x}} {{",
                "{{}} {{ a.b }} {{#each x}} {{",
            ),
            ("{{{style}}}", "{terse}"),
            ("fn f() { if x { y() }}", "fn f() { if x { y() }}"),
            ("{{a\nb}}", "{{a\nb}}"),
            ("grüße {{style}} ü", "grüße terse ü"),
            ("{{{{{style}}}}}", "{{{style}}}"),
        ] {
            assert_eq!(
                substitute(text, &vars()).as_deref(),
                Ok(expected),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_name_without_a_value_is_an_error_with_its_place() {
        let missing = substitute("a {{nope}} {{style}} {{ no }}", &vars()).unwrap_err();
        let found: Vec<_> = missing
            .iter()
            .map(|one| (one.name.as_str(), one.range.clone()))
            .collect();
        assert_eq!(found, [("nope", 2..10), ("no", 21..29)]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_one_without_double_braces_stays(text in "[{}a-c .ü\n]{0,60}") {
            match substitute(&text, &BTreeMap::new()) {
                Ok(out) => if !text.contains("{{") { prop_assert_eq!(out, text) },
                Err(missing) => for one in missing {
                    prop_assert!(text[one.range].contains(&one.name));
                },
            }
        }
    }
}
