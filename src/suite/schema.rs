//! The JSON Schema of the format, derived from its types, and the same schema as tables for the diagnostics.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::types::SuiteFile;

/// The JSON Schema (2020-12) of a suite file, for editors and for `docs/suite.schema.json`. Key order is stable.
#[must_use]
pub fn schema() -> Value {
    TABLES.clone()
}

static TABLES: LazyLock<Value> = LazyLock::new(make);

fn make() -> Value {
    let generator = SchemaSettings::draft2020_12()
        .for_deserialize()
        .into_generator();
    let mut root = generator.into_root_schema_for::<SuiteFile>().to_value();
    tidy(&mut root);
    // `defaults` has the keys of a task but its name; a task has a name, and may have the rest from `defaults`.
    if let Some(definitions) = root.get_mut("$defs").and_then(Value::as_object_mut)
        && let Some(Value::Object(task)) = definitions.get_mut("Task")
    {
        task.insert("required".to_owned(), json!(["id"]));
        let defaults = without_id(Value::Object(task.clone()));
        definitions.insert("Defaults".to_owned(), defaults);
    }
    sorted(root)
}

/// What a task may leave to the suite's defaults: all its keys but its name.
fn without_id(mut task: Value) -> Value {
    if let Some(task) = task.as_object_mut() {
        task.insert(
            "description".to_owned(),
            json!("What a task does not say: the keys of a task, without `id`."),
        );
        task.remove("required");
        if let Some(properties) = task.get_mut("properties").and_then(Value::as_object_mut) {
            properties.remove("id");
        }
    }
    task
}

/// Takes out what the format does not have: a key without a value is an error, so `null` is no type here, and
/// defaults that are nothing say nothing. Descriptions lose the line breaks of the source.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(forms)) = object.get_mut("anyOf") {
                forms.retain(|form| form.get("type") != Some(&json!("null")));
                if let [Value::Object(only)] = forms.as_slice() {
                    let only = only.clone();
                    object.remove("anyOf");
                    for (key, value) in only {
                        object.entry(key).or_insert(value);
                    }
                }
            }
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            }
            if matches!(object.get("default"), Some(Value::Null)) {
                object.remove("default");
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Keys in the order of their names, whatever order the map type keeps.
pub(crate) fn sorted(value: Value) -> Value {
    match value {
        Value::Object(mut object) => {
            if !object.keys().is_sorted() {
                let mut entries: Vec<(String, Value)> = object.into_iter().collect();
                entries.sort_by(|a, b| a.0.cmp(&b.0));
                object = entries.into_iter().collect::<Map<_, _>>();
            }
            for value in object.values_mut() {
                *value = sorted(value.take());
            }
            Value::Object(object)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// A part of the schema, with references followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table<'a> {
    value: &'a Value,
    /// The name of the definition that it is, where it is one.
    pub name: &'a str,
}

impl Table<'static> {
    /// The whole file.
    pub(crate) fn suite() -> Self {
        Self::of(&TABLES).named("Suite")
    }

    /// The map of providers.
    pub(crate) fn providers() -> Self {
        TABLES
            .pointer("/properties/providers/anyOf/0")
            .map_or_else(Self::suite, |value| Self::of(value).named("Providers"))
    }

    const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    fn of(value: &'static Value) -> Self {
        let mut table = Self { value, name: "" };
        // A chain of references is as long as the types make it: two at most.
        for _ in 0..4 {
            let Some(name) = table
                .value
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|reference| reference.strip_prefix("#/$defs/"))
            else {
                break;
            };
            let Some(value) = TABLES.get("$defs").and_then(|all| all.get(name)) else {
                break;
            };
            table = Self { value, name };
        }
        table
    }

    pub(crate) fn property(self, key: &str) -> Option<Self> {
        self.value
            .get("properties")
            .and_then(|all| all.get(key))
            .map(Self::of)
    }

    pub(crate) fn properties(self) -> impl Iterator<Item = &'static str> {
        self.value
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|all| all.keys().map(String::as_str))
    }

    pub(crate) fn required(self) -> impl Iterator<Item = &'static str> {
        self.value
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    }

    /// What every other key holds, where other keys may be.
    pub(crate) fn additional(self) -> Option<Self> {
        self.value
            .get("additionalProperties")
            .filter(|value| value.is_object())
            .map(Self::of)
    }

    pub(crate) fn items(self) -> Option<Self> {
        self.value.get("items").map(Self::of)
    }

    /// The forms that a value may take, where there are several.
    pub(crate) fn forms(self) -> impl Iterator<Item = Self> {
        ["anyOf", "oneOf"]
            .into_iter()
            .filter_map(|key| self.value.get(key))
            .filter_map(Value::as_array)
            .flatten()
            .map(Self::of)
    }

    /// The names that a value may be, where it is one of a few.
    pub(crate) fn names(self) -> Vec<&'static str> {
        match self.value.get("enum").and_then(Value::as_array) {
            Some(names) => names.iter().filter_map(Value::as_str).collect(),
            None => self
                .forms()
                .filter_map(|form| form.value.get("const").and_then(Value::as_str))
                .collect(),
        }
    }

    pub(crate) fn is(self, kind: &str) -> bool {
        match self.value.get("type") {
            Some(Value::String(name)) => name == kind,
            Some(Value::Array(names)) => names.iter().any(|name| name == kind),
            _ => false,
        }
    }

    pub(crate) fn number(self, key: &str) -> Option<f64> {
        self.value.get(key).and_then(Value::as_f64)
    }

    /// The largest whole number of the type behind it.
    pub(crate) fn ceiling(self) -> Option<u64> {
        match self.value.get("format").and_then(Value::as_str) {
            Some("uint32") => Some(u64::from(u32::MAX)),
            Some("int32") => Some(u64::from(i32::MAX.unsigned_abs())),
            _ => None,
        }
    }
}
