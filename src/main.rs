//! The `taskgate` program.

fn main() {}
