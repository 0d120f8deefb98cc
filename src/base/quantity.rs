//! Sizes and durations as people write them: `200k`, `1.5M`, `500ms`, `1h30m`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a quantity could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// A number without the unit that says what it means.
    #[error("`{0}` has no unit: write for instance `500ms`, `90s`, `10m` or `1h30m`")]
    NoUnit(String),
    /// Not a duration.
    #[error("`{0}` is not a duration: write for instance `500ms`, `90s`, `10m` or `1h30m`")]
    Duration(String),
    /// Not a count.
    #[error("`{0}` is not a count: write for instance `12`, `200k` or `1.5M`")]
    Size(String),
}

/// A duration, written with its unit.
///
/// ```
/// use taskgate::base::Span;
///
/// assert_eq!("1h30m".parse::<Span>().expect("a duration").0.as_secs(), 5400);
/// assert!("90".parse::<Span>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || QuantityError::Duration(text.to_owned());
        let mut rest = text.trim();
        if rest.is_empty() {
            return Err(bad());
        }
        if rest.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return Err(QuantityError::NoUnit(text.to_owned()));
        }
        let mut total = Duration::ZERO;
        let mut last_unit = f64::INFINITY;
        while !rest.is_empty() {
            let digits = rest
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .ok_or_else(bad)?;
            let (number, tail) = rest.split_at(digits);
            let number: f64 = number.parse().map_err(|_| bad())?;
            let letters = tail
                .find(|c: char| !c.is_ascii_alphabetic())
                .unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(letters);
            let seconds = match unit {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                _ => return Err(bad()),
            };
            // Units go down, each at most once: `1m1h` is a slip, not a duration.
            if seconds >= last_unit {
                return Err(bad());
            }
            last_unit = seconds;
            let part = Duration::try_from_secs_f64(number * seconds).map_err(|_| bad())?;
            total = total.checked_add(part).ok_or_else(bad)?;
            rest = tail;
        }
        Ok(Self(total))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut millis = self.0.as_millis();
        if millis == 0 {
            return f.write_str("0s");
        }
        for (unit, size) in [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
            let count = millis / size;
            if count > 0 {
                write!(f, "{count}{unit}")?;
                millis -= count * size;
            }
        }
        Ok(())
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// A count that may be written with `k` (thousand) or `M` (million).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || QuantityError::Size(text.to_owned());
        let trimmed = text.trim();
        let (number, scale) = match trimmed.char_indices().next_back() {
            Some((at, 'k' | 'K')) => (&trimmed[..at], 1_000_u64),
            Some((at, 'M')) => (&trimmed[..at], 1_000_000),
            _ => (trimmed, 1),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty()
            || !digits(whole)
            || !digits(fraction)
            || (number.contains('.') && fraction.is_empty())
        {
            return Err(bad());
        }
        let decimals = u32::try_from(fraction.len()).map_err(|_| bad())?;
        let unit = 10_u64.checked_pow(decimals).ok_or_else(bad)?;
        let digits: u64 = format!("{whole}{fraction}").parse().map_err(|_| bad())?;
        let scaled = digits.checked_mul(scale).ok_or_else(bad)?;
        // A fraction of one is no count: `1.5` and `0.0001k` are slips.
        if scaled % unit == 0 {
            Ok(Self(scaled / unit))
        } else {
            Err(bad())
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n >= 1_000_000 && n % 100_000 == 0 => write!(f, "{}M", Decimals(n, 1_000_000)),
            n if n >= 1_000 && n % 100 == 0 => write!(f, "{}k", Decimals(n, 1_000)),
            n => write!(f, "{n}"),
        }
    }
}

struct Decimals(u64, u64);

impl fmt::Display for Decimals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, tenth) = (self.0 / self.1, self.0 % self.1 * 10 / self.1);
        if tenth == 0 {
            write!(f, "{whole}")
        } else {
            write!(f, "{whole}.{tenth}")
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count such as `12`, `200k` or `1.5M`")
            }

            fn visit_u64<E>(self, count: u64) -> Result<Size, E> {
                Ok(Size(count))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for Span {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^([0-9.]+(ms|s|m|h|d))+$",
            "description": "A duration with its unit, for instance `500ms`, `90s`, `10m` or `1h30m`."
        })
    }
}

impl schemars::JsonSchema for Size {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["integer", "string"],
            "minimum": 0,
            "pattern": "^[0-9]+(\\.[0-9]+)?[kKM]?$",
            "description": "A count, for instance `12`, `200k` or `1.5M`."
        })
    }
}

/// Whole milliseconds, as the trace keeps durations.
#[must_use]
pub fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// A number of bytes for a person: `512 B`, `1.5 KiB`, `20.0 MiB`.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub fn format_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" {
                format!("{bytes} B")
            } else {
                format!("{value:.1} {unit}")
            };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// A duration for a person, with about three digits: `850 ms`, `2.1 s`, `4m 10s`, `1h 03m`.
#[must_use]
pub fn format_duration(span: Duration) -> String {
    let millis = span.as_millis();
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{:.1} s", span.as_secs_f64()),
        60_000..3_600_000 => format!("{}m {:02}s", millis / 60_000, millis / 1_000 % 60),
        _ => format!("{}h {:02}m", millis / 3_600_000, millis / 60_000 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::{Size, Span, format_bytes, format_duration};
    use std::time::Duration;

    #[test]
    fn durations() {
        for (text, millis) in [
            ("500ms", 500),
            ("90s", 90_000),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("1.5s", 1_500),
            ("0s", 0),
        ] {
            let span: Span = text.parse().expect(text);
            assert_eq!(span.0.as_millis(), millis, "{text}");
            assert_eq!(
                span.to_string().parse::<Span>().expect("printed form"),
                span
            );
        }
        for text in [
            "",
            "90",
            "1.5",
            "m",
            "1m1h",
            "1s1s",
            "-1s",
            "1 s",
            "1e3s",
            "9999999999999999999d",
            "1week",
        ] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, count) in [
            ("0", 0),
            ("12", 12),
            ("200k", 200_000),
            ("1.5M", 1_500_000),
            ("1.25k", 1_250),
        ] {
            let size: Size = text.parse().expect(text);
            assert_eq!(size.0, count, "{text}");
            assert_eq!(
                size.to_string().parse::<Size>().expect("printed form"),
                size
            );
        }
        for text in [
            "",
            "k",
            "1.5",
            "-1",
            "1.0001k",
            ".5k",
            "5.k",
            "1e3",
            "99999999999999999999",
            "1 k",
        ] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn shown() {
        assert_eq!(format_bytes(1_536), "1.5 KiB");
        assert_eq!(format_duration(Duration::from_millis(2_100)), "2.1 s");
        assert_eq!(format_duration(Duration::from_secs(250)), "4m 10s");
    }
}
