//! The vendors that are known, and what can be said about a provider without a network.

use super::{ProviderConfig, Vendor};
use crate::base::Pattern;
use crate::net::target;

/// A setting that not every vendor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Knob {
    BaseUrl,
    ApiKey,
    Headers,
    MaxOutputTokens,
    Temperature,
    TopP,
    Seed,
    Stop,
    Script,
}

impl Knob {
    const ALL: [Self; 9] = [
        Self::BaseUrl,
        Self::ApiKey,
        Self::Headers,
        Self::MaxOutputTokens,
        Self::Temperature,
        Self::TopP,
        Self::Seed,
        Self::Stop,
        Self::Script,
    ];

    const fn key(self) -> &'static str {
        match self {
            Self::BaseUrl => "base_url",
            Self::ApiKey => "api_key",
            Self::Headers => "headers",
            Self::MaxOutputTokens => "max_output_tokens",
            Self::Temperature => "temperature",
            Self::TopP => "top_p",
            Self::Seed => "seed",
            Self::Stop => "stop",
            Self::Script => "script",
        }
    }

    fn is_set(self, config: &ProviderConfig) -> bool {
        match self {
            Self::BaseUrl => config.base_url.is_some(),
            Self::ApiKey => config.api_key.is_some(),
            Self::Headers => !config.headers.is_empty(),
            Self::MaxOutputTokens => config.max_output_tokens.is_some(),
            Self::Temperature => config.temperature.is_some(),
            Self::TopP => config.top_p.is_some(),
            Self::Seed => config.seed.is_some(),
            Self::Stop => !config.stop.is_empty(),
            Self::Script => config.script.is_some(),
        }
    }
}

/// What is known about a vendor.
#[derive(Debug)]
pub struct VendorEntry {
    /// The vendor.
    pub vendor: Vendor,
    /// Where its endpoints lie; `None` where the suite has to say it, or nothing is dialled.
    pub base_url: Option<&'static str>,
    /// The environment variable that usually holds its key. It is read for the vendor's own address alone.
    pub key_variable: Option<&'static str>,
    /// Whether a call without a key cannot succeed.
    pub key_required: bool,
    /// Whether a model has to be named.
    pub model_required: bool,
    /// How many stop texts it takes.
    most_stops: usize,
    lacks: &'static [Knob],
}

/// Every vendor.
pub const VENDORS: &[VendorEntry] = &[
    VendorEntry {
        vendor: Vendor::OpenAi,
        base_url: Some("https://api.openai.com/v1"),
        key_variable: Some("OPENAI_API_KEY"),
        key_required: true,
        model_required: true,
        most_stops: 4,
        lacks: &[Knob::Script],
    },
    VendorEntry {
        vendor: Vendor::Compatible,
        base_url: None,
        key_variable: None,
        key_required: false,
        model_required: true,
        most_stops: 16,
        lacks: &[Knob::Script],
    },
    VendorEntry {
        vendor: Vendor::Scripted,
        base_url: None,
        key_variable: None,
        key_required: false,
        model_required: false,
        most_stops: 0,
        lacks: &[
            Knob::BaseUrl,
            Knob::ApiKey,
            Knob::Headers,
            Knob::MaxOutputTokens,
            Knob::Temperature,
            Knob::TopP,
            Knob::Seed,
            Knob::Stop,
        ],
    },
];

/// Names of models that are known to change what they mean, as patterns over the whole name in small letters.
pub const FLOATING: [&str; 5] = ["*-latest", "*:latest", "latest", "auto", "*/auto"];

/// Headers that the exchange itself decides.
const RESERVED_HEADERS: [&str; 6] = [
    "host",
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
    "accept",
];

impl Vendor {
    /// What is known about the vendor.
    #[must_use]
    pub fn entry(self) -> &'static VendorEntry {
        VENDORS
            .iter()
            .find(|entry| entry.vendor == self)
            .expect("the table has every vendor")
    }
}

/// Whether a model's name is known to mean another model later.
#[must_use]
pub fn is_floating(model: &str) -> bool {
    let model = model.to_lowercase();
    FLOATING
        .iter()
        .any(|pattern| Pattern::new(*pattern).matches(&model))
}

