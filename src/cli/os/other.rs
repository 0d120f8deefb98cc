//! Systems without a polite request to end.

/// Never completes: Ctrl-C is the only request there is.
pub(in crate::cli) async fn terminated() {
    std::future::pending().await
}
