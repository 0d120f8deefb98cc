use std::sync::Arc;
use std::time::Duration;

use super::{Script, Scripted};
use crate::base::{Clock, ManualClock};
use crate::domain::{
    Arguments, Block, CompletionRequest, CompletionResponse, IgnoreDeltas, ProviderError,
    ProviderErrorKind, ToolChoice,
};
use crate::provider::Provider;

const SCRIPT: &str = r#"
version: 1
model: rehearsal-1
turns:
  - text: I will look first.
    calls: [{ tool: read_file, arguments: { path: src/lib.rs, limit: 10 } }]
    usage: { prompt_tokens: 1.2k, completion_tokens: 80 }
    delay: 40ms
  - calls: [{ tool: write_file, raw_arguments: '{"path": "src/li' }, { tool: list }]
  - error: { kind: overloaded, status: 529, retry_after: 2s, message: busy, times: 1 }
    text: recovered
    finish: length
scripts:
  - { task: "empty-*", trial: [1, 3], turns: [{ text: for one and three }] }
  - { task: "empty-*", turns: [{ error: { kind: auth } }] }
after: stop
"#;

fn script(text: &str) -> Result<Script, String> {
    Script::parse(text, "fix.yaml").map_err(|error| error.to_string())
}

fn provider(text: &str) -> (Scripted, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    let script = Arc::new(script(text).expect("a script"));
    (
        Scripted::new("rehearsal", script, Arc::clone(&clock) as Arc<dyn Clock>),
        clock,
    )
}

async fn ask(
    provider: &dyn Provider,
    step: u32,
    attempt: u32,
) -> Result<CompletionResponse, ProviderError> {
    let request = CompletionRequest {
        system: "",
        messages: &[],
        tools: &[],
        tool_choice: ToolChoice::Auto,
        step,
        attempt,
    };
    provider.complete(request, &IgnoreDeltas).await
}

#[tokio::test]
async fn a_script_is_played_turn_by_turn() {
    let (scripted, clock) = provider(SCRIPT);
    let provider = scripted.for_case("other", 1);
    assert_eq!(
        (provider.name(), provider.model()),
        ("rehearsal", "rehearsal-1")
    );
    assert!(provider.endpoints().is_empty());

    let first = ask(&*provider, 1, 1).await.expect("an answer");
    assert_eq!(first.text(), "I will look first.");
    assert!(matches!(&first.blocks[1], Block::ToolCall(call)
        if call.id == "call_1_1" && call.name == "read_file"
            && call.arguments == Arguments::Json(serde_json::json!({"path": "src/lib.rs", "limit": 10}))));
    assert_eq!(first.usage.map(|usage| usage.total_tokens), Some(1_280));
    assert_eq!(first.ttft, Some(Duration::from_millis(40)));
    assert_eq!(clock.slept(), [Duration::from_millis(40)]);
    assert_eq!(first.model.as_deref(), Some("rehearsal-1"));

    let second = ask(&*provider, 2, 1).await.expect("an answer");
    assert_eq!(second.usage, None);
    assert!(
        matches!(&second.blocks[0], Block::ToolCall(call) if matches!(call.arguments, Arguments::Invalid { .. }))
    );
    assert!(matches!(&second.blocks[1], Block::ToolCall(call) if call.id == "call_2_2"));

    let failure = ask(&*provider, 3, 1).await.expect_err("a failure");
    assert_eq!(failure.to_string(), "overloaded (HTTP 529): busy");
    assert_eq!(failure.retry_after, Some(Duration::from_secs(2)));
    let third = ask(&*provider, 3, 2).await.expect("an answer");
    assert_eq!(
        (
            third.text().as_str(),
            third.finish_reason.to_string().as_str()
        ),
        ("recovered", "length")
    );

    // Past the end, and again from the beginning: nothing is remembered.
    for step in [4, 5, u32::MAX] {
        let last = ask(&*provider, step, 1).await.expect("an answer");
        assert_eq!((last.text().as_str(), last.blocks.len()), ("Done.", 1));
    }
    assert_eq!(ask(&*provider, 1, 1).await.expect("an answer"), first);
}

