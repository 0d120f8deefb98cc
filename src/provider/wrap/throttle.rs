//! What a provider may be asked at once and per minute, over everybody who asks it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::base::Clock;
use crate::domain::Usage;
use crate::provider::LimitsConfig;

/// What the limits per minute are measured over.
const WINDOW: Duration = Duration::from_secs(60);

/// The limits of one provider, shared by all its callers; clones share them too.
///
/// Callers are let through in the order in which they came. The limits per minute hold over every span of 60 seconds,
/// not only from one full minute to the next.
#[derive(Clone)]
pub struct Throttle {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    slots: Option<Arc<Semaphore>>,
    requests: Option<usize>,
    tokens: Option<u64>,
    /// Held by the caller whose turn it is, also while it waits: nobody overtakes it.
    turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When calls began within the window.
    starts: VecDeque<Duration>,
    /// When tokens were used within the window, and how many.
    used: VecDeque<(Duration, u64)>,
    /// Nobody starts before this time.
    blocked_until: Duration,
}

/// Leave to make one call; the next caller's turn comes when it is dropped.
#[derive(Debug)]
pub struct Permit {
    _slot: Option<OwnedSemaphorePermit>,
    waited: Duration,
}

impl Permit {
    /// How long the caller waited for it.
    #[must_use]
    pub const fn waited(&self) -> Duration {
        self.waited
    }
}

impl std::fmt::Debug for Throttle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Throttle").finish_non_exhaustive()
    }
}

impl Throttle {
    /// A throttle that holds to `limits`; what is not limited is not held up.
    #[must_use]
    pub fn new(limits: LimitsConfig, clock: Arc<dyn Clock>) -> Self {
        let slots = limits.concurrency.map(|slots| {
            let slots = usize::try_from(slots).unwrap_or(usize::MAX);
            Arc::new(Semaphore::new(slots.clamp(1, Semaphore::MAX_PERMITS)))
        });
        Self {
            shared: Arc::new(Shared {
                clock,
                slots,
                requests: limits
                    .requests_per_minute
                    .map(|requests| usize::try_from(requests).unwrap_or(usize::MAX).max(1)),
                tokens: limits.tokens_per_minute.map(|tokens| tokens.0.max(1)),
                turn: tokio::sync::Mutex::new(()),
                state: Mutex::default(),
            }),
        }
    }

    /// Waits until a call may begin. A future that is dropped meanwhile takes nothing with it.
    pub async fn admit(&self) -> Permit {
        let shared = &self.shared;
        let came = shared.clock.monotonic();
        let slot = match &shared.slots {
            Some(slots) => Some(
                Arc::clone(slots)
                    .acquire_owned()
                    .await
                    .expect("the semaphore is never closed"),
            ),
            None => None,
        };
        let turn = shared.turn.lock().await;
        loop {
            let now = shared.clock.monotonic();
            let wait = shared.start(now);
            if wait.is_zero() {
                break;
            }
            shared.clock.sleep(wait).await;
        }
        drop(turn);
        Permit {
            _slot: slot,
            waited: shared.clock.monotonic().saturating_sub(came),
        }
    }

    /// Counts what a call used, as soon as it is known. Calls that begin later wait where it was too much.
    pub fn charge(&self, usage: &Usage) {
        let tokens = usage
            .total_tokens
            .max(usage.prompt_tokens.saturating_add(usage.completion_tokens));
        if self.shared.tokens.is_some() && tokens > 0 {
            let now = self.shared.clock.monotonic();
            self.shared.state().used.push_back((now, tokens));
        }
    }

    /// Nobody begins a call within `span` from now: the provider has asked for a pause.
    pub fn penalise(&self, span: Duration) {
        let until = self.shared.clock.monotonic().saturating_add(span);
        let mut state = self.shared.state();
        state.blocked_until = state.blocked_until.max(until);
    }
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // The state is a few numbers: a panic elsewhere leaves them as they were.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a call that begins now and returns zero, or how long it has to wait before it may ask again.
    fn start(&self, now: Duration) -> Duration {
        let mut state = self.state();
        let past = |at: &Duration| *at + WINDOW <= now;
        while state.starts.front().is_some_and(past) {
            state.starts.pop_front();
        }
        while state.used.front().is_some_and(|(at, _)| past(at)) {
            state.used.pop_front();
        }
        let mut until = state.blocked_until;
        if let Some(most) = self.requests
            && state.starts.len() >= most
        {
            let blocking = state.starts[state.starts.len() - most];
            until = until.max(blocking + WINDOW);
        }
        if let Some(most) = self.tokens {
            until = until.max(state.room_at(most));
        }
        let wait = until.saturating_sub(now);
        if wait.is_zero() && self.requests.is_some() {
            state.starts.push_back(now);
        }
        wait
    }
}

