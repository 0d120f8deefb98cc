//! How runs end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pretty_assertions::assert_eq;
use taskgate::domain::{
    Budget, EventKind, RetryPolicy, RunOutcome, StallPolicy, TaskContract, Verification,
};
use taskgate::policy::Policy;
use taskgate::run::{Flow, Harness, Ignore, StopSignal};
use taskgate::store::Store;

use super::trace::{count, row, trace};
use super::{Bench, Dials, Watch, holds};

const WRITES: &str = r#"
- calls: [{tool: write_file, arguments: {path: a.txt, content: "done\n"}}]
  usage: {prompt_tokens: 100, completion_tokens: 10}
- text: It is done.
  usage: {prompt_tokens: 120, completion_tokens: 5}
"#;

const READS: &str = r#"
- calls: [{tool: list_dir}]
- calls: [{tool: list_dir}]
- calls: [{tool: list_dir}]
- calls: [{tool: list_dir}]
- calls: [{tool: list_dir}]
- calls: [{tool: list_dir}]
- calls: [{tool: list_dir}]
"#;

#[tokio::test]
async fn every_ending_has_its_row() {
    let fails = |kind: &str| format!("- error: {{kind: {kind}, message: no}}\n");
    let (terminal, retryable) = (fails("auth"), fails("overloaded"));
    let none = Verification::None;
    let untouched = |contract| contract;
    type Change = fn(TaskContract) -> TaskContract;
    let missing: Change = |contract| TaskContract {
        root: contract.root.join("nowhere"),
        ..contract
    };
    let table: [(&str, Verification, Change, RunOutcomeRow); 10] = [
        (
            WRITES,
            holds("a.txt", "done"),
            untouched,
            ("success", 2, None),
        ),
        (WRITES, none.clone(), untouched, ("finished", 2, None)),
        (
            WRITES,
            none.clone(),
            |contract| contract.with_max_steps(1),
            ("step_cap_reached", 1, None),
        ),
        (
            WRITES,
            none.clone(),
            |contract| TaskContract {
                budget: Budget {
                    tokens: Some(109),
                    ..Budget::default()
                },
                ..contract
            },
            ("token_budget_exceeded", 1, None),
        ),
        (READS, none.clone(), untouched, ("stalled", 6, None)),
        (
            "- {text: I will not., finish: refusal}",
            none.clone(),
            untouched,
            ("refused", 1, None),
        ),
        (
            &terminal,
            none.clone(),
            untouched,
            ("escalated_terminal", 0, Some("no")),
        ),
        (
            &retryable,
            none.clone(),
            untouched,
            ("escalated_retryable", 0, Some("no")),
        ),
        (WRITES, none, missing, ("errored", 0, Some("nowhere"))),
        (
            WRITES,
            Verification::Command {
                argv: vec!["no-such-program".to_owned()],
                expect_exit: 0,
                timeout: super::seconds(5),
                network: false,
            },
            untouched,
            ("errored", 2, Some("was not found on PATH")),
        ),
    ];
    for (turns, verify, change, (outcome, steps, error)) in table {
        let bench = Bench::new(&[]);
        let contract = change(bench.contract(verify));
        let (result, store) = bench.run(turns, contract).await;
        assert_eq!(result.outcome.as_str(), outcome, "{result:?}");
        let stored = row(&store, result.run_id);
        assert_eq!(
            stored,
            (Some(outcome.to_owned()), Some(steps), result.error.clone()),
            "{outcome}"
        );
        assert_eq!(result.steps, steps, "{outcome}");
        match (error, &result.error) {
            (None, None) => {}
            (Some(expected), Some(error)) if error.contains(expected) => {}
            (expected, error) => panic!("{outcome}: {expected:?}, {error:?}"),
        }
        assert_eq!(count(&store, result.run_id, "finished"), 1, "{outcome}");
    }
}

type RunOutcomeRow = (&'static str, u32, Option<&'static str>);

#[tokio::test]
async fn the_result_says_what_the_trace_says() {
    let bench = Bench::new(&[]);
    let contract = bench.contract(holds("a.txt", "done"));
    let (result, store) = bench.run(WRITES, contract).await;
    assert_eq!(result.tokens, 235);
    assert_eq!(result.reply.as_deref(), Some("It is done."));
    assert_eq!(result.overrun, None);
    insta::assert_snapshot!(trace(&store, result.run_id), @r#"
    started: mend it
    1.1 model: tool_calls, 110 tokens
    1   write_file [a.txt]: ok, changed: wrote a.txt
    1 step: 1 calls, 110 tokens, changed
    2.1 model: stop, 125 tokens
    2 step: 0 calls, 125 tokens
    2 verified: a.txt contains "done"
    finished: success, 2 steps, 235 tokens
    "#);
}

#[tokio::test]
async fn an_observer_ends_a_run_once_nothing_is_half_done() {
    let bench = Bench::new(&[]);
    let observer = Watch(|event: &EventKind| match event {
        EventKind::ToolCalling { .. } => Flow::Cancel,
        _ => Flow::Continue,
    });
    let contract = bench.contract(holds("a.txt", "done"));
    let (result, store) = bench
        .run_with(bench.model(WRITES), contract, Arc::new(observer))
        .await;
    assert_eq!((result.outcome, result.steps), (RunOutcome::Cancelled, 1));
    assert_eq!(row(&store, result.run_id).0.as_deref(), Some("cancelled"));
    // The step that was going on is complete.
    assert_eq!(bench.get("a.txt"), "done\n");
    assert_eq!(count(&store, result.run_id, "step"), 1);
}

#[tokio::test]
async fn an_observer_that_panics_harms_nothing() {
    let bench = Bench::new(&[]);
    let contract = || bench.contract(holds("a.txt", "done"));
    let (calm, calm_store) = bench.run(WRITES, contract()).await;
    let seen = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&seen);
    let observer = Watch(move |_: &EventKind| {
        counted.fetch_add(1, Ordering::Relaxed);
        panic!("as the test wants it")
    });
    bench.put("a.txt", "");
    let (result, store) = bench
        .run_with(bench.model(WRITES), contract(), Arc::new(observer))
        .await;
    assert_eq!(result.outcome, RunOutcome::Success);
    assert_eq!(
        trace(&store, result.run_id),
        trace(&calm_store, calm.run_id)
    );
    assert!(seen.load(Ordering::Relaxed) > 5);
}

