//! Stopping from outside, so that a resume can go on.

use tokio_util::sync::CancellationToken;

/// A request to stop that reaches every run it was given to. Clones are the same request.
#[derive(Debug, Clone, Default)]
pub struct StopSignal {
    gently: CancellationToken,
    now: CancellationToken,
}

impl StopSignal {
    /// Runs stop at their next committed step; nothing new begins.
    pub fn stop_gently(&self) {
        self.gently.cancel();
    }

    /// Runs stop where they are: calls are dropped and commands are killed.
    pub fn stop_now(&self) {
        self.gently.cancel();
        self.now.cancel();
    }

    /// Whether a stop was asked for, of either kind.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.gently.is_cancelled()
    }

    /// Whether everything is to stop where it is.
    #[must_use]
    pub fn is_stopping_now(&self) -> bool {
        self.now.is_cancelled()
    }

    /// Completes once a stop of either kind is asked for.
    pub async fn asked(&self) {
        self.gently.cancelled().await;
    }

    /// `work`, unless everything is to stop first.
    pub async fn unless_now<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.now.cancelled() => None,
            done = work => Some(done),
        }
    }
}
