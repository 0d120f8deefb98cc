//! Finding files by their names.

use std::ops::ControlFlow;

use super::walk::PathGlob;
use super::{Workspace, WorkspaceError};
use crate::base::RelPath;

/// How many paths one search counts.
const MAX_COUNTED: usize = 100_000;

/// What a search by name found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The first paths that fit, in order.
    pub paths: Vec<RelPath>,
    /// How many fit.
    pub total: usize,
    /// Whether there are more: beyond the limit, or in a part of the tree that was not reached.
    pub truncated: bool,
}

impl Workspace {
    /// The files and links that `visible` lets through, the tree's ignore files do not leave out, and `glob`
    /// fits: `*` and `?` stop at `/`, `**` does not. Without a `/` in it, it is tried on a file's name,
    /// otherwise on its path.
    ///
    /// # Errors
    /// Where the glob is none.
    pub fn find(
        &self,
        glob: &str,
        limit: usize,
        visible: &dyn Fn(&RelPath) -> bool,
    ) -> Result<Found, WorkspaceError> {
        let glob = PathGlob::new(glob)?;
        let mut paths = Vec::new();
        let complete = self.walk(|file| {
            if glob.fits(&file.path) && visible(&file.path) {
                paths.push(file.path);
            }
            if paths.len() < MAX_COUNTED {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        paths.sort();
        let total = paths.len();
        paths.truncate(limit);
        Ok(Found {
            truncated: !complete || total > paths.len(),
            paths,
            total,
        })
    }
}
