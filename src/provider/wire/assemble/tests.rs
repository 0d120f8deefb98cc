use std::sync::Mutex;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Assembler;
use crate::domain::{
    Arguments, Block, CompletionResponse, DeltaSink, FinishReason, IgnoreDeltas, ProviderError,
    ProviderErrorKind as Kind, Usage,
};

fn answer(events: &[Value]) -> Result<CompletionResponse, ProviderError> {
    let events: Vec<String> = events.iter().map(Value::to_string).collect();
    raw(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

fn raw(events: &[&str]) -> Result<CompletionResponse, ProviderError> {
    let mut assembler = Assembler::new(&IgnoreDeltas);
    for event in events {
        assembler.event("", event)?;
    }
    assembler.finish("compatible", 2, Some(Duration::from_millis(7)))
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

fn end(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn kind(events: &[&str]) -> Kind {
    raw(events).expect_err("no answer").kind
}

#[test]
fn a_whole_answer() {
    let response = raw(&[
        r#"{"id":"x","model":"m-2026","system_fingerprint":"fp","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
        r#"{"model":"other","choices":[{"index":0,"delta":{"reasoning_content":"Let "}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"reasoning_content":"me."}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"I will "}}],"usage":null}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"look."}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":"{\"p\":1}"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":125,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":5}}}"#,
        "[DONE]",
        r#"{"choices":[{"index":0,"delta":{"content":"after the end"}}]}"#,
    ])
    .expect("an answer");
    assert_eq!(
        response.blocks,
        [
            Block::Opaque {
                vendor: "compatible".to_owned(),
                value: json!({"reasoning_content": "Let me."}),
            },
            Block::Text {
                text: "I will look.".to_owned()
            },
            Block::ToolCall(crate::domain::ToolCall {
                id: "a".to_owned(),
                name: "read".to_owned(),
                arguments: Arguments::Json(json!({"p": 1})),
            }),
        ]
    );
    assert_eq!(
        response.usage,
        Some(Usage {
            prompt_tokens: 100,
            completion_tokens: 20,
            total_tokens: 125,
            cache_read_tokens: 60,
            reasoning_tokens: 5,
            ..Usage::default()
        })
    );
    assert_eq!(response.model.as_deref(), Some("m-2026"));
    assert_eq!(response.fingerprint.as_deref(), Some("fp"));
    assert_eq!(response.finish_reason, FinishReason::ToolCalls);
}

#[test]
fn usage_wherever_it_comes() {
    let usage = |prompt: u64| json!({"prompt_tokens": prompt, "completion_tokens": 2});
    let text = delta(json!({"content": "hi"}));
    let table: &[(&str, Value, Option<u64>)] = &[
        (
            "no choices",
            json!({"choices": [], "usage": usage(1)}),
            Some(3),
        ),
        (
            "choices that are null",
            json!({"choices": null, "usage": usage(1)}),
            Some(3),
        ),
        ("choices left out", json!({"usage": usage(1)}), Some(3)),
        ("nothing", json!({"usage": null}), None),
        ("an empty object", json!({"usage": {}}), None),
        ("no object", json!({"usage": 7}), None),
        (
            "only a total",
            json!({"usage": {"total_tokens": 9}}),
            Some(9),
        ),
        (
            "a negative count",
            json!({"usage": {"prompt_tokens": -1}}),
            None,
        ),
        ("a fraction", json!({"usage": {"prompt_tokens": 1.5}}), None),
        (
            "an absurd count",
            json!({"usage": {"prompt_tokens": u64::MAX}}),
            None,
        ),
        (
            "details that are null",
            json!({"usage": {"prompt_tokens": 1, "prompt_tokens_details": null}}),
            Some(1),
        ),
        (
            "a wrong detail",
            json!({"usage": {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": "x"}}}),
            None,
        ),
    ];
    for (what, event, total) in table {
        let response = answer(&[text.clone(), end("stop"), event.clone()]).expect(what);
        assert_eq!(
            response.usage.map(|usage| usage.total_tokens),
            *total,
            "{what}"
        );
    }
    // Sent twice, it is not added up.
    let twice = [
        json!({"usage": usage(1)}),
        text,
        end("stop"),
        json!({"usage": usage(5)}),
    ];
    assert_eq!(
        answer(&twice)
            .expect("an answer")
            .usage
            .map(|usage| usage.prompt_tokens),
        Some(5)
    );
}

#[test]
fn reasons_to_end() {
    let call = delta(json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "t"}}]}));
    let text = delta(json!({"content": "hi"}));
    for (content, reason, expected) in [
        (&text, "stop", FinishReason::Stop),
        (&text, "length", FinishReason::Length),
        (&text, "content_filter", FinishReason::Refusal),
        (
            &text,
            "eos\u{1b}[31m",
            FinishReason::Other("eos".to_owned()),
        ),
        (&call, "tool_calls", FinishReason::ToolCalls),
        (&call, "function_call", FinishReason::ToolCalls),
        (&call, "stop", FinishReason::ToolCalls),
        (&call, "length", FinishReason::Length),
    ] {
        let response = answer(&[content.clone(), end(reason)]).expect(reason);
        assert_eq!(response.finish_reason, expected, "{reason}");
    }
    let done = |content: &Value| {
        raw(&[&content.to_string(), "[DONE]"])
            .expect("an answer")
            .finish_reason
    };
    assert_eq!(
        (done(&text), done(&call)),
        (FinishReason::Stop, FinishReason::ToolCalls)
    );
    let refusal = answer(&[delta(json!({"refusal": "No."})), end("stop")]).expect("an answer");
    assert_eq!(
        (refusal.text().as_str(), refusal.finish_reason),
        ("No.", FinishReason::Refusal)
    );
}

#[test]
fn shapes_that_are_not_documented() {
    for (what, events, text) in [
        (
            "content in parts",
            vec![
                delta(json!({"content": [{"type": "text", "text": "a"}, {"type": "x"}, 7]})),
                end("stop"),
            ],
            "a",
        ),
        (
            "a delta left out",
            vec![
                delta(json!({"content": "a"})),
                json!({"choices": [{"finish_reason": "stop"}]}),
            ],
            "a",
        ),
        (
            "a delta that is null",
            vec![
                json!({"choices": [{"delta": null}]}),
                delta(json!({"content": "a"})),
                end("stop"),
            ],
            "a",
        ),
        (
            "a message for a delta",
            vec![json!({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]})],
            "a",
        ),
        (
            "an empty reason",
            vec![
                json!({"choices": [{"delta": {"content": "a"}, "finish_reason": ""}]}),
                end("stop"),
            ],
            "a",
        ),
        (
            "another choice",
            vec![
                json!({"choices": [{"index": 1, "delta": {"content": "b"}}, {"index": 0, "delta": {"content": "a"}}]}),
                end("stop"),
            ],
            "a",
        ),
        (
            "odd types",
            vec![
                json!({"choices": [7]}),
                json!({"choices": [{"delta": {"content": 7, "tool_calls": {}}}]}),
                json!([]),
                json!(null),
                end("stop"),
            ],
            "",
        ),
        (
            "more than one knows",
            vec![
                json!({"x": {"y": 1}, "choices": [{"delta": {"content": "a", "z": 1}, "logprobs": null}]}),
                end("stop"),
            ],
            "a",
        ),
    ] {
        let response = answer(&events).expect(what);
        assert_eq!(response.text(), text, "{what}");
    }
    let older = delta(json!({"function_call": {"name": "t", "arguments": "{}"}}));
    let response = answer(&[older, end("function_call")]).expect("an answer");
    assert!(matches!(&response.blocks[..], [Block::ToolCall(call)] if call.id == "call_2_1"));
}

#[test]
fn what_is_no_answer() {
    let text = delta(json!({"content": "hi"})).to_string();
    let nameless = delta(json!({"tool_calls": [{"index": 0}]})).to_string();
    let stop = end("stop").to_string();
    for (what, events, expected) in [
        ("nothing", vec![], Kind::Malformed),
        ("nothing but the end", vec!["[DONE]"], Kind::Malformed),
        (
            "an empty chunk and the end",
            vec![r#"{"choices":[]}"#, "[DONE]"],
            Kind::Malformed,
        ),
        ("cut off", vec![&text], Kind::Malformed),
        (
            "no JSON",
            vec![&text, "{\"choices\": [", &stop],
            Kind::Malformed,
        ),
        (
            "a call without a name",
            vec![&nameless, &stop],
            Kind::Malformed,
        ),
        (
            "an error",
            vec![&text, r#"{"error":{"message":"boom","code":500}}"#],
            Kind::Server,
        ),
        (
            "no capacity",
            vec![
                &text,
                r#"{"error":{"message":"boom","type":"overloaded_error"}}"#,
            ],
            Kind::Overloaded,
        ),
        (
            "an error in a choice",
            vec![
                &text,
                r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#,
            ],
            Kind::Server,
        ),
        (
            "too deep",
            vec![Box::leak("[".repeat(100_000).into_boxed_str())],
            Kind::Malformed,
        ),
    ] {
        assert_eq!(kind(&events), expected, "{what}");
        assert!(expected.is_retryable());
    }
    let mut assembler = Assembler::new(&IgnoreDeltas);
    let error = assembler
        .event("error", r#"{"message": "slow down", "code": 429}"#)
        .expect_err("an error");
    assert_eq!((error.kind, error.status), (Kind::RateLimited, Some(429)));
}

#[test]
fn an_event_without_its_blank_line_counts_where_it_is_whole() {
    let text = delta(json!({"content": "hi"})).to_string();
    for (last, ok) in [
        ("[DONE]", true),
        (&*end("stop").to_string(), true),
        ("[DON", false),
        ("{\"choices\":[{\"fin", false),
    ] {
        let mut assembler = Assembler::new(&IgnoreDeltas);
        assembler.event("", &text).expect("a chunk");
        assembler.unfinished_event("", last).expect("taken or left");
        assert_eq!(assembler.finish("v", 1, None).is_ok(), ok, "{last}");
    }
}

#[test]
fn an_answer_in_one_piece() {
    let whole = |body: &str| {
        let mut assembler = Assembler::new(&IgnoreDeltas);
        assembler.whole(body.as_bytes())?;
        assembler.finish("v", 1, None)
    };
    let response = whole(
        r#"{"model":"m","choices":[{"message":{"role":"assistant","content":null,"tool_calls":[
            {"id":"a","type":"function","function":{"name":"t","arguments":"{}"}},
            {"id":"b","type":"function","function":{"name":"t","arguments":"{}"}}]},"finish_reason":"tool_calls"}],
            "usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#,
    )
    .expect("an answer");
    assert_eq!(response.blocks.len(), 2);
    assert_eq!(response.usage.map(|usage| usage.total_tokens), Some(2));
    for (body, expected) in [
        ("{", Kind::Malformed),
        ("{}", Kind::Malformed),
        (r#"{"choices":[]}"#, Kind::Malformed),
        (
            r#"{"error":{"message":"no","code":"context_length_exceeded"}}"#,
            Kind::ContextOverflow,
        ),
    ] {
        assert_eq!(whole(body).expect_err(body).kind, expected, "{body}");
    }
}

#[test]
fn text_goes_to_the_sink_while_it_arrives() {
    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);
    impl DeltaSink for Heard {
        fn text(&self, delta: &str) {
            self.0.lock().expect("not poisoned").push(delta.to_owned());
        }
    }
    let heard = Heard::default();
    let mut assembler = Assembler::new(&heard);
    for text in ["a", "", "b"] {
        assembler
            .event("", &delta(json!({"content": text})).to_string())
            .expect("a chunk");
    }
    assert_eq!(*heard.0.lock().expect("not poisoned"), ["a", "b"]);
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec!["", "a", "stop", "error", "{}", "{\"p\"", "}"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let key = prop::sample::select(vec![
            "choices",
            "delta",
            "message",
            "content",
            "tool_calls",
            "function",
            "name",
            "arguments",
            "id",
            "index",
            "finish_reason",
            "usage",
            "prompt_tokens",
            "error",
            "code",
            "reasoning",
            "type",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..5).prop_map(|map| map
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_that_a_server_says_panics(events in prop::collection::vec(json_value(), 0..6)) {
        let _whatever_it_is = answer(&events);
    }
}
