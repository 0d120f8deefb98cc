//! Providers that fail, and secrets that must not stay.

use std::sync::Arc;
use std::time::Duration;

use pretty_assertions::assert_eq;
use taskgate::domain::{Budget, RetryPolicy, RunOutcome, Verification};
use taskgate::run::Ignore;
use taskgate::store::{Store, open_read_only};

use super::trace::{count, row, trace};
use super::{Bench, holds, seconds};

#[tokio::test]
async fn a_retry_is_recorded_as_a_call_and_as_an_event() {
    let turns = "
- {text: Done., usage: {prompt_tokens: 7, completion_tokens: 1}, error: {kind: server, status: 500, times: 2}}
";
    let bench = Bench::new(&[]);
    let (result, store) = bench.run(turns, bench.contract(Verification::None)).await;
    assert_eq!((result.outcome, result.steps), (RunOutcome::Finished, 1));
    insta::assert_snapshot!(trace(&store, result.run_id), @r"
    started: mend it
    1.1 model: failed, server
    1   retry after server
    1.2 model: failed, server
    1   retry after server
    1.3 model: stop, 8 tokens
    1 step: 0 calls, 8 tokens
    finished: finished, 1 steps, 8 tokens
    ");
    let slept = bench.clock.slept();
    assert_eq!(slept.len(), 2, "{slept:?}");
    let (first, second) = (Duration::from_millis(250), Duration::from_millis(500));
    assert!((first..=first * 2).contains(&slept[0]), "{slept:?}");
    assert!((second..=second * 2).contains(&slept[1]), "{slept:?}");
    let connection = open_read_only(store.path()).expect("the trace");
    let calls: Vec<(u32, Option<String>, Option<u16>)> = connection
        .prepare("SELECT call, failure, failure_status FROM v_call ORDER BY step, call")
        .and_then(|mut query| {
            query
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                .collect()
        })
        .expect("calls");
    let failed = |call| (call, Some("server".to_owned()), Some(500));
    assert_eq!(calls, [failed(1), failed(2), (3, None, None)]);
}

#[tokio::test]
async fn what_a_server_asks_to_wait_has_a_ceiling() {
    let turns = "
- {text: Done., error: {kind: rate_limited, status: 429, retry_after: 24h, times: 1}}
";
    let bench = Bench::new(&[]);
    let contract = bench
        .contract(Verification::None)
        .with_retry_policy(RetryPolicy {
            max: seconds(45),
            ..RetryPolicy::default()
        });
    let (result, _) = bench.run(turns, contract.clone()).await;
    assert_eq!(result.outcome, RunOutcome::Finished);
    assert_eq!(bench.clock.slept(), [seconds(45)]);

    // A wait that the run has no time for is not begun.
    let bench = Bench::new(&[]);
    let contract = contract.with_budget(Budget {
        wall: Some(seconds(30)),
        ..Budget::default()
    });
    let contract = taskgate::domain::TaskContract {
        root: bench.root(),
        ..contract
    };
    let (result, store) = bench.run(turns, contract).await;
    assert_eq!(result.outcome.as_str(), "escalated_retryable");
    assert!(bench.clock.slept().is_empty());
    let (_, _, error) = row(&store, result.run_id);
    assert!(error.is_some_and(|error| error.ends_with("(no time is left to try again)")));
    assert_eq!(count(&store, result.run_id, "retry"), 0);
}

#[tokio::test]
async fn a_secret_does_not_reach_the_trace() {
    let secret = "sk-live-0123456789abcdef";
    let bench = Bench::new(&[("leak.txt", &format!("key={secret}\n"))]);
    bench.redactor.add(secret);
    let turns = format!(
        "
- text: The key is {secret}.
  calls:
    - {{tool: read_file, arguments: {{path: leak.txt}}}}
    - {{tool: write_file, arguments: {{path: {secret}.txt, content: {secret}}}}}
    - {{tool: exec, arguments: {{argv: [taskgate-fakes, print, {secret}]}}}}
    - {{tool: \"{secret}\"}}
    - {{tool: grep, raw_arguments: '{{\"pattern\": \"{secret}'}}
- error: {{kind: auth, message: 'the key {secret} is wrong'}}
"
    );
    let path = bench.beside("trace.db");
    let store = Store::create(&path, bench.redactor.clone()).expect("a trace");
    let harness = bench.harness(bench.model(&turns), &store, Arc::new(Ignore));
    let mut contract = bench.contract(holds("a.txt", secret));
    contract.goal = format!("use {secret}");
    let result = harness.start(contract).await.expect("a result");
    assert_eq!(result.outcome.as_str(), "escalated_terminal");
    // The agent's own files are its own.
    assert_eq!(bench.get(&format!("{secret}.txt")), secret);
    let error = result.error.expect("the key is wrong");
    assert!(!error.contains(secret), "{error}");
    assert!(trace(&store, result.run_id).contains("[redacted]"));
    drop(harness);
    store.close().await.expect("a clean end");
    for name in ["trace.db", "trace.db-wal", "trace.db-shm"] {
        let Ok(bytes) = std::fs::read(bench.beside(name)) else {
            continue;
        };
        let found = bytes
            .windows(secret.len())
            .any(|window| window == secret.as_bytes());
        assert!(!found, "{name}");
    }
}
