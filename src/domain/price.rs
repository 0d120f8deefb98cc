//! What tokens cost, under a table with a date.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Usage;
use crate::base::Money;

/// Dollars for a million tokens of each kind, and for one request of a tool that the vendor runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Price {
    /// Prompt tokens that were neither read from nor written to a cache.
    pub input: Money,
    /// Completion tokens, reasoning included.
    pub output: Money,
    /// Prompt tokens read from a cache; `None` charges them as `input`.
    pub cache_read: Option<Money>,
    /// Prompt tokens written to a cache; `None` charges them as `input`.
    pub cache_write: Option<Money>,
    /// One request of a tool that the vendor runs.
    pub per_server_tool_request: Option<Money>,
}

impl Price {
    /// What `usage` costs. Cached tokens are part of the prompt and are charged once.
    ///
    /// ```
    /// use taskgate::domain::{Price, Usage};
    ///
    /// let price = Price { input: "3".parse().unwrap(), output: "15".parse().unwrap(), cache_read: "0.3".parse().ok(), ..Price::default() };
    /// let usage = Usage { prompt_tokens: 1_000_000, cache_read_tokens: 900_000, completion_tokens: 100_000, ..Usage::default() };
    /// assert_eq!(price.cost(&usage).plain(), "2.07");
    /// ```
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Money {
        let fresh = usage
            .prompt_tokens
            .saturating_sub(usage.cache_read_tokens)
            .saturating_sub(usage.cache_write_tokens);
        Money::of_tokens(fresh, self.input)
            + Money::of_tokens(
                usage.cache_read_tokens,
                self.cache_read.unwrap_or(self.input),
            )
            + Money::of_tokens(
                usage.cache_write_tokens,
                self.cache_write.unwrap_or(self.input),
            )
            + Money::of_tokens(usage.completion_tokens, self.output)
            + self.per_server_tool_request.map_or(Money::ZERO, |each| {
                Money::new(each.dollars() * rust_decimal::Decimal::from(usage.server_tool_requests))
            })
    }
}

/// Prices of models on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceTable {
    /// The table's name: its file's name without the ending.
    pub name: String,
    /// The day on which the prices held.
    pub as_of: jiff::civil::Date,
    /// Prices by exact model id.
    pub models: BTreeMap<String, Price>,
}

impl PriceTable {
    /// What `usage` of `model` costs; `None` where the table has no price for it, which is not zero.
    #[must_use]
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<Money> {
        self.models.get(model).map(|price| price.cost(usage))
    }
}
