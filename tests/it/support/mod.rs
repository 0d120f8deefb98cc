//! What tests of several rooms share.

pub(crate) mod http;
pub(crate) mod taskgate;
