//! Price tables in TOML: dated, exact, and refused where anything in them is unclear.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::base::Money;
use crate::domain::{Price, PriceTable};

/// The largest price table, in bytes.
const LARGEST: u64 = 4 << 20;

/// No model costs more than this for a million tokens; a larger number is a slip, and would overflow a sum.
const DEAREST: i64 = 1_000_000;

const KEYS: [&str; 5] = [
    "input",
    "output",
    "cache_read",
    "cache_write",
    "per_server_tool_request",
];

/// Why a price table is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PriceError {
    /// The file cannot be read.
    #[error("cannot read the price table {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file has no day on which its prices held.
    #[error("{}: a price table needs a date: add `as_of = \"2026-11-01\"`, the day on which its prices held", path.display())]
    Undated {
        /// The file.
        path: PathBuf,
    },
    /// Something in the file is wrong.
    #[error("{}:{line}: {message}", path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what was expected.
        message: String,
    },
}

/// Reads a price table. Its name is the file's, without the ending.
///
/// # Errors
/// Where the file cannot be read, has no date, or holds a key or a value that is not understood.
pub fn load(path: &Path) -> Result<PriceTable, PriceError> {
    let read = || -> std::io::Result<String> {
        let mut text = String::new();
        let file = std::fs::File::open(path)?;
        file.take(LARGEST + 1).read_to_string(&mut text)?;
        if text.len() as u64 > LARGEST {
            let message = format!("it is larger than {LARGEST} bytes");
            return Err(std::io::Error::other(message));
        }
        Ok(text)
    };
    let text = read().map_err(|source| PriceError::Read {
        path: path.to_owned(),
        source,
    })?;
    parse(&text, path)
}

/// Reads the text of a price table; `path` names it in errors and gives it its name.
///
/// # Errors
/// As [`load`].
pub fn parse(text: &str, path: &Path) -> Result<PriceTable, PriceError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let reader = Reader { text, path };
    let table = DeTable::parse(text)
        .map_err(|error| reader.wrong(error.span().unwrap_or(0..0), error.message().to_owned()))?;
    let mut as_of = None;
    let mut models = BTreeMap::new();
    for (key, value) in table.get_ref() {
        match key.get_ref().as_ref() {
            "as_of" => as_of = Some(reader.date(value)?),
            "models" => {
                let entries = value.get_ref().as_table().ok_or_else(|| {
                    reader.wrong(value.span(), "`models` is a table of tables".to_owned())
                })?;
                for (model, price) in entries {
                    models.insert(model.get_ref().to_string(), reader.price(model, price)?);
                }
            }
            _ => return Err(reader.unknown(key, &["as_of", "models"])),
        }
    }
    Ok(PriceTable {
        name: path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default(),
        as_of: as_of.ok_or_else(|| PriceError::Undated {
            path: path.to_owned(),
        })?,
        models,
    })
}

struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
}

