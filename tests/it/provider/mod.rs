//! Providers at the socket: real requests to a scripted server.

mod answers;
mod failures;
mod requests;

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use taskgate::base::{ManualClock, Redactor};
use taskgate::domain::{
    CompletionRequest, CompletionResponse, DeltaSink, Message, ProviderError, ToolChoice, ToolSpec,
};
use taskgate::net::Client;
use taskgate::provider::{Built, Parts, Provider, Secrets, construct};

use crate::support::http::{Reply, Server};

const KEY: &str = "sk-test-0123456789abcdef";

fn environment(name: &str) -> Option<String> {
    (name == "TEST_KEY").then(|| KEY.to_owned())
}

/// A provider that calls `server`, and the clock that it asks.
fn provider(server: &Server, extra: &Value) -> (Arc<dyn Provider>, Arc<ManualClock>) {
    let mut config = json!({
        "vendor": "compatible",
        "model": "m-asked",
        "base_url": server.base_url(),
        "api_key": "${env:TEST_KEY}",
    });
    for (key, value) in extra.as_object().expect("a map") {
        config[key] = value.clone();
    }
    let config = serde_json::from_value(config).expect("a provider");
    let clock = Arc::new(ManualClock::default());
    let parts = Parts {
        client: Client::default(),
        clock: clock.clone(),
        redactor: Redactor::default(),
    };
    let secrets = Secrets {
        env: &environment,
        base: Path::new("."),
    };
    let built = construct("local", &config, &secrets, &parts).expect("callable");
    assert!(matches!(built, Built::Shared(_)));
    (built.for_case("task", 1), clock)
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl DeltaSink for Heard {
    fn text(&self, delta: &str) {
        self.0.lock().expect("not poisoned").push(delta.to_owned());
    }
}

impl Heard {
    fn all(&self) -> String {
        self.0.lock().expect("not poisoned").concat()
    }
}

async fn ask(provider: &dyn Provider, sink: &Heard) -> Result<CompletionResponse, ProviderError> {
    let messages = [Message::user("Fix it.")];
    let tools = [ToolSpec {
        name: "read_file".to_owned(),
        description: "Reads a file.".to_owned(),
        parameters: json!({"type": "object"}),
    }];
    let request = CompletionRequest {
        system: "You are careful.",
        messages: &messages,
        tools: &tools,
        tool_choice: ToolChoice::Auto,
        step: 4,
        attempt: 1,
    };
    provider.complete(request, sink).await
}

/// One call that is answered with `reply`.
async fn call(reply: Reply) -> Result<CompletionResponse, ProviderError> {
    call_with(reply, &json!({})).await
}

async fn call_with(reply: Reply, extra: &Value) -> Result<CompletionResponse, ProviderError> {
    let server = Server::start([reply]).await;
    let (provider, _) = provider(&server, extra);
    ask(&*provider, &Heard::default()).await
}
