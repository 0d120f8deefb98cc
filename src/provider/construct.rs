//! From a declared provider to one that can be called: references are resolved here and nowhere else.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use super::catalog::{url_problem, validate};
use super::chat::Chat;
use super::scripted::{Script, ScriptError, Scripted};
use super::wire::from_net;
use super::{Provider, ProviderConfig, Vendor};
use crate::base::{Clock, Redactor, one_line};
use crate::domain::ProviderError;
use crate::net::Client;

/// The largest file that a reference may name, in bytes.
const LARGEST_FILE: u64 = 64 << 10;

/// How long a server may take to accept a connection before it counts as out of reach.
const REACH: Duration = Duration::from_secs(5);

/// Headers whose values are secrets also where they stand in the suite as they are.
const SECRET_HEADERS: [&str; 5] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "cookie",
];

/// Where references lead.
#[derive(Clone, Copy)]
pub struct Secrets<'a> {
    /// The value of an environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The folder that relative paths start from: the suite's.
    pub base: &'a Path,
}

/// What all providers of a process share.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The pool of connections.
    pub client: Client,
    /// Measures the time to the first content, and waits for scripted delays.
    pub clock: Arc<dyn Clock>,
    /// Learns every secret that is resolved, before it is used.
    pub redactor: Redactor,
}

/// A provider that can be called.
#[derive(Clone)]
pub enum Built {
    /// One for all cases.
    Shared(Arc<dyn Provider>),
    /// One that may play another script for every case.
    Scripted(Scripted),
}

impl Built {
    /// The provider as a case calls it.
    #[must_use]
    pub fn for_case(&self, task: &str, trial: u32) -> Arc<dyn Provider> {
        match self {
            Self::Shared(provider) => Arc::clone(provider),
            Self::Scripted(scripted) => scripted.for_case(task, trial),
        }
    }

    /// The addresses that calls dial; none where they dial nothing.
    #[must_use]
    pub fn endpoints(&self) -> Vec<String> {
        match self {
            Self::Shared(provider) => provider.endpoints(),
            Self::Scripted(_) => Vec::new(),
        }
    }
}

impl std::fmt::Debug for Built {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Shared(_) => "Shared",
            Self::Scripted(_) => "Scripted",
        })
    }
}

/// Why a declared provider cannot be called here. No text holds the value of a reference.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConstructError {
    /// A variable is missing: the provider is not available on this machine.
    #[error(
        "provider `{provider}`: `{key}` wants the environment variable {variable}, which is unset or empty"
    )]
    Unset {
        /// The provider.
        provider: String,
        /// The key of its declaration.
        key: String,
        /// The variable.
        variable: String,
    },
    /// A key is needed for an address that is not the vendor's own, so that the usual variable does not count.
    #[error(
        "provider `{provider}`: `api_key` is missing: {variable} is sent to the vendor's own address only, and `base_url` names another"
    )]
    KeyForOther {
        /// The provider.
        provider: String,
        /// The variable that is not read.
        variable: String,
    },
    /// A file is missing, or is no text that could be used.
    #[error("provider `{provider}`: `{key}` wants the file {}: {reason}", path.display())]
    File {
        /// The provider.
        provider: String,
        /// The key of its declaration.
        key: String,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A `${` that begins no reference.
    #[error(
        "provider `{provider}`: `{key}` holds `{text}`: write `${{env:NAME}}` or `${{file:path}}`"
    )]
    Reference {
        /// The provider.
        provider: String,
        /// The key of its declaration.
        key: String,
        /// What stands there.
        text: String,
    },
    /// The declaration contradicts itself or its vendor.
    #[error("provider `{provider}`: {}", problems.join("; "))]
    Invalid {
        /// The provider.
        provider: String,
        /// Everything that is wrong.
        problems: Vec<String>,
    },
    /// The script of a scripted provider.
    #[error("provider `{provider}`: {source}")]
    Script {
        /// The provider.
        provider: String,
        /// What is wrong with it.
        source: ScriptError,
    },
}

impl ConstructError {
    /// Whether only this machine lacks something: a key, a file. Such a provider may be left out instead.
    #[must_use]
    pub const fn is_unavailable(&self) -> bool {
        matches!(
            self,
            Self::Unset { .. } | Self::File { .. } | Self::KeyForOther { .. }
        )
    }
}

/// Makes the declared provider `name` callable. Nothing is dialled.
///
/// # Errors
/// Where the declaration is wrong, a reference leads nowhere, or a script cannot be read.
pub fn construct(
    name: &str,
    config: &ProviderConfig,
    secrets: &Secrets<'_>,
    parts: &Parts,
) -> Result<Built, ConstructError> {
    let invalid = |problems: Vec<String>| ConstructError::Invalid {
        provider: name.to_owned(),
        problems,
    };
    let problems = validate(config);
    if !problems.is_empty() {
        return Err(invalid(problems));
    }
    let resolver = Resolver {
        provider: name,
        secrets,
        redactor: &parts.redactor,
    };
    let mut config = config.clone();
    if let Some(model) = &config.model {
        config.model = Some(resolver.plain("model", model)?);
    }
    if config.vendor == Vendor::Scripted {
        return scripted(name, &config, secrets, parts);
    }
    let entry = config.vendor.entry();
    let base_url = match &config.base_url {
        Some(url) => resolver.plain("base_url", url)?,
        None => entry.base_url.unwrap_or_default().to_owned(),
    };
    if let Some(why) = url_problem(&base_url) {
        return Err(invalid(vec![format!("`base_url`: {why}")]));
    }
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (header, value) in &config.headers {
        let small = header.to_lowercase();
        let value = resolver.secret(&format!("headers.{header}"), value)?;
        if SECRET_HEADERS.contains(&small.as_str()) {
            parts.redactor.add(&value);
        }
        headers.insert(small, value);
    }
    if let Some(key) = api_key(&config, &base_url, &headers, &resolver)? {
        parts.redactor.add(&key);
        headers.insert("authorization".to_owned(), format!("Bearer {key}"));
    }
    for (header, value) in &headers {
        if value
            .bytes()
            .any(|byte| byte.is_ascii_control() && byte != b'\t')
        {
            return Err(invalid(vec![format!(
                "`{header}`: the value holds a control character"
            )]));
        }
    }
    headers.insert("content-type".to_owned(), "application/json".to_owned());
    headers.insert(
        "accept".to_owned(),
        "text/event-stream, application/json".to_owned(),
    );
    let headers = headers
        .into_iter()
        .map(|(header, value)| (header, SecretString::from(value)))
        .collect();
    // From here on the secrets are in the headers alone.
    config.api_key = None;
    config.headers.clear();
    Ok(Built::Shared(Chat::new(
        name, config, &base_url, headers, parts,
    )))
}

