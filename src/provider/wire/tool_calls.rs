//! Tool calls that arrive in fragments, and the ways in which servers number them.

use std::collections::HashSet;

use serde_json::Value;

use crate::domain::{Arguments, ToolCall};

/// More calls than this in one answer are no work but a loop.
const MOST_CALLS: usize = 512;

/// Calls under construction, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Partial>,
    /// Bytes kept so far, for the limit of the whole answer.
    bytes: usize,
}

#[derive(Debug, Default)]
struct Partial {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    value: Closed,
}

/// A fragment as it came. Absent and empty texts mean the same.
struct Fragment<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    arguments: std::borrow::Cow<'a, str>,
}

impl Calls {
    /// How many bytes the fragments held that were kept.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes one element of `tool_calls`. `false` where there are too many calls.
    pub(super) fn push(&mut self, fragment: &Value) -> bool {
        let function = fragment.get("function").unwrap_or(fragment);
        let text = |value: &'_ Value, key: &str| -> String {
            value
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let (id, name) = (text(fragment, "id"), text(function, "name"));
        let fragment = Fragment {
            index: fragment.get("index").and_then(Value::as_u64),
            id: &id,
            name: &name,
            arguments: match function.get("arguments") {
                None | Some(Value::Null) => "".into(),
                Some(Value::String(text)) => text.as_str().into(),
                // Some servers send the arguments as the value that the text should have been.
                Some(value) => value.to_string().into(),
            },
        };
        let at = match self.find(&fragment) {
            Some(at) => at,
            None if self.calls.len() >= MOST_CALLS => return false,
            None => {
                self.calls.push(Partial {
                    index: fragment.index,
                    ..Partial::default()
                });
                self.calls.len() - 1
            }
        };
        self.bytes += id.len() + name.len() + fragment.arguments.len();
        self.calls[at].take(&fragment);
        true
    }

    /// Which call a fragment goes on with; `None` where it begins another.
    fn find(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let last = |fits: &dyn Fn(&Partial) -> bool| self.calls.iter().rposition(fits);
        let candidate = if !fragment.id.is_empty() {
            let same = last(&|call| {
                call.id == fragment.id
                    && (fragment.index.is_none()
                        || call.index.is_none()
                        || call.index == fragment.index)
            });
            // An id that nobody has may be the late id of a call that began without one.
            same.or_else(|| last(&|call| call.id.is_empty() && call.index == fragment.index))
        } else if fragment.index.is_some() {
            last(&|call| call.index == fragment.index)
        } else {
            self.calls.len().checked_sub(1)
        }?;
        self.calls[candidate]
            .goes_on_with(fragment)
            .then_some(candidate)
    }

    /// The calls, each with an id that is its own. `None` where one has no name.
    pub(super) fn finish(self, step: u32) -> Option<Vec<ToolCall>> {
        let mut taken: HashSet<String> = HashSet::new();
        let mut calls = Vec::with_capacity(self.calls.len());
        for (at, call) in self.calls.into_iter().enumerate() {
            if call.name.is_empty() {
                return None;
            }
            let mut id = call.id;
            if id.is_empty() || taken.contains(&id) {
                // A vendor's own id of this shape may stand later in the list: the number goes on until it is free.
                id = (at + 1..)
                    .map(|number| format!("call_{step}_{number}"))
                    .find(|id| !taken.contains(id))?;
            }
            taken.insert(id.clone());
            calls.push(ToolCall {
                id,
                name: call.name,
                arguments: Arguments::parse(&call.arguments),
            });
        }
        Some(calls)
    }
}

impl Partial {
    /// Whether a fragment that was found by id or number belongs here, judged by the name: servers that give every
    /// call the same number send each whole, so a name after complete arguments begins another call.
    fn goes_on_with(&self, fragment: &Fragment<'_>) -> bool {
        if fragment.name.is_empty() || self.name.is_empty() {
            return true;
        }
        if !fragment.id.is_empty() && self.id == fragment.id {
            return true;
        }
        if fragment.name == self.name {
            !self.value.is_complete()
        } else {
            // The rest of a name comes before any argument.
            self.arguments.is_empty() && fragment.id.is_empty()
        }
    }

    fn take(&mut self, fragment: &Fragment<'_>) {
        if self.id.is_empty() {
            fragment.id.clone_into(&mut self.id);
        }
        // Some servers repeat the name in every fragment.
        if fragment.name != self.name && self.arguments.is_empty() {
            self.name.push_str(fragment.name);
        }
        self.value.push(&fragment.arguments);
        self.arguments.push_str(&fragment.arguments);
    }
}

/// Whether an object that arrives in fragments is complete, found in one pass over it.
#[derive(Debug, Default)]
struct Closed {
    depth: usize,
    in_string: bool,
    escaped: bool,
    closed: bool,
}

impl Closed {
    fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.closed |= self.depth == 0;
                }
                _ => {}
            }
        }
    }

    const fn is_complete(&self) -> bool {
        self.closed
    }
}

#[cfg(test)]
mod tests {
    use super::{Calls, MOST_CALLS};
    use crate::domain::Arguments;
    use serde_json::{Value, json};

    /// `id name arguments` of each call.
    fn merged(fragments: &[Value]) -> Vec<String> {
        let mut calls = Calls::default();
        for fragment in fragments {
            assert!(calls.push(fragment));
        }
        calls
            .finish(3)
            .expect("every call has a name")
            .into_iter()
            .map(|call| {
                let arguments = match call.arguments {
                    Arguments::Json(value) => value.to_string(),
                    Arguments::Invalid { raw, .. } => format!("invalid {raw}"),
                };
                format!("{} {} {arguments}", call.id, call.name)
            })
            .collect()
    }

