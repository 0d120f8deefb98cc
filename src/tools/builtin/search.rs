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
    /// The regular expression.
    pub(in crate::tools) pattern: String,
    /// Only files whose path fits this glob, for instance `src/**/*.rs`.
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
            Err(error) => Observation::failed("grep error".to_owned(), error.to_string()),
            Ok(found) => {
                let decision = format!("grep {:?} ({} hits)", self.pattern, found.total);
                if found.hits.is_empty() {
                    return Observation::ok(decision, format!("no match in {} files", found.files));
                }
                let mut lines: Vec<String> = found
                    .hits
                    .iter()
                    .map(|hit| format!("{}:{}: {}", hit.path, hit.line, hit.text))
                    .collect();
                if found.total > found.hits.len() as u64 {
                    lines.push(format!(
                        "[the first {} of {} hits]",
                        found.hits.len(),
                        found.total
                    ));
                } else if found.truncated {
                    lines.push("[the search stopped early: narrow it with path_glob]".to_owned());
                }
                Observation::ok(
                    decision,
                    clip_head(&lines.join("\n"), OBSERVATION_LIMIT).into_owned(),
                )
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
            Err(error) => Observation::failed("find error".to_owned(), error.to_string()),
            Ok(found) => {
                let decision = format!("find {:?} ({} paths)", self.name_glob, found.total);
                if found.paths.is_empty() {
                    return Observation::ok(decision, "no file fits".to_owned());
                }
                let mut lines: Vec<String> = found.paths.iter().map(ToString::to_string).collect();
                if found.total > found.paths.len() {
                    lines.push(format!(
                        "[the first {} of {} paths]",
                        found.paths.len(),
                        found.total
                    ));
                }
                Observation::ok(
                    decision,
                    clip_head(&lines.join("\n"), OBSERVATION_LIMIT).into_owned(),
                )
            }
        }
    }
}
