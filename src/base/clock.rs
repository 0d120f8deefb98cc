//! The one place that asks what time it is, so that a test can decide the answer.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::{BoxFuture, Timestamp};

/// Wall time for records, monotonic time for durations, and waiting.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The wall clock, for records only: it may jump.
    fn now(&self) -> Timestamp;
    /// Time since some fixed moment of this process: never goes back.
    fn monotonic(&self) -> Duration;
    /// Completes after `span`.
    fn sleep(&self, span: Duration) -> BoxFuture<'_, ()>;
}

/// The machine's own clock.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock that everything else asks"
    )]
    fn default() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock that everything else asks"
    )]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, span: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(span))
    }
}

/// A clock for tests: it moves only when told to, and a sleep moves it by the time slept.
///
/// ```
/// use std::time::Duration;
/// use taskgate::base::{Clock, ManualClock};
///
/// let clock = ManualClock::default();
/// let before = clock.monotonic();
/// clock.advance(Duration::from_secs(3));
/// assert_eq!(clock.monotonic() - before, Duration::from_secs(3));
/// ```
#[derive(Debug)]
pub struct ManualClock {
    elapsed: Mutex<Duration>,
    slept: Mutex<Vec<Duration>>,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self {
            elapsed: Mutex::new(Duration::from_secs(1_700_000_000)),
            slept: Mutex::default(),
        }
    }
}

impl ManualClock {
    /// Moves both the wall clock and the monotonic one.
    pub fn advance(&self, span: Duration) {
        *lock(&self.elapsed) += span;
    }

    /// Every wait that was asked for so far, in order.
    #[must_use]
    pub fn slept(&self) -> Vec<Duration> {
        lock(&self.slept).clone()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + *lock(&self.elapsed)
    }

    fn monotonic(&self) -> Duration {
        *lock(&self.elapsed)
    }

    fn sleep(&self, span: Duration) -> BoxFuture<'_, ()> {
        self.advance(span);
        lock(&self.slept).push(span);
        Box::pin(std::future::ready(()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A panic while a plain value is copied in or out cannot leave it half-changed.
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
