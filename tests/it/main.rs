//! The one integration test binary.

// `cfg(test)` is true here; it tells the lints that helpers of tests are no production code.
#[cfg(test)]
mod support;
#[cfg(test)]
mod tidy;
