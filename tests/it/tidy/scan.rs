//! Enough of Rust's grammar to find paths and attributes: comments and literals are not looked into.

/// A token and the line that it stands on, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

/// Identifiers, `::` and single punctuation characters, without comments and literals.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < source.len() {
        let rest = &source[at..];
        let (kind, length) = next(rest);
        let text = &rest[..length];
        if kind == Kind::Code {
            found.push(Token { text, line });
        }
        line += text.matches('\n').count();
        at += length;
    }
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Skipped,
}

fn next(rest: &str) -> (Kind, usize) {
    let first = rest.chars().next().expect("the rest is not empty");
    if first.is_whitespace() {
        return (Kind::Skipped, first.len_utf8());
    }
    if rest.starts_with("//") {
        return (Kind::Skipped, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Skipped, block_comment(rest));
    }
    if let Some(length) = raw_string(rest) {
        return (Kind::Skipped, length);
    }
    if let Some(body) = rest
        .strip_prefix(['b', 'c'])
        .filter(|body| body.starts_with('"'))
    {
        return (Kind::Skipped, 1 + quoted(body, '"'));
    }
    if first == '"' {
        return (Kind::Skipped, quoted(rest, '"'));
    }
    if first == '\'' {
        return (Kind::Skipped, char_or_lifetime(rest));
    }
    if first.is_alphanumeric() || first == '_' {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let length = rest.find(|c| !word(c)).unwrap_or(rest.len());
        return (Kind::Code, length);
    }
    if rest.starts_with("::") {
        return (Kind::Code, 2);
    }
    (Kind::Code, first.len_utf8())
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_u32, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn raw_string(rest: &str) -> Option<usize> {
    let body = rest
        .strip_prefix("br")
        .or_else(|| rest.strip_prefix("cr"))
        .or_else(|| rest.strip_prefix('r'))?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let text = body[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = text.find(&close).map_or(text.len(), |at| at + close.len());
    Some(rest.len() - text.len() + end)
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn char_or_lifetime(rest: &str) -> usize {
    let mut chars = rest.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => quoted(rest, '\''),
        // A lifetime: only its quote is skipped, its name is an identifier like any other.
        _ => 1,
    }
}

/// The part of a file that is not its unit tests: what stands before `#[cfg(test)]`.
pub(super) fn production(source: &str) -> &str {
    let end = source
        .match_indices("#[cfg(test)]")
        .find(|(at, _)| *at == 0 || source.as_bytes()[at - 1] == b'\n')
        .map_or(source.len(), |(at, _)| at);
    &source[..end]
}

/// Whether a file below `src` holds nothing but tests.
pub(super) fn is_test_file(path: &str) -> bool {
    path.strip_prefix("src/").is_some_and(|path| {
        path.split('/')
            .any(|name| matches!(name, "tests" | "tests.rs" | "testing" | "testing.rs"))
    })
}

#[test]
fn comments_and_literals_are_left_out() {
    let source = r##"
use a::b; // use c::d;
/* x /* y */ z */ let s = "e::f \" g"; let r = r#"h " i"#; let q = b"j"; let k = '\''; let l: &'m str = 'n';
"##;
    let words: Vec<&str> = tokens(source).iter().map(|token| token.text).collect();
    assert_eq!(
        words,
        [
            "use", "a", "::", "b", ";", "let", "s", "=", ";", "let", "r", "=", ";", "let", "q",
            "=", ";", "let", "k", "=", ";", "let", "l", ":", "&", "m", "str", "=", ";"
        ]
    );
    assert_eq!(tokens("a\n\nb")[1], Token { text: "b", line: 3 });
}

#[test]
fn tests_are_told_from_the_rest() {
    assert_eq!(
        production("fn a() {}\n#[cfg(test)]\nmod tests {}\n"),
        "fn a() {}\n"
    );
    assert_eq!(
        production("// see #[cfg(test)]\nfn a() {}"),
        "// see #[cfg(test)]\nfn a() {}"
    );
    for (path, expected) in [
        ("src/a/tests.rs", true),
        ("src/a/tests/b.rs", true),
        ("src/a/b.rs", false),
        ("tests/it/a.rs", false),
    ] {
        assert_eq!(is_test_file(path), expected, "{path}");
    }
}
