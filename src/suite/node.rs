//! A parsed YAML document as a tree in which every node knows where it stands, and a cursor over it.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_yaml::{Location, Spanned};

/// A stretch of one source, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Mark {
    /// Which source of the suite: 0 is the suite's own file.
    pub source: u8,
    /// Where it begins.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
}

/// A number as the parser resolved it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Whole(u64),
    Negative(i64),
    Fraction(f64),
}

/// What a scalar is when nothing asks for a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Number(Number),
    Text,
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A scalar, with the text that stands in the source (quotes and escapes resolved).
    Scalar(Scalar, String),
    Seq(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub key_mark: Mark,
    pub value: Node,
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub mark: Mark,
    pub kind: Kind,
}

impl Node {
    /// The value of a key of a mapping; of two equal keys the first.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn items(&self) -> &[Self] {
        match &self.kind {
            Kind::Seq(items) => items,
            _ => &[],
        }
    }

    /// What the node is, as a person says it.
    pub(crate) const fn noun(&self) -> &'static str {
        match &self.kind {
            Kind::Scalar(Scalar::Null, _) => "an empty value",
            Kind::Scalar(Scalar::Bool(_), _) => "a boolean",
            Kind::Scalar(Scalar::Number(_), _) => "a number",
            Kind::Scalar(Scalar::Text, _) => "a text",
            Kind::Seq(_) => "a list",
            Kind::Map(_) => "a mapping",
        }
    }
}

/// A place in a tree. A step to something that is not there stays where it is, so that a problem about a missing
/// key points at what should hold it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'a> {
    node: Option<&'a Node>,
    mark: Mark,
}

impl<'a> At<'a> {
    pub(crate) const fn root(node: &'a Node) -> Self {
        Self {
            node: Some(node),
            mark: node.mark,
        }
    }

    /// Steps to the value of a key.
    pub(crate) fn key(self, key: &str) -> Self {
        match self.node.and_then(|node| node.entry(key)) {
            Some(entry) => Self {
                node: Some(&entry.value),
                mark: match entry.value.kind {
                    Kind::Scalar(..) => entry.value.mark,
                    _ => entry.key_mark,
                },
            },
            None => Self { node: None, ..self },
        }
    }

    /// Steps to the key itself.
    pub(crate) fn key_name(self, key: &str) -> Self {
        let entry = self.node.and_then(|node| node.entry(key));
        Self {
            node: None,
            mark: entry.map_or(self.mark, |entry| entry.key_mark),
        }
    }

    /// Steps to an item of a list.
    pub(crate) fn item(self, index: usize) -> Self {
        match self.node.and_then(|node| node.items().get(index)) {
            Some(node) => Self {
                node: Some(node),
                mark: node.mark,
            },
            None => Self { node: None, ..self },
        }
    }

    pub(crate) const fn mark(self) -> Mark {
        self.mark
    }

    pub(crate) const fn is_present(self) -> bool {
        self.node.is_some()
    }
}

/// A node before the text of its plain scalars was taken from the source.
#[derive(Debug)]
pub(crate) struct Raw(Spanned<RawKind>);

#[derive(Debug)]
enum RawKind {
    Scalar(Scalar, Option<String>),
    Seq(Vec<Raw>),
    Map(Vec<(Spanned<String>, Raw)>),
}

impl Raw {
    /// Adds the source's text: a plain `1.10` stays `1.10` where a text is wanted.
    pub(crate) fn resolve(self, text: &str, source: u8) -> Node {
        let at = self.0.referenced;
        let defined = range(text, self.0.defined);
        let mut mark = mark(text, at, source);
        let kind = match self.0.value {
            RawKind::Scalar(scalar, Some(value)) => Kind::Scalar(scalar, value),
            RawKind::Scalar(scalar, None) => {
                Kind::Scalar(scalar, text.get(defined).unwrap_or_default().to_owned())
            }
            RawKind::Seq(items) => Kind::Seq(
                items
                    .into_iter()
                    .map(|item| item.resolve(text, source))
                    .collect(),
            ),
            RawKind::Map(entries) => Kind::Map(
                entries
                    .into_iter()
                    .map(|(key, value)| Entry {
                        key_mark: self::mark(text, key.referenced, source),
                        key: key.value,
                        value: value.resolve(text, source),
                    })
                    .collect(),
            ),
        };
        // A collection is pointed at by its first key, or its first character.
        match &kind {
            Kind::Map(entries) => {
                if let Some(first) = entries.first().filter(|entry| entry.key_mark >= mark) {
                    mark = first.key_mark;
                }
            }
            Kind::Seq(_) => mark.end = mark.end.min(mark.start + 1),
            Kind::Scalar(..) => {}
        }
        Node { mark, kind }
    }
}

/// The bytes of a location, shrunk to its first line and never empty inside a text.
fn mark(text: &str, location: Location, source: u8) -> Mark {
    let range = range(text, location);
    let shown = text.get(range.clone()).unwrap_or_default();
    let first = shown.lines().next().unwrap_or_default().trim_end().len();
    let end = range.start + first;
    Mark {
        source,
        start: u32::try_from(range.start).unwrap_or(u32::MAX),
        end: u32::try_from(end).unwrap_or(u32::MAX),
    }
}

pub(crate) fn range(text: &str, location: Location) -> std::ops::Range<usize> {
    let span = location.span();
    let start = span
        .byte_offset()
        .and_then(|at| usize::try_from(at).ok())
        .unwrap_or_else(|| offset(text, location.line(), location.column()))
        .min(text.len());
    let len = span
        .byte_len()
        .and_then(|len| usize::try_from(len).ok())
        .unwrap_or(0);
    start..start.saturating_add(len).min(text.len())
}

/// The byte at which a line and a column (in characters), both from 1, stand.
fn offset(text: &str, line: u64, column: u64) -> usize {
    let mut start = 0;
    for (number, content) in (1_u64..).zip(text.split_inclusive('\n')) {
        if number == line {
            let ahead = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
            let within = content
                .char_indices()
                .nth(ahead)
                .map_or(content.len(), |(at, _)| at);
            return start + within;
        }
        start += content.len();
    }
    text.len()
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for RawKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = RawKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<RawKind, E> {
        Ok(RawKind::Scalar(Scalar::Null, None))
    }

    fn visit_none<E>(self) -> Result<RawKind, E> {
        Ok(RawKind::Scalar(Scalar::Null, None))
    }

    fn visit_bool<E>(self, value: bool) -> Result<RawKind, E> {
        Ok(RawKind::Scalar(Scalar::Bool(value), None))
    }

    fn visit_u64<E>(self, value: u64) -> Result<RawKind, E> {
        Ok(RawKind::Scalar(Scalar::Number(Number::Whole(value)), None))
    }

    fn visit_i64<E>(self, value: i64) -> Result<RawKind, E> {
        let number = u64::try_from(value).map_or(Number::Negative(value), Number::Whole);
        Ok(RawKind::Scalar(Scalar::Number(number), None))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "no key takes a number of this size"
    )]
    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<RawKind, E> {
        self.visit_f64(value as f64)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "no key takes a number of this size"
    )]
    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<RawKind, E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E>(self, value: f64) -> Result<RawKind, E> {
        Ok(RawKind::Scalar(
            Scalar::Number(Number::Fraction(value)),
            None,
        ))
    }

    fn visit_str<E>(self, value: &str) -> Result<RawKind, E> {
        Ok(RawKind::Scalar(Scalar::Text, Some(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<RawKind, E> {
        Ok(RawKind::Scalar(Scalar::Text, Some(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RawKind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(RawKind::Seq(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawKind, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(RawKind::Map(entries))
    }
}
