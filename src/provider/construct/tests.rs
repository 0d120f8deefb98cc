use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Built, ConstructError, Parts, Secrets, construct};
use crate::base::{ManualClock, Redactor};
use crate::net::Client;

fn parts() -> Parts {
    Parts {
        client: Client::default(),
        clock: Arc::new(ManualClock::default()),
        redactor: Redactor::default(),
    }
}

fn env(name: &str) -> Option<String> {
    match name {
        "KEY" | "OPENAI_API_KEY" => Some("sk-from-the-environment\n".to_owned()),
        "BASE" => Some("http://127.0.0.1:9/v1".to_owned()),
        "EMPTY" => Some("  ".to_owned()),
        "SPLIT" => Some("a\r\nx-evil: 1".to_owned()),
        "WITH_PASSWORD" => Some("http://u:hunter2@h/v1".to_owned()),
        _ => None,
    }
}

fn build(config: Value, base: &Path, parts: &Parts) -> Result<Built, ConstructError> {
    let config = serde_json::from_value(config).expect("a provider");
    construct("p", &config, &Secrets { env: &env, base }, parts)
}

fn local(extra: Value) -> Value {
    let mut config =
        json!({"vendor": "compatible", "model": "m", "base_url": "http://127.0.0.1:9/v1/"});
    for (key, value) in extra.as_object().expect("a map") {
        config[key] = value.clone();
    }
    config
}

#[test]
fn references_are_resolved_and_redacted() {
    let folder = tempfile::tempdir().expect("a folder");
    #[expect(clippy::disallowed_methods, reason = "a file for the test to find")]
    std::fs::write(folder.path().join("key.txt"), "sk-from-a-file\r\n").expect("written");
    for (config, secret) in [
        (
            local(json!({"api_key": "${env:KEY}"})),
            Some("sk-from-the-environment"),
        ),
        (
            local(json!({"api_key": "${file:key.txt}"})),
            Some("sk-from-a-file"),
        ),
        (
            local(json!({"headers": {"X-Token": "t ${file:key.txt}"}})),
            Some("sk-from-a-file"),
        ),
        (
            local(json!({"headers": {"X-Api-Key": "as-it-stands"}})),
            Some("as-it-stands"),
        ),
        (
            local(json!({"api_key": "as-it-stands"})),
            Some("as-it-stands"),
        ),
        (local(json!({"base_url": "${env:BASE}"})), None),
        (
            json!({"vendor": "openai", "model": "m"}),
            Some("sk-from-the-environment"),
        ),
        (
            json!({"vendor": "openai", "model": "m", "base_url": "https://api.openai.com/v1/"}),
            Some("sk-from-the-environment"),
        ),
    ] {
        let parts = parts();
        let built = build(config.clone(), folder.path(), &parts).expect("callable");
        let endpoints = built.endpoints();
        assert!(
            endpoints[0].ends_with("/v1/chat/completions"),
            "{endpoints:?}"
        );
        if let Some(secret) = secret {
            assert_eq!(parts.redactor.clean(secret), "[redacted]", "{config}");
        }
    }
}

#[test]
fn what_cannot_be_called_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    for (config, expected, unavailable) in [
        (
            local(json!({"api_key": "${env:NOPE}"})),
            "provider `p`: `api_key` wants the environment variable NOPE",
            true,
        ),
        (
            local(json!({"api_key": "${env:EMPTY}"})),
            "variable EMPTY, which is unset or empty",
            true,
        ),
        (
            local(json!({"api_key": "${file:none.txt}"})),
            "none.txt",
            true,
        ),
        (
            local(json!({"headers": {"X-A": "${env:NOPE}"}})),
            "`headers.X-A`",
            true,
        ),
        (
            local(json!({"api_key": "${env:KEY"})),
            "`${env:KEY`: write `${env:NAME}`",
            false,
        ),
        (local(json!({"api_key": "${KEY}"})), "`${KEY}`", false),
        (
            local(json!({"api_key": "${vault:KEY}"})),
            "`${vault:KEY}`",
            false,
        ),
        (local(json!({"api_key": "${env:}"})), "`${env:}`", false),
        (
            local(json!({"headers": {"X-A": "${env:SPLIT}"}})),
            "control character",
            false,
        ),
        (
            local(json!({"base_url": "${env:WITH_PASSWORD}"})),
            "user or a password",
            false,
        ),
        (
            local(json!({"base_url": "${env:KEY}"})),
            "`base_url`: not a URL",
            false,
        ),
        (json!({"vendor": "openai"}), "`model` is missing", false),
        (
            json!({"vendor": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}),
            "OPENAI_API_KEY is sent to the vendor's own address only",
            true,
        ),
        (
            json!({"vendor": "scripted", "script": "none.yaml"}),
            "none.yaml",
            false,
        ),
    ] {
        let error = build(config.clone(), folder.path(), &parts()).expect_err("not callable");
        let text = error.to_string();
        assert!(text.contains(expected), "{config}: {text}");
        assert_eq!(error.is_unavailable(), unavailable, "{config}");
        for secret in ["sk-from", "hunter2", "evil"] {
            assert!(!format!("{text} {error:?}").contains(secret), "{text}");
        }
    }
}

#[test]
fn an_authorization_header_stands_for_the_key() {
    let config = json!({"vendor": "openai", "model": "m", "base_url": "http://127.0.0.1:9", "headers": {"Authorization": "Basic ${env:KEY}"}});
    // The line end of the variable's value would split the header.
    assert!(build(config, Path::new("."), &parts()).is_err());
    let config = json!({"vendor": "openai", "model": "m", "base_url": "http://127.0.0.1:9", "headers": {"Authorization": "Basic abc"}});
    assert!(build(config, Path::new("."), &parts()).is_ok());
}