/// What is wrong with a provider as it is declared, as far as that shows without a network, an environment or a
/// file. Texts with references are checked when they are resolved. Each problem is a lowercase fragment.
#[must_use]
pub fn validate(config: &ProviderConfig) -> Vec<String> {
    let mut problems = Vec::new();
    let vendor = config.vendor.as_str();
    let entry = config.vendor.entry();
    match config.model.as_deref().map(str::trim) {
        None if entry.model_required => problems.push("`model` is missing: name the exact model".to_owned()),
        Some("") => problems.push("`model` is empty: name the exact model".to_owned()),
        Some(model) if is_floating(model) && !config.floating => problems.push(format!(
            "`model`: `{model}` may mean another model tomorrow: name a dated one, or say `floating: true`"
        )),
        _ => {}
    }
    for knob in Knob::ALL {
        if knob.is_set(config) && entry.lacks.contains(&knob) {
            problems.push(format!(
                "`{}`: vendor `{vendor}` has no such setting",
                knob.key()
            ));
        }
    }
    if entry.base_url.is_none() && entry.model_required && config.base_url.is_none() {
        problems.push(format!(
            "`base_url` is missing: vendor `{vendor}` needs an address, for instance `http://127.0.0.1:8080/v1`"
        ));
    }
    if let Some(url) = config.base_url.as_deref().filter(|url| !url.contains("${")) {
        problems.extend(url_problem(url).map(|why| format!("`base_url`: {why}")));
    }
    if config.vendor == Vendor::Scripted && config.script.is_none() {
        problems.push("`script` is missing: name the file that the provider plays".to_owned());
    }
    numbers(config, entry, &mut problems);
    headers(config, &mut problems);
    problems
}

/// Why nothing can be dialled below an address.
pub(super) fn url_problem(url: &str) -> Option<String> {
    if let Err(error) = target(url) {
        return Some(error.message);
    }
    let authority = url.split("://").nth(1).unwrap_or_default();
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some("an address with a user or a password would stand in every trace: use `api_key` or `headers`".to_owned());
    }
    if url.contains(['?', '#']) {
        return Some("a query or a fragment cannot stand before a path".to_owned());
    }
    if url.trim_end_matches('/').ends_with("/chat/completions") {
        return Some("leave `/chat/completions` away: it is added".to_owned());
    }
    None
}

fn numbers(config: &ProviderConfig, entry: &VendorEntry, problems: &mut Vec<String>) {
    let range = |key: &str, value: Option<f64>, high: f64| {
        value
            .filter(|value| !(0.0..=high).contains(value))
            .map(|value| format!("`{key}`: {value} is not between 0 and {high}"))
    };
    problems.extend(range("temperature", config.temperature, 2.0));
    problems.extend(range("top_p", config.top_p, 1.0));
    let limits = config.limits.unwrap_or_default();
    let retry = config.retry.unwrap_or_default();
    let zero = [
        (
            "max_output_tokens",
            config.max_output_tokens.map(|size| size.0),
        ),
        ("limits.concurrency", limits.concurrency.map(u64::from)),
        (
            "limits.requests_per_minute",
            limits.requests_per_minute.map(u64::from),
        ),
        (
            "limits.tokens_per_minute",
            limits.tokens_per_minute.map(|size| size.0),
        ),
        ("retry.attempts", retry.attempts.map(u64::from)),
    ];
    for (key, value) in zero {
        if value == Some(0) {
            problems.push(format!("`{key}`: 0 leaves nothing to do"));
        }
    }
    for (key, span) in [
        ("timeout", config.timeout),
        ("idle_timeout", config.idle_timeout),
    ] {
        if span.is_some_and(|span| span.0.is_zero()) {
            problems.push(format!("`{key}`: no call ends within 0s"));
        }
    }
    if config.stop.len() > entry.most_stops && entry.most_stops > 0 {
        problems.push(format!(
            "`stop`: vendor `{}` takes at most {} texts",
            config.vendor.as_str(),
            entry.most_stops
        ));
    }
    if config.stop.iter().any(String::is_empty) {
        problems.push("`stop`: an empty text would end every answer".to_owned());
    }
}

