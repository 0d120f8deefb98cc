//! The variables of a command: what an allow list lets through, and nothing that looks like a secret.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use super::os;

/// Taken over from the host under exactly these names.
const KEPT: &[&str] = &[
    "PATH",
    "LANG",
    "LANGUAGE",
    "TZ",
    "USER",
    "LOGNAME",
    "CI",
    // By this a hosted runner finds what a job has left behind.
    "RUNNER_TRACKING_ID",
    // Where toolchains live: without these they would look in a home that is empty.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "JAVA_HOME",
    "MAVEN_HOME",
    "M2_HOME",
    "GRADLE_HOME",
    "GOROOT",
    "GOPATH",
    "GOMODCACHE",
    "GOTOOLCHAIN",
    "NVM_DIR",
    "VOLTA_HOME",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "RBENV_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "DOTNET_ROOT",
    "ANDROID_HOME",
    "SDKROOT",
    "DEVELOPER_DIR",
    "CC",
    "CXX",
    "AR",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    // Where certificates of authorities are: files, not keys.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

/// Taken over from the host where a name begins so.
const KEPT_PREFIXES: &[&str] = &["LC_", "JAVA_HOME_"];

/// The way out of the network; dropped where there is to be none.
const PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

/// What tells package managers that there is no network, so that they fail at once and say why.
const OFFLINE: &[(&str, &str)] = &[
    ("CARGO_NET_OFFLINE", "true"),
    ("npm_config_offline", "true"),
    ("PIP_NO_INDEX", "1"),
    ("GOPROXY", "off"),
];

/// Toolchain folders that lie in the host's home unless a variable says otherwise.
const TOOLCHAIN_HOMES: &[(&str, &[&str])] = &[
    ("CARGO_HOME", &[".cargo"]),
    ("RUSTUP_HOME", &[".rustup"]),
    ("GOMODCACHE", &["go", "pkg", "mod"]),
];

const SECRET_PREFIXES: &[&str] = &[
    "GITHUB_", "ACTIONS_", "INPUT_", "AWS_", "AZURE_", "GOOGLE_", "SSH_",
];
const SECRET_PARTS: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
];

/// The variables of a command.
///
/// ```
/// use std::path::Path;
/// use taskgate::sandbox::Environment;
///
/// let host = [("PATH", "/usr/bin"), ("OPENAI_API_KEY", "sk-1"), ("GITHUB_ENV", "/x")]
///     .map(|(name, value)| (name.to_owned(), value.to_owned()));
/// let env = Environment::from_host(host, Path::new("/scratch/home"), Path::new("/scratch/tmp"))
///     .with("RUST_BACKTRACE", "1");
/// assert_eq!(env.get("PATH"), Some("/usr/bin"));
/// assert_eq!(env.get("OPENAI_API_KEY"), None);
/// assert_eq!(env.get("RUST_BACKTRACE"), Some("1"));
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Environment {
    vars: BTreeMap<String, String>,
}

impl Environment {
    /// Nothing at all, not even a `PATH`.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Takes over from the host what commands need, with `home` and `tmp` in place of the host's own folders.
    /// Toolchains that live in the host's home are still found there. A proxy whose address holds a name or a
    /// password is left out.
    #[must_use]
    pub fn from_host(
        host: impl IntoIterator<Item = (String, String)>,
        home: &Path,
        tmp: &Path,
    ) -> Self {
        let mut vars = BTreeMap::new();
        let mut host_home = None;
        for (name, value) in host {
            if os::same_name(&name, os::HOME) {
                host_home = Some(value);
            } else if let Some(kept) = kept_name(&name)
                && !looks_secret(&kept)
                && !(is_proxy(&kept) && value.contains('@'))
            {
                vars.insert(kept, value);
            }
        }
        if let Some(host_home) = host_home.filter(|home| !home.is_empty()) {
            for (name, below) in TOOLCHAIN_HOMES {
                let mut folder = Path::new(&host_home).to_path_buf();
                folder.extend(*below);
                if !vars.contains_key(*name)
                    && folder.is_dir()
                    && let Some(folder) = folder.to_str()
                {
                    vars.insert((*name).to_owned(), folder.to_owned());
                }
            }
        }
        vars.insert("TERM".to_owned(), "dumb".to_owned());
        for (name, folder) in os::places(home, tmp) {
            vars.insert(name.to_owned(), folder.to_string_lossy().into_owned());
        }
        Self { vars }
    }

    /// Sets one variable, whatever its name: what a suite states is meant.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = name.into();
        self.vars.retain(|known, _| !os::same_name(known, &name));
        self.vars.insert(name, value.into());
        self
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars
            .iter()
            .find(|(known, _)| os::same_name(known, name))
            .map(|(_, value)| value.as_str())
    }

    /// All variables in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.vars
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The variables of a run without network: no way out through a proxy, and package managers told so.
    pub(super) fn offline(&self) -> Self {
        let mut env = self.clone();
        env.vars.retain(|name, _| !is_proxy(name));
        OFFLINE
            .iter()
            .fold(env, |env, (name, value)| env.with(*name, *value))
    }
}

/// Names only: values are nobody's business in a log.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.vars.keys()).finish()
    }
}

/// The allow list's spelling of a name that is on it.
fn kept_name(name: &str) -> Option<String> {
    KEPT.iter()
        .chain(os::KEPT)
        .find(|kept| os::same_name(kept, name))
        .map(|kept| (*kept).to_owned())
        .or_else(|| {
            KEPT_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix))
                .then(|| name.to_owned())
        })
}

fn is_proxy(name: &str) -> bool {
    PROXIES.iter().any(|proxy| proxy.eq_ignore_ascii_case(name))
}

/// Second to the allow list, so that no row of it can ever let a secret through.
fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_PREFIXES
        .iter()
        .any(|prefix| name.starts_with(prefix))
        || SECRET_PARTS.iter().any(|part| name.contains(part))
}
