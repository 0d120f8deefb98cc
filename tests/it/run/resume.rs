//! Going on with runs.

use std::sync::Arc;

use pretty_assertions::assert_eq;
use taskgate::domain::{
    EventKind, RetryPolicy, RunId, RunOutcome, RunResult, StallPolicy, TaskContract, Verification,
};
use taskgate::policy::Policy;
use taskgate::run::{Flow, Ignore, RunError, StopSignal};
use taskgate::store::{CHECKPOINT_FORMAT, Commit, Store, StoreError, StoredCheckpoint};

use super::trace::{count, row, trace};
use super::{Bench, Recorder, Watch, holds, seconds, stop_at_every_step};

const WORK: &str = r#"
- calls: [{tool: list_dir}]
- text: Done already.
- calls: [{tool: write_file, arguments: {path: a.txt, content: "half\n"}}]
- {calls: [{tool: edit_file, arguments: {path: a.txt, search: half, replace: whole}}], error: {kind: server, times: 1}}
- text: Now it is.
"#;

/// Runs with a stop at every step, from a trace that is closed and opened again in between.
pub(super) async fn in_pieces(
    bench: &Bench,
    turns: &str,
    contract: TaskContract,
) -> (RunResult, Store, usize) {
    let file = bench.beside("pieces.db");
    let mut store = Store::create(&file, bench.redactor.clone()).expect("a trace");
    let mut run: Option<RunId> = None;
    for pieces in 1..100 {
        let stop = StopSignal::default();
        let harness = bench.harness(bench.model(turns), &store, stop_at_every_step(&stop));
        let request = match run {
            None => harness.start(contract.clone()),
            Some(run) => harness.resume(run),
        };
        let result = request.stop(stop).await.expect("a result");
        if result.outcome != RunOutcome::Suspended {
            return (result, store, pieces);
        }
        run = Some(result.run_id);
        drop(harness);
        store.close().await.expect("a clean end");
        store = Store::open(&file, bench.redactor.clone()).expect("the trace");
    }
    panic!("the run gets nowhere");
}

#[tokio::test]
async fn a_run_in_pieces_goes_the_same_way() {
    let straight = Bench::new(&[]);
    let contract = straight.contract(holds("a.txt", "whole"));
    let (expected, expected_store) = straight.run(WORK, contract).await;
    assert_eq!(expected.outcome, RunOutcome::Success);

    let bench = Bench::new(&[]);
    let contract = bench.contract(holds("a.txt", "whole"));
    let (result, store, pieces) = in_pieces(&bench, WORK, contract).await;
    assert_eq!(pieces, 8);
    assert_eq!(
        trace(&store, result.run_id),
        trace(&expected_store, expected.run_id)
    );
    assert_eq!(
        (result.steps, result.tokens, result.reply),
        (expected.steps, expected.tokens, expected.reply)
    );
    let messages = |store: &Store, run| store.load_run(run).expect("the run").messages;
    assert_eq!(
        messages(&store, result.run_id),
        messages(&expected_store, expected.run_id)
    );
    assert_eq!(count(&store, result.run_id, "resumed"), pieces - 1);
    assert_eq!(bench.get("a.txt"), "whole\n");
}

#[tokio::test]
async fn a_finished_run_is_not_run_again() {
    let bench = Bench::new(&[]);
    let model = Recorder::new(bench.model(WORK));
    let store = Store::memory().expect("a trace");
    let harness = bench.harness(model.clone(), &store, Arc::new(Ignore));
    let contract = bench.contract(holds("a.txt", "whole"));
    let first = harness.start(contract).await.expect("a result");
    let (calls, before) = (model.calls(), trace(&store, first.run_id));
    bench.put("a.txt", "changed since\n");
    let again = harness.resume(first.run_id).await.expect("a result");
    assert_eq!(again, first);
    assert_eq!(
        (model.calls(), trace(&store, first.run_id)),
        (calls, before)
    );
    assert_eq!(count(&store, first.run_id, "resumed"), 0);
    assert_eq!(bench.get("a.txt"), "changed since\n");
}

