//! What goes wrong between here and a host, without anything that a request carried.

use std::error::Error as StdError;
use std::io;

use crate::base::{one_line, printable};

/// The longest text of a cause, in characters.
const LONGEST_CAUSE: usize = 200;

/// What code decides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NetErrorKind {
    /// The address is none that can be dialled, or a header is none that can be sent.
    Address,
    /// The client could not be built on this machine.
    Client,
    /// No connection came about: the name is unknown, the port is closed, the host is out of reach.
    Connect,
    /// The other side proved no identity that this machine trusts, or spoke no TLS.
    Tls,
    /// Nothing came in time.
    Timeout,
    /// The connection broke, or ended before the message did.
    Reset,
    /// What came is no HTTP.
    Protocol,
}

impl NetErrorKind {
    /// One word for messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Client => "client",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::Protocol => "protocol",
        }
    }
}

/// A failed exchange. Its text names the host and the cause; it never holds a path, a query, a header or a body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct NetError {
    /// What code decides by.
    pub kind: NetErrorKind,
    /// The host and port, where they are known.
    pub place: String,
    /// What a person reads, bounded.
    pub message: String,
}

impl NetError {
    pub(crate) fn new(kind: NetErrorKind, place: &str, message: &str) -> Self {
        Self {
            kind,
            place: place.to_owned(),
            message: one_line(&printable(message), LONGEST_CAUSE),
        }
    }

    /// Sorts what the HTTP client reports.
    pub(crate) fn from_client(place: &str, error: reqwest::Error) -> Self {
        // The client's own text repeats the whole address, query included.
        let error = error.without_url();
        let (cause, io_kind, tls) = innermost(&error);
        let kind = if error.is_timeout() || io_kind == Some(io::ErrorKind::TimedOut) {
            if error.is_connect() {
                NetErrorKind::Connect
            } else {
                NetErrorKind::Timeout
            }
        } else if tls {
            NetErrorKind::Tls
        } else if error.is_connect() {
            NetErrorKind::Connect
        } else if error.is_builder() {
            NetErrorKind::Address
        } else if broke(io_kind, &cause) {
            NetErrorKind::Reset
        } else {
            NetErrorKind::Protocol
        };
        Self::new(kind, place, &cause)
    }
}

/// The deepest cause, which says most, and what is known about it.
fn innermost(error: &reqwest::Error) -> (String, Option<io::ErrorKind>, bool) {
    let mut io_kind = None;
    let mut tls = false;
    let mut cause: &(dyn StdError + 'static) = error;
    let mut text = cause.to_string();
    // A chain has a handful of links; the bound keeps a cyclic one from hanging.
    for _ in 0..16 {
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            io_kind = Some(io.kind());
            // What an I/O error wraps is not among its sources.
            if let Some(inner) = io.get_ref() {
                tls |= inner.is::<rustls::Error>();
            }
        }
        tls |= cause.is::<rustls::Error>();
        let Some(next) = cause.source() else { break };
        cause = next;
        text = cause.to_string();
    }
    (text, io_kind, tls)
}

/// Whether the connection ended under the message. The parser's own kinds cannot be asked for by type.
fn broke(io_kind: Option<io::ErrorKind>, cause: &str) -> bool {
    matches!(
        io_kind,
        Some(
            io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof
                | io::ErrorKind::NotConnected
        )
    ) || [
        "before message completed",
        "end of file",
        "unexpected EOF",
        "connection closed",
    ]
    .iter()
    .any(|sign| cause.contains(sign))
}
