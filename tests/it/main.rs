//! The one integration test binary.

mod provider;
mod support;