impl State {
    /// When fewer than `most` tokens will have been used within the window.
    fn room_at(&self, most: u64) -> Duration {
        let mut sum: u64 = 0;
        for (at, tokens) in self.used.iter().rev() {
            sum = sum.saturating_add(*tokens);
            if sum >= most {
                return *at + WINDOW;
            }
        }
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::Throttle;
    use crate::base::{Clock, ManualClock, Size};
    use crate::domain::Usage;
    use crate::provider::LimitsConfig;
    use futures_util::FutureExt as _;
    use std::sync::Arc;
    use std::time::Duration;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn throttle(limits: LimitsConfig) -> (Throttle, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::default());
        (
            Throttle::new(limits, Arc::clone(&clock) as Arc<dyn Clock>),
            clock,
        )
    }

    fn used(tokens: u64) -> Usage {
        Usage {
            total_tokens: tokens,
            ..Usage::default()
        }
    }

    #[tokio::test]
    async fn without_limits_nobody_waits() {
        let (throttle, clock) = throttle(LimitsConfig::default());
        let mut permits = Vec::new();
        for _ in 0..1_000 {
            permits.push(throttle.admit().await);
            throttle.charge(&used(1_000_000));
        }
        assert!(clock.slept().is_empty());
    }

    #[tokio::test]
    async fn calls_at_once() {
        let (throttle, _) = throttle(LimitsConfig {
            concurrency: Some(2),
            ..LimitsConfig::default()
        });
        let first = throttle.admit().await;
        let _second = throttle.admit().await;
        let mut third = Box::pin(throttle.admit());
        assert!(third.as_mut().now_or_never().is_none());
        // Who comes later does not overtake.
        let mut fourth = Box::pin(throttle.admit());
        assert!(fourth.as_mut().now_or_never().is_none());
        drop(first);
        assert!(fourth.as_mut().now_or_never().is_none());
        let third = third.as_mut().now_or_never().expect("a slot is free");
        assert!(fourth.as_mut().now_or_never().is_none());
        drop(third);
        assert!(fourth.as_mut().now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_waiter_that_gives_up_leaves_no_hole() {
        let (throttle, _) = throttle(LimitsConfig {
            concurrency: Some(1),
            ..LimitsConfig::default()
        });
        let first = throttle.admit().await;
        assert!(throttle.admit().now_or_never().is_none());
        drop(first);
        assert!(throttle.admit().now_or_never().is_some());
    }

    #[tokio::test]
    async fn calls_per_minute() {
        let (throttle, clock) = throttle(LimitsConfig {
            requests_per_minute: Some(2),
            ..LimitsConfig::default()
        });
        throttle.admit().await;
        clock.advance(seconds(20));
        throttle.admit().await;
        clock.advance(seconds(10));
        assert_eq!(throttle.admit().await.waited(), seconds(30));
        assert_eq!(throttle.admit().await.waited(), seconds(20));
        clock.advance(seconds(60));
        assert_eq!(throttle.admit().await.waited(), seconds(0));
    }

    #[tokio::test]
    async fn tokens_per_minute() {
        let (throttle, clock) = throttle(LimitsConfig {
            tokens_per_minute: Some(Size(1_000)),
            ..LimitsConfig::default()
        });
        throttle.admit().await;
        throttle.charge(&used(400));
        clock.advance(seconds(10));
        assert_eq!(throttle.admit().await.waited(), seconds(0));
        throttle.charge(&used(5_000));
        clock.advance(seconds(10));
        assert_eq!(throttle.admit().await.waited(), seconds(50));
        // A server that reports no total is counted all the same.
        throttle.charge(&Usage {
            prompt_tokens: u64::MAX,
            completion_tokens: 1,
            ..Usage::default()
        });
        assert_eq!(throttle.admit().await.waited(), seconds(60));
    }

    #[tokio::test]
    async fn a_pause_holds_for_everybody() {
        let (throttle, clock) = throttle(LimitsConfig {
            concurrency: Some(8),
            ..LimitsConfig::default()
        });
        throttle.penalise(seconds(30));
        throttle.penalise(seconds(5));
        clock.advance(seconds(10));
        assert_eq!(throttle.admit().await.waited(), seconds(20));
        assert_eq!(throttle.admit().await.waited(), seconds(0));
        throttle.penalise(Duration::MAX);
    }
}