impl Reader<'_> {
    fn wrong(&self, span: Range<usize>, message: String) -> PriceError {
        let before = self
            .text
            .as_bytes()
            .get(..span.start)
            .unwrap_or(self.text.as_bytes());
        PriceError::Entry {
            path: self.path.to_owned(),
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            message,
        }
    }

    fn unknown(&self, key: &Spanned<DeString<'_>>, known: &[&str]) -> PriceError {
        let near = known
            .iter()
            .max_by(|a, b| {
                let near = |name: &str| strsim::jaro_winkler(name, key.get_ref());
                near(a).total_cmp(&near(b))
            })
            .filter(|name| strsim::jaro_winkler(name, key.get_ref()) > 0.8)
            .map(|name| format!(", did you mean `{name}`?"))
            .unwrap_or_else(|| format!(": there are {}", known.join(", ")));
        self.wrong(key.span(), format!("unknown key `{}`{near}", key.get_ref()))
    }

    fn date(&self, value: &Spanned<DeValue<'_>>) -> Result<jiff::civil::Date, PriceError> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Datetime(date) => date.to_string(),
            _ => String::new(),
        };
        let plain = text.len() == 10;
        text.parse().ok().filter(|_| plain).ok_or_else(|| {
            self.wrong(
                value.span(),
                "`as_of` is a day such as \"2026-11-01\"".to_owned(),
            )
        })
    }

    fn price(
        &self,
        model: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Price, PriceError> {
        let entries = value.get_ref().as_table().ok_or_else(|| {
            let message = format!(
                "the price of `{}` is a table with `input` and `output`",
                model.get_ref()
            );
            self.wrong(value.span(), message)
        })?;
        let mut found: BTreeMap<&str, Money> = BTreeMap::new();
        for (key, value) in entries {
            let known = KEYS.into_iter().find(|known| known == key.get_ref());
            let known = known.ok_or_else(|| self.unknown(key, &KEYS))?;
            found.insert(known, self.money(known, value)?);
        }
        let needed = |key: &str| {
            found.get(key).copied().ok_or_else(|| {
                self.wrong(
                    model.span(),
                    format!("`{}` has no `{key}` price", model.get_ref()),
                )
            })
        };
        Ok(Price {
            input: needed("input")?,
            output: needed("output")?,
            cache_read: found.get("cache_read").copied(),
            cache_write: found.get("cache_write").copied(),
            per_server_tool_request: found.get("per_server_tool_request").copied(),
        })
    }

    /// The number exactly as it is written: it is read from its text, never from a binary fraction.
    fn money(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Money, PriceError> {
        let wrong = |why: &str| self.wrong(value.span(), format!("`{key}` {why}"));
        let not_a_number = || wrong("is dollars as a plain number, such as \"0.15\"");
        let text = match value.get_ref() {
            DeValue::String(text) => text.as_ref(),
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            _ => return Err(not_a_number()),
        };
        let digits = text.trim().trim_start_matches(['+', '-']);
        let plain = digits.starts_with(|first: char| first.is_ascii_digit())
            && digits
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.');
        let amount: Money = text
            .trim()
            .trim_start_matches('+')
            .parse()
            .ok()
            .filter(|_| plain)
            .ok_or_else(not_a_number)?;
        if amount < Money::ZERO {
            return Err(wrong("is negative"));
        }
        if amount > Money::new(DEAREST.into()) {
            return Err(wrong(
                "is more than a million dollars: prices are for a million tokens",
            ));
        }
        Ok(amount)
    }
}

#[cfg(test)]
mod tests {
    use super::{load, parse};
    use std::path::Path;

    fn check(text: &str) -> Result<String, String> {
        let table =
            parse(text, Path::new("prices/mine.toml")).map_err(|error| error.to_string())?;
        let models: Vec<String> = table
            .models
            .iter()
            .map(|(model, price)| {
                format!(
                    "{model} {} {} {:?}",
                    price.input.plain(),
                    price.output.plain(),
                    price.cache_read
                )
            })
            .collect();
        Ok(format!(
            "{} {} {}",
            table.name,
            table.as_of,
            models.join(", ")
        ))
    }

    #[test]
    fn what_is_read() {
        for (text, expected) in [
            ("as_of = \"2026-11-01\"", "mine 2026-11-01 "),
            ("as_of = 2026-11-01\n", "mine 2026-11-01 "),
            (
                "as_of = \"2026-11-01\"\n[models.\"a/b-1\"]\ninput = \"3.00\"\noutput = 15\n",
                "mine 2026-11-01 a/b-1 3 15 None",
            ),
            // As a binary fraction this would be 0.1000000000000000055…
            (
                "as_of = \"2026-11-01\"\n[models.m]\ninput = 0.1000000000000000000001\noutput = 1_000.5\ncache_read = 0.01\n",
                "mine 2026-11-01 m 0.1000000000000000000001 1000.5 Some(Money(0.01))",
            ),
            (
                "\u{feff}as_of = \"2026-11-01\"\r\nmodels = {}\r\n",
                "mine 2026-11-01 ",
            ),
        ] {
            assert_eq!(check(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_refused() {
        let model = |line: &str| {
            format!("as_of = \"2026-11-01\"\n[models.m]\ninput = 1\noutput = 2\n{line}\n")
        };
        for (text, expected) in [
            (
                String::new(),
                "prices/mine.toml: a price table needs a date",
            ),
            ("[models]".to_owned(), "needs a date"),
            (
                "as_of = \"soon\"".to_owned(),
                "prices/mine.toml:1: `as_of` is a day",
            ),
            ("as_of = 2026".to_owned(), "`as_of` is a day"),
            (
                "as_of = 2026-11-01T00:00:00Z".to_owned(),
                "`as_of` is a day",
            ),
            ("as_of = \"2026-13-01\"".to_owned(), "`as_of` is a day"),
            (
                "as_of = \"2026-11-01\"\ncurrency = \"EUR\"".to_owned(),
                "prices/mine.toml:2: unknown key `currency`",
            ),
            (
                model("cached_read = 1"),
                "prices/mine.toml:5: unknown key `cached_read`, did you mean `cache_read`?",
            ),
            (
                model("cache_read = -0.1"),
                "prices/mine.toml:5: `cache_read` is negative",
            ),
            (model("cache_read = \"-1\""), "`cache_read` is negative"),
            (model("cache_read = \"\""), "`cache_read` is dollars"),
            (model("cache_read = \"1,5\""), "`cache_read` is dollars"),
            (model("cache_read = nan"), "`cache_read` is dollars"),
            (model("cache_read = inf"), "`cache_read` is dollars"),
            (model("cache_read = 1e-3"), "`cache_read` is dollars"),
            (model("cache_read = 0x10"), "`cache_read` is dollars"),
            (model("cache_read = true"), "`cache_read` is dollars"),
            (model("cache_read = 1000001"), "more than a million"),
            (
                model("cache_read = 0.00000000000000000000000000000000001"),
                "`cache_read` is dollars",
            ),
            (model("input = 2"), "prices/mine.toml:5: "),
            (
                "as_of = \"2026-11-01\"\n[models.m]\ninput = 1\n".to_owned(),
                "prices/mine.toml:2: `m` has no `output` price",
            ),
            (
                "as_of = \"2026-11-01\"\n[models]\nm = 3\n".to_owned(),
                "prices/mine.toml:3: the price of `m` is a table",
            ),
            (
                "as_of = \"2026-11-01\"\nmodels = 3\n".to_owned(),
                "`models` is a table",
            ),
            ("as_of = \n".to_owned(), "prices/mine.toml:1: "),
        ] {
            let error = check(&text).expect_err(&text);
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn the_rehearsal_prices_load() {
        let table = load(Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/prices/scripted.toml"
        )))
        .expect("a price table");
        assert_eq!(table.name, "scripted");
        assert!(table.models.contains_key("rehearsal-1"));
        let error = load(Path::new("no/such.toml"))
            .expect_err("no file")
            .to_string();
        assert!(
            error.starts_with("cannot read the price table no/such.toml"),
            "{error}"
        );
    }
}
