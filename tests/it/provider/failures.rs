//! What becomes of servers that fail, in every way that a socket allows.

use std::time::Duration;

use serde_json::{Value, json};
use taskgate::domain::ProviderErrorKind as Kind;
use taskgate::net::Client;
use taskgate::provider::{Built, reachable};

use super::{Heard, KEY, ask, call, call_with, provider};
use crate::support::http::{Reply, Server, delta, finish, says};

fn error(status: u16, body: &Value) -> Reply {
    Reply::status(status)
        .header("content-type", "application/json")
        .send(body.to_string())
}

fn some_text() -> Reply {
    Reply::events([delta(json!({"content": "half an ans"}))])
}

#[tokio::test]
async fn a_status_that_is_no_success() {
    for (reply, kind, message) in [
        (
            error(
                401,
                &json!({"error": {"message": "who are you", "code": "invalid_api_key"}}),
            ),
            Kind::Auth,
            "who are you",
        ),
        (
            error(403, &json!({"error": "not here"})),
            Kind::Auth,
            "not here",
        ),
        (
            error(
                400,
                &json!({"error": {"message": "too much", "code": "context_length_exceeded"}}),
            ),
            Kind::ContextOverflow,
            "too much",
        ),
        (
            error(400, &json!({"detail": "what?"})),
            Kind::Request,
            "what?",
        ),
        (
            error(404, &json!({"error": {"message": "no such model"}})),
            Kind::Request,
            "no such model",
        ),
        (
            error(
                429,
                &json!({"error": {"message": "slower", "type": "requests"}}),
            ),
            Kind::RateLimited,
            "slower",
        ),
        (
            error(
                429,
                &json!({"error": {"message": "pay", "code": "insufficient_quota"}}),
            ),
            Kind::Auth,
            "pay",
        ),
        (error(500, &json!({})), Kind::Server, "{}"),
        (
            error(503, &json!({"error": {"message": "busy"}})),
            Kind::Overloaded,
            "busy",
        ),
        (
            Reply::status(529),
            Kind::Overloaded,
            "the server gave no reason",
        ),
        (
            Reply::status(502).send("<html>\n<b>Bad\u{1b}[31m Gateway</b>"),
            Kind::Server,
            "<html> <b>Bad Gateway</b>",
        ),
        (
            Reply::status(500).send("half").break_off(),
            Kind::Server,
            "no reason",
        ),
        (Reply::status(408), Kind::Timeout, ""),
        (
            Reply::status(413).send([0xff, 0xfe, 0x00, b'x'].to_vec()),
            Kind::Request,
            "x",
        ),
        (
            Reply::status(500).send("x".repeat(1_000_000)),
            Kind::Server,
            "xxx",
        ),
    ] {
        let shown = format!("{reply:?}").chars().take(200).collect::<String>();
        let failure = call(reply).await.expect_err(&shown);
        assert_eq!(failure.kind, kind, "{shown}: {failure}");
        assert!(failure.status.is_some(), "{shown}");
        assert!(failure.message.contains(message), "{shown}: {failure}");
        assert!(failure.message.chars().count() <= 500);
    }
}

#[tokio::test]
async fn a_wait_that_the_server_asks_for() {
    for (header, value, expected) in [
        ("retry-after", "7", Some(Duration::from_secs(7))),
        ("retry-after-ms", "40", Some(Duration::from_millis(40))),
        // The manual clock begins at 2023-11-14T22:13:20Z; the server's own date stands in the answer.
        (
            "retry-after",
            "Wed, 21 Oct 2015 07:28:00 GMT",
            Some(Duration::ZERO),
        ),
        ("retry-after", "soon", None),
        ("x-other", "7", None),
    ] {
        let reply = error(429, &json!({"error": {"message": "slower"}})).header(header, value);
        let failure = call(reply).await.expect_err("no answer");
        assert_eq!(failure.retry_after, expected, "{header}: {value}");
    }
}

#[tokio::test]
async fn an_answer_that_does_not_come_to_its_end() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    let event = format!("data: {}\n\n", delta(json!({"content": "hi"})));
    for (what, reply, kind) in [
        (
            "a close before any byte",
            Reply::raw("", false),
            Kind::Transport,
        ),
        (
            "a reset before any byte",
            Reply::raw("", true),
            Kind::Transport,
        ),
        (
            "no HTTP",
            Reply::raw("SSH-2.0-OpenSSH_9.6\r\n\r\n", false),
            Kind::Malformed,
        ),
        (
            "a body that breaks off",
            some_text().break_off(),
            Kind::Transport,
        ),
        (
            "a body shorter than it said",
            Reply::raw(format!("{head}content-length: 9999\r\n\r\n{event}"), false),
            Kind::Transport,
        ),
        ("a body that ends too early", some_text(), Kind::Malformed),
        (
            "a body cut within an event",
            some_text().send("data: {\"choices\": [{\"fin"),
            Kind::Malformed,
        ),
        ("no body", Reply::status(200), Kind::Malformed),
        (
            "a web page",
            Reply::status(200)
                .header("content-type", "text/html")
                .send("<html>sign in</html>"),
            Kind::Malformed,
        ),
        (
            "an event that is no JSON",
            some_text()
                .event("oops")
                .event(&finish("stop").to_string())
                .done(),
            Kind::Malformed,
        ),
        (
            "an error event",
            some_text()
                .event(r#"{"error": {"message": "boom", "code": 503}}"#)
                .done(),
            Kind::Overloaded,
        ),
        (
            "an error by name",
            some_text().send("event: error\ndata: {\"message\": \"boom\"}\n\n"),
            Kind::Server,
        ),
        (
            "JSON that is cut",
            Reply::status(200).send("{\"choices\": ["),
            Kind::Malformed,
        ),
        (
            "an error with status 200",
            error(200, &json!({"error": {"message": "boom"}})),
            Kind::Server,
        ),
    ] {
        let failure = call(reply).await.expect_err(what);
        assert_eq!(failure.kind, kind, "{what}: {failure}");
        assert!(failure.kind.is_retryable(), "{what}");
        assert!(!failure.message.is_empty(), "{what}");
    }
    let page = call(
        Reply::status(200)
            .header("content-type", "text/html")
            .send("<html>sign in</html>"),
    )
    .await;
    let text = page.expect_err("no answer").message;
    assert_eq!(
        text,
        "the answer holds no event (text/html): <html>sign in</html>"
    );
}

