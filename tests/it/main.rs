//! The one integration test binary.

mod sandbox;
mod verify;
