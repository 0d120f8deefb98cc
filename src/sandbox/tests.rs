use std::path::Path;
use std::sync::Arc;

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::locate::locate;
use super::{
    Environment, LayerName, LayerState, Sandbox, SandboxConfig, SandboxLimits, probe, select,
};
use crate::base::ManualClock;

fn host(vars: &[(&str, &str)]) -> Environment {
    Environment::from_host(
        vars.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        Path::new("/scratch/home"),
        Path::new("/scratch/tmp"),
    )
}

fn floor(limits: SandboxLimits) -> Box<dyn Sandbox> {
    let config = SandboxConfig {
        limits,
        network: false,
        force_floor: true,
    };
    select(&config, Arc::new(ManualClock::default()))
}

#[test]
fn only_what_is_on_the_list_is_taken_over() {
    for (name, kept) in [
        ("PATH", true),
        ("LC_ALL", true),
        ("TZ", true),
        ("JAVA_HOME_17_X64", true),
        ("RUSTUP_TOOLCHAIN", true),
        ("CI", true),
        ("LC_TOKEN", false),
        ("JAVA_HOME_SECRET", false),
        ("GITHUB_PATH", false),
        ("INPUT_TOKEN", false),
        ("AZURE_CLIENT_ID", false),
        ("EDITOR", false),
        ("RUSTFLAGS", false),
        ("", false),
    ] {
        let env = host(&[(name, "value")]);
        assert_eq!(env.get(name).is_some(), kept, "{name}");
    }
}

#[test]
fn homes_are_replaced_and_the_toolchains_of_the_real_one_are_found() {
    let real = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(real.path().join(".cargo")).expect("a folder");
    let home = real.path().to_str().expect("text");
    let env = host(&[(super::os::HOME, home)]);
    assert_eq!(env.get(super::os::HOME), Some("/scratch/home"));
    assert_eq!(
        env.get("CARGO_HOME").map(Path::new),
        Some(&*real.path().join(".cargo"))
    );
    // That one is not there.
    assert_eq!(env.get("RUSTUP_HOME"), None);
    let env = host(&[(super::os::HOME, home), ("CARGO_HOME", "/elsewhere")]);
    assert_eq!(env.get("CARGO_HOME"), Some("/elsewhere"));
}

#[test]
fn a_proxy_with_a_password_is_left_out() {
    let env = host(&[
        ("http_proxy", "http://proxy:3128"),
        ("HTTPS_PROXY", "http://me:secret@proxy:3128"),
    ]);
    assert_eq!(env.get("http_proxy"), Some("http://proxy:3128"));
    assert_eq!(env.get("HTTPS_PROXY"), None);
    assert_eq!(env.offline().get("http_proxy"), None);
}

#[test]
fn values_are_not_shown() {
    let env = host(&[]).with("PLAIN", "hidden-value");
    let shown = format!("{env:?}");
    assert!(
        shown.contains("PLAIN") && !shown.contains("hidden"),
        "{shown}"
    );
}

proptest! {
    #[test]
    fn whatever_a_name_that_smells_of_a_secret_is_it_stays_out(
        before in "(LC_|JAVA_HOME_|PATH|CI|)[A-Z_]{0,8}",
        part in prop::sample::select(vec!["KEY", "TOKEN", "Secret", "password"]),
        after in "[A-Z_]{0,8}",
    ) {
        let name = format!("{before}{part}{after}");
        let canary = "canary-81";
        let env = host(&[(name.as_str(), canary)]);
        prop_assert!(env.iter().all(|(_, value)| value != canary), "{}", name);
    }
}

#[test]
fn an_empty_path_finds_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    for program in ["sh", "cargo", "cmd", ""] {
        assert_eq!(
            locate(program, folder.path(), &Environment::empty()),
            None,
            "{program}"
        );
    }
}

#[test]
fn every_layer_is_in_the_record_and_no_claim_is_empty() {
    let sandbox = floor(SandboxLimits::default());
    let selected = sandbox.selected();
    assert_eq!(selected.tier, "T0");
    assert_eq!(
        selected.layers.keys().copied().collect::<Vec<_>>(),
        LayerName::ALL
    );
    for (name, state) in &selected.layers {
        assert!(state.to_string().len() > 12, "{name} {state}");
        if let LayerState::Partial { gaps, .. } = state {
            assert!(!gaps.is_empty(), "{name}");
        }
    }
    for open in [
        LayerName::NetIp,
        LayerName::FsWrite,
        LayerName::FsRead,
        LayerName::Pids,
    ] {
        let state = selected.layer(open).expect("a state");
        assert_eq!(state.as_str(), "absent", "{open}");
    }
}

#[test]
fn a_cap_that_is_not_set_is_not_claimed() {
    let limits = SandboxLimits {
        cpu: None,
        memory_bytes: None,
        file_bytes: None,
        ..SandboxLimits::default()
    };
    let sandbox = floor(limits);
    for name in [LayerName::Cpu, LayerName::Memory, LayerName::Disk] {
        let state = sandbox.selected().layer(name).expect("a state");
        assert_eq!(state, &LayerState::absent("no limit is set"), "{name}");
    }
}

#[test]
fn the_record_is_written_with_its_layers_as_keys() {
    let sandbox = floor(SandboxLimits::default());
    let record = serde_json::to_value(sandbox.selected()).expect("plain data");
    assert_eq!(record["backend"], "portable_floor");
    assert_eq!(record["layers"]["wall"]["state"], "enforced");
    assert_eq!(record["layers"]["net_ip"]["state"], "absent");
    let back: super::Selected = serde_json::from_value(record).expect("what was written");
    assert_eq!(&back, sandbox.selected());
}

#[test]
fn the_machine_is_looked_at() {
    let probe = probe();
    assert_eq!(probe.os, std::env::consts::OS);
    assert!(!probe.facts.is_empty());
}
