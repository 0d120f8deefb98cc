//! The network: the one HTTP client of the process, and the names under which policies know hosts.

mod client;
mod egress;
mod error;

pub use client::{Client, ClientConfig, Headers, Response, Timeouts};
pub use egress::target;
pub use error::{NetError, NetErrorKind};
