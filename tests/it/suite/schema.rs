//! The published schema.

use std::path::Path;

#[test]
fn the_published_schema_is_the_one_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/suite.schema.json");
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    let mut current =
        serde_json::to_string_pretty(&taskgate::suite::schema()).expect("a schema is JSON");
    current.push('\n');
    assert!(
        published.replace("\r\n", "\n") == current,
        "docs/suite.schema.json is not the schema of the types: `taskgate schema > docs/suite.schema.json`"
    );
}

#[test]
fn every_object_is_closed_and_no_key_may_be_null() {
    fn look(value: &serde_json::Value, path: &str) {
        match value {
            serde_json::Value::Object(object) => {
                if object.contains_key("properties") {
                    assert_eq!(
                        object.get("additionalProperties"),
                        Some(&serde_json::Value::Bool(false)),
                        "{path}"
                    );
                }
                for (key, inner) in object {
                    look(inner, &format!("{path}/{key}"));
                }
            }
            serde_json::Value::Array(items) => {
                items.iter().for_each(|item| look(item, path));
            }
            other => assert_ne!(other.as_str(), Some("null"), "{path}"),
        }
    }
    let schema = taskgate::suite::schema();
    look(&schema, "");
    assert_eq!(schema["title"], "taskgate suite");
    assert!(schema.get("$id").is_none());
    for key in ["version", "name", "providers", "tasks"] {
        assert!(schema["required"].to_string().contains(key), "{key}");
    }
}
