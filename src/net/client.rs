//! The process's HTTP client: pooled, without redirects, without anything taken from the environment.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::egress::{parse, place};
use super::{NetError, NetErrorKind};
use crate::base::Span;

/// An idle connection is given up after this time, before most servers do it.
const POOL_IDLE: Duration = Duration::from_secs(60);

/// How the client dials.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// The longest time until a connection stands, TLS included.
    pub connect_timeout: Duration,
    /// A proxy's URL for all requests but those to this machine itself. It is never taken from the environment here.
    pub proxy: Option<SecretString>,
    /// Hosts that are dialled directly, separated by commas, where there is a proxy.
    pub no_proxy: String,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            proxy: None,
            no_proxy: String::new(),
        }
    }
}

/// How long an exchange may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// The longest silence: before the answer's head, and between two parts of its body.
    pub idle: Duration,
    /// The longest time in all, from sending the request to the last byte.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(120),
            total: Duration::from_secs(600),
        }
    }
}

/// A pool of connections. Clones share it; a process needs one.
///
/// Nothing is built before the first request. Certificates of the machine are read for `https` alone, so that a
/// machine without any still reaches a server that speaks plain HTTP.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    config: ClientConfig,
    plain: OnceLock<Result<reqwest::Client, NetError>>,
    tls: OnceLock<Result<reqwest::Client, NetError>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Default for Client {
    fn default() -> Self {
        Self::new(ClientConfig::default())
    }
}

impl Client {
    /// A client that dials as `config` says.
    #[must_use]
    pub fn new(config: ClientConfig) -> Self {
        Self {
            shared: Arc::new(Shared {
                config,
                plain: OnceLock::new(),
                tls: OnceLock::new(),
            }),
        }
    }

    /// Sends a request and returns as soon as the head of the answer is there, whatever its status. A redirect is
    /// an answer like any other. Dropping the future or the response ends the exchange.
    ///
    /// # Errors
    /// Where the address or a header cannot be used, no connection comes about or it breaks, or time runs out.
    pub async fn post_stream(
        &self,
        url: &str,
        headers: &[(String, SecretString)],
        body: Vec<u8>,
        timeouts: Timeouts,
    ) -> Result<Response, NetError> {
        let url = parse(url)?;
        let place = place(&url);
        let headers = header_map(&place, headers)?;
        let client = self.for_scheme(url.scheme())?;
        let wait = Wait {
            place: place.clone(),
            timeouts,
            deadline: after(timeouts.total),
        };
        let sent = client.post(url).headers(headers).body(body).send();
        let inner = wait
            .within(sent)
            .await?
            .map_err(|error| NetError::from_client(&place, error))?;
        Ok(Response { inner, wait })
    }

    /// Opens a connection to a URL's host, or to the proxy before it, and closes it again. Nothing is sent.
    ///
    /// # Errors
    /// Where the address cannot be dialled, or nobody accepts within `limit`.
    pub async fn reach(&self, url: &str, limit: Duration) -> Result<(), NetError> {
        let url = parse(url)?;
        let direct = place(&url);
        let dialled = match &self.shared.config.proxy {
            Some(proxy) if !self.bypasses(url.host_str().unwrap_or_default()) => {
                place(&parse(proxy.expose_secret())?)
            }
            _ => direct,
        };
        match tokio::time::timeout(limit, TcpStream::connect(dialled.as_str())).await {
            Ok(Ok(_connection)) => Ok(()),
            Ok(Err(error)) => Err(NetError::new(
                NetErrorKind::Connect,
                &dialled,
                &error.to_string(),
            )),
            Err(_elapsed) => Err(NetError::new(
                NetErrorKind::Connect,
                &dialled,
                &format!("no connection within {}", Span(limit)),
            )),
        }
    }

    fn bypasses(&self, host: &str) -> bool {
        let own = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
        own || self.shared.config.no_proxy.split(',').any(|entry| {
            let entry = entry.trim().trim_start_matches('.');
            !entry.is_empty()
                && (entry == "*"
                    || entry == host
                    || host
                        .strip_suffix(entry)
                        .is_some_and(|rest| rest.ends_with('.')))
        })
    }

    fn for_scheme(&self, scheme: &str) -> Result<&reqwest::Client, NetError> {
        let shared = &self.shared;
        let (cell, encrypted) = if scheme == "https" {
            (&shared.tls, true)
        } else {
            (&shared.plain, false)
        };
        cell.get_or_init(|| build(&shared.config, encrypted))
            .as_ref()
            .map_err(Clone::clone)
    }
}

