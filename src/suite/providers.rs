//! What a declared provider can get wrong before any network is touched.

use std::collections::BTreeMap;
use std::path::Path;

use super::diagnose::{Desk, quoted};
use super::node::At;
use super::resolve::{Wanted, exists};
use crate::base::Span;
use crate::provider::{ProviderConfig, Vendor};

/// Checks all providers and makes the paths of their scripts absolute, from the folder of the file that declares them.
pub(crate) fn check(
    providers: &mut BTreeMap<String, ProviderConfig>,
    folder: &Path,
    at: At<'_>,
    desk: &mut Desk<'_>,
) {
    for (name, config) in providers {
        let fits = !name.is_empty()
            && name.len() <= 100
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'));
        if !fits {
            desk.say(
                at.key_name(name).mark(),
                format!("{} is not a provider's name", quoted(name)),
                "letters, digits, `-`, `.` and `_`",
            );
        }
        let here = at.key(name);
        identity(name, config, here, desk);
        numbers(config, here, desk);
        if let Some(script) = &mut config.script {
            let written = script.to_string_lossy().into_owned();
            *script = folder.join(&*script);
            exists(
                desk,
                here.key("script").mark(),
                &written,
                script,
                Wanted::File("script"),
            );
        }
    }
}

/// Which model is asked, and where.
fn identity(name: &str, config: &ProviderConfig, at: At<'_>, desk: &mut Desk<'_>) {
    let scripted = config.vendor == Vendor::Scripted;
    match config.model.as_deref() {
        None if !scripted => desk.say(
            at.mark(),
            format!("the provider {} names no model", quoted(name)),
            "`model` is required",
        ),
        Some(model) if model.trim().is_empty() => {
            desk.say(
                at.key("model").mark(),
                "an empty model",
                "name the exact id",
            );
        }
        Some(model) if !config.floating && !scripted && floats(model) => {
            let problem = desk
                .at(
                    at.key("model").mark(),
                    format!("the model {} is not pinned", quoted(model)),
                    "this name comes to mean another model",
                )
                .help("name the exact id, or accept it with `floating: true`");
            desk.add(problem);
        }
        _ => {}
    }
    match (config.vendor, &config.base_url) {
        (Vendor::Compatible, None) => desk.say(
            at.mark(),
            format!("the provider {} names no server", quoted(name)),
            "`base_url` is required with `vendor: compatible`",
        ),
        (_, Some(url)) if !url.contains("${") && !is_address(url) => desk.say(
            at.key("base_url").mark(),
            format!("{} is no address", quoted(url)),
            "begins with `http://` or `https://`",
        ),
        _ => {}
    }
    if config.script.is_some() && !scripted {
        desk.say(
            at.key_name("script").mark(),
            format!("a script for the vendor `{}`", config.vendor.as_str()),
            "only `scripted` plays one",
        );
    }
}

fn is_address(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

/// Whether a model's name is known to come to mean other models.
fn floats(model: &str) -> bool {
    model == "latest"
        || model.ends_with("-latest")
        || model.ends_with(":latest")
        || model == "openrouter/auto"
}

fn numbers(config: &ProviderConfig, at: At<'_>, desk: &mut Desk<'_>) {
    for (key, value, most) in [
        ("temperature", config.temperature, 2.0),
        ("top_p", config.top_p, 1.0),
    ] {
        if value.is_some_and(|value| !(0.0..=most).contains(&value)) {
            desk.say(
                at.key(key).mark(),
                format!("`{key}` is out of range"),
                format!("must be from 0 to {most}"),
            );
        }
    }
    let limits = config.limits.unwrap_or_default();
    let retry = config.retry.unwrap_or_default();
    for (outer, key, value) in [
        (
            "",
            "max_output_tokens",
            config.max_output_tokens.map(|size| size.0),
        ),
        ("limits", "concurrency", limits.concurrency.map(u64::from)),
        (
            "limits",
            "requests_per_minute",
            limits.requests_per_minute.map(u64::from),
        ),
        (
            "limits",
            "tokens_per_minute",
            limits.tokens_per_minute.map(|size| size.0),
        ),
        ("retry", "attempts", retry.attempts.map(u64::from)),
    ] {
        if value == Some(0) {
            let here = if outer.is_empty() { at } else { at.key(outer) };
            desk.say(
                here.key(key).mark(),
                format!("`{key}` cannot be 0"),
                "at least 1 is needed",
            );
        }
    }
    let zero = |span: Option<Span>| span.is_some_and(|span| span.0.is_zero());
    for (key, span) in [
        ("timeout", config.timeout),
        ("idle_timeout", config.idle_timeout),
    ] {
        if zero(span) {
            desk.say(
                at.key(key).mark(),
                format!("`{key}` cannot be nothing"),
                "must be more than 0s",
            );
        }
    }
}