fn scripted(
    name: &str,
    config: &ProviderConfig,
    secrets: &Secrets<'_>,
    parts: &Parts,
) -> Result<Built, ConstructError> {
    let path = secrets
        .base
        .join(config.script.as_deref().unwrap_or(Path::new("")));
    let script = Script::load(&path).map_err(|source| ConstructError::Script {
        provider: name.to_owned(),
        source,
    })?;
    let scripted = Scripted::new(name, Arc::new(script), Arc::clone(&parts.clock));
    Ok(Built::Scripted(match &config.model {
        Some(model) => scripted.asking_for(model),
        None => scripted,
    }))
}

/// The key: as declared, or from the vendor's usual variable where the call goes to the vendor.
fn api_key(
    config: &ProviderConfig,
    base_url: &str,
    headers: &BTreeMap<String, String>,
    resolver: &Resolver<'_>,
) -> Result<Option<String>, ConstructError> {
    if let Some(key) = &config.api_key {
        let key = resolver.secret("api_key", key)?.trim().to_owned();
        return Ok((!key.is_empty()).then_some(key));
    }
    let entry = config.vendor.entry();
    let Some(variable) = entry.key_variable else {
        return Ok(None);
    };
    if headers.contains_key("authorization") {
        return Ok(None);
    }
    if entry.base_url != Some(base_url.trim_end_matches('/')) {
        return Err(ConstructError::KeyForOther {
            provider: resolver.provider.to_owned(),
            variable: variable.to_owned(),
        });
    }
    resolver
        .variable("api_key", variable)
        .map(|key| Some(key.trim().to_owned()))
}

struct Resolver<'a> {
    provider: &'a str,
    secrets: &'a Secrets<'a>,
    redactor: &'a Redactor,
}

impl Resolver<'_> {
    /// A text whose references are no secrets.
    fn plain(&self, key: &str, text: &str) -> Result<String, ConstructError> {
        self.resolve(key, text, false)
    }

    /// A text whose references are secrets.
    fn secret(&self, key: &str, text: &str) -> Result<String, ConstructError> {
        self.resolve(key, text, true)
    }

    fn resolve(&self, key: &str, text: &str, secret: bool) -> Result<String, ConstructError> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            out.push_str(&rest[..at]);
            let bad = || ConstructError::Reference {
                provider: self.provider.to_owned(),
                key: key.to_owned(),
                text: one_line(&rest[at..], 40),
            };
            let end = rest[at..].find('}').ok_or_else(bad)? + at;
            let (kind, name) = rest[at + 2..end].split_once(':').ok_or_else(bad)?;
            let value = match (kind, name.trim()) {
                (_, "") => return Err(bad()),
                ("env", name) => self.variable(key, name)?,
                ("file", path) => self.file(key, path)?,
                _ => return Err(bad()),
            };
            if secret {
                self.redactor.add(&value);
            }
            out.push_str(&value);
            rest = &rest[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }

    fn variable(&self, key: &str, variable: &str) -> Result<String, ConstructError> {
        (self.secrets.env)(variable)
            .filter(|value| !value.trim().is_empty())
            .ok_or_else(|| ConstructError::Unset {
                provider: self.provider.to_owned(),
                key: key.to_owned(),
                variable: variable.to_owned(),
            })
    }

    /// The file's text without the line ends at its end.
    fn file(&self, key: &str, path: &str) -> Result<String, ConstructError> {
        let path = self.secrets.base.join(path);
        let read = || -> std::io::Result<String> {
            let mut text = String::new();
            std::fs::File::open(&path)?
                .take(LARGEST_FILE + 1)
                .read_to_string(&mut text)?;
            Ok(text)
        };
        let reason = match read() {
            Ok(text) if text.len() as u64 > LARGEST_FILE => {
                format!("it is larger than {LARGEST_FILE} bytes")
            }
            Ok(text) if text.trim().is_empty() => "it is empty".to_owned(),
            Ok(text) => return Ok(text.trim_end_matches(['\n', '\r']).to_owned()),
            Err(error) => error.to_string(),
        };
        Err(ConstructError::File {
            provider: self.provider.to_owned(),
            key: key.to_owned(),
            path,
            reason,
        })
    }
}

/// Whether somebody accepts a connection at every address that a provider dials. Nothing is sent, so that nothing
/// is billed.
///
/// # Errors
/// The first address that does not answer, as the failure that a call would have.
pub async fn reachable(provider: &Built, client: &Client) -> Result<(), ProviderError> {
    for endpoint in provider.endpoints() {
        client.reach(&endpoint, REACH).await.map_err(from_net)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
