//! Ceilings of a run, and how it waits and gives up.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::Money;

/// The ceilings of one run; `None` is no ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Steps: model calls that were answered, each with the tools that it asked for.
    pub steps: u32,
    /// Tokens as the provider reports them, over all calls.
    pub tokens: Option<u64>,
    /// Time during which the run was driven; time with no process does not count.
    pub wall: Option<Duration>,
    /// Money under the price table in use. A call without a price counts as nothing and is reported as unpriced.
    pub cost: Option<Money>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            steps: 12,
            tokens: None,
            wall: None,
            cost: None,
        }
    }
}

/// Which ceiling was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetKind {
    /// [`Budget::steps`]
    Steps,
    /// [`Budget::tokens`]
    Tokens,
    /// [`Budget::wall`]
    Wall,
    /// [`Budget::cost`]
    Cost,
}

impl BudgetKind {
    /// The key of the ceiling in a suite.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Tokens => "tokens",
            Self::Wall => "wall",
            Self::Cost => "cost",
        }
    }
}

/// How a failed model call is tried again: exponential, capped, jittered.
///
/// ```
/// use std::time::Duration;
/// use taskgate::domain::RetryPolicy;
///
/// let policy = RetryPolicy { attempts: 4, base: Duration::from_millis(500), max: Duration::from_secs(3) };
/// assert_eq!(policy.delay(1, None, 1.0), Duration::from_millis(500));
/// assert_eq!(policy.delay(5, None, 1.0), Duration::from_secs(3));
/// // What a server asks for is honoured, up to the same ceiling.
/// assert_eq!(policy.delay(1, Some(Duration::from_secs(86_400)), 0.0), Duration::from_secs(3));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Calls in all for one step, the first included.
    pub attempts: u32,
    /// The longest wait before the second attempt.
    pub base: Duration,
    /// The longest wait before any attempt, whatever a server asks for.
    pub max: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 3,
            base: Duration::from_millis(500),
            max: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// The wait after `failures` failed attempts (at least 1). `jitter` between 0 and 1 picks a point in the upper
    /// half of the exponential wait, so that a batch does not retry in lockstep and none retries at once.
    #[must_use]
    pub fn delay(&self, failures: u32, retry_after: Option<Duration>, jitter: f64) -> Duration {
        let doubled = self
            .base
            .saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
        let computed = doubled
            .min(self.max)
            .mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0);
        retry_after
            .map_or(computed, |asked| asked.max(computed))
            .min(self.max)
    }
}

/// When a run that repeats itself is told so, and when it is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallPolicy {
    /// Steps of the same kind in a row that count as a stall; 0 switches the detection off.
    pub window: u32,
    /// How often the agent is told to change its plan before the run ends as stalled.
    pub max_replans: u32,
}

impl Default for StallPolicy {
    fn default() -> Self {
        Self {
            window: 3,
            max_replans: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RetryPolicy;
    use proptest::prelude::*;
    use std::time::Duration;

    proptest! {
        #[test]
        fn a_wait_is_never_longer_than_the_ceiling_nor_shorter_than_half_the_exponential_one(
            failures in 1_u32..100, jitter in 0.0_f64..=1.0, asked in proptest::option::of(0_u64..100_000)
        ) {
            let policy = RetryPolicy::default();
            let delay = policy.delay(failures, asked.map(Duration::from_secs), jitter);
            prop_assert!(delay <= policy.max);
            prop_assert!(delay >= policy.base / 2);
        }
    }
}
