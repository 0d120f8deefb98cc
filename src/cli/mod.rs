//! The command line: arguments, the environment, the terminal, and how the process ends.
//!
//! This is the only room that reads the environment or knows of a terminal; everything beneath takes values.

mod args;
mod commands;
mod exit;
mod os;
mod output;
mod progress;
mod settings;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser as _;

pub use args::Cli;
pub use exit::{EXITS, Exit, ExitSpec};

use self::args::Verb;
use self::output::Output;
use self::settings::Settings;

/// Runs the program with the arguments and the environment of this process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are data and no error; a closed pipe behind them is none either.
            drop(error.print());
            return if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            }
            .code();
        }
    };
    let settings = Settings::from_process(&cli);
    let mut output = Output::new(&settings);
    // A panic is a bug of ours, and has that exit code instead of the runtime's own.
    let ended = catch_unwind(AssertUnwindSafe(|| perform(&cli, &settings, &mut output)));
    match ended.unwrap_or(Exit::Bug) {
        Exit::Done if output.has_lost_data() => Exit::Usage.code(),
        exit => exit.code(),
    }
}

fn perform(cli: &Cli, settings: &Settings, output: &mut Output) -> Exit {
    match &cli.verb {
        Verb::Run(args) => commands::run::run(args, settings, output),
        Verb::Plan(args) => commands::plan::run(args, output),
        Verb::Resume(args) => commands::resume::run(args, settings, output),
        Verb::Report(args) => commands::report::run(args, output),
        Verb::Show(args) => commands::show::run(args, output),
        Verb::Validate(args) => commands::validate::run(args, settings, output),
        Verb::Schema => commands::schema::run(output),
        Verb::Init(args) => commands::init::run(args, output),
        Verb::Doctor(args) => commands::doctor::run(args, settings, output),
        Verb::Completions(args) => commands::completions::run(args, output),
    }
}
