//! `taskgate doctor`

use std::sync::Arc;

use serde_json::json;

use crate::base::SystemClock;
use crate::cli::args::DoctorArgs;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::settings::Settings;
use crate::provider::catalog::VENDORS;
use crate::sandbox::{LayerState, SandboxConfig, probe, select};

pub(in crate::cli) fn run(args: &DoctorArgs, settings: &Settings, output: &Output) -> Exit {
    let sandbox = select(&SandboxConfig::default(), Arc::new(SystemClock::default()));
    let (selected, machine) = (sandbox.selected(), probe());
    let keys: Vec<(&str, &str, bool)> = VENDORS
        .iter()
        .filter_map(|entry| {
            entry
                .key_variable
                .map(|variable| (entry.vendor.as_str(), variable))
        })
        .map(|(vendor, variable)| (vendor, variable, settings.var(variable).is_some()))
        .collect();
    if args.json {
        let keys: Vec<_> = keys
            .iter()
            .map(|(vendor, variable, set)| json!({ "vendor": vendor, "variable": variable, "set": set }))
            .collect();
        let all = json!({ "version": env!("CARGO_PKG_VERSION"), "machine": machine, "sandbox": selected, "keys": keys });
        output.data_line(&serde_json::to_string_pretty(&all).unwrap_or_default());
        return Exit::Done;
    }
    let mut lines = vec![
        format!("taskgate {}", env!("CARGO_PKG_VERSION")),
        format!(
            "machine  {} {} {}",
            machine.os,
            machine.arch,
            machine.kernel.as_deref().unwrap_or_default()
        ),
        String::new(),
        format!("sandbox  {} ({})", selected.tier, selected.backend.as_str()),
    ];
    lines.extend(
        selected
            .layers
            .iter()
            .map(|(name, state)| format!("  {:<11} {}", name.as_str(), describe(state))),
    );
    lines.push(String::new());
    lines.push("found".to_owned());
    lines.extend(machine.facts.iter().map(|fact| {
        let there = if fact.available { "yes" } else { "no" };
        format!("  {:<28} {there:<4}{}", fact.name, fact.detail)
    }));
    lines.push(String::new());
    lines.push("keys".to_owned());
    lines.extend(keys.iter().map(|(vendor, variable, set)| {
        let state = if *set {
            "set"
        } else {
            "not set: cases of this vendor cannot run"
        };
        format!("  {vendor:<11} {variable:<20} {state}")
    }));
    output.data_line(&lines.join("\n"));
    Exit::Done
}

fn describe(state: &LayerState) -> String {
    match state {
        LayerState::Enforced { by } => format!("enforced   by {by}"),
        LayerState::Polled { by, period_ms } => format!("polled     by {by}, every {period_ms} ms"),
        LayerState::Partial { by, gaps } => {
            format!("partial    by {by}; not held: {}", gaps.join(", "))
        }
        LayerState::Absent { reason } => format!("absent     {reason}"),
    }
}
