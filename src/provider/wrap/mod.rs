//! What stands between a provider and its callers.

mod throttle;

pub use throttle::{Permit, Throttle};
