//! What a server is sent.

use serde_json::json;

use super::{Heard, KEY, ask, provider};
use crate::support::http::{Reply, Server, says};

#[tokio::test]
async fn the_request_goes_where_the_suite_says_with_its_headers() {
    let server = Server::start([says("hi")]).await;
    let (provider, _) = provider(
        &server,
        &json!({"headers": {"X-Team": "parsers", "X-Signed": "v1 ${env:TEST_KEY}"}, "seed": 7, "max_output_tokens": 50}),
    );
    assert_eq!((provider.name(), provider.model()), ("local", "m-asked"));
    assert_eq!(
        provider.endpoints(),
        [format!("{}/chat/completions", server.base_url())]
    );
    ask(&*provider, &Heard::default()).await.expect("an answer");
    let requests = server.requests();
    let [request] = requests.as_slice() else {
        panic!("one call is one request: {requests:?}");
    };
    assert_eq!(request.path, "/v1/chat/completions");
    for (name, value) in [
        ("authorization", format!("Bearer {KEY}")),
        ("x-team", "parsers".to_owned()),
        ("x-signed", format!("v1 {KEY}")),
        ("content-type", "application/json".to_owned()),
        (
            "user-agent",
            format!("taskgate/{}", env!("CARGO_PKG_VERSION")),
        ),
    ] {
        assert_eq!(request.header(name), Some(value.as_str()), "{name}");
    }
    assert_eq!(request.body["model"], "m-asked");
    assert_eq!(request.body["stream"], true);
    assert_eq!(request.body["stream_options"]["include_usage"], true);
    assert_eq!(request.body["seed"], 7);
    assert_eq!(request.body["max_tokens"], 50);
    assert_eq!(
        request.body["messages"][0],
        json!({"role": "system", "content": "You are careful."})
    );
    assert_eq!(request.body["tools"][0]["function"]["name"], "read_file");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Server::start([says("stolen")]).await;
    for status in [301, 302, 307, 308] {
        let location = format!("{}/chat/completions", other.base_url());
        let server = Server::start([Reply::status(status).header("location", &location)]).await;
        let (provider, _) = provider(&server, &json!({}));
        let error = ask(&*provider, &Heard::default())
            .await
            .expect_err("no answer");
        assert_eq!(error.status, Some(status));
        assert!(!error.kind.is_retryable());
        assert!(error.message.contains("`base_url`"), "{error}");
    }
    assert!(other.requests().is_empty(), "the key went to another host");
}

#[tokio::test]
async fn without_a_key_no_key_is_sent() {
    let server = Server::start([says("hi")]).await;
    let (provider, _) = provider(&server, &json!({"api_key": null}));
    ask(&*provider, &Heard::default()).await.expect("an answer");
    assert_eq!(server.requests()[0].header("authorization"), None);
}
