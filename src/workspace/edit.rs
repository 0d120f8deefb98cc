//! Replacing one piece of a text file.

use super::read::Decoded;
use super::{Resolved, Workspace, WorkspaceError, Wrote};

impl Workspace {
    /// Replaces the one occurrence of `search` by `replace`. Line ends of either kind fit line ends of either
    /// kind; the replacement gets those of what it replaces, or, where that is a single line, those of most of
    /// the file. A byte order mark and everything around the piece stay as they are.
    ///
    /// # Errors
    /// Where `search` is empty, or occurs never or more than once; and as [`Workspace::read_text`] and
    /// [`Workspace::write`].
    pub fn edit(
        &self,
        at: &Resolved,
        search: &str,
        replace: &str,
    ) -> Result<Wrote, WorkspaceError> {
        if search.is_empty() {
            return Err(WorkspaceError::EmptySearch);
        }
        let path = at.lexical.to_string();
        let mut file = Decoded::new(self.read_bytes(at)?, &path)?;
        file.text = replaced(&file.text, search, replace)
            .map_err(|count| WorkspaceError::Occurrences { path, count })?;
        self.write(at, &file.encode())
    }
}

/// The text with its one occurrence replaced, or how many there are.
fn replaced(text: &str, search: &str, replace: &str) -> Result<String, usize> {
    let plain = text.replace("\r\n", "\n");
    let search = search.replace("\r\n", "\n");
    let count = occurrences(&plain, &search);
    let Some(start) = plain.find(&search).filter(|_| count == 1) else {
        return Err(count);
    };
    let range = original(text, start)..original(text, start + search.len());
    let piece = &text[range.clone()];
    let crlf = if piece.contains('\n') {
        piece.contains("\r\n")
    } else {
        let both = text.matches("\r\n").count();
        both > text.matches('\n').count() - both
    };
    let mut result = String::with_capacity(text.len() + replace.len());
    result.push_str(&text[..range.start]);
    if crlf {
        result.push_str(&replace.replace("\r\n", "\n").replace('\n', "\r\n"));
    } else {
        result.push_str(replace);
    }
    result.push_str(&text[range.end..]);
    Ok(result)
}

/// How often `search` occurs. Two that overlap are two, though of many that overlap not all are counted.
fn occurrences(text: &str, search: &str) -> usize {
    let apart = text.matches(search).count();
    let step = search.chars().next().map_or(1, char::len_utf8);
    match text.find(search) {
        Some(first) if apart == 1 => 1 + usize::from(text[first + step..].contains(search)),
        _ => apart,
    }
}

/// Where the byte at `at` of the text with plain line ends is in the text as it is.
fn original(text: &str, at: usize) -> usize {
    let mut seen = 0;
    let mut bytes = text.bytes().enumerate().peekable();
    while seen < at {
        let Some((_, byte)) = bytes.next() else { break };
        if byte == b'\r' {
            bytes.next_if(|&(_, next)| next == b'\n');
        }
        seen += 1;
    }
    bytes.peek().map_or(text.len(), |&(position, _)| position)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::replaced;

    #[test]
    fn table() {
        for (text, search, replace, expected) in [
            ("one two", "two", "2", Ok("one 2")),
            ("a\nb\n", "a\nb", "x\ny", Ok("x\ny\n")),
            ("a\r\nb\r\n", "a\nb", "x\ny", Ok("x\r\ny\r\n")),
            ("a\r\nb\r\n", "a\r\nb", "x\r\ny", Ok("x\r\ny\r\n")),
            ("a\r\nb\r\n", "b", "x\ny", Ok("a\r\nx\r\ny\r\n")),
            ("a\r\nb\n", "a\nb\n", "x\n", Ok("x\r\n")),
            ("a\nb\r\nc\n", "c", "x\ny", Ok("a\nb\r\nx\ny\n")),
            ("a\rb", "\r", "-", Ok("a-b")),
            ("\r\n", "\n", "", Ok("")),
            ("größe", "ß", "ss", Ok("grösse")),
            ("one", "three", "", Err(0)),
            ("a a", "a", "b", Err(2)),
            ("aaa", "aa", "b", Err(2)),
            ("ßßß", "ßß", "b", Err(2)),
        ] {
            assert_eq!(
                replaced(text, search, replace),
                expected.map(str::to_owned),
                "{text:?} {search:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn only_the_piece_changes(before in "[a-c\\r\\n]{0,12}", after in "[a-c\\r\\n]{0,12}", new in "[x-z\\n]{0,6}") {
            let text = format!("{before}@@{after}");
            let result = replaced(&text, "@@", &new).expect("one occurrence");
            prop_assert!(result.starts_with(&before) && result.ends_with(&after));
            let middle = &result[before.len()..result.len() - after.len()];
            prop_assert_eq!(middle.replace("\r\n", "\n"), new);
        }

        #[test]
        fn no_text_breaks_it(text in "[a\\r\\nß]{0,12}", search in "[a\\r\\nß]{1,3}") {
            if let Ok(result) = replaced(&text, &search, "") {
                prop_assert!(result.len() < text.len());
            }
        }
    }
}
