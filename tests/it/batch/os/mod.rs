//! What only some systems have.

#[cfg(unix)]
mod unix;
