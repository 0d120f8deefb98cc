//! OpenAI's Chat Completions, and what other servers make of them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::domain::{
    Arguments, Block, CompletionRequest, Message, Role, ToolCall, ToolChoice, ToolSpec,
};
use crate::provider::{ProviderConfig, Vendor};

/// The path below the base URL.
pub(crate) const PATH: &str = "/chat/completions";

/// The body of a request for `model`, as JSON.
pub(crate) fn body(
    config: &ProviderConfig,
    model: &str,
    request: &CompletionRequest<'_>,
) -> Vec<u8> {
    let vendor = config.vendor;
    let limit = config.max_output_tokens.map(|size| size.0);
    // OpenAI's reasoning models refuse the older key; other servers know the older one alone.
    let (max_completion_tokens, max_tokens) = match vendor {
        Vendor::OpenAi => (limit, None),
        _ => (None, limit),
    };
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        messages.push(Wire::text("system", request.system.into()));
    }
    for message in request.messages {
        match message.role {
            Role::User => user(message, &mut messages),
            Role::Assistant => messages.push(assistant(message, vendor)),
        }
    }
    let body = Body {
        model,
        messages,
        tools: request.tools.iter().map(Tool::of).collect(),
        tool_choice: match request.tool_choice {
            // Without tools the vendor refuses the key.
            _ if request.tools.is_empty() => None,
            ToolChoice::Auto => None,
            ToolChoice::Required => Some("required"),
            ToolChoice::None => Some("none"),
        },
        stream: true,
        stream_options: StreamOptions {
            include_usage: true,
        },
        max_completion_tokens,
        max_tokens,
        temperature: config.temperature,
        top_p: config.top_p,
        seed: config.seed,
        stop: &config.stop,
    };
    serde_json::to_vec(&body).expect("texts, numbers and JSON values have a JSON form")
}

/// Results first, each a message of its own: the vendor wants them right after the calls. Then what is said.
fn user<'a>(message: &'a Message, messages: &mut Vec<Wire<'a>>) {
    let mut said: Vec<&str> = Vec::new();
    let mut results = false;
    for block in &message.blocks {
        match block {
            Block::Text { text } => said.push(text),
            Block::ToolResult { call_id, text, .. } => {
                results = true;
                messages.push(Wire {
                    tool_call_id: Some(call_id),
                    ..Wire::text("tool", text.into())
                });
            }
            Block::ToolCall(_) | Block::Opaque { .. } => {}
        }
    }
    if !said.is_empty() || !results {
        let said = match said.as_slice() {
            [only] => Cow::Borrowed(*only),
            several => several.join("\n\n").into(),
        };
        messages.push(Wire::text("user", said));
    }
}

fn assistant(message: &Message, vendor: Vendor) -> Wire<'_> {
    let mut wire = Wire {
        role: "assistant",
        ..Wire::default()
    };
    let mut text: Option<Cow<'_, str>> = None;
    for block in &message.blocks {
        match block {
            Block::Text { text: more } => match &mut text {
                Some(text) => text.to_mut().push_str(more),
                None => text = Some(more.into()),
            },
            Block::ToolCall(call) => wire.tool_calls.push(Call::of(call)),
            Block::Opaque {
                vendor: theirs,
                value: Value::Object(fields),
            } if theirs == vendor.as_str() => {
                let fields = fields
                    .iter()
                    .filter(|(key, _)| !OWN_KEYS.contains(&key.as_str()));
                wire.opaque
                    .extend(fields.map(|(key, value)| (key.as_str(), value)));
            }
            Block::Opaque { .. } | Block::ToolResult { .. } => {}
        }
    }
    // A turn with neither text nor calls has to say something, be it nothing.
    wire.content = text.or_else(|| wire.tool_calls.is_empty().then_some("".into()));
    wire
}

const OWN_KEYS: [&str; 4] = ["role", "content", "tool_calls", "tool_call_id"];

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Wire<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize, Default)]
struct Wire<'a> {
    role: &'static str,
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(flatten)]
    opaque: BTreeMap<&'a str, &'a Value>,
}

impl<'a> Wire<'a> {
    fn text(role: &'static str, text: Cow<'a, str>) -> Self {
        Self {
            role,
            content: Some(text),
            ..Self::default()
        }
    }
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: Cow<'a, str>,
}

impl<'a> Call<'a> {
    fn of(call: &'a ToolCall) -> Self {
        Self {
            id: &call.id,
            r#type: "function",
            function: Function {
                name: &call.name,
                arguments: match &call.arguments {
                    Arguments::Json(value) => value.to_string().into(),
                    Arguments::Invalid { raw, .. } => raw.into(),
                },
            },
        }
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: &'a ToolSpec,
}

impl<'a> Tool<'a> {
    const fn of(spec: &'a ToolSpec) -> Self {
        Self {
            r#type: "function",
            function: spec,
        }
    }
}

#[cfg(test)]
mod tests;
