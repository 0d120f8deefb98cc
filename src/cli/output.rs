//! Standard output is data, standard error is all else; a closed pipe is a clean end.

use std::cell::Cell;
use std::io::{self, Write as _};

use super::settings::Settings;
use crate::base::printable;

/// Where the program prints, and in which colours.
pub(super) struct Output {
    color: (bool, bool),
    lost: Cell<bool>,
}

/// How a word stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Bad,
    Odd,
    Dim,
    Bold,
}

impl Tone {
    const fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Bad => "31",
            Self::Odd => "33",
            Self::Dim => "2",
            Self::Bold => "1",
        }
    }
}

/// `text` in a tone, where colours are used.
pub(super) fn paint(color: bool, tone: Tone, text: &str) -> String {
    if color {
        format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code())
    } else {
        text.to_owned()
    }
}

/// `1 case`, `2 cases`.
pub(super) fn counted(number: usize, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {one}{ending}")
}

impl Output {
    pub(super) const fn new(settings: &Settings) -> Self {
        Self {
            color: settings.color,
            lost: Cell::new(false),
        }
    }

    /// Whether standard error is coloured.
    pub(super) const fn notes_are_colored(&self) -> bool {
        self.color.1
    }

    /// Prints data. A reader that has gone away is not an error.
    pub(super) fn data(&self, text: &str) {
        let mut out = io::stdout().lock();
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
            && error.kind() != io::ErrorKind::BrokenPipe
            && !self.lost.replace(true)
        {
            self.error(&format!("standard output cannot be written: {error}"), None);
        }
    }

    /// Whether data was lost: the process must not end as if it had been printed.
    pub(super) const fn has_lost_data(&self) -> bool {
        self.lost.get()
    }

    /// Prints data and ends its last line.
    pub(super) fn data_line(&self, text: &str) {
        self.data(&format!("{}\n", text.trim_end_matches('\n')));
    }

    /// Says something to who watches.
    pub(super) fn note(&self, text: &str) {
        let mut err = io::stderr().lock();
        drop(writeln!(err, "{}", text.trim_end_matches('\n')));
    }

    /// Says that something is wrong, and what to do about it. The text may stem from a file.
    pub(super) fn error(&self, text: &str, help: Option<&str>) {
        self.problem("error", Tone::Bad, text, help);
    }

    /// Says that something should be known.
    pub(super) fn warning(&self, text: &str) {
        self.problem("warning", Tone::Odd, text, None);
    }

    fn problem(&self, kind: &str, tone: Tone, text: &str, help: Option<&str>) {
        self.note(&format!(
            "{}: {}",
            paint(self.color.1, tone, kind),
            printable(text).trim_end()
        ));
        if let Some(help) = help {
            self.note(&format!(
                "  {} {}",
                paint(self.color.1, Tone::Bold, "= help:"),
                printable(help)
            ));
        }
    }
}
