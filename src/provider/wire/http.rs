//! One exchange with a model's server: sent, judged by its status, read to its end.

use std::time::Duration;

use secrecy::SecretString;
use serde_json::Value;

use super::Assembler;
use super::assemble::malformed;
use super::classify::{Described, presentable, retry_after};
use super::sse::Parser;
use crate::base::{Clock, Redactor};
use crate::domain::{ProviderError, ProviderErrorKind};
use crate::net::{Client, NetError, NetErrorKind, Response, Timeouts};

/// How much of an error's body is read, in bytes.
const LARGEST_ERROR: usize = 64 << 10;

/// The largest answer that comes in one piece, in bytes.
const LARGEST_BODY: usize = 64 << 20;

/// How long a connection may take to end after the answer did, so that it can serve the next call.
const DRAIN: Duration = Duration::from_millis(200);

/// What every exchange of a provider needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange<'a> {
    pub(crate) client: &'a Client,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) redactor: &'a Redactor,
    pub(crate) timeouts: Timeouts,
}

/// Sends a request and feeds its answer to the assembler. Returns the time to the first content, where some came.
pub(crate) async fn send(
    exchange: Exchange<'_>,
    url: &str,
    headers: &[(String, SecretString)],
    body: Vec<u8>,
    assembler: &mut Assembler<'_>,
) -> Result<Option<Duration>, ProviderError> {
    let result = attempt(exchange, url, headers, body, assembler).await;
    result.map_err(|mut error| {
        error.message = presentable(&error.message, exchange.redactor);
        error
    })
}

async fn attempt(
    exchange: Exchange<'_>,
    url: &str,
    headers: &[(String, SecretString)],
    body: Vec<u8>,
    assembler: &mut Assembler<'_>,
) -> Result<Option<Duration>, ProviderError> {
    let started = exchange.clock.monotonic();
    let mut response = exchange
        .client
        .post_stream(url, headers, body, exchange.timeouts)
        .await
        .map_err(from_net)?;
    if !(200..300).contains(&response.status()) {
        return Err(refused(exchange, &mut response).await);
    }
    let mut reader = Reader::default();
    let mut ttft = None;
    loop {
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => {
                reader.end(assembler, &response)?;
                break;
            }
            // The answer is whole; only the farewell is missing.
            Err(_) if assembler.is_complete() => break,
            Err(error) => return Err(from_net(error)),
        };
        let fed = reader.feed(&chunk, assembler);
        if ttft.is_none() && assembler.has_content() {
            ttft = Some(exchange.clock.monotonic().saturating_sub(started));
        }
        fed?;
        if assembler.is_done() {
            // An error or the end of the wait only costs the connection.
            drop(tokio::time::timeout(DRAIN, response.rest(LARGEST_ERROR)).await);
            break;
        }
    }
    if ttft.is_none() && assembler.has_content() {
        ttft = Some(exchange.clock.monotonic().saturating_sub(started));
    }
    Ok(ttft)
}

/// Reads a body that is an event stream, or one JSON document from a server that does not stream: the first
/// byte that is no white space tells them apart, since no line of an event stream begins with a brace.
#[derive(Default)]
struct Reader {
    parser: Parser,
    whole: Option<Vec<u8>>,
    begun: bool,
    /// Where the parser stopped for good.
    head: Vec<u8>,
}

impl Reader {
    fn feed(&mut self, chunk: &[u8], assembler: &mut Assembler<'_>) -> Result<(), ProviderError> {
        if !self.begun {
            let first = chunk.iter().find(|byte| !byte.is_ascii_whitespace());
            self.begun = first.is_some();
            if first == Some(&b'{') {
                self.whole = Some(Vec::new());
            }
        }
        if let Some(body) = &mut self.whole {
            if body.len() + chunk.len() > LARGEST_BODY {
                return Err(malformed(format!(
                    "the answer is larger than {LARGEST_BODY} bytes"
                )));
            }
            body.extend_from_slice(chunk);
            return Ok(());
        }
        let room = 300_usize.saturating_sub(self.head.len());
        self.head.extend_from_slice(&chunk[..chunk.len().min(room)]);
        let pushed = self.parser.push(chunk);
        while let Some(event) = self.parser.pop() {
            assembler.event(&event.name, &event.data)?;
        }
        pushed.map_err(|error| malformed(error.to_string()))
    }

    fn end(self, assembler: &mut Assembler<'_>, response: &Response) -> Result<(), ProviderError> {
        if let Some(body) = self.whole {
            return assembler.whole(&body);
        }
        if let Some(event) = self.parser.finish() {
            assembler.unfinished_event(&event.name, &event.data)?;
        }
        if !assembler.has_events() {
            let kind = response
                .headers()
                .get("content-type")
                .unwrap_or("no content type");
            let body = String::from_utf8_lossy(&self.head);
            return Err(malformed(if body.trim().is_empty() {
                format!("the answer is empty ({kind})")
            } else {
                format!("the answer holds no event ({kind}): {body}")
            }));
        }
        Ok(())
    }
}

/// The error of an answer whose status is no success.
async fn refused(exchange: Exchange<'_>, response: &mut Response) -> ProviderError {
    let status = response.status();
    let headers = response.headers();
    let retry_after = retry_after(|name| headers.get(name), exchange.clock.now());
    if (300..400).contains(&status) {
        return ProviderError {
            kind: ProviderErrorKind::Request,
            status: Some(status),
            retry_after: None,
            message: "the server redirects to another address, which is not followed: give that address as `base_url`"
                .to_owned(),
        };
    }
    // What cannot be read of the body changes nothing about the status.
    let body = match response.rest(LARGEST_ERROR).await {
        Ok((body, _)) => body,
        Err(_) => Vec::new(),
    };
    let text = String::from_utf8_lossy(&body);
    let described = serde_json::from_slice::<Value>(&body)
        .ok()
        .and_then(|body| Described::read(&body))
        .unwrap_or_else(|| Described::of(&Value::String(text.trim().to_owned())));
    let mut error = described.with_status(status);
    error.retry_after = retry_after;
    if error.message.is_empty() {
        "the server gave no reason".clone_into(&mut error.message);
    }
    error
}

/// A broken exchange as the run loop decides by it.
pub(crate) fn from_net(error: NetError) -> ProviderError {
    let kind = match error.kind {
        NetErrorKind::Timeout => ProviderErrorKind::Timeout,
        NetErrorKind::Address | NetErrorKind::Client => ProviderErrorKind::Request,
        NetErrorKind::Protocol => ProviderErrorKind::Malformed,
        _ => ProviderErrorKind::Transport,
    };
    ProviderError::new(kind, error.to_string())
}