#[tokio::test]
async fn a_stop_during_a_wait_loses_neither_the_step_nor_the_failures() {
    let turns = "- {text: Done., error: {kind: overloaded, times: 2}}\n";
    let bench = Bench::new(&[]);
    let store = Store::memory().expect("a trace");
    let stop = StopSignal::default();
    let harness = bench.harness(bench.model(turns), &store, stop_at_every_step(&stop));
    let contract = bench
        .contract(Verification::None)
        .with_retry_policy(RetryPolicy {
            attempts: 3,
            base: seconds(20),
            max: seconds(60),
        });
    let suspended = harness.start(contract).stop(stop).await.expect("a result");
    assert_eq!(
        (&suspended.outcome, suspended.steps),
        (&RunOutcome::Suspended, 0)
    );
    assert!(bench.clock.slept().is_empty(), "a stop does not wait");

    let harness = bench.harness(bench.model(turns), &store, Arc::new(Ignore));
    let result = harness.resume(suspended.run_id).await.expect("a result");
    assert_eq!((result.outcome, result.steps), (RunOutcome::Finished, 1));
    insta::assert_snapshot!(trace(&store, result.run_id), @r"
    started: mend it
    1.1 model: failed, overloaded
    1   retry after overloaded
    1.2 model: failed, overloaded
    1   retry after overloaded
    1.3 model: stop
    1 step: 0 calls, 0 tokens
    finished: finished, 1 steps, 0 tokens
    ");
}

#[tokio::test]
async fn a_stop_in_the_middle_of_a_step_keeps_what_was_paid_for() {
    let turns = r#"
- calls:
    - {tool: write_file, arguments: {path: a.txt, content: "1\n"}}
    - {tool: exec, arguments: {argv: [taskgate-fakes, hang]}}
  usage: {prompt_tokens: 40, completion_tokens: 2}
"#;
    let bench = Bench::new(&[]);
    let store = Store::memory().expect("a trace");
    let stop = StopSignal::default();
    let stopping = stop.clone();
    let observer = Watch(move |event: &EventKind| {
        if matches!(event, EventKind::ToolCalling { name, .. } if name == "exec") {
            stopping.stop_now();
        }
        Flow::Continue
    });
    let harness = bench.harness(bench.model(turns), &store, Arc::new(observer));
    let contract = bench.contract(Verification::None);
    let suspended = harness.start(contract).stop(stop).await.expect("a result");
    assert_eq!(
        (&suspended.outcome, suspended.steps),
        (&RunOutcome::Suspended, 0)
    );
    insta::assert_snapshot!(trace(&store, suspended.run_id), @r"
    started: mend it
    1.1 model: tool_calls, 42 tokens
    ");

    // The step is asked for anew.
    let turns = "- {text: Done., usage: {prompt_tokens: 40, completion_tokens: 3}}";
    let harness = bench.harness(bench.model(turns), &store, Arc::new(Ignore));
    let result = harness.resume(suspended.run_id).await.expect("a result");
    assert_eq!((result.outcome, result.steps), (RunOutcome::Finished, 1));
    assert_eq!(count(&store, result.run_id, "model_called"), 2);
}

#[tokio::test]
async fn a_stall_is_seen_across_a_resume() {
    let turns = "- calls: [{tool: list_dir}]\n".repeat(20);
    let contract = |bench: &Bench| {
        bench
            .contract(Verification::None)
            .with_stall_policy(StallPolicy {
                window: 3,
                max_replans: 1,
            })
    };
    let straight = Bench::new(&[]);
    let (expected, expected_store) = straight.run(&turns, contract(&straight)).await;
    assert_eq!(
        (&expected.outcome, expected.steps),
        (&RunOutcome::Stalled, 6)
    );
    let bench = Bench::new(&[]);
    let (result, store, _) = in_pieces(&bench, &turns, contract(&bench)).await;
    assert_eq!(
        trace(&store, result.run_id),
        trace(&expected_store, expected.run_id)
    );
}

#[tokio::test]
async fn the_policy_that_a_run_began_under_goes_on_to_hold() {
    let turns = r#"
- calls: [{tool: list_dir}]
- calls: [{tool: write_file, arguments: {path: a.txt, content: "1\n"}}]
- text: Done.
"#;
    let bench = Bench::new(&[]).policy(Policy::permissive().layer("suite").deny_write("*.txt"));
    let store = Store::memory().expect("a trace");
    let stop = StopSignal::default();
    let harness = bench.harness(bench.model(turns), &store, stop_at_every_step(&stop));
    let contract = bench.contract(Verification::None);
    let run = harness
        .start(contract)
        .stop(stop)
        .await
        .expect("a result")
        .run_id;
    let bench = bench.policy(Policy::permissive());
    let harness = bench.harness(bench.model(turns), &store, Arc::new(Ignore));
    let result = harness.resume(run).await.expect("a result");
    assert_eq!(result.outcome, RunOutcome::Finished);
    assert_eq!(count(&store, run, "refused"), 1);
    assert!(!bench.root().join("a.txt").exists());
}

async fn suspended(bench: &Bench, store: &Store) -> RunId {
    let stop = StopSignal::default();
    let harness = bench.harness(bench.model(WORK), store, stop_at_every_step(&stop));
    let contract = bench.contract(Verification::None);
    let result = harness.start(contract).stop(stop).await.expect("a result");
    assert_eq!(result.outcome, RunOutcome::Suspended);
    result.run_id
}

async fn tamper(store: &Store, run: RunId, format: u32, state: &str) {
    let checkpoint = StoredCheckpoint {
        run_id: run,
        format,
        step: 1,
        state: state.to_owned(),
    };
    let commit = Commit {
        checkpoint: Some(checkpoint),
        ..Commit::default()
    };
    store.commit(commit).await.expect("a commit");
}

#[tokio::test]
async fn a_state_that_is_not_understood_is_refused_and_left_as_it_is() {
    let bench = Bench::new(&[]);
    let store = Store::memory().expect("a trace");
    let harness = bench.harness(bench.model(WORK), &store, Arc::new(Ignore));

    let run = suspended(&bench, &store).await;
    tamper(&store, run, CHECKPOINT_FORMAT + 1, "{}").await;
    let error = harness.resume(run).await.expect_err("another format");
    assert!(
        matches!(
            &error,
            RunError::Store(StoreError::CheckpointFormat { found, supported, .. })
                if (*found, *supported) == (CHECKPOINT_FORMAT + 1, CHECKPOINT_FORMAT)
        ),
        "{error:?}"
    );

    let run = suspended(&bench, &store).await;
    tamper(&store, run, CHECKPOINT_FORMAT, "{\"state\": 7}").await;
    let error = harness.resume(run).await.expect_err("no state of ours");
    assert!(matches!(&error, RunError::Resume { .. }), "{error:?}");
    assert!(error.to_string().contains("cannot be read"), "{error}");
    assert_eq!(row(&store, run).0, None);

    let error = harness.resume(RunId(4_711)).await.expect_err("no such run");
    assert!(
        matches!(&error, RunError::Store(StoreError::UnknownRun { run }) if *run == RunId(4_711)),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_workspace_that_is_gone_ends_the_run_with_the_reason() {
    let bench = Bench::new(&[]);
    let store = Store::memory().expect("a trace");
    let run = suspended(&bench, &store).await;
    std::fs::remove_dir_all(bench.root()).expect("no folder");
    let harness = bench.harness(bench.model(WORK), &store, Arc::new(Ignore));
    let result = harness.resume(run).await.expect("a result");
    assert_eq!((&result.outcome, result.steps), (&RunOutcome::Errored, 1));
    let (outcome, _, error) = row(&store, run);
    assert_eq!(outcome.as_deref(), Some("errored"));
    assert!(error.is_some_and(|error| error.contains("work")));
}
