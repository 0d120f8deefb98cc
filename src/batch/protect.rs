//! Gates that the agent cannot edit: what is protected is put back before anything is judged.

use std::path::Path;

use crate::base::{Pattern, RelPath};
use crate::domain::EventKind;
use crate::workspace::{Change, Snapshot, WorkspaceError, changes, restore_paths, snapshot};

/// What an agent left behind, once what is protected has been put back.
pub(super) struct Aftermath {
    /// The changes that stay.
    pub(super) kept: Vec<Change>,
    /// One event for each change that was undone.
    pub(super) tampered: Vec<EventKind>,
}

/// Compares the workspace with what it was, and restores every path that fits a pattern.
pub(super) fn restore_protected(
    pristine: &Path,
    before: &Snapshot,
    workspace: &Path,
    patterns: &[String],
) -> Result<Aftermath, WorkspaceError> {
    let patterns: Vec<Pattern> = patterns.iter().map(Pattern::new).collect();
    let after = snapshot(workspace)?;
    let (touched, kept): (Vec<Change>, Vec<Change>) = changes(before, &after)
        .into_iter()
        .partition(|change| patterns.iter().any(|pattern| fits(pattern, &change.path)));
    let paths: Vec<RelPath> = touched.iter().map(|change| change.path.clone()).collect();
    restore_paths(pristine, workspace, &paths)?;
    let tampered = touched
        .into_iter()
        .map(|change| EventKind::Tampered {
            path: change.path.to_string(),
            how: change.how,
        })
        .collect();
    Ok(Aftermath { kept, tampered })
}

fn fits(pattern: &Pattern, path: &RelPath) -> bool {
    if crate::policy::os::FOLD_PATHS {
        pattern.matches_folded(path.as_str())
    } else {
        pattern.matches(path.as_str())
    }
}
