//! Reading and changing files.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Observation;
use crate::base::{RelPath, clip_head, format_bytes};
use crate::tools::OBSERVATION_LIMIT;
use crate::workspace::{EntryKind, Resolved, Workspace, Wrote};

/// Lines that are read where no limit is asked for.
const DEFAULT_LINES: u64 = 400;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct ReadFile {
    /// The file, relative to the workspace root.
    pub(in crate::tools) path: String,
    /// The first line to read, from 1. Default: 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(in crate::tools) offset: Option<u64>,
    /// How many lines to read. Default: 400.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(in crate::tools) limit: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct WriteFile {
    /// The file, relative to the workspace root.
    pub(in crate::tools) path: String,
    /// Its whole new content.
    pub(in crate::tools) content: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct EditFile {
    /// The file, relative to the workspace root.
    pub(in crate::tools) path: String,
    /// The text to replace, as it stands in the file; it must occur exactly once.
    pub(in crate::tools) search: String,
    /// The text to put in its place; empty to remove it.
    pub(in crate::tools) replace: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct ListDir {
    /// The folder, relative to the workspace root. Default: the root.
    #[serde(default = "root")]
    pub(in crate::tools) path: String,
}

fn root() -> String {
    ".".to_owned()
}

impl ReadFile {
    pub(in crate::tools) fn perform(&self, workspace: &Workspace, at: &Resolved) -> Observation {
        let path = &self.path;
        let lines = self.limit.unwrap_or(DEFAULT_LINES);
        match workspace.read_text(at, self.offset, Some(lines)) {
            Err(error) => Observation::failed("read error", error.to_string()),
            Ok(slice) if slice.lines == 0 => {
                let text = match slice.total_lines {
                    0 => format!("{path} is empty"),
                    total => format!(
                        "{path} has {total} lines: offset {} is beyond its end",
                        slice.first_line
                    ),
                };
                Observation::ok(format!("read {path}"), text)
            }
            Ok(slice) => {
                let (text, lines) = fitting(&slice.text);
                let last = slice.first_line + lines - 1;
                let whole = slice.first_line == 1 && last == slice.total_lines;
                let note = if whole {
                    String::new()
                } else {
                    format!(
                        "[lines {} to {last} of {}]\n",
                        slice.first_line, slice.total_lines
                    )
                };
                Observation::ok(format!("read {path}"), format!("{note}{text}"))
            }
        }
    }
}

/// The first whole lines that a model can be shown at once, and how many they are: from there it can go on. A line
/// that is too long by itself is cut.
fn fitting(text: &str) -> (Cow<'_, str>, u64) {
    let (mut bytes, mut characters, mut lines) = (0, 0, 0);
    for line in text.split_inclusive('\n') {
        characters += line.chars().count();
        if characters > OBSERVATION_LIMIT {
            break;
        }
        bytes += line.len();
        lines += 1;
    }
    if lines > 0 {
        return (Cow::Borrowed(&text[..bytes]), lines);
    }
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    (clip_head(first, OBSERVATION_LIMIT), 1)
}

impl WriteFile {
    pub(in crate::tools) fn perform(&self, workspace: &Workspace, at: &Resolved) -> Observation {
        written(
            &self.path,
            "wrote",
            "write error",
            workspace.write(at, self.content.as_bytes()),
        )
    }
}

impl EditFile {
    pub(in crate::tools) fn perform(&self, workspace: &Workspace, at: &Resolved) -> Observation {
        written(
            &self.path,
            "edited",
            "edit error",
            workspace.edit(at, &self.search, &self.replace),
        )
    }
}

fn written(
    path: &str,
    verb: &str,
    trouble: &str,
    result: Result<Wrote, crate::workspace::WorkspaceError>,
) -> Observation {
    match result {
        Err(error) => Observation::failed(trouble.to_owned(), error.to_string()),
        Ok(wrote) => {
            let text = match wrote {
                Wrote::Created => format!("created {path}"),
                Wrote::Changed => format!("changed {path}"),
                Wrote::Unchanged => format!("{path} has that content already: nothing changed"),
            };
            Observation {
                changed: wrote != Wrote::Unchanged,
                ..Observation::ok(format!("{verb} {path}"), text)
            }
        }
    }
}

impl ListDir {
    pub(in crate::tools) fn perform(
        &self,
        workspace: &Workspace,
        at: &Resolved,
        visible: &dyn Fn(&RelPath) -> bool,
    ) -> Observation {
        match workspace.list_dir(at, visible) {
            Err(error) => Observation::failed("list error", error.to_string()),
            Ok(entries) => {
                let lines: Vec<String> = entries
                    .iter()
                    .map(|entry| match entry.kind {
                        EntryKind::Dir => format!("{}/", entry.name),
                        EntryKind::Symlink => format!("{} (link)", entry.name),
                        EntryKind::Other => format!("{} (neither file nor folder)", entry.name),
                        EntryKind::File => format!("{} ({})", entry.name, format_bytes(entry.size)),
                    })
                    .collect();
                let text = if lines.is_empty() {
                    "the folder is empty".to_owned()
                } else {
                    lines.join("\n")
                };
                Observation::ok(
                    format!("listed {} ({} entries)", self.path, lines.len()),
                    clip_head(&text, OBSERVATION_LIMIT).into_owned(),
                )
            }
        }
    }
}
