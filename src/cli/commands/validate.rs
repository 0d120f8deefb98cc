//! `taskgate validate`

use std::collections::BTreeSet;
use std::sync::Arc;

use super::planning;
use crate::base::{Redactor, SystemClock};
use crate::cli::args::ValidateArgs;
use crate::cli::exit::Exit;
use crate::cli::output::{Output, counted};
use crate::cli::settings::Settings;
use crate::net::{Client, ClientConfig};
use crate::provider::{Parts, Secrets, construct, pricing};
use crate::suite::{PlanOptions, Suite};

pub(in crate::cli) fn run(args: &ValidateArgs, settings: &Settings, output: &Output) -> Exit {
    let suites = match planning::load(&args.paths, output) {
        Ok(suites) => suites,
        Err(exit) => return exit,
    };
    let plan = match crate::suite::plan(&suites, &PlanOptions::default()) {
        Ok(plan) => plan,
        Err(problems) => {
            output.note(&problems.render(output.notes_are_colored()));
            return Exit::Usage;
        }
    };
    let mut wrong = false;
    for suite in &suites {
        for warning in &suite.warnings {
            output.warning(warning);
        }
        wrong |= !prices_are_right(suite, output);
        wrong |= !providers_are_right(suite, settings, output);
        let tasks: BTreeSet<&str> = plan
            .cases
            .iter()
            .filter(|case| case.suite == suite.name)
            .map(|case| case.task.as_str())
            .collect();
        let cases = plan
            .cases
            .iter()
            .filter(|case| case.suite == suite.name)
            .count();
        output.data_line(&format!(
            "{}: {}, {}, {}",
            suite.file.display(),
            counted(tasks.len(), "task"),
            counted(suite.providers.len(), "provider"),
            counted(cases, "case")
        ));
    }
    if wrong { Exit::Usage } else { Exit::Done }
}

fn prices_are_right(suite: &Suite, output: &Output) -> bool {
    let problems: Vec<String> = suite
        .prices
        .iter()
        .filter_map(|path| pricing::load(path).err())
        .map(|error| error.to_string())
        .collect();
    problems
        .iter()
        .for_each(|problem| output.error(problem, None));
    problems.is_empty()
}

fn providers_are_right(suite: &Suite, settings: &Settings, output: &Output) -> bool {
    let lookup = |name: &str| settings.var(name).map(str::to_owned);
    let parts = Parts {
        client: Client::new(ClientConfig::default()),
        clock: Arc::new(SystemClock::default()),
        redactor: Redactor::default(),
    };
    let mut right = true;
    for (name, config) in &suite.providers {
        match construct(
            name,
            config,
            &Secrets {
                env: &lookup,
                base: &suite.base,
            },
            &parts,
        ) {
            Ok(_) => {}
            // The suite is right; only this machine lacks something.
            Err(error) if error.is_unavailable() => {
                output.warning(&format!("not available here: {error}"))
            }
            Err(error) => {
                output.error(&format!("{}: {error}", suite.file.display()), None);
                right = false;
            }
        }
    }
    right
}
