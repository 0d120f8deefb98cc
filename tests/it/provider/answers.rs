//! What a server's answer becomes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use taskgate::domain::{Arguments, Block, FinishReason, ToolCall, Usage};
use tokio::sync::Notify;

use super::{Heard, ask, call, provider};
use crate::support::http::{Reply, Server, delta, finish, says};

fn a_tool_call() -> Reply {
    Reply::events([
        delta(json!({"role": "assistant", "content": "Grüße 🦀, "})),
        delta(json!({"content": "I look."})),
        delta(json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read_file", "arguments": ""}}]})),
        delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"path\": \"日本"}}]})),
        delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": ".rs\"}"}}]})),
        finish("tool_calls"),
        json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12,
            "prompt_tokens_details": {"cached_tokens": 4}}}),
    ])
    .done()
}

#[tokio::test]
async fn text_calls_and_usage() {
    let response = call(a_tool_call()).await.expect("an answer");
    assert_eq!(
        response.blocks,
        [
            Block::Text {
                text: "Grüße 🦀, I look.".to_owned()
            },
            Block::ToolCall(ToolCall {
                id: "a".to_owned(),
                name: "read_file".to_owned(),
                arguments: Arguments::Json(json!({"path": "日本.rs"})),
            }),
        ]
    );
    assert_eq!(
        response.usage,
        Some(Usage {
            prompt_tokens: 9,
            completion_tokens: 3,
            total_tokens: 12,
            cache_read_tokens: 4,
            ..Usage::default()
        })
    );
    assert_eq!(response.model.as_deref(), Some("m-served"));
    assert_eq!(response.finish_reason, FinishReason::ToolCalls);
}

#[tokio::test]
async fn the_answer_does_not_depend_on_how_it_is_cut() {
    let whole = call(a_tool_call()).await.expect("an answer");
    for size in [1, 2, 3, 7, 64, 100_000] {
        let cut = call(a_tool_call().in_chunks_of(size))
            .await
            .expect("an answer");
        assert_eq!(cut, whole, "chunks of {size} bytes");
    }
}

#[tokio::test]
async fn text_is_heard_and_timed_while_the_answer_is_still_coming() {
    let gates = [Arc::new(Notify::new()), Arc::new(Notify::new())];
    let reply = Reply::events([delta(json!({"role": "assistant"}))])
        .gate(&gates[0])
        .event(&delta(json!({"content": "one "})).to_string())
        .gate(&gates[1])
        .event(&delta(json!({"content": "two"})).to_string())
        .event(&finish("stop").to_string())
        .done();
    let server = Server::start([reply]).await;
    let (provider, clock) = provider(&server, &json!({}));
    let heard = Heard::default();
    let watching = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_millis(300));
        gates[0].notify_one();
        while heard.all().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(heard.all(), "one ");
        clock.advance(Duration::from_secs(5));
        gates[1].notify_one();
    };
    let (response, ()) = tokio::join!(ask(&*provider, &heard), watching);
    let response = response.expect("an answer");
    assert_eq!(response.text(), "one two");
    assert_eq!(heard.all(), "one two");
    assert_eq!(response.ttft, Some(Duration::from_millis(300)));
}

#[tokio::test]
async fn servers_that_do_it_their_own_way() {
    let text = delta(json!({"content": "hi"})).to_string();
    let stop = finish("stop").to_string();
    let whole =
        json!({"model": "m", "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]})
            .to_string();
    for (what, reply) in [
        ("comments and other fields", Reply::status(200).send(format!(": ping\n\nid: 1\nevent: message\nretry: 9\ndata: {text}\n\n: ping\n\ndata: {stop}\n\ndata: [DONE]\n\n"))),
        ("no space after the colon", Reply::status(200).send(format!("data:{text}\n\ndata:{stop}\n\ndata:[DONE]\n\n"))),
        ("carriage returns", Reply::status(200).send(format!("data: {text}\r\n\r\ndata: {stop}\r\n\r\ndata: [DONE]\r\n\r\n"))),
        ("a byte order mark", Reply::status(200).send(format!("\u{feff}data: {text}\n\ndata: {stop}\n\n"))),
        ("no [DONE]", Reply::events([&text, &stop])),
        ("no finish reason", Reply::events([&text]).done()),
        ("no blank line at the end", Reply::events([&text]).send(format!("data: {stop}"))),
        ("a connection that breaks after the finish reason", Reply::events([&text, &stop]).break_off()),
        ("a connection that stays open after [DONE]", Reply::events([&text, &stop]).done().stall()),
        ("empty data", Reply::events(["", &text, "", &stop, ""]).done()),
        ("no stream at all", Reply::status(200).header("content-type", "application/json").send(whole.clone())),
        ("no stream and the wrong type", Reply::status(200).header("content-type", "text/event-stream").send(format!("\n {whole}")).in_chunks_of(3)),
    ] {
        let response = call(reply).await.expect(what);
        assert_eq!(response.text(), "hi", "{what}");
        assert_eq!(response.finish_reason, FinishReason::Stop, "{what}");
    }
}

#[tokio::test]
async fn calls_share_a_connection() {
    let server = Server::start([says("a"), says("b"), says("c")]).await;
    let (provider, _) = provider(&server, &json!({}));
    for expected in ["a", "b", "c"] {
        let response = ask(&*provider, &Heard::default()).await.expect("an answer");
        assert_eq!(response.text(), expected);
    }
    assert_eq!(server.connections(), 1);
}
