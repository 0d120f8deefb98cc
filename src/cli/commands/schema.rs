//! `taskgate schema`

use crate::cli::exit::Exit;
use crate::cli::output::Output;

pub(in crate::cli) fn run(output: &Output) -> Exit {
    output.data_line(&serde_json::to_string_pretty(&crate::suite::schema()).unwrap_or_default());
    Exit::Done
}