#[tokio::test]
async fn a_panic_within_a_run_ends_it_with_a_row() {
    let bench = Bench::new(&[]);
    let contract = bench.contract(Verification::None);
    let (result, store) = bench
        .run_with(Arc::new(Dials(&[])), contract, Arc::new(Ignore))
        .await;
    assert_eq!(result.outcome, RunOutcome::Errored);
    let error = "the harness panicked: nobody is called here".to_owned();
    assert_eq!(
        row(&store, result.run_id),
        (Some("errored".to_owned()), Some(0), Some(error))
    );
}

#[tokio::test]
async fn a_provider_that_may_not_be_dialled_is_not_called() {
    for (policy, urls, rule) in [
        (
            Policy::permissive().deny_net("api.example.com:443"),
            &["https://api.example.com/v1"][..],
            "deny net api.example.com:443",
        ),
        (
            Policy::permissive().deny_net("b.example"),
            &["https://a.example/v1", "http://b.example:8080/v1"],
            "deny net b.example",
        ),
        (Policy::ci_default(), &["http://127.0.0.1:1/v1"], ""),
        (
            Policy::permissive().ask_net("*"),
            &["https://api.example.com/v1"],
            "ask net *",
        ),
    ] {
        let bench = Bench::new(&[]).policy(policy);
        let contract = bench.contract(Verification::None);
        let (result, store) = bench
            .run_with(Arc::new(Dials(urls)), contract, Arc::new(Ignore))
            .await;
        assert_eq!(result.outcome, RunOutcome::Refused, "{urls:?}");
        let (outcome, _, error) = row(&store, result.run_id);
        assert_eq!(outcome.as_deref(), Some("refused"));
        assert!(error.is_some_and(|error| error.contains(rule)), "{rule}");
        assert_eq!(count(&store, result.run_id, "refused"), 1);
        assert_eq!(count(&store, result.run_id, "model_called"), 0);
    }
}

#[tokio::test]
async fn a_stop_before_the_first_step_loses_nothing() {
    let bench = Bench::new(&[]);
    let store = Store::memory().expect("a trace");
    let harness = bench.harness(bench.model(WRITES), &store, Arc::new(Ignore));
    let stop = StopSignal::default();
    stop.stop_now();
    let contract = bench.contract(holds("a.txt", "done"));
    let suspended = harness.start(contract).stop(stop).await.expect("a result");
    assert_eq!(
        (&suspended.outcome, suspended.steps),
        (&RunOutcome::Suspended, 0)
    );
    assert_eq!(row(&store, suspended.run_id), (None, None, None));
    let result = harness.resume(suspended.run_id).await.expect("a result");
    assert_eq!((&result.outcome, result.steps), (&RunOutcome::Success, 2));
    assert_eq!(count(&store, result.run_id, "started"), 1);
}

#[test]
fn a_harness_names_everything_that_it_lacks() {
    let error = Harness::builder().build().expect_err("nothing is there");
    assert_eq!(
        error.missing,
        ["provider", "store", "sandbox", "environment"]
    );
    assert_eq!(
        error.to_string(),
        "the harness is incomplete: provider, store, sandbox, environment"
    );
    let error = Harness::builder()
        .store(Store::memory().expect("a trace"))
        .build()
        .expect_err("more is missing");
    assert_eq!(error.missing, ["provider", "sandbox", "environment"]);
}

#[tokio::test]
async fn a_stall_is_told_once_and_then_ends_the_run() {
    let bench = Bench::new(&[]);
    let contract = bench
        .contract(Verification::None)
        .with_stall_policy(StallPolicy {
            window: 2,
            max_replans: 1,
        })
        .with_retry_policy(RetryPolicy::default());
    let (result, store) = bench.run(READS, contract).await;
    assert_eq!((result.outcome, result.steps), (RunOutcome::Stalled, 4));
    assert_eq!(count(&store, result.run_id, "replan"), 1);
    assert_eq!(count(&store, result.run_id, "stalled"), 1);
}
