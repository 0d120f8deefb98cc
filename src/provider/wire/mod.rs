//! The wire core: requests over HTTP, server-sent events, and answers put together from them.

pub mod sse;

mod assemble;
mod classify;
mod http;
mod tool_calls;

pub(crate) use assemble::Assembler;
pub(crate) use http::{Exchange, from_net, send};
