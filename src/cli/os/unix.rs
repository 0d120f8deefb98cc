//! The polite request to end, as a scheduler or a CI runner sends it.

use tokio::signal::unix::{SignalKind, signal};

/// Completes when the process is asked to end by SIGTERM.
pub(in crate::cli) async fn terminated() {
    match signal(SignalKind::terminate()) {
        Ok(mut signal) => drop(signal.recv().await),
        // Without a handler the signal ends the process, as it does by default.
        Err(_) => std::future::pending().await,
    }
}
