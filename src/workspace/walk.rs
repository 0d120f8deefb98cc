//! Walking over the files that a person would look at.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;

use super::{Workspace, WorkspaceError, names};
use crate::base::{RelPath, one_line};

/// How many entries of a tree one search looks at.
const MAX_ENTRIES: usize = 300_000;

/// How long a glob may be, in bytes.
const MAX_GLOB: usize = 1_000;

/// A file, or a link, that the tree's own ignore files do not leave out.
pub(super) struct Found {
    pub(super) path: RelPath,
    pub(super) absolute: PathBuf,
    /// Whether it is a regular file.
    pub(super) regular: bool,
}

/// A walk over a tree in the order of its names, as its own ignore files have it, and no others': hidden files
/// count, `.git` does not, links are not followed.
pub(super) fn builder(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder
        .hidden(false)
        .follow_links(false)
        .parents(false)
        .require_git(false)
        .git_global(false)
        .git_exclude(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(|entry| entry.file_name() != ".git");
    builder
}

impl Workspace {
    /// Shows `each` file and link. The answer is whether all were shown.
    pub(super) fn walk(&self, mut each: impl FnMut(Found) -> ControlFlow<()>) -> bool {
        let mut seen = 0;
        // An entry that cannot be looked at, or an ignore file that cannot be read, is left out.
        for entry in builder(&self.root).build().flatten() {
            seen += 1;
            if seen > MAX_ENTRIES {
                return false;
            }
            let Some(kind) = entry.file_type() else {
                continue;
            };
            let Ok(below) = entry.path().strip_prefix(&self.root) else {
                continue;
            };
            let temporary = entry.file_name().to_str().is_some_and(names::is_temporary);
            if kind.is_dir() || temporary {
                continue;
            }
            if !kind.is_file() && !kind.is_symlink() {
                continue;
            }
            let path = below
                .iter()
                .fold(RelPath::root(), |parent, name| names::child(&parent, name));
            let found = Found {
                path,
                regular: kind.is_file(),
                absolute: entry.into_path(),
            };
            if each(found).is_break() {
                return false;
            }
        }
        true
    }
}

/// A glob over paths: `*` and `?` stop at `/`, `**` does not, `[…]` and `{a,b}` are choices. Without a `/` in
/// it, it is tried on the last name alone.
pub(super) struct PathGlob {
    /// None where every name fits.
    matcher: Option<GlobMatcher>,
    by_name: bool,
}

impl PathGlob {
    pub(super) fn new(glob: &str) -> Result<Self, WorkspaceError> {
        let bad = |reason: String| WorkspaceError::Glob {
            glob: one_line(glob, 100),
            reason,
        };
        if glob.len() > MAX_GLOB {
            return Err(bad(format!("it is longer than {MAX_GLOB} bytes")));
        }
        let text = glob.strip_prefix("./").unwrap_or(glob);
        if text.is_empty() {
            return Err(bad("it is empty".to_owned()));
        }
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .build()
            .map_err(|error| bad(error.kind().to_string()))?;
        Ok(Self {
            matcher: (text != "*").then(|| glob.compile_matcher()),
            by_name: !text.contains('/'),
        })
    }

    pub(super) fn fits(&self, path: &RelPath) -> bool {
        let whole = path.as_str();
        let name = whole.rsplit('/').next().unwrap_or(whole);
        let shown = if self.by_name { name } else { whole };
        self.matcher
            .as_ref()
            .is_none_or(|matcher| matcher.is_match(shown))
    }
}
