//! The trace, through its public face.

mod lease;
mod open;
mod redaction;
mod round_trip;
mod speed;
mod support;
mod views;
