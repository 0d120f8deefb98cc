//! The arithmetic of the reports, free of any database.

use rust_decimal::Decimal;

use crate::base::Money;

/// The two-sided quantile of the normal distribution at 95 %.
const Z_95: f64 = 1.959_963_984_540_054;

/// The Wilson score interval of `passed` out of `n` at a confidence between 0 and 1, as a pair of shares.
/// `None` where the question has no answer: nothing was tried, or more passed than were tried.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of cases are far below 2^52"
)]
pub fn wilson(passed: i64, n: i64, confidence: f64) -> Option<(f64, f64)> {
    if n <= 0 || passed < 0 || passed > n {
        return None;
    }
    let z = if (confidence - 0.95).abs() < 1e-12 {
        Z_95
    } else {
        two_sided_quantile(confidence)?
    };
    let (passed, n) = (passed as f64, n as f64);
    let share = passed / n;
    let square = z * z;
    let scale = 1.0 + square / n;
    let centre = share + square / (2.0 * n);
    let spread = z * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt();
    Some((
        ((centre - spread) / scale).max(0.0),
        ((centre + spread) / scale).min(1.0),
    ))
}

/// The `z` with `P(|X| <= z) = confidence` for a standard normal `X`, found by bisection.
fn two_sided_quantile(confidence: f64) -> Option<f64> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let (mut low, mut high) = (0.0_f64, 9.0_f64);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if central_share(middle) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(f64::midpoint(low, high))
}

/// `P(|X| <= z)` for a standard normal `X`, by the power series of the error function.
fn central_share(z: f64) -> f64 {
    let mut term = z;
    let mut sum = z;
    let mut odd = 1.0;
    while term > 1e-17 * sum && odd < 1_000.0 {
        odd += 2.0;
        term *= z * z / odd;
        sum += term;
    }
    (2.0 * sum * (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()).min(1.0)
}

/// The `p`-th percentile of sorted values, `p` from 0 to 100: the value at the rank `p/100 * (n - 1)`, counted from
/// 0, with linear interpolation between the two closest ranks.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank is between 0 and the number of values"
)]
pub fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let rank = (p / 100.0).clamp(0.0, 1.0) * last as f64;
    let below = (rank.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let fraction = rank - rank.floor();
    let (low, high) = (sorted[below], sorted[above]);
    Some(low + (high - low) * fraction)
}

/// The chance that at least one of `k` trials passes, estimated without bias from `c` passes in `n` trials:
/// `1 - C(n-c, k) / C(n, k)`. `None` where fewer than `k` trials were judged.
#[must_use]
pub fn pass_at_k(n: i64, c: i64, k: i64) -> Option<f64> {
    valid(n, c, k).then(|| 1.0 - ratio_of_choices(n - c, n, k))
}

/// The chance that all of `k` trials pass, estimated without bias from `c` passes in `n` trials: `C(c, k) / C(n, k)`.
/// `None` where fewer than `k` trials were judged.
#[must_use]
pub fn pass_hat_k(n: i64, c: i64, k: i64) -> Option<f64> {
    valid(n, c, k).then(|| ratio_of_choices(c, n, k))
}

/// An upper bound keeps a query with a nonsensical count from counting for years.
const MOST_TRIALS: i64 = 1_000_000;

const fn valid(n: i64, c: i64, k: i64) -> bool {
    n <= MOST_TRIALS && k >= 1 && k <= n && c >= 0 && c <= n
}

/// `C(part, k) / C(whole, k)`, factor by factor, so that nothing grows.
#[expect(clippy::cast_precision_loss, reason = "at most a million trials")]
fn ratio_of_choices(part: i64, whole: i64, k: i64) -> f64 {
    if part < k {
        return 0.0;
    }
    (0..k)
        .map(|i| (part - i) as f64 / (whole - i) as f64)
        .product()
}

/// Token counts of one call, as the vendor reported them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tokens {
    pub(crate) prompt: i64,
    pub(crate) cache_read: i64,
    pub(crate) cache_write: i64,
    pub(crate) completion: i64,
    pub(crate) server_requests: i64,
}

/// Prices of one model: dollars for a million tokens, and for one request of a tool that the vendor runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prices {
    pub(crate) input: Money,
    pub(crate) output: Money,
    pub(crate) cache_read: Option<Money>,
    pub(crate) cache_write: Option<Money>,
    pub(crate) per_request: Option<Money>,
}

/// What a call cost; `None` where the amount has more digits than money has, which no honest vendor reports.
pub(crate) fn call_cost(tokens: Tokens, prices: &Prices) -> Option<Money> {
    let million = Decimal::from(1_000_000);
    let charge = |count: i64, price: Money| {
        Decimal::from(count.max(0))
            .checked_mul(price.dollars())?
            .checked_div(million)
    };
    let fresh = tokens
        .prompt
        .saturating_sub(tokens.cache_read.max(0))
        .saturating_sub(tokens.cache_write.max(0))
        .max(0);
    let requests = match prices.per_request {
        Some(each) => Decimal::from(tokens.server_requests.max(0)).checked_mul(each.dollars())?,
        None => Decimal::ZERO,
    };
    [
        charge(fresh, prices.input)?,
        charge(tokens.cache_read, prices.cache_read.unwrap_or(prices.input))?,
        charge(
            tokens.cache_write,
            prices.cache_write.unwrap_or(prices.input),
        )?,
        charge(tokens.completion, prices.output)?,
        requests,
    ]
    .into_iter()
    .try_fold(Decimal::ZERO, Decimal::checked_add)
    .map(Money::new)
}

