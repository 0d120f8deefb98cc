//! Searching the workspace.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Observation;
use crate::base::{RelPath, clip_head};
use crate::tools::OBSERVATION_LIMIT;
use crate::workspace::{GrepQuery, Workspace};

/// Hits that are shown of one search.
const MOST_HITS: usize = 100;

/// Paths that are shown of one search.
const MOST_PATHS: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct Grep {
    /// The regular expression, for one line at a time. `(?i)` at its beginning ignores case.
    pub(in crate::tools) pattern: String,
    /// Only files whose path fits this glob, for instance `src/**/*.rs`. Default: all files.
    #[serde(default)]
    pub(in crate::tools) path_glob: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct Find {
    /// The glob, tried on the file's name and on its whole path.
    #[serde(alias = "glob", alias = "pattern")]
    pub(in crate::tools) name_glob: String,
}

impl Grep {
    pub(in crate::tools) fn perform(
        &self,
        workspace: &Workspace,
        visible: &dyn Fn(&RelPath) -> bool,
    ) -> Observation {
        let query = GrepQuery {
            pattern: self.pattern.clone(),
            glob: self.path_glob.clone(),
            limit: MOST_HITS,
        };
        match workspace.grep(&query, visible) {
            Err(error) => Observation::failed("grep error", error.to_string()),
            Ok(found) => {
                let decision = format!("grep {:?} ({} hits)", self.pattern, found.total);
                let hits: Vec<String> = found
                    .hits
                    .iter()
                    .map(|hit| format!("{}:{}: {}", hit.path, hit.line, hit.text))
                    .collect();
                let shown = hits.len() as u64;
                let mut notes = Vec::new();
                if found.total > shown {
                    notes.push(format!("[the first {shown} of {} hits]", found.total));
                } else if found.truncated {
                    notes.push("[the search stopped early: narrow it with path_glob]".to_owned());
                }
                if found.skipped > 0 {
                    notes.push(format!(
                        "[{} files are too large to be searched]",
                        found.skipped
                    ));
                }
                let text = listed(&hits, "no file has a match", &notes);
                Observation::ok(decision, text)
            }
        }
    }
}

impl Find {
    pub(in crate::tools) fn perform(
        &self,
        workspace: &Workspace,
        visible: &dyn Fn(&RelPath) -> bool,
    ) -> Observation {
        match workspace.find(&self.name_glob, MOST_PATHS, visible) {
            Err(error) => Observation::failed("find error", error.to_string()),
            Ok(found) => {
                let decision = format!("find {:?} ({} paths)", self.name_glob, found.total);
                let paths: Vec<String> = found.paths.iter().map(ToString::to_string).collect();
                let shown = paths.len();
                let mut notes = Vec::new();
                if found.total > shown {
                    notes.push(format!("[the first {shown} of {} paths]", found.total));
                } else if found.truncated {
                    notes.push("[the search stopped early: give a narrower glob]".to_owned());
                }
                let text = listed(&paths, "no file fits", &notes);
                Observation::ok(decision, text)
            }
        }
    }
}

/// What was found, or that nothing was; and what the search did not see, which is never cut off.
fn listed(lines: &[String], none: &str, notes: &[String]) -> String {
    let text = if lines.is_empty() {
        none.to_owned()
    } else {
        clip_head(&lines.join("\n"), OBSERVATION_LIMIT).into_owned()
    };
    let notes = notes.iter().map(String::as_str);
    std::iter::once(text.as_str())
        .chain(notes)
        .collect::<Vec<_>>()
        .join("\n")
}
