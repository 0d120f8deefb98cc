//! The `taskgate` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    taskgate::cli::main()
}
