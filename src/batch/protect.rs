//! Gates that the agent cannot edit: what is protected is put back before anything is judged.

use std::path::Path;

use crate::base::{Pattern, RelPath};
use crate::domain::EventKind;
use crate::workspace::{Change, Snapshot, WorkspaceError, changes, restore_paths, snapshot};

/// What an agent left behind.
pub(super) struct Aftermath {
    /// The changes that stay.
    pub(super) kept: Vec<Change>,
    /// The changes that are to be undone.
    pub(super) touched: Vec<Change>,
}

impl Aftermath {
    /// Compares the workspace with what it was. What fits one of the patterns must not have changed.
    pub(super) fn of(
        before: &Snapshot,
        workspace: &Path,
        patterns: &[String],
    ) -> Result<Self, WorkspaceError> {
        let patterns: Vec<Pattern> = patterns.iter().map(Pattern::new).collect();
        let after = snapshot(workspace)?;
        let (touched, kept) = changes(before, &after)
            .into_iter()
            .partition(|change| patterns.iter().any(|pattern| fits(pattern, &change.path)));
        Ok(Self { kept, touched })
    }

    /// One event for each change that is undone.
    pub(super) fn tampered(&self) -> Vec<EventKind> {
        let events = self.touched.iter().map(|change| EventKind::Tampered {
            path: change.path.to_string(),
            how: change.how,
        });
        events.collect()
    }

    /// Puts back what is protected.
    pub(super) fn restore(&self, pristine: &Path, workspace: &Path) -> Result<(), WorkspaceError> {
        let paths: Vec<RelPath> = self
            .touched
            .iter()
            .map(|change| change.path.clone())
            .collect();
        restore_paths(pristine, workspace, &paths)
    }
}

fn fits(pattern: &Pattern, path: &RelPath) -> bool {
    if crate::policy::os::FOLD_PATHS {
        pattern.matches_folded(path.as_str())
    } else {
        pattern.matches(path.as_str())
    }
}
