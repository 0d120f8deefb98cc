//! `taskgate plan`

use serde::Serialize;

use super::planning;
use crate::cli::args::{PlanArgs, PlanFormat};
use crate::cli::exit::Exit;
use crate::cli::output::{Output, counted};
use crate::suite::CaseSpec;

pub(in crate::cli) fn run(args: &PlanArgs, output: &Output) -> Exit {
    let plan = match planning::plan(&args.selection, output) {
        Ok(plan) => plan,
        Err(exit) => return exit,
    };
    for warning in plan.suites.iter().flat_map(|suite| &suite.warnings) {
        output.warning(warning);
    }
    match args.format {
        PlanFormat::Json => {
            let cases: Vec<PlannedCase<'_>> = plan.cases.iter().map(PlannedCase::of).collect();
            let json = serde_json::json!({ "format": "taskgate-plan/1", "cases": cases });
            output.data_line(&serde_json::to_string_pretty(&json).unwrap_or_default());
        }
        PlanFormat::Table => {
            let mut table = comfy_table::Table::new();
            table.load_style(comfy_table::presets::NOTHING);
            table.set_header(["case", "model", "gates", "budget", "skipped"]);
            for case in &plan.cases {
                table.add_row([
                    case.id.as_str().to_owned(),
                    case.provider_config
                        .model
                        .clone()
                        .unwrap_or_else(|| case.provider_config.vendor.as_str().to_owned()),
                    case.gates.len().to_string(),
                    budget(case),
                    case.skip.clone().unwrap_or_default(),
                ]);
            }
            output.data_line(&table.trim_fmt());
            let skipped = plan.cases.iter().filter(|case| case.skip.is_some()).count();
            output.note(&format!(
                "{}, {skipped} of them skipped here",
                counted(plan.cases.len(), "case")
            ));
        }
    }
    Exit::Done
}

fn budget(case: &CaseSpec) -> String {
    let budget = &case.budget;
    let mut parts = vec![format!("{} steps", budget.steps)];
    parts.extend(
        budget
            .tokens
            .map(|tokens| format!("{} tokens", crate::base::Size(tokens))),
    );
    parts.extend(budget.wall.map(|wall| crate::base::Span(wall).to_string()));
    parts.extend(budget.cost.map(|cost| cost.to_string()));
    parts.join(", ")
}

/// A case as other programs read it.
#[derive(Serialize)]
struct PlannedCase<'a> {
    id: &'a str,
    suite: &'a str,
    task: &'a str,
    provider: &'a str,
    model: Option<&'a str>,
    vars: &'a std::collections::BTreeMap<String, String>,
    trial: u32,
    tags: &'a [String],
    file: String,
    line: u32,
    skip: Option<&'a str>,
}

impl<'a> PlannedCase<'a> {
    fn of(case: &'a CaseSpec) -> Self {
        Self {
            id: case.id.as_str(),
            suite: &case.suite,
            task: &case.task,
            provider: &case.provider,
            model: case.provider_config.model.as_deref(),
            vars: &case.vars,
            trial: case.trial,
            tags: &case.tags,
            file: case.suite_file.display().to_string().replace('\\', "/"),
            line: case.line,
            skip: case.skip.as_deref(),
        }
    }
}