#[tokio::test]
async fn silence_ends_the_call() {
    let short = json!({"idle_timeout": "60ms"});
    for (what, reply) in [
        ("before any content", Reply::status(200).stall()),
        ("in the middle", some_text().stall()),
        ("in an error's body", Reply::status(200).send(":\n").stall()),
    ] {
        let failure = call_with(reply, &short).await.expect_err(what);
        assert_eq!(failure.kind, Kind::Timeout, "{what}: {failure}");
        assert!(
            failure.message.contains("no data for 60ms"),
            "{what}: {failure}"
        );
    }
    // Long enough for an answer that is sent at once to arrive on a busy machine.
    let short = json!({"idle_timeout": "500ms"});
    // The status is known: that the reason never comes changes nothing.
    let failure = call_with(Reply::status(503).stall(), &short)
        .await
        .expect_err("no answer");
    assert_eq!(
        (failure.kind, failure.status),
        (Kind::Overloaded, Some(503))
    );
    // The answer is whole: the silence after it is no failure.
    let reply = Reply::events([delta(json!({"content": "hi"})), finish("stop")]).stall();
    assert_eq!(
        call_with(reply, &short).await.expect("an answer").text(),
        "hi"
    );
}

#[tokio::test]
async fn a_call_may_not_take_forever_however_much_comes() {
    let limits = json!({"timeout": "80ms", "idle_timeout": "1h"});
    let failure = call_with(some_text().stall(), &limits)
        .await
        .expect_err("no answer");
    assert_eq!(failure.kind, Kind::Timeout);
    assert!(
        failure.message.contains("not complete within 80ms"),
        "{failure}"
    );
    // A time beyond all clocks is as good as none.
    let endless = json!({"timeout": "99999999999d", "idle_timeout": "99999999999d"});
    assert!(call_with(says("hi"), &endless).await.is_ok());
}

#[tokio::test]
async fn nobody_is_there() {
    let server = Server::start([]).await;
    let (provider, _) = provider(&server, &json!({}));
    let built = Built::Shared(provider.clone());
    assert_eq!(reachable(&built, &Client::default()).await, Ok(()));
    assert!(server.requests().is_empty(), "finding out costs nothing");
    drop(server);
    // The listener goes with its task, which ends at its next turn.
    let failure = loop {
        tokio::task::yield_now().await;
        if let Err(failure) = reachable(&built, &Client::default()).await {
            break failure;
        }
    };
    assert_eq!(failure.kind, Kind::Transport);
    let failure = ask(&*provider, &Heard::default())
        .await
        .expect_err("no answer");
    assert_eq!(failure.kind, Kind::Transport);
    assert!(failure.message.starts_with("127.0.0.1:"), "{failure}");
    assert!(!failure.message.contains("chat/completions"), "{failure}");
}

#[tokio::test]
async fn no_error_repeats_the_key() {
    let echo = format!("you sent Bearer {KEY} and sk-%74est");
    for reply in [
        error(401, &json!({"error": {"message": echo}})),
        Reply::status(500).send(echo.clone()),
        Reply::status(200)
            .header("content-type", "text/plain")
            .send(echo.clone()),
        some_text().event(&echo),
        some_text().event(&json!({"error": {"message": echo}}).to_string()),
        Reply::status(500).send(format!("{}{KEY}", " ".repeat(70_000 - 10))),
        Reply::raw(format!("HTTP/1.1 {echo}\r\n\r\n"), false),
    ] {
        let failure = call(reply).await.expect_err("no answer");
        let shown = format!(
            "{failure} {failure:?} {}",
            serde_json::to_string(&failure).expect("JSON")
        );
        assert!(!shown.contains(&KEY[..12]), "{shown}");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_not_spoken_to_in_the_clear() {
    let server = Server::start([says("hi")]).await;
    let url = server.base_url().replace("http:", "https:");
    let (provider, _) = provider(&server, &json!({"base_url": url}));
    let failure = ask(&*provider, &Heard::default())
        .await
        .expect_err("no answer");
    // A machine without any certificate says so instead.
    assert!(
        matches!(failure.kind, Kind::Transport | Kind::Request),
        "{failure}"
    );
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_dropped_call_is_over() {
    let server = Server::start([some_text().stall(), says("next")]).await;
    let (provider, _) = provider(&server, &json!({}));
    let heard = Heard::default();
    tokio::select! {
        _ = ask(&*provider, &heard) => panic!("the server never answers"),
        () = async {
            while heard.all().is_empty() {
                tokio::task::yield_now().await;
            }
        } => {}
    }
    let response = ask(&*provider, &Heard::default()).await.expect("an answer");
    assert_eq!(response.text(), "next");
}
