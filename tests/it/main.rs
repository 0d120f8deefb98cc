//! The one integration test binary.

mod report;
mod store;
