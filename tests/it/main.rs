//! The one integration test binary.

mod sandbox;
