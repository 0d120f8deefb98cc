//! Decimal money: no binary fraction ever touches a price.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

/// An amount of United States dollars, exact to 28 digits.
///
/// ```
/// use taskgate::base::Money;
///
/// let total: Money = ["0.10", "0.20"].iter().map(|text| text.parse::<Money>().expect("an amount")).sum();
/// assert_eq!(total.to_string(), "$0.30");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(#[serde(with = "rust_decimal::serde::str")] Decimal);

impl Money {
    /// Nothing at all.
    pub const ZERO: Self = Self(Decimal::ZERO);

    /// An amount in dollars.
    #[must_use]
    pub const fn new(dollars: Decimal) -> Self {
        Self(dollars)
    }

    /// The amount in dollars.
    #[must_use]
    pub const fn dollars(self) -> Decimal {
        self.0
    }

    /// The plain number, without a sign of the currency and without trailing zeros.
    #[must_use]
    pub fn plain(self) -> String {
        self.0.normalize().to_string()
    }

    /// What `tokens` cost at `per_million` dollars for a million of them.
    #[must_use]
    pub fn of_tokens(tokens: u64, per_million: Self) -> Self {
        Self(Decimal::from(tokens) * per_million.0 / Decimal::from(1_000_000))
    }
}

impl FromStr for Money {
    type Err = rust_decimal::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Decimal::from_str_exact(text.trim()).map(Self)
    }
}

/// Two decimals from a cent upwards, six below it: a cheap call does not read as free.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0.is_sign_negative() && !self.0.is_zero() {
            "-"
        } else {
            ""
        };
        let amount = self.0.abs();
        let decimals = if amount.is_zero() || amount >= Decimal::new(1, 2) {
            2
        } else {
            6
        };
        f.pad(&format!("{sign}${amount:.decimals$}"))
    }
}

impl fmt::Debug for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Money({})", self.plain())
    }
}

impl Add for Money {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Money {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::Money;

    #[test]
    fn shown_as_people_read_it() {
        for (text, shown) in [
            ("0", "$0.00"),
            ("1.005", "$1.00"),
            ("0.0031", "$0.003100"),
            ("-2", "-$2.00"),
            ("12", "$12.00"),
        ] {
            assert_eq!(text.parse::<Money>().expect("an amount").to_string(), shown);
        }
        assert!("0.1.2".parse::<Money>().is_err());
    }

    #[test]
    fn tokens_are_priced_without_rounding() {
        let price: Money = "0.15".parse().expect("an amount");
        assert_eq!(Money::of_tokens(1, price).plain(), "0.00000015");
    }
}
