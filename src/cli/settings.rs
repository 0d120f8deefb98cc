//! What the process was started with, read once.

use std::io::IsTerminal as _;
use std::sync::Arc;

use super::args::{Cli, Color};

/// The environment and the terminal, as values.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// Variables whose name and value are text.
    pub(super) env: Arc<Vec<(String, String)>>,
    /// Whether colours are used on standard output and on standard error.
    pub(super) color: (bool, bool),
    /// Whether a person watches standard error.
    pub(super) interactive: bool,
}

impl Settings {
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment enters here and nowhere else"
    )]
    pub(super) fn from_process(cli: &Cli) -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let env: Vec<(String, String)> = std::env::vars_os().filter_map(text).collect();
        let set = |name: &str| {
            env.iter()
                .any(|(known, value)| known == name && !value.is_empty() && value != "0")
        };
        let (out, err) = (
            std::io::stdout().is_terminal(),
            std::io::stderr().is_terminal(),
        );
        let dumb = env
            .iter()
            .any(|(name, value)| name == "TERM" && value == "dumb");
        let wanted = |terminal: bool| match cli.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto if set("NO_COLOR") => false,
            Color::Auto if set("CLICOLOR_FORCE") => true,
            Color::Auto => terminal && !dumb,
        };
        let color = (wanted(out), wanted(err));
        let interactive = err && !dumb && !set("CI") && !set("GITHUB_ACTIONS");
        Self {
            color,
            interactive,
            env: Arc::new(env),
        }
    }

    /// The value of a variable that is set and not empty.
    pub(super) fn var(&self, name: &str) -> Option<&str> {
        self.env
            .iter()
            .find(|(known, value)| known == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }
}
