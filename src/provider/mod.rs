//! Models: one object-safe trait, one wire core, and pure adapters over it.

mod adapters;
pub mod catalog;
mod chat;
mod config;
mod construct;
pub mod pricing;
pub mod scripted;
pub mod wire;
pub mod wrap;

pub use config::{LimitsConfig, ProviderConfig, RetryConfig, Vendor};
pub use construct::{Built, ConstructError, Parts, Secrets, construct, reachable};
pub use scripted::{Script, ScriptError, Scripted};
pub use wrap::{Permit, Throttle};

use crate::base::BoxFuture;
use crate::domain::{CompletionRequest, CompletionResponse, DeltaSink, ProviderError};

/// A model that answers.
pub trait Provider: Send + Sync {
    /// The provider's name in its suite.
    fn name(&self) -> &str;
    /// The model that is asked for.
    fn model(&self) -> &str;
    /// The addresses that a call dials; none where it dials nothing.
    fn endpoints(&self) -> Vec<String>;
    /// Makes one call, without retrying it. Text goes to `sink` while it arrives.
    ///
    /// # Errors
    /// Where the call brings no complete answer, with a kind that says whether another attempt may.
    fn complete<'a>(
        &'a self,
        request: CompletionRequest<'a>,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<CompletionResponse, ProviderError>>;
}
