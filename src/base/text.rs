//! Text with an upper bound: what is cut is always said.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Output that was kept up to a limit: its head, its tail, and how much is missing in between.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bounded {
    /// The kept bytes as text; a byte that is no UTF-8 shows as U+FFFD.
    pub text: String,
    /// How many bytes there were in all.
    pub total: u64,
    /// How many of them are not in `text`.
    pub cut: u64,
}

/// Keeps the first and the last bytes of a stream of any length in constant memory.
///
/// ```
/// let mut collector = taskgate::base::Collector::new(8);
/// collector.push(b"0123456789abcdef");
/// let bounded = collector.finish();
/// assert!(bounded.text.starts_with("0123") && bounded.text.ends_with("cdef"));
/// assert_eq!((bounded.total, bounded.cut), (16, 8));
/// ```
#[derive(Debug)]
pub struct Collector {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Collector {
    /// Keeps at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            half: limit.div_ceil(2).max(1),
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
        }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, mut bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.half - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        bytes = rest;
        if bytes.len() >= self.half {
            self.tail.clear();
            bytes = &bytes[bytes.len() - self.half..];
        }
        let excess = (self.tail.len() + bytes.len()).saturating_sub(self.half);
        self.tail.drain(..excess);
        self.tail.extend(bytes);
    }

    /// How many bytes came so far, kept or not.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// The text, with a line that says how much is missing where something is.
    #[must_use]
    pub fn finish(self) -> Bounded {
        let cut = self.total - (self.head.len() + self.tail.len()) as u64;
        let tail: Vec<u8> = self.tail.into();
        let text = if cut == 0 {
            let mut all = self.head;
            all.extend(tail);
            String::from_utf8(all)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
        } else {
            format!(
                "{}\n[… {cut} bytes cut …]\n{}",
                String::from_utf8_lossy(&self.head),
                String::from_utf8_lossy(&tail)
            )
        };
        Bounded {
            text,
            total: self.total,
            cut,
        }
    }
}

/// The first `limit` characters, with a note of how many are missing.
#[must_use]
pub fn clip_head(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        None => Cow::Borrowed(text),
        Some((at, _)) => Cow::Owned(format!(
            "{}\n[… {} characters cut …]",
            &text[..at],
            text[at..].chars().count()
        )),
    }
}

/// The first and the last half of `limit` characters, with a note of what is missing between them.
#[must_use]
pub fn clip_middle(text: &str, limit: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= limit {
        return Cow::Borrowed(text);
    }
    let half = limit / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    Cow::Owned(format!(
        "{head}\n[… {} characters cut …]\n{tail}",
        count - 2 * half
    ))
}

/// `text` on one line of at most `limit` characters, runs of white space folded.
#[must_use]
pub fn one_line(text: &str, limit: usize) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if folded.chars().count() <= limit {
        return folded;
    }
    let mut cut: String = folded.chars().take(limit.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// `text` without what a terminal or an XML reader would act on: whole ANSI sequences go, and so do
/// control characters but newline and tab; a carriage return becomes a newline.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut chars),
            '\u{9b}' => skip_control_sequence(&mut chars),
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            // Bidirectional overrides and invisible format characters can make a line read as another.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            c => out.push(c),
        }
    }
    out
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_sequence(chars: &mut Chars<'_>) {
    match chars.next() {
        Some('[') => skip_control_sequence(chars),
        // Strings that end with BEL or ESC \: operating system command, device control, and the like.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => drop(chars.next()),
        _ => {}
    }
}

fn skip_control_sequence(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next_if(|c| ('\u{20}'..='\u{7e}').contains(c)) {
        if ('\u{40}'..='\u{7e}').contains(&c) {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Collector, clip_head, clip_middle, one_line, printable};

    #[test]
    fn the_collector_keeps_both_ends_however_the_bytes_arrive() {
        let stream: Vec<u8> = (0..1_000_u32).map(|n| b'a' + (n % 26) as u8).collect();
        let expected = {
            let mut all = Collector::new(100);
            all.push(&stream);
            all.finish()
        };
        for size in [1, 7, 49, 50, 51, 999] {
            let mut collector = Collector::new(100);
            stream.chunks(size).for_each(|chunk| collector.push(chunk));
            assert_eq!(collector.finish(), expected, "chunks of {size}");
        }
        assert_eq!((expected.total, expected.cut), (1_000, 900));
    }

    #[test]
    fn a_short_stream_is_kept_whole_and_broken_utf8_is_shown() {
        let mut collector = Collector::new(100);
        collector.push("grüße".as_bytes());
        collector.push(b"\xff");
        let bounded = collector.finish();
        assert_eq!((bounded.text.as_str(), bounded.cut), ("grüße\u{fffd}", 0));
    }

    #[test]
    fn clipping_counts_characters() {
        assert_eq!(clip_head("äöü", 3), "äöü");
        assert_eq!(clip_head("äöü", 2), "äö\n[… 1 characters cut …]");
        assert_eq!(clip_middle("abcdef", 4), "ab\n[… 2 characters cut …]\nef");
        assert_eq!(one_line("a\n  b", 10), "a b");
        assert_eq!(one_line("abcdef", 4), "abc…");
    }

    #[test]
    fn nothing_that_a_terminal_acts_on_is_left() {
        for (raw, clean) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\u{1b}]0;title\u{7}b", "ab"),
            ("a\u{1b}]8;;http://x\u{1b}\\b", "ab"),
            ("\u{9b}2Jx", "x"),
            ("bell\u{7}\u{0}", "bell"),
            ("10%\r20%\r\n", "10%\n20%\n"),
            ("a\u{202e}b", "ab"),
            ("\u{1b}", ""),
            ("tab\tand\nline", "tab\tand\nline"),
        ] {
            assert_eq!(printable(raw), clean, "{raw:?}");
        }
    }
}
