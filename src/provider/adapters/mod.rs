//! Requests in the vendors' own shapes: pure functions from what is asked to what is sent.

pub(crate) mod openai_chat;
