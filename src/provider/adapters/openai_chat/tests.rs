use serde_json::{Value, json};

use super::body;
use crate::domain::{Arguments, Block, CompletionRequest, Message, ToolCall, ToolChoice, ToolSpec};
use crate::provider::ProviderConfig;

fn config(value: Value) -> ProviderConfig {
    serde_json::from_value(value).expect("a provider")
}

fn sent(config: &ProviderConfig, request: &CompletionRequest<'_>) -> Value {
    serde_json::from_slice(&body(config, "m-1", request)).expect("JSON")
}

fn request<'a>(messages: &'a [Message], tools: &'a [ToolSpec]) -> CompletionRequest<'a> {
    CompletionRequest {
        system: "You are careful.",
        messages,
        tools,
        tool_choice: ToolChoice::Auto,
        step: 1,
        attempt: 1,
    }
}

fn call(id: &str, arguments: Arguments) -> Block {
    Block::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        arguments,
    })
}

fn result(id: &str, text: &str) -> Block {
    Block::ToolResult {
        call_id: id.to_owned(),
        text: text.to_owned(),
        ok: true,
    }
}

fn text(text: &str) -> Block {
    Block::Text {
        text: text.to_owned(),
    }
}

fn conversation() -> Vec<Message> {
    vec![
        Message::user("Fix it."),
        Message::assistant(vec![
            Block::Opaque {
                vendor: "compatible".to_owned(),
                value: json!({"reasoning_content": "hm", "role": "system"}),
            },
            Block::Opaque {
                vendor: "another".to_owned(),
                value: json!({"signature": "x"}),
            },
            text("I will "),
            text("look."),
            call("a", Arguments::Json(json!({"path": "src/lib.rs"}))),
            call(
                "b",
                Arguments::Invalid {
                    raw: "{\"path\": ".to_owned(),
                    error: "cut".to_owned(),
                },
            ),
        ]),
        Message {
            role: crate::domain::Role::User,
            blocks: vec![
                text("Go on."),
                result("a", "fn main"),
                result("b", "no JSON"),
                text("Soon."),
            ],
        },
        Message::assistant(vec![call("c", Arguments::parse(""))]),
        Message {
            role: crate::domain::Role::User,
            blocks: vec![result("c", "")],
        },
        Message::assistant(vec![]),
    ]
}

#[test]
fn a_whole_conversation() {
    let messages = conversation();
    let tools = [ToolSpec {
        name: "read_file".to_owned(),
        description: "Reads a file.".to_owned(),
        parameters: json!({"type": "object"}),
    }];
    let config =
        config(json!({"vendor": "compatible", "max_output_tokens": "8k", "stop": ["END"]}));
    insta::assert_json_snapshot!(sent(&config, &request(&messages, &tools)), @r#"
{
  "max_tokens": 8000,
  "messages": [
    {
      "content": "You are careful.",
      "role": "system"
    },
    {
      "content": "Fix it.",
      "role": "user"
    },
    {
      "content": "I will look.",
      "reasoning_content": "hm",
      "role": "assistant",
      "tool_calls": [
        {
          "function": {
            "arguments": "{\"path\":\"src/lib.rs\"}",
            "name": "read_file"
          },
          "id": "a",
          "type": "function"
        },
        {
          "function": {
            "arguments": "{\"path\": ",
            "name": "read_file"
          },
          "id": "b",
          "type": "function"
        }
      ]
    },
    {
      "content": "fn main",
      "role": "tool",
      "tool_call_id": "a"
    },
    {
      "content": "no JSON",
      "role": "tool",
      "tool_call_id": "b"
    },
    {
      "content": "Go on.\n\nSoon.",
      "role": "user"
    },
    {
      "content": null,
      "role": "assistant",
      "tool_calls": [
        {
          "function": {
            "arguments": "{}",
            "name": "read_file"
          },
          "id": "c",
          "type": "function"
        }
      ]
    },
    {
      "content": "",
      "role": "tool",
      "tool_call_id": "c"
    },
    {
      "content": "",
      "role": "assistant"
    }
  ],
  "model": "m-1",
  "stop": [
    "END"
  ],
  "stream": true,
  "stream_options": {
    "include_usage": true
  },
  "tools": [
    {
      "function": {
        "description": "Reads a file.",
        "name": "read_file",
        "parameters": {
          "type": "object"
        }
      },
      "type": "function"
    }
  ]
}
"#);
}

#[test]
fn every_knob() {
    let config = config(json!({
        "vendor": "openai", "model": "m", "max_output_tokens": 100, "temperature": 0.25, "top_p": 0.9, "seed": 7,
    }));
    let messages = [Message::user("Hello.")];
    insta::assert_json_snapshot!(sent(&config, &request(&messages, &[])), @r#"
{
  "max_completion_tokens": 100,
  "messages": [
    {
      "content": "You are careful.",
      "role": "system"
    },
    {
      "content": "Hello.",
      "role": "user"
    }
  ],
  "model": "m-1",
  "seed": 7,
  "stream": true,
  "stream_options": {
    "include_usage": true
  },
  "temperature": 0.25,
  "top_p": 0.9
}
"#);
}

#[test]
fn a_tool_choice_needs_tools() {
    let config = config(json!({"vendor": "openai"}));
    let tools = [ToolSpec {
        name: "t".to_owned(),
        description: String::new(),
        parameters: json!({}),
    }];
    for (choice, expected) in [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::Required, json!("required")),
        (ToolChoice::None, json!("none")),
    ] {
        let with = CompletionRequest {
            tool_choice: choice,
            ..request(&[], &tools)
        };
        assert_eq!(sent(&config, &with)["tool_choice"], expected);
        let without = CompletionRequest { tools: &[], ..with };
        assert_eq!(sent(&config, &without)["tool_choice"], Value::Null);
    }
}

#[test]
fn equal_requests_are_equal_bytes_and_the_prefix_stays() {
    let config = config(json!({"vendor": "openai"}));
    let mut messages = vec![Message::user("a"), Message::assistant(vec![text("b")])];
    let first = body(&config, "m", &request(&messages, &[]));
    assert_eq!(first, body(&config, "m", &request(&messages, &[])));
    messages.push(Message::user("c"));
    let second = body(&config, "m", &request(&messages, &[]));
    let prefix = first
        .windows(2)
        .position(|pair| pair == b"}]")
        .expect("the end of the messages");
    assert_eq!(first[..prefix], second[..prefix]);
}
