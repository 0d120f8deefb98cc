//! The one integration test binary.

mod sandbox;
mod store;
mod suite;
mod verify;
