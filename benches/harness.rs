//! What the harness costs beside the model.

fn main() {}
