//! Server-sent events: bytes in, events out, however the bytes are cut.

use std::collections::VecDeque;

/// The longest line, in bytes: a tool call with a whole file in it fits.
const LONGEST_LINE: usize = 8 << 20;

/// The most data of one event, in bytes.
const LARGEST_EVENT: usize = 16 << 20;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// The event's type; empty where the stream gave none.
    pub name: String,
    /// The data lines, joined with newlines.
    pub data: String,
    /// The last id that the stream gave, as it holds for this event.
    pub id: String,
}

/// A stream that is not taken any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SseError {
    /// A line without an end.
    #[error("a line of the event stream is longer than {0} bytes")]
    Line(usize),
    /// An event without an end.
    #[error("an event of the stream is larger than {0} bytes")]
    Event(usize),
}

/// Reads an event stream as the HTML standard defines it: lines end with LF, CR or both, a leading byte order mark
/// is skipped, comments and unknown fields are ignored, bytes that are no UTF-8 become U+FFFD. Each byte is looked
/// at a fixed number of times.
///
/// ```
/// use taskgate::provider::wire::sse::Parser;
///
/// let mut parser = Parser::default();
/// parser.push(b": hello\r\ndata:{\"a\"").unwrap();
/// parser.push(b":1}\r\n\r\n").unwrap();
/// assert_eq!(parser.pop().unwrap().data, r#"{"a":1}"#);
/// assert!(parser.pop().is_none());
/// ```
#[derive(Debug)]
pub struct Parser {
    line: Vec<u8>,
    /// A CR was the last byte: a LF that follows belongs to it.
    after_cr: bool,
    at_start: bool,
    name: String,
    data: String,
    /// Whether there was a data line: an empty one makes an event, none at all does not.
    has_data: bool,
    id: String,
    retry_ms: Option<u64>,
    ready: VecDeque<Event>,
    longest_line: usize,
    largest_event: usize,
}

impl Default for Parser {
    fn default() -> Self {
        Self::with_limits(LONGEST_LINE, LARGEST_EVENT)
    }
}

impl Parser {
    /// A parser that refuses longer lines and larger events, in bytes.
    #[must_use]
    pub const fn with_limits(longest_line: usize, largest_event: usize) -> Self {
        Self {
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            name: String::new(),
            data: String::new(),
            has_data: false,
            id: String::new(),
            retry_ms: None,
            ready: VecDeque::new(),
            longest_line,
            largest_event,
        }
    }