fn headers(config: &ProviderConfig, problems: &mut Vec<String>) {
    for (name, value) in &config.headers {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(token) {
            problems.push(format!("`headers`: {name:?} is no name of a header"));
        }
        if value
            .bytes()
            .any(|byte| byte.is_ascii_control() && byte != b'\t')
        {
            problems.push(format!(
                "`headers`: the value of `{name}` holds a control character"
            ));
        }
        let small = name.to_lowercase();
        if RESERVED_HEADERS.contains(&small.as_str()) {
            problems.push(format!("`headers`: `{name}` is set by the request itself"));
        }
        if small == "authorization" && config.api_key.is_some() {
            problems.push(
                "`headers`: `authorization` and `api_key` say the same thing twice: keep one"
                    .to_owned(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{VENDORS, is_floating, validate};
    use crate::provider::{ProviderConfig, Vendor};
    use serde_json::{Value, json};

    fn problems(config: Value) -> Vec<String> {
        let config: ProviderConfig = serde_json::from_value(config).expect("a provider");
        validate(&config)
    }

    #[test]
    fn the_table_has_every_vendor_once() {
        for vendor in [Vendor::OpenAi, Vendor::Compatible, Vendor::Scripted] {
            assert_eq!(
                VENDORS
                    .iter()
                    .filter(|entry| entry.vendor == vendor)
                    .count(),
                1
            );
            assert_eq!(vendor.entry().vendor, vendor);
        }
    }

    #[test]
    fn nothing_is_wrong_with_these() {
        for config in [
            json!({"vendor": "openai", "model": "gpt-x-2026-01-01", "temperature": 0, "seed": 1, "stop": ["a"]}),
            json!({"vendor": "compatible", "model": "m", "base_url": "http://127.0.0.1:8080/v1"}),
            json!({"vendor": "compatible", "model": "m", "base_url": "${env:BASE}", "headers": {"X-A": "${env:A}"}}),
            json!({"vendor": "compatible", "model": "m-latest", "floating": true, "base_url": "http://[::1]:1"}),
            json!({"vendor": "scripted", "script": "a.yaml"}),
            json!({"vendor": "scripted", "script": "a.yaml", "limits": {"concurrency": 2}}),
        ] {
            assert_eq!(problems(config.clone()), Vec::<String>::new(), "{config}");
        }
    }

    #[test]
    fn each_problem_names_its_key() {
        for (config, expected) in [
            (json!({"vendor": "openai"}), "`model` is missing"),
            (
                json!({"vendor": "openai", "model": " "}),
                "`model` is empty",
            ),
            (
                json!({"vendor": "openai", "model": "chatgpt-5-Latest"}),
                "floating: true",
            ),
            (
                json!({"vendor": "openai", "model": "m", "script": "x"}),
                "`script`: vendor `openai`",
            ),
            (
                json!({"vendor": "openai", "model": "m", "temperature": 2.5}),
                "`temperature`: 2.5 is not between 0 and 2",
            ),
            (
                json!({"vendor": "openai", "model": "m", "top_p": -1}),
                "`top_p`",
            ),
            (
                json!({"vendor": "openai", "model": "m", "stop": ["a", "b", "c", "d", "e"]}),
                "at most 4",
            ),
            (
                json!({"vendor": "openai", "model": "m", "stop": [""]}),
                "`stop`",
            ),
            (
                json!({"vendor": "openai", "model": "m", "limits": {"concurrency": 0}}),
                "`limits.concurrency`",
            ),
            (
                json!({"vendor": "openai", "model": "m", "retry": {"attempts": 0}}),
                "`retry.attempts`",
            ),
            (
                json!({"vendor": "openai", "model": "m", "timeout": "0s"}),
                "`timeout`",
            ),
            (
                json!({"vendor": "openai", "model": "m", "headers": {"a b": "c"}}),
                "no name of a header",
            ),
            (
                json!({"vendor": "openai", "model": "m", "headers": {"a": "b\nc"}}),
                "control character",
            ),
            (
                json!({"vendor": "openai", "model": "m", "headers": {"Host": "b"}}),
                "`Host`",
            ),
            (
                json!({"vendor": "openai", "model": "m", "api_key": "k", "headers": {"Authorization": "b"}}),
                "twice",
            ),
            (
                json!({"vendor": "compatible", "model": "m"}),
                "`base_url` is missing",
            ),
            (
                json!({"vendor": "compatible", "model": "m", "base_url": "localhost:80"}),
                "`base_url`",
            ),
            (
                json!({"vendor": "compatible", "model": "m", "base_url": "http://u:p@h/v1"}),
                "user or a password",
            ),
            (
                json!({"vendor": "compatible", "model": "m", "base_url": "http://h/v1?k=v"}),
                "query",
            ),
            (
                json!({"vendor": "compatible", "model": "m", "base_url": "http://h/v1/chat/completions/"}),
                "is added",
            ),
            (json!({"vendor": "scripted"}), "`script` is missing"),
            (
                json!({"vendor": "scripted", "script": "x", "seed": 1}),
                "`seed`: vendor `scripted`",
            ),
        ] {
            let problems = problems(config.clone());
            assert_eq!(problems.len(), 1, "{config}: {problems:?}");
            assert!(problems[0].contains(expected), "{config}: {problems:?}");
        }
    }

    #[test]
    fn floating_names() {
        for (model, floats) in [
            ("claude-x-latest", true),
            ("openrouter/auto", true),
            ("auto", true),
            ("llama3:latest", true),
            ("latest-model-1", false),
            ("automatic", false),
            ("gpt-4o-2024-08-06", false),
        ] {
            assert_eq!(is_floating(model), floats, "{model}");
        }
    }
}
