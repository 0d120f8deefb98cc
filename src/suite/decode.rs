//! A tree into the types of the format, through serde: scalars keep their source text where a text is wanted.

use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::node::{Entry, Kind, Mark, Node, Number, Scalar};

/// What does not fit, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecodeError {
    pub message: String,
    pub mark: Option<Mark>,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DecodeError {}

impl serde::de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            message: message.to_string(),
            mark: None,
        }
    }
}

/// Reads a value of some type out of a node.
pub(crate) fn decode<T: DeserializeOwned>(node: &Node) -> Result<T, DecodeError> {
    T::deserialize(Reader(node))
}

#[derive(Clone, Copy)]
struct Reader<'a>(&'a Node);

impl<'a> Reader<'a> {
    /// Says where an error that does not know it yet arose.
    fn place<T>(self, result: Result<T, DecodeError>) -> Result<T, DecodeError> {
        result.map_err(|error| DecodeError {
            mark: error.mark.or(Some(self.0.mark)),
            ..error
        })
    }

    fn unexpected(self, expected: &dyn fmt::Display) -> DecodeError {
        DecodeError {
            message: format!("expected {expected}, found {}", self.0.noun()),
            mark: Some(self.0.mark),
        }
    }

    fn text(self) -> Option<&'a str> {
        match &self.0.kind {
            Kind::Scalar(Scalar::Null, _) | Kind::Seq(_) | Kind::Map(_) => None,
            Kind::Scalar(_, text) => Some(text),
        }
    }
}

impl<'a> IntoDeserializer<'a, DecodeError> for Reader<'a> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

type Pair<'a> = (&'a str, Reader<'a>);

fn pairs(entries: &[Entry]) -> impl Iterator<Item = Pair<'_>> {
    entries
        .iter()
        .map(|entry| (entry.key.as_str(), Reader(&entry.value)))
}

impl<'de> serde::Deserializer<'de> for Reader<'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let result = match &self.0.kind {
            Kind::Scalar(Scalar::Null, _) => visitor.visit_unit(),
            Kind::Scalar(Scalar::Bool(value), _) => visitor.visit_bool(*value),
            Kind::Scalar(Scalar::Number(Number::Whole(value)), _) => visitor.visit_u64(*value),
            Kind::Scalar(Scalar::Number(Number::Negative(value)), _) => visitor.visit_i64(*value),
            Kind::Scalar(Scalar::Number(Number::Fraction(value)), _) => visitor.visit_f64(*value),
            Kind::Scalar(Scalar::Text, text) => visitor.visit_str(text),
            Kind::Seq(items) => visitor.visit_seq(SeqDeserializer::new(items.iter().map(Reader))),
            Kind::Map(entries) => visitor.visit_map(MapDeserializer::new(pairs(entries))),
        };
        self.place(result)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let text = self.text().ok_or_else(|| self.unexpected(&"a text"))?;
        self.place(visitor.visit_borrowed_str(text))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.0.kind {
            Kind::Scalar(Scalar::Null, _) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let text = self.text().ok_or_else(|| self.unexpected(&"a name"))?;
        let name: StrDeserializer<'_, DecodeError> = text.into_deserializer();
        self.place(visitor.visit_enum(name))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct ignored_any
    }
}
