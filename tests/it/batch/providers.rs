//! Providers that are not there, that refuse the key, and that must not be asked too much at once.

use std::sync::Arc;

use pretty_assertions::assert_eq;
use tokio::sync::Notify;

use super::{IDLE, bench, outcomes, run};
use crate::support::http::{Reply, Server, delta, finish, says};
use crate::support::taskgate::Taskgate;

/// A suite of `agent` and of what `providers` adds.
fn with(providers: &str, rest: &str) -> Taskgate {
    let taskgate = bench("", IDLE);
    let head = taskgate.read("suite.yaml");
    taskgate.filled("suite.yaml", &format!("{head}{providers}{rest}"));
    taskgate
}

const ONE: &str = "tasks: [ { id: t, goal: g, gates: [] } ]\n";

/// An address that nobody listens on.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}/v1", listener.local_addr().expect("an address"))
}

#[test]
fn all_that_is_missing_is_named_before_anything_starts() {
    let address = nobody();
    let taskgate = with(
        &format!(
            "  away: {{ vendor: compatible, base_url: \"{address}\", model: m }}\n  keyless: {{ vendor: openai, model: m }}\n  unset: {{ vendor: compatible, base_url: \"{address}\", model: m, api_key: \"${{env:MY_KEY}}\" }}\n  lost: {{ vendor: compatible, base_url: \"{address}\", model: m, api_key: \"${{file:key.txt}}\" }}\n"
        ),
        ONE,
    );
    let ran = run(&taskgate, &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    let host = address
        .trim_start_matches("http://")
        .trim_end_matches("/v1");
    let said = ran.stderr.replace(host, "[HOST]");
    // What the system says of it is its own.
    let said = regex::Regex::new(r": [^:]+ \(os error \d+\)")
        .expect("a pattern")
        .replace_all(&said, ": [WHY]")
        .into_owned();
    insta::assert_snapshot!(said, @r#"
    error: suite `s`: provider `keyless`: `api_key` wants the environment variable OPENAI_API_KEY, which is unset or empty
      = help: set OPENAI_API_KEY, or leave its cases out with --skip-unavailable
    error: suite `s`: provider `lost`: `api_key` wants the file [FOLDER]/key.txt: [WHY]
      = help: give it, or leave its cases out with --skip-unavailable
    error: suite `s`: provider `unset`: `api_key` wants the environment variable MY_KEY, which is unset or empty
      = help: set MY_KEY, or leave its cases out with --skip-unavailable
    error: provider `away` of suite `s` cannot be reached: [HOST]: [WHY]
      = help: start the server, mend `base_url`, or leave its cases out with --skip-unavailable
    nothing was run
    "#);
    assert!(!taskgate.has("t.db") && !taskgate.has("t.db.work"));

    let ran = run(&taskgate, &["--skip-unavailable"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert_eq!(
        ran.stderr
            .matches("warning: left out: provider unavailable: ")
            .count(),
        4,
        "{}",
        ran.stderr
    );
    let counts = "SELECT outcome, count(*) FROM v_case GROUP BY 1 ORDER BY 1";
    assert_eq!(taskgate.rows("t.db", counts), "passed,1\nskipped,4");
    let reasons = "SELECT DISTINCT substr(reason, 1, 21) FROM v_case WHERE outcome = 'skipped'";
    assert_eq!(taskgate.rows("t.db", reasons), "provider unavailable:");
    assert!(
        taskgate.read("t.md").contains("MY\\_KEY"),
        "{}",
        taskgate.read("t.md")
    );
}

#[test]
fn nothing_is_left_where_every_provider_is_away() {
    let taskgate = Taskgate::new();
    taskgate.file(
        "suite.yaml",
        &format!("version: 1\nname: s\nproviders: {{ p: {{ vendor: openai, model: m }} }}\n{ONE}"),
    );
    let ran = run(&taskgate, &["--skip-unavailable"]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_stops_its_own_provider_alone() {
    let server = Server::start((0..9).map(|_| {
        Reply::status(401).send(r#"{"error":{"message":"no such key sk-very-secret-key-1"}}"#)
    }))
    .await;
    let taskgate = with(
        &format!("  locked: {{ vendor: compatible, base_url: \"{}\", model: m, api_key: \"${{env:MY_KEY}}\" }}\n", server.base_url()),
        &format!("{ONE}matrix: {{ trials: 3 }}\n"),
    )
    .env("MY_KEY", "sk-very-secret-key-1");
    let ran = tokio::task::block_in_place(|| run(&taskgate, &["--retries", "2"]));
    assert_eq!(ran.code, Some(20), "{}", ran.stdout);
    let said = taskgate.rows("t.db", "SELECT provider || ' ' || trial || ' ' || outcome || ': ' || reason || ' ' || attempts FROM v_case ORDER BY position");
    insta::assert_snapshot!(said, @r#"
    agent 1 passed: nothing was checked: the task has no gates 1
    agent 2 passed: nothing was checked: the task has no gates 1
    agent 3 passed: nothing was checked: the task has no gates 1
    locked 1 errored: auth (HTTP 401): no such key [redacted] 1
    locked 2 errored: not started: the provider refuses the key (auth (HTTP 401): no such key [redacted]) 1
    locked 3 errored: not started: the provider refuses the key (auth (HTTP 401): no such key [redacted]) 1
    "#);
    assert_eq!(
        server
            .requests()
            .iter()
            .filter(|request| request.path.ends_with("/chat/completions"))
            .count(),
        1
    );
    for text in [
        ran.stdout,
        ran.stderr,
        taskgate.read("t.md"),
        taskgate.read("t.json"),
    ] {
        assert!(!text.contains("very-secret"), "{text}");
    }
    let trace = std::fs::read(taskgate.folder().join("t.db")).expect("a trace");
    assert!(!trace.windows(11).any(|part| part == b"very-secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrency_holds_over_all_cases() {
    let gate = Arc::new(Notify::new());
    let reply = |_| {
        Reply::status(200)
            .header("content-type", "text/event-stream")
            .event(&delta(serde_json::json!({"content": "done"})).to_string())
            .gate(&gate)
            .event(&finish("stop").to_string())
            .done()
    };
    let server = Server::start((0..6).map(reply)).await;
    let taskgate = with(
        &format!(
            "  held: {{ vendor: compatible, base_url: \"{}\", model: m, limits: {{ concurrency: 2 }} }}\n",
            server.base_url()
        ),
        &format!("{ONE}matrix: {{ trials: 6, providers: [held] }}\n"),
    );
    let args = ["run", "suite.yaml", "--trace", "t.db", "--jobs", "6"];
    let ended = std::thread::scope(|scope| {
        let child = scope.spawn(|| taskgate.run(&args));
        // An answer is let go only once the two that may be asked for are.
        while !child.is_finished() {
            if server.most_at_once() >= 2 {
                gate.notify_waiters();
            }
            std::thread::park_timeout(std::time::Duration::from_millis(2));
        }
        child.join().expect("the program ran")
    });
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    assert_eq!(server.most_at_once(), 2);
    assert_eq!(outcomes(&taskgate).lines().count(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_asked_and_reported() {
    let server = Server::start([says("done")]).await;
    let taskgate = with(
        &format!(
            "  served: {{ vendor: compatible, base_url: \"{}\", model: m }}\n",
            server.base_url()
        ),
        &format!("{ONE}matrix: {{ providers: [served] }}\n"),
    );
    let ran = tokio::task::block_in_place(|| run(&taskgate, &[]));
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let call = "SELECT requested_model, served_model, reported, failure FROM v_call";
    assert_eq!(taskgate.rows("t.db", call), "m,m-served,0,");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resume_names_what_is_missing_by_then() {
    let server = Server::start([says("done")]).await;
    let taskgate = with(
        &format!(
            "  served: {{ vendor: compatible, base_url: \"{}\", model: m }}\n",
            server.base_url()
        ),
        "tasks: [ { id: t, goal: g, gates: [ { name: a, command: [\"FAKES\", exit, \"1\"] } ] } ]\n",
    );
    let ran = tokio::task::block_in_place(|| run(&taskgate, &["--fail-fast"]));
    assert_eq!(ran.code, Some(20), "{}", ran.stdout);
    drop(server);
    let before = std::fs::read(taskgate.folder().join("t.db")).expect("a trace");
    let ran = tokio::task::block_in_place(|| taskgate.run(&["resume", "t.db"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(
        ran.stderr
            .contains("provider `served` of suite `s` cannot be reached"),
        "{}",
        ran.stderr
    );
    let reports = taskgate.run(&["report", "t.db"]);
    assert_eq!(reports.code, Some(0), "{}", reports.stderr);
    assert_eq!(
        std::fs::read(taskgate.folder().join("t.db"))
            .expect("a trace")
            .len(),
        before.len()
    );
}
