//! One run of as many steps as are asked for, to be counted by an instruction counter: what a step costs must not
//! depend on how many there were. docs/performance.md has the command.

#![expect(
    clippy::print_stdout,
    reason = "the figures are what this program is for"
)]

#[expect(dead_code, reason = "other benches use the rest")]
mod support;

use std::path::Path;
use std::sync::Arc;

use support::{clock, sandbox};
use taskgate::base::Redactor;
use taskgate::domain::{Act, RunOutcome, StallPolicy, TaskContract, Verification};
use taskgate::policy::Policy;
use taskgate::provider::{Script, Scripted};
use taskgate::run::Harness;
use taskgate::sandbox::Environment;
use taskgate::store::Store;
use taskgate::workspace::write_output;

/// Every step writes a file twice, so that both writes change it, and reads it.
const SCRIPT: &str = r#"version: 1
after: repeat
turns:
  - calls:
      - { tool: write_file, arguments: { path: src/lib.rs, content: "fn one() {}\n" } }
      - { tool: write_file, arguments: { path: src/lib.rs, content: "fn other() {}\n" } }
      - { tool: read_file, arguments: { path: src/lib.rs } }
    usage: { prompt_tokens: 900, completion_tokens: 20 }
"#;

fn main() {
    let steps = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(10);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(drive(folder.path(), steps));
    println!("{steps} steps");
}

async fn drive(folder: &Path, steps: u32) {
    let root = folder.join("workspace");
    write_output(&root.join("src/lib.rs"), b"").expect("a file");
    let clock = clock();
    let script = Script::parse(SCRIPT, "script").expect("a script");
    let provider =
        Scripted::new("scripted", Arc::new(script), Arc::clone(&clock)).for_case("task", 1);
    let store = Store::create(&folder.join("trace.db"), Redactor::default()).expect("a new trace");
    let environment = Environment::from_host([], &folder.join("home"), &folder.join("tmp"));
    let harness = Harness::builder()
        .provider(provider)
        .store(store.clone())
        .policy(Policy::ci_default().layer("task").rule(
            Act::Write,
            taskgate::domain::Effect::Allow,
            "src/**",
        ))
        .sandbox(sandbox(&clock))
        .environment(Arc::new(environment))
        .clock(clock)
        .build()
        .expect("a harness");
    let contract = TaskContract::workspace("write", &root, Verification::None)
        .with_max_steps(steps)
        .with_stall_policy(StallPolicy {
            window: 0,
            max_replans: 0,
        });
    let result = harness.start(contract).await.expect("a run");
    assert_eq!(
        (result.steps, result.outcome),
        (
            steps,
            RunOutcome::exhausted(taskgate::domain::BudgetKind::Steps)
        )
    );
    store.close().await.expect("a trace");
}