fn build(config: &ClientConfig, encrypted: bool) -> Result<reqwest::Client, NetError> {
    install_crypto();
    let failed = |kind, error: reqwest::Error| {
        let cause = NetError::from_client("http client", error);
        NetError { kind, ..cause }
    };
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("taskgate/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .connect_timeout(config.connect_timeout)
        .pool_idle_timeout(POOL_IDLE);
    if let Some(proxy) = &config.proxy {
        let list = format!("localhost,127.0.0.1,::1,{}", config.no_proxy);
        let proxy = reqwest::Proxy::all(proxy.expose_secret())
            .map_err(|error| failed(NetErrorKind::Address, error))?
            .no_proxy(reqwest::NoProxy::from_string(&list));
        builder = builder.proxy(proxy);
    }
    if !encrypted {
        // No trust anchors: this client is never given an https address, and reading the machine's takes time.
        builder = builder.tls_certs_only([]);
    }
    builder
        .build()
        .map_err(|error| failed(NetErrorKind::Client, error))
}

/// The TLS library wants one cryptography provider for the process. Whoever installed one first is left alone.
fn install_crypto() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // An error means that another thread was faster: there is a provider then.
            drop(rustls::crypto::ring::default_provider().install_default());
        }
    });
}

fn header_map(place: &str, headers: &[(String, SecretString)]) -> Result<HeaderMap, NetError> {
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let bad = |what: &str| {
            NetError::new(
                NetErrorKind::Address,
                place,
                &format!("header `{name}`: {what}"),
            )
        };
        let key = HeaderName::try_from(name.as_str()).map_err(|_| bad("the name is no token"))?;
        let mut value = HeaderValue::try_from(value.expose_secret())
            .map_err(|_| bad("the value holds a character that no header may hold"))?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}

/// The moment after `span`; a span beyond what the clock can hold is as good as never.
fn after(span: Duration) -> Instant {
    const NEVER: Duration = Duration::from_secs(30 * 365 * 86_400);
    let now = Instant::now();
    now.checked_add(span).unwrap_or(now + NEVER)
}

/// What an exchange may still take.
#[derive(Debug)]
struct Wait {
    place: String,
    timeouts: Timeouts,
    deadline: Instant,
}

impl Wait {
    async fn within<F: Future>(&self, future: F) -> Result<F::Output, NetError> {
        let silence = after(self.timeouts.idle);
        let (limit, message) = if silence < self.deadline {
            (silence, format!("no data for {}", Span(self.timeouts.idle)))
        } else {
            (
                self.deadline,
                format!("not complete within {}", Span(self.timeouts.total)),
            )
        };
        timeout_at(limit, future)
            .await
            .map_err(|_elapsed| NetError::new(NetErrorKind::Timeout, &self.place, &message))
    }
}

/// The head of an answer, and its body while it arrives.
#[derive(Debug)]
pub struct Response {
    inner: reqwest::Response,
    wait: Wait,
}

impl Response {
    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    /// The answer's headers.
    #[must_use]
    pub fn headers(&self) -> Headers<'_> {
        Headers(self.inner.headers())
    }

    /// The next bytes of the body; `None` at its end.
    ///
    /// # Errors
    /// Where the connection breaks, the body ends before its announced length, or time runs out.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        self.wait
            .within(self.inner.chunk())
            .await?
            .map_err(|error| NetError::from_client(&self.wait.place, error))
    }

    /// At most `limit` bytes of the rest of the body, and whether that is all of it.
    ///
    /// # Errors
    /// As [`Response::chunk`].
    pub async fn rest(&mut self, limit: usize) -> Result<(Vec<u8>, bool), NetError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            let room = limit - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                return Ok((body, false));
            }
        }
        Ok((body, true))
    }
}

/// The headers of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Headers<'a>(&'a HeaderMap);

impl<'a> Headers<'a> {
    /// The first value under a name, where it is plain text.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).and_then(|value| value.to_str().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::{Client, ClientConfig, header_map};

    #[test]
    fn a_header_that_cannot_be_sent_is_named_without_its_value() {
        for (name, value) in [("x y", "v"), ("x", "top\nsecret"), ("", "v")] {
            let error = header_map("h:1", &[(name.to_owned(), value.into())]).expect_err(name);
            assert!(error.message.contains(name));
            assert!(!error.message.contains("secret"));
        }
    }

    #[test]
    fn what_lies_behind_a_proxy() {
        let client = Client::new(ClientConfig {
            no_proxy: "internal.example, .lan".to_owned(),
            ..ClientConfig::default()
        });
        for (host, direct) in [
            ("localhost", true),
            ("[::1]", true),
            ("internal.example", true),
            ("a.internal.example", true),
            ("printer.lan", true),
            ("notinternal.example", false),
            ("api.example.com", false),
        ] {
            assert_eq!(client.bypasses(host), direct, "{host}");
        }
    }
}
