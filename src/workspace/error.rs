//! What can go wrong with files.

use std::io;
use std::path::Path;

use crate::base::{RelPathError, format_bytes};

/// Why something about a workspace's files did not happen. Paths are those below the workspace where there
/// is one, so that a message can be shown to a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// A path that, links followed, is not below the root.
    #[error("`{path}` leads out of the workspace: name a path below its root")]
    Outside {
        /// The path as it was given.
        path: String,
    },
    /// A text that is no path below a root.
    #[error(transparent)]
    Path(#[from] RelPathError),
    /// A name that this program keeps for itself, or that the platform does not read as itself.
    #[error("`{path}` has a name that cannot be used here: choose another one")]
    Name {
        /// The path as it was given.
        path: String,
    },
    /// Links that lead to each other without an end.
    #[error("`{path}` goes through symbolic links that never end")]
    Loop {
        /// The path as it was given.
        path: String,
    },
    /// Nothing is there.
    #[error("`{path}` does not exist{}", near_sentence(near))]
    NotFound {
        /// The path.
        path: String,
        /// Paths with similar names that do exist, the most similar one first.
        near: Vec<String>,
    },
    /// A file stands where a folder is needed.
    #[error("`{path}` is not a folder")]
    NotADirectory {
        /// The path.
        path: String,
    },
    /// Something else stands where a file is needed.
    #[error("`{path}` is {what}, not a file")]
    NotAFile {
        /// The path.
        path: String,
        /// What it is: `a folder`, `a symbolic link`, `a special file`.
        what: &'static str,
    },
    /// A file that is no text.
    #[error("`{path}` is a binary file of {}: it cannot be read or edited as text", format_bytes(*size))]
    Binary {
        /// The path.
        path: String,
        /// Its size in bytes.
        size: u64,
    },
    /// A file beyond what is read into memory.
    #[error("`{path}` has {}, more than the {} that are read", format_bytes(*size), format_bytes(*limit))]
    TooLarge {
        /// The path.
        path: String,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A folder or a tree with more in it than is looked at.
    #[error("`{path}` holds more than {limit} entries")]
    TooMany {
        /// The path.
        path: String,
        /// The limit.
        limit: usize,
    },
    /// An edit without a text to look for.
    #[error("the search text is empty: give the text that is to be replaced")]
    EmptySearch,
    /// An edit whose text is missing or ambiguous.
    #[error("{}", occurrence_sentence(path, *count))]
    Occurrences {
        /// The path.
        path: String,
        /// How often the text occurs: any number but one.
        count: usize,
    },
    /// Not a regular expression, or one that is too expensive.
    #[error("`{pattern}` is not a usable regular expression: {reason}")]
    Pattern {
        /// The pattern, clipped.
        pattern: String,
        /// Why.
        reason: String,
    },
    /// Not a glob.
    #[error("`{glob}` is not a usable glob: {reason}")]
    Glob {
        /// The glob, clipped.
        glob: String,
        /// Why.
        reason: String,
    },
    /// The place where a workspace should be laid out is taken.
    #[error("`{path}` is not empty: a workspace is laid out in a folder of its own")]
    NotEmpty {
        /// The path.
        path: String,
    },
    /// A source tree with a link that would lead out of the workspace.
    #[error(
        "the link `{path}` leads to `{target}`, out of its tree: a workspace holds relative links to its own files alone"
    )]
    LinkOut {
        /// The link's path in its tree.
        path: String,
        /// What it holds.
        target: String,
    },
    /// A source tree with a pipe, a socket or a device in it.
    #[error("`{path}` is a pipe, a socket or a device: a workspace cannot be laid out from it")]
    Special {
        /// Its path in its tree.
        path: String,
    },
    /// A revision that may mean something else tomorrow.
    #[error(
        "`{rev}` is not a full commit: give all 40 hexadecimal characters (`git rev-parse {rev}` prints them)"
    )]
    Rev {
        /// The revision as it was given.
        rev: String,
    },
    /// A repository that would have to be fetched.
    #[error(
        "`{location}` is not on this machine: clone it in an earlier step and give the path of the clone"
    )]
    Remote {
        /// The location as it was given, without a password.
        location: String,
    },
    /// No repository is there.
    #[error("`{location}` is not a git repository{hint}")]
    NotARepository {
        /// The location as it was given.
        location: String,
        /// What to do, beginning with a colon; empty where there is nothing to say.
        hint: &'static str,
    },
    /// The repository has no such commit.
    #[error(
        "the repository `{location}` has no commit {rev}: fetch it first (a shallow clone holds the newest commits alone; `fetch-depth: 0` fetches all)"
    )]
    NoCommit {
        /// The location as it was given.
        location: String,
        /// The commit.
        rev: String,
    },
    /// The id belongs to something else.
    #[error("{rev} in the repository `{location}` is a {kind}, not a commit")]
    NotACommit {
        /// The location as it was given.
        location: String,
        /// The id.
        rev: String,
        /// What it is: `tag`, `tree` or `blob`.
        kind: &'static str,
    },
    /// A commit with a file that cannot be laid out safely on every platform.
    #[error("`{path}` of the commit cannot be laid out: {reason}")]
    Entry {
        /// Its path in the commit.
        path: String,
        /// Why.
        reason: &'static str,
    },
    /// A repository that cannot be read.
    #[error("reading the repository `{location}`: {source}")]
    Git {
        /// The location as it was given.
        location: String,
        /// What broke.
        source: git2::Error,
    },
    /// The operating system refused.
    #[error("{action} `{path}`: {source}")]
    Io {
        /// What was being done, for instance `writing`.
        action: &'static str,
        /// To what.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

impl WorkspaceError {
    /// For `map_err`: names what was done to which path when the system refused.
    pub(super) fn io(
        action: &'static str,
        path: impl Into<String>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    /// As [`WorkspaceError::io`], for a path of the host's.
    pub(crate) fn io_at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::io(action, path.display().to_string())
    }
}

fn near_sentence(near: &[String]) -> String {
    if near.is_empty() {
        return String::new();
    }
    let names: Vec<String> = near.iter().map(|path| format!("`{path}`")).collect();
    format!("; similar names: {}", names.join(", "))
}

fn occurrence_sentence(path: &str, count: usize) -> String {
    match count {
        0 => format!(
            "the search text was not found in `{path}`: read the file and give the text exactly as it stands there"
        ),
        count => format!(
            "the search text occurs {count} times in `{path}`: give more of the text around it, so that it occurs once"
        ),
    }
}