/// `total` shared by `count`, to a millionth of a dollar.
pub(crate) fn share(total: Money, count: i64) -> Option<Money> {
    if count <= 0 {
        return None;
    }
    total
        .dollars()
        .checked_div(Decimal::from(count))
        .map(|each| Money::new(each.round_dp(6)))
}

#[cfg(test)]
mod tests {
    use super::{Prices, Tokens, call_cost, pass_at_k, pass_hat_k, percentile, share, wilson};
    use crate::base::Money;
    use proptest::prelude::*;

    #[test]
    fn wilson_agrees_with_published_intervals() {
        for (passed, n, low, high) in [
            (8, 10, 0.4902, 0.9433),
            (0, 10, 0.0, 0.2775),
            (10, 10, 0.7225, 1.0),
            (14, 20, 0.4810, 0.8545),
            (17, 20, 0.6396, 0.9476),
            (2, 18, 0.0310, 0.3280),
            (1, 1, 0.2065, 1.0),
            (15, 148, 0.0624, 0.1605),
        ] {
            let (got_low, got_high) = wilson(passed, n, 0.95).expect("an interval");
            assert!((got_low - low).abs() < 5e-5, "{passed}/{n}: {got_low}");
            assert!((got_high - high).abs() < 5e-5, "{passed}/{n}: {got_high}");
        }
        let (low, high) = wilson(8, 10, 0.99).expect("an interval");
        assert!(
            (low - 0.400_819).abs() < 5e-6 && (high - 0.959_869).abs() < 5e-6,
            "{low} {high}"
        );
        for (passed, n, confidence) in [
            (0, 0, 0.95),
            (3, 2, 0.95),
            (-1, 2, 0.95),
            (1, 2, 1.0),
            (1, 2, f64::NAN),
        ] {
            assert_eq!(wilson(passed, n, confidence), None);
        }
    }

    #[test]
    fn percentiles_interpolate_between_closest_ranks() {
        for (values, p, expected) in [
            (vec![7.0], 95.0, 7.0),
            (vec![1.0, 2.0, 3.0, 4.0], 50.0, 2.5),
            (vec![15.0, 20.0, 35.0, 40.0, 50.0], 40.0, 29.0),
            (vec![1.0, 2.0], 0.0, 1.0),
            (vec![1.0, 2.0], 100.0, 2.0),
        ] {
            let got = percentile(&values, p).expect("a value");
            assert!((got - expected).abs() < 1e-9, "p{p} of {values:?} is {got}");
        }
        assert_eq!(percentile(&[], 50.0), None);
    }

    #[test]
    fn pass_at_k_and_pass_hat_k() {
        for (n, c, k, at, hat) in [
            (5, 2, 1, 0.4, 0.4),
            (5, 2, 2, 0.7, 0.1),
            (5, 0, 3, 0.0, 0.0),
            (5, 5, 5, 1.0, 1.0),
            (10, 3, 5, 0.916_667, 0.0),
        ] {
            let got = (
                pass_at_k(n, c, k).expect("defined"),
                pass_hat_k(n, c, k).expect("defined"),
            );
            assert!(
                (got.0 - at).abs() < 1e-6 && (got.1 - hat).abs() < 1e-6,
                "{n} {c} {k}: {got:?}"
            );
        }
        for (n, c, k) in [
            (4, 2, 5),
            (4, 5, 1),
            (0, 0, 1),
            (4, 1, 0),
            (i64::MAX, 1, i64::MAX),
        ] {
            assert_eq!((pass_at_k(n, c, k), pass_hat_k(n, c, k)), (None, None));
        }
    }

    #[test]
    fn a_call_is_charged_once_for_each_token() {
        let money = |text: &str| text.parse::<Money>().expect("an amount");
        let prices = Prices {
            input: money("3"),
            output: money("15"),
            cache_read: Some(money("0.3")),
            cache_write: None,
            per_request: Some(money("0.01")),
        };
        let tokens = Tokens {
            prompt: 1_000_000,
            cache_read: 900_000,
            cache_write: 0,
            completion: 100_000,
            server_requests: 2,
        };
        assert_eq!(call_cost(tokens, &prices).expect("a price").plain(), "2.09");
        let absurd = Prices {
            input: money("70000000000000000000000000000"),
            ..prices
        };
        assert_eq!(call_cost(tokens, &absurd), None);
        assert_eq!(share(money("1"), 3).expect("a share").plain(), "0.333333");
        assert_eq!(share(money("1"), 0), None);
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_share(n in 1_i64..5_000, part in 0.0_f64..=1.0, confidence in 0.5_f64..0.999) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "small counts")]
            let passed = (n as f64 * part) as i64;
            let (low, high) = wilson(passed, n, confidence).expect("an interval");
            #[expect(clippy::cast_precision_loss, reason = "small counts")]
            let share = passed as f64 / n as f64;
            prop_assert!(0.0 <= low && low <= share + 1e-12 && share <= high + 1e-12 && high <= 1.0);
        }
    }
}
