//! Providers that speak OpenAI's Chat Completions.

use std::sync::Arc;

use secrecy::SecretString;

use super::adapters::openai_chat;
use super::wire::{Assembler, Exchange, send};
use super::{Parts, Provider, ProviderConfig};
use crate::base::BoxFuture;
use crate::domain::{CompletionRequest, CompletionResponse, DeltaSink, ProviderError};
use crate::net::Timeouts;

/// A model behind a Chat Completions endpoint.
pub(crate) struct Chat {
    name: String,
    model: String,
    url: String,
    headers: Vec<(String, SecretString)>,
    config: ProviderConfig,
    timeouts: Timeouts,
    parts: Parts,
}

impl Chat {
    /// A provider whose references are resolved already: `headers` hold the key.
    pub(crate) fn new(
        name: &str,
        config: ProviderConfig,
        base_url: &str,
        headers: Vec<(String, SecretString)>,
        parts: &Parts,
    ) -> Arc<Self> {
        let default = Timeouts::default();
        Arc::new(Self {
            name: name.to_owned(),
            model: config.model.clone().unwrap_or_default(),
            url: format!("{}{}", base_url.trim_end_matches('/'), openai_chat::PATH),
            headers,
            timeouts: Timeouts {
                idle: config.idle_timeout.map_or(default.idle, |span| span.0),
                total: config.timeout.map_or(default.total, |span| span.0),
            },
            config,
            parts: parts.clone(),
        })
    }
}

impl Provider for Chat {
    fn name(&self) -> &str {
        &self.name
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn endpoints(&self) -> Vec<String> {
        vec![self.url.clone()]
    }

    fn complete<'a>(
        &'a self,
        request: CompletionRequest<'a>,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<CompletionResponse, ProviderError>> {
        Box::pin(async move {
            let body = openai_chat::body(&self.config, &self.model, &request);
            let exchange = Exchange {
                client: &self.parts.client,
                clock: self.parts.clock.as_ref(),
                redactor: &self.parts.redactor,
                timeouts: self.timeouts,
            };
            let mut assembler = Assembler::new(sink);
            let ttft = send(exchange, &self.url, &self.headers, body, &mut assembler).await?;
            assembler.finish(self.config.vendor.as_str(), request.step, ttft)
        })
    }
}