    fn part(index: Option<u64>, id: &str, name: &str, arguments: &str) -> Value {
        let mut part = json!({"function": {"arguments": arguments}});
        if let Some(index) = index {
            part["index"] = index.into();
        }
        if !id.is_empty() {
            part["id"] = id.into();
        }
        if !name.is_empty() {
            part["function"]["name"] = name.into();
        }
        part
    }

    #[test]
    fn as_documented() {
        assert_eq!(
            merged(&[
                part(Some(0), "a", "read", ""),
                part(Some(0), "", "", "{\"p\":"),
                part(Some(0), "", "", "1}"),
                part(Some(1), "b", "write", "{}"),
            ]),
            ["a read {\"p\":1}", "b write {}"]
        );
        // Interleaved.
        assert_eq!(
            merged(&[
                part(Some(0), "a", "read", "{\"p\""),
                part(Some(1), "b", "read", "{\"q\""),
                part(Some(0), "", "", ":1}"),
                part(Some(1), "", "", ":2}"),
            ]),
            ["a read {\"p\":1}", "b read {\"q\":2}"]
        );
    }

    #[test]
    fn numbered_in_other_ways() {
        let table: &[(&str, &[Value], &[&str])] = &[
            (
                "every call has number 0 and an id",
                &[
                    part(Some(0), "a", "read", "{}"),
                    part(Some(0), "b", "read", "{\"p\":1}"),
                ],
                &["a read {}", "b read {\"p\":1}"],
            ),
            (
                "every call has number 0 and no id",
                &[
                    part(Some(0), "", "read", "{}"),
                    part(Some(0), "", "read", "{\"p\":1}"),
                ],
                &["call_3_1 read {}", "call_3_2 read {\"p\":1}"],
            ),
            (
                "no number, ids at the beginning",
                &[
                    part(None, "a", "read", "{\"p\""),
                    part(None, "", "", ":1}"),
                    part(None, "b", "write", "{}"),
                ],
                &["a read {\"p\":1}", "b write {}"],
            ),
            (
                "no number, an id in every fragment",
                &[
                    part(None, "a", "read", "{\"p\""),
                    part(None, "b", "write", "{\"q\""),
                    part(None, "a", "", ":1}"),
                    part(None, "b", "", ":2}"),
                ],
                &["a read {\"p\":1}", "b write {\"q\":2}"],
            ),
            (
                "neither number nor id",
                &[
                    part(None, "", "read", "{\"p\":1}"),
                    part(None, "", "write", "{}"),
                ],
                &["call_3_1 read {\"p\":1}", "call_3_2 write {}"],
            ),
            (
                "the name in every fragment",
                &[
                    part(Some(0), "a", "read", "{\"p\""),
                    part(Some(0), "a", "read", ":1}"),
                ],
                &["a read {\"p\":1}"],
            ),
            (
                "the name in every fragment, without an id",
                &[
                    part(Some(0), "", "read", "{\"p\""),
                    part(Some(0), "", "read", ":1}"),
                ],
                &["call_3_1 read {\"p\":1}"],
            ),
            (
                "a name in two parts",
                &[
                    part(Some(0), "a", "read_", ""),
                    part(Some(0), "", "file", "{}"),
                ],
                &["a read_file {}"],
            ),
            (
                "the id comes late",
                &[
                    part(Some(0), "", "read", "{\"p\""),
                    part(Some(0), "a", "", ":1}"),
                ],
                &["a read {\"p\":1}"],
            ),
            (
                "one id for two numbers",
                &[
                    part(Some(0), "a", "read", "{}"),
                    part(Some(1), "a", "read", "{}"),
                ],
                &["a read {}", "call_3_2 read {}"],
            ),
            (
                "no arguments at all",
                &[json!({"index": 0, "id": "a", "function": {"name": "list"}})],
                &["a list {}"],
            ),
            (
                "arguments as a value",
                &[json!({"id": "a", "function": {"name": "list", "arguments": {"p": 1}}})],
                &["a list {\"p\":1}"],
            ),
            (
                "cut off",
                &[part(Some(0), "a", "read", "{\"p\": \"sr")],
                &["a read invalid {\"p\": \"sr"],
            ),
            (
                "a bracket within a text completes nothing",
                &[
                    part(Some(0), "", "read", "{\"p\":\"}\\\"}"),
                    part(Some(0), "", "read", "\"}"),
                ],
                &["call_3_1 read {\"p\":\"}\\\"}\"}"],
            ),
            (
                "numbers of any size are names, not positions",
                &[
                    part(Some(u64::MAX), "a", "read", "{}"),
                    part(Some(7), "b", "read", "{}"),
                ],
                &["a read {}", "b read {}"],
            ),
        ];
        for (what, fragments, expected) in table {
            assert_eq!(merged(fragments), *expected, "{what}");
        }
    }

    #[test]
    fn what_is_no_call() {
        let mut calls = Calls::default();
        assert!(calls.push(&json!({"function": {"arguments": "{}"}})));
        assert!(calls.finish(1).is_none());

        let mut calls = Calls::default();
        for n in 0..MOST_CALLS {
            assert!(calls.push(&part(Some(n as u64), "", "read", "")));
        }
        assert!(!calls.push(&part(Some(100_000), "", "read", "")));

        let mut calls = Calls::default();
        for odd in [
            json!(null),
            json!(7),
            json!([]),
            json!("x"),
            json!({"index": -1}),
        ] {
            calls.push(&odd);
        }
        assert!(calls.finish(1).is_none());
    }
}