    /// Takes the next bytes of the stream.
    ///
    /// # Errors
    /// Where a limit is exceeded. Events that were complete before can still be taken; nothing may be pushed after.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), SseError> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + part.len() > self.longest_line {
                return Err(SseError::Line(self.longest_line));
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.end_line()?;
        }
        Ok(())
    }

    /// The next complete event.
    pub fn pop(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    /// The wait before a reconnection that the stream asked for, in milliseconds.
    #[must_use]
    pub const fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Ends the stream: the event that stood there without the blank line that completes one, if any. The standard
    /// discards it; some servers leave the blank line out after their last event, so the caller decides by content.
    #[must_use]
    pub fn finish(mut self) -> Option<Event> {
        self.ready.clear();
        if !self.line.is_empty() && self.end_line().is_err() {
            return None;
        }
        self.end_event();
        self.ready.pop_back()
    }

    fn end_line(&mut self) -> Result<(), SseError> {
        let line = std::mem::take(&mut self.line);
        let mut rest = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            rest = rest.strip_prefix(b"\xef\xbb\xbf").unwrap_or(rest);
        }
        let result = if rest.is_empty() {
            self.end_event();
            Ok(())
        } else {
            self.field(&String::from_utf8_lossy(rest))
        };
        // The buffer goes on to serve the next line.
        self.line = line;
        self.line.clear();
        result
    }

    fn field(&mut self, line: &str) -> Result<(), SseError> {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                if self.data.len() + value.len() + 1 > self.largest_event {
                    return Err(SseError::Event(self.largest_event));
                }
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.name),
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok();
            }
            // A comment has an empty name; whatever else there is, is for somebody else.
            _ => {}
        }
        Ok(())
    }

    fn end_event(&mut self) {
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) {
            self.ready.push_back(Event {
                name,
                data,
                id: self.id.clone(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Parser, SseError};
    use proptest::prelude::*;

    /// All events, the last being the unfinished one, and how it ended.
    fn parse(chunks: &[&[u8]]) -> (Vec<Event>, Option<Event>, Option<SseError>) {
        let mut parser = Parser::with_limits(64, 128);
        let mut events = Vec::new();
        for chunk in chunks {
            let result = parser.push(chunk);
            events.extend(std::iter::from_fn(|| parser.pop()));
            if let Err(error) = result {
                return (events, None, Some(error));
            }
        }
        (events, parser.finish(), None)
    }

    fn data(stream: &str) -> Vec<String> {
        let (events, _, error) = parse(&[stream.as_bytes()]);
        assert_eq!(error, None, "{stream:?}");
        events.into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn table() {
        for (stream, expected) in [
            ("data: a\n\n", &["a"][..]),
            ("data:a\n\n", &["a"]),
            ("data:  a\n\n", &[" a"]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            ("data: a\r\rdata: b\r\r", &["a", "b"]),
            ("data: a\n\r\ndata: b\r\n\n", &["a", "b"]),
            ("data: a\ndata: b\n\n", &["a\nb"]),
            ("data\n\n", &[""]),
            ("data:\n\n", &[""]),
            ("data:\ndata:\n\n", &["\n"]),
            (": comment\n\n", &[]),
            (":\n\n\n\ndata: a\n\n", &["a"]),
            ("event: x\n\ndata: a\n\n", &["a"]),
            ("\u{feff}data: a\n\n", &["a"]),
            ("data: a\n\n\u{feff}data: b\n\n", &["a"]),
            (" data: a\n\n", &[]),
            ("Data: a\n\n", &[]),
            ("data: a", &[]),
            ("data: a\n", &[]),
            ("data: {\"x\": \"y:z\"}\n\n", &["{\"x\": \"y:z\"}"]),
            ("", &[]),
        ] {
            assert_eq!(data(stream), expected, "{stream:?}");
        }
    }

    #[test]
    fn fields() {
        let (events, last, _) = parse(&[
            b"id: 1\nevent: delta\nretry: 250\ndata: a\n\ndata: b\nid: x\0y\n\nid\nretry: soon\ndata: c",
        ]);
        let event = |name: &str, data: &str, id: &str| Event {
            name: name.to_owned(),
            data: data.to_owned(),
            id: id.to_owned(),
        };
        assert_eq!(events, [event("delta", "a", "1"), event("", "b", "1")]);
        assert_eq!(last, Some(event("", "c", "")));

        let mut parser = Parser::default();
        parser
            .push(b"retry: 250\nretry: soon\nretry: 99999999999999999999999\n")
            .expect("small");
        assert_eq!(parser.retry_ms(), None);
        parser.push(b"retry: 250\n").expect("small");
        assert_eq!(parser.retry_ms(), Some(250));
    }

    #[test]
    fn limits_are_errors_and_what_came_before_is_kept() {
        let long = "x".repeat(65);
        let (events, _, error) = parse(&[format!("data: a\n\ndata: {long}\n\n").as_bytes()]);
        assert_eq!((events.len(), error), (1, Some(SseError::Line(64))));
        let many = "data: 0123456789\n".repeat(20);
        assert_eq!(parse(&[many.as_bytes()]).2, Some(SseError::Event(128)));
        // A comment counts as a line, but not as data.
        assert_eq!(parse(&[": 0123456789\n".repeat(100).as_bytes()]).2, None);
    }

    #[test]
    fn a_character_may_be_cut_anywhere() {
        let stream = "data: {\"text\":\"grüße, 日本語 🦀\"}\n\n".as_bytes();
        let whole = parse(&[stream]);
        assert!(whole.0[0].data.contains('🦀'));
        for cut in 0..=stream.len() {
            let (head, tail) = stream.split_at(cut);
            assert_eq!(parse(&[head, tail]), whole, "cut at {cut}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such() {
        let (events, ..) = parse(&[b"data: a\xffb\xe2\x82\n\n"]);
        assert_eq!(events[0].data, "a\u{fffd}b\u{fffd}");
    }

    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            4 => prop::sample::select(vec![
                "data: ", "data:", "data", "event: e", "id: 7", ": note", "retry: 9", "\n", "\r", "\r\n", "\n\n",
                "\u{feff}", "é", "🦀", "x", " ", ":",
            ]).prop_map(|text| text.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..8),
        ];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_cutting_gives_the_same_events(stream in stream(), cuts in prop::collection::vec(0_usize..200, 0..20)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(parse(&chunks), parse(&[&stream]));
            let bytes: Vec<&[u8]> = stream.chunks(1).collect();
            prop_assert_eq!(parse(&bytes), parse(&[&stream]));
        }
    }
}