#[tokio::test]
async fn the_first_script_that_fits_is_played() {
    let (scripted, _) = provider(SCRIPT);
    for trial in [1, 3] {
        let answer = ask(&*scripted.for_case("empty-input", trial), 1, 1).await;
        assert_eq!(answer.expect("an answer").text(), "for one and three");
    }
    let failure = ask(&*scripted.for_case("empty-input", 2), 1, 9)
        .await
        .expect_err("a failure");
    assert_eq!(failure.kind, ProviderErrorKind::Auth);

    let (only, _) = provider("version: 1\nscripts: [{ task: a, turns: [{ text: hi }] }]");
    let failure = ask(&*only.for_case("b", 2), 1, 1)
        .await
        .expect_err("no turns");
    assert_eq!(
        failure.message,
        "the script has no turns for task `b`, trial 2"
    );
    assert!(!failure.kind.is_retryable());
}

#[tokio::test]
async fn a_script_may_repeat_its_last_turn() {
    let (scripted, _) =
        provider("version: 1\nafter: repeat\nturns: [{ text: a }, { calls: [{ tool: t }] }]");
    let provider = scripted.asking_for("m-1").for_case("x", 1);
    for step in [2, 3, 100] {
        let answer = ask(&*provider, step, 1).await.expect("an answer");
        assert!(
            matches!(&answer.blocks[..], [Block::ToolCall(call)] if call.id == format!("call_{step}_1"))
        );
        assert_eq!(answer.model.as_deref(), Some("m-1"));
    }
}

#[test]
fn what_is_refused_says_where() {
    let turn = |turn: &str| format!("version: 1\nturns:\n  - text: ok\n  - {turn}\n");
    for (text, expected) in [
        (String::new(), "fix.yaml:"),
        ("turns: []".to_owned(), "version"),
        (
            "version: 2".to_owned(),
            "fix.yaml:1:10: version 2 of the script format is not known here",
        ),
        (
            "version: 1\ntruns: []".to_owned(),
            "fix.yaml:2:1: unknown field `truns`",
        ),
        (turn("{ txt: a }"), "fix.yaml:4:"),
        (turn("{}"), "fix.yaml:4:5: a turn without"),
        (
            turn("{ error: { kind: overloaded, times: 1 } }"),
            "fix.yaml:4:5: an error that ends",
        ),
        (
            turn("{ error: { kind: overloaded }, text: a }"),
            "fix.yaml:4:5: an error without `times`",
        ),
        (turn("{ error: { kind: broken } }"), "fix.yaml:4:"),
        (turn("{ text: a, delay: 40 }"), "has no unit"),
        (
            turn("{ calls: [{ tool: t, arguments: {}, raw_arguments: x }] }"),
            "keep one",
        ),
        (turn("{ calls: [{ tool: '' }] }"), "`tool` is empty"),
        (turn("{ calls: [{ arguments: {} }] }"), "tool"),
        (turn("{ text: a, text: b }"), "fix.yaml:4:"),
        (
            turn("{ text: a, usage: { prompt_tokens: -1, completion_tokens: 1 } }"),
            "fix.yaml:4:",
        ),
        ("version: 1\nafter: never".to_owned(), "fix.yaml:2:"),
        ("version: 1\n---\nversion: 1".to_owned(), "fix.yaml:"),
    ] {
        let error = script(&text).expect_err(&text);
        assert!(error.contains(expected), "{text:?}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let bomb = "version: 1\nmodel: &a [x, x]\nturns: [{ text: a, usage: *a }]";
    assert!(script(bomb).is_err());
}

#[test]
fn the_schema_names_every_key() {
    let schema = serde_json::to_string(&schemars::schema_for!(Script)).expect("JSON");
    for key in [
        "version",
        "turns",
        "scripts",
        "after",
        "raw_arguments",
        "retry_after",
        "times",
        "prompt_tokens",
        "trial",
    ] {
        assert!(schema.contains(&format!("\"{key}\"")), "{key}");
    }
}
