//! The formats of a report, as one table.

use std::fmt;
use std::str::FromStr;

use super::ReportError;

/// A format that a report is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// GitHub's Markdown, for a job summary or a comment.
    Markdown,
    /// The report's rows as JSON.
    Json,
    /// JUnit XML, one test case for each case.
    Junit,
    /// Plain text for a terminal.
    Text,
}

/// A row of the table of formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatSpec {
    /// The format.
    pub format: Format,
    /// Its name on the command line.
    pub name: &'static str,
    /// The ending of its files, without the dot.
    pub ending: &'static str,
    /// One line for the help.
    pub description: &'static str,
}

/// All formats, in the order in which they are documented. Parsing, help and file names derive from it.
pub const FORMATS: [FormatSpec; 4] = [
    FormatSpec {
        format: Format::Markdown,
        name: "markdown",
        ending: "md",
        description: "GitHub's Markdown for a job summary or a comment: the verdict first, sections that fold",
    },
    FormatSpec {
        format: Format::Json,
        name: "json",
        ending: "json",
        description: "every figure as JSON, versioned as taskgate-report/1",
    },
    FormatSpec {
        format: Format::Junit,
        name: "junit",
        ending: "xml",
        description: "JUnit XML with one test case for each case",
    },
    FormatSpec {
        format: Format::Text,
        name: "text",
        ending: "txt",
        description: "a short summary for a terminal",
    },
];

impl Format {
    /// The format's row in the table.
    #[must_use]
    pub fn spec(self) -> &'static FormatSpec {
        FORMATS
            .iter()
            .find(|spec| spec.format == self)
            .expect("each format has a row")
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.spec().name
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = ReportError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        FORMATS
            .iter()
            .find(|spec| spec.name == text)
            .map(|spec| spec.format)
            .ok_or_else(|| ReportError::UnknownFormat {
                asked: text.to_owned(),
                known: FORMATS.map(|spec| spec.name).join(", "),
            })
    }
}

/// What a rendering depends on besides the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderOptions {
    /// The trace as it is named in commands that the reader is shown.
    pub trace: String,
    /// The longest Markdown, in bytes; sections that do not fit are left out and named.
    pub max_bytes: usize,
}

impl Default for RenderOptions {
    /// A trace called `TRACE`, and what fits into one comment on GitHub.
    fn default() -> Self {
        Self {
            trace: "TRACE".to_owned(),
            max_bytes: 60_000,
        }
    }
}
