//! `taskgate completions`

use clap::CommandFactory as _;

use crate::cli::Cli;
use crate::cli::args::CompletionsArgs;
use crate::cli::exit::Exit;
use crate::cli::output::Output;

pub(in crate::cli) fn run(args: &CompletionsArgs, output: &Output) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "taskgate", &mut script);
    output.data(&String::from_utf8_lossy(&script));
    Exit::Done
}
