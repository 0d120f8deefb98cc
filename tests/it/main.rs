//! The one integration test binary.

mod sandbox;
mod store;
mod suite;
mod support;
mod tidy;
mod verify;
