//! From a path that somebody wrote to a file that is certainly below the root.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use super::{Workspace, WorkspaceError, names, os};
use crate::base::{RelPath, RelPathError};

/// How many links one path may go through.
const MAX_LINKS: usize = 40;

/// A path below a workspace's root, as it was written and as it is.
///
/// The two differ where a symbolic link below the root is on the way. A policy is asked about both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The path as it was written, normalised.
    pub lexical: RelPath,
    /// Where it leads, all links followed.
    pub canonical: RelPath,
    /// `canonical` for the operating system. What does not exist yet is part of it.
    pub absolute: PathBuf,
}

impl Workspace {
    /// Finds out where a path leads. It need not exist; what does not exist is taken as it will be created.
    ///
    /// A path that is absolute is taken where it is below the root.
    ///
    /// # Errors
    /// Where the path, links followed, leaves the root, also where the link that leaves it leads to nothing;
    /// where links never end; where a file stands on the way; where a name is reserved.
    pub fn resolve(&self, path: &str) -> Result<Resolved, WorkspaceError> {
        let lexical = match RelPath::parse(path) {
            Ok(lexical) => lexical,
            Err(RelPathError::Absolute(_)) => self.strip_root(path)?,
            Err(RelPathError::Climbs(_)) => {
                return Err(WorkspaceError::Outside { path: path.into() });
            }
            Err(error) => return Err(error.into()),
        };
        if lexical
            .names()
            .any(|name| names::is_temporary(name) || !os::is_portable_name(name))
        {
            return Err(WorkspaceError::Name { path: path.into() });
        }
        let start = lexical.names().map(OsString::from).map(Piece::Name);
        let absolute = physical(&self.root, &self.root, start.collect(), path, Way::Any)?;
        let canonical = self.below(&absolute, path)?;
        Ok(Resolved {
            lexical,
            canonical,
            absolute,
        })
    }

    /// The part of an absolute path that is below the root.
    fn strip_root(&self, path: &str) -> Result<RelPath, WorkspaceError> {
        let absolute = Path::new(path);
        let outside = || WorkspaceError::Outside { path: path.into() };
        if !absolute.is_absolute() {
            return Err(outside());
        }
        let written = [&self.root, &self.given]
            .into_iter()
            .find_map(|root| absolute.strip_prefix(root).ok())
            .and_then(Path::to_str)
            .and_then(|rest| RelPath::parse(rest).ok());
        match written {
            Some(rest) => Ok(rest),
            None => {
                let start = pieces(absolute);
                let found = physical(&self.root, Path::new(""), start, path, Way::Any)
                    .map_err(|_| outside())?;
                self.below(&found, path)
            }
        }
    }

    fn below(&self, absolute: &Path, path: &str) -> Result<RelPath, WorkspaceError> {
        let rest = absolute
            .strip_prefix(&self.root)
            .map_err(|_| WorkspaceError::Outside { path: path.into() })?;
        Ok(rest
            .iter()
            .fold(RelPath::root(), |parent, name| names::child(&parent, name)))
    }
}

/// A step on the way through a tree.
enum Piece {
    Root(PathBuf),
    Up,
    Name(OsString),
}

fn pieces(path: &Path) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut prefix = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Prefix(_) => prefix.push(component),
            Component::RootDir => {
                prefix.push(component);
                pieces.push(Piece::Root(std::mem::take(&mut prefix)));
            }
            Component::CurDir => {}
            Component::ParentDir => pieces.push(Piece::Up),
            Component::Normal(name) => pieces.push(Piece::Name(name.to_owned())),
        }
    }
    pieces
}

/// Which walks count as staying below the root.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// One that ends there.
    Any,
    /// One that never leaves it: it leads to the same file when the tree is moved.
    Confined,
}

/// Walks from `start` along `way`, every link followed by hand, so that a link to nothing still says where it
/// leads. The result is below `root`, and its existing part is canonical.
///
/// Whatever goes wrong once the walk has left the root is no more than that it left.
fn physical(
    root: &Path,
    start: &Path,
    way: Vec<Piece>,
    shown: &str,
    allowed: Way,
) -> Result<PathBuf, WorkspaceError> {
    let outside = || WorkspaceError::Outside { path: shown.into() };
    let mut at = start.to_path_buf();
    let mut pending: Vec<Piece> = way.into_iter().rev().collect();
    let mut links = 0;
    while let Some(piece) = pending.pop() {
        if allowed == Way::Confined && !at.starts_with(root) {
            return Err(outside());
        }
        let name = match piece {
            Piece::Root(path) => {
                at = path;
                continue;
            }
            Piece::Up => {
                at.pop();
                continue;
            }
            Piece::Name(name) => name,
        };
        let next = at.join(name);
        let inside = next.starts_with(root);
        match fs::symlink_metadata(&next) {
            Ok(metadata) if metadata.is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(WorkspaceError::Loop { path: shown.into() });
                }
                let target = fs::read_link(&next)
                    .map_err(WorkspaceError::io("following the link", shown))?;
                pending.extend(pieces(&target).into_iter().rev());
            }
            Ok(_) => at = next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => at = next,
            Err(_) if !inside => return Err(outside()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(WorkspaceError::NotADirectory { path: shown.into() });
            }
            Err(error) => return Err(WorkspaceError::io("looking at", shown)(error)),
        }
    }
    let settled = settle(&at).map_err(|error| {
        if at.starts_with(root) {
            WorkspaceError::io("looking at", shown)(error)
        } else {
            outside()
        }
    })?;
    if settled.starts_with(root) {
        Ok(settled)
    } else {
        Err(outside())
    }
}

/// The path with its existing part as the operating system spells it.
fn settle(path: &Path) -> io::Result<PathBuf> {
    let mut missing: Vec<OsString> = Vec::new();
    let mut at = path.to_path_buf();
    loop {
        match fs::canonicalize(&at) {
            Ok(mut settled) => {
                settled.extend(missing.iter().rev());
                return Ok(settled);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match at.file_name().map(ToOwned::to_owned) {
                    Some(name) if at.pop() => missing.push(name),
                    _ => return Err(error),
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// Whether a link leads to something in its own tree, wherever that tree lies. The root is canonical, and the
/// link's parents are plain folders. What it leads to need not exist.
pub(super) fn stays_inside(root: &Path, link: &Path) -> bool {
    let (Ok(target), Some(parent)) = (fs::read_link(link), link.parent()) else {
        return false;
    };
    !target.has_root()
        && !target.is_absolute()
        && physical(root, parent, pieces(&target), "", Way::Confined).is_ok()
}
