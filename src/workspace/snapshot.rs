//! What is in a tree, and what differs between two looks at it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{WorkspaceError, names, os};
use crate::base::{Digest, RelPath, sha256};
use crate::domain::TamperKind;

/// How many entries a tree may have.
const MAX_ENTRIES: usize = 1_000_000;
/// A file is hashed in pieces of this many bytes. One that fits into a piece has the address of its content,
/// a longer one the address of its pieces' addresses.
const PIECE: u64 = 8 << 20;
/// Beyond this many bytes of a file, its size stands for the rest.
const MAX_HASHED: u64 = 1 << 30;

/// What an entry of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// A regular file.
    File,
    /// A folder.
    Dir,
    /// A symbolic link.
    Symlink,
    /// A pipe, a socket or a device.
    Special,
    /// Something that could not be looked into, for instance a folder without the permission for it.
    Unreadable,
}

impl NodeKind {
    const fn letter(self) -> char {
        match self {
            Self::File => 'f',
            Self::Dir => 'd',
            Self::Symlink => 'l',
            Self::Special => 's',
            Self::Unreadable => 'u',
        }
    }
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// What it is.
    pub kind: NodeKind,
    /// The address of a file's content, or of what a link holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// The permission bits.
    pub mode: u32,
    /// The size of a file or a link in bytes; 0 for anything else.
    pub size: u64,
}

impl Entry {
    /// Whether somebody did something to it. The bits of a folder do not count: they are the platform's.
    fn differs(&self, other: &Self) -> bool {
        let bits = self.kind == NodeKind::File && self.mode != other.mode;
        bits || self.kind != other.kind || self.sha256 != other.sha256 || self.size != other.size
    }
}

/// Everything in a tree but this program's own temporary files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Snapshot {
    entries: BTreeMap<RelPath, Entry>,
}

impl Snapshot {
    /// All entries in the order of their paths. A name that no path can hold is there in a readable form that
    /// no other name has.
    pub fn entries(&self) -> impl Iterator<Item = (&RelPath, &Entry)> {
        self.entries.iter()
    }

    /// What is at a path.
    #[must_use]
    pub fn get(&self, path: &RelPath) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// How many entries there are that are no folders.
    #[must_use]
    pub fn files(&self) -> u64 {
        let files = self.entries.values();
        files.filter(|entry| entry.kind != NodeKind::Dir).count() as u64
    }

    /// The address of the tree: the same on every machine for the same names, contents, links and executable
    /// bits. Of the permission bits only the owner's right to execute a file counts.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut text = String::new();
        for (path, entry) in &self.entries {
            let executable = entry.kind == NodeKind::File && entry.mode & 0o100 != 0;
            text.push(entry.kind.letter());
            text.push(if executable { 'x' } else { '-' });
            text.push_str(entry.sha256.as_ref().map_or("", Digest::as_str));
            text.push(' ');
            text.push_str(path.as_str());
            text.push('\0');
        }
        sha256(text)
    }

    /// The paths that have something below them.
    fn parents(&self) -> BTreeSet<&str> {
        self.entries
            .keys()
            .filter_map(|path| path.as_str().rsplit_once('/'))
            .map(|(parent, _)| parent)
            .collect()
    }
}

/// Looks at everything below `root`. No link is followed and no pipe is opened; what cannot be looked into is
/// noted as such.
///
/// # Errors
/// Where `root` itself cannot be listed, or there are too many entries.
pub fn snapshot(root: &Path) -> Result<Snapshot, WorkspaceError> {
    let mut entries = BTreeMap::new();
    let mut buffer = Vec::new();
    let mut pending: Vec<(PathBuf, RelPath)> = vec![(root.to_path_buf(), RelPath::root())];
    while let Some((folder, path)) = pending.pop() {
        let listed = match fs::read_dir(&folder) {
            Ok(listed) => listed,
            Err(error) if path.is_root() => {
                return Err(WorkspaceError::io_at("listing", root)(error));
            }
            Err(_) => {
                mark_unreadable(&mut entries, &path);
                continue;
            }
        };
        for found in listed {
            let Ok(found) = found else {
                mark_unreadable(&mut entries, &path);
                break;
            };
            let name = found.file_name();
            let below = names::child(&path, &name);
            let entry = match fs::symlink_metadata(found.path()) {
                Ok(metadata) if metadata.is_dir() => {
                    pending.push((found.path(), below.clone()));
                    plain(NodeKind::Dir, &metadata)
                }
                Ok(metadata)
                    if metadata.is_file() && name.to_str().is_some_and(names::is_temporary) =>
                {
                    continue;
                }
                Ok(metadata) => leaf(&found.path(), &metadata, &mut buffer),
                Err(_) => Entry {
                    kind: NodeKind::Unreadable,
                    sha256: None,
                    mode: 0,
                    size: 0,
                },
            };
            entries.insert(below, entry);
            if entries.len() > MAX_ENTRIES {
                return Err(WorkspaceError::TooMany {
                    path: root.display().to_string(),
                    limit: MAX_ENTRIES,
                });
            }
        }
    }
    Ok(Snapshot { entries })
}

fn mark_unreadable(entries: &mut BTreeMap<RelPath, Entry>, path: &RelPath) {
    if let Some(entry) = entries.get_mut(path) {
        entry.kind = NodeKind::Unreadable;
    }
}

fn plain(kind: NodeKind, metadata: &Metadata) -> Entry {
    Entry {
        kind,
        sha256: None,
        mode: os::mode(metadata),
        size: 0,
    }
}

fn leaf(path: &Path, metadata: &Metadata, buffer: &mut Vec<u8>) -> Entry {
    let (kind, content) = if metadata.is_symlink() {
        let target = fs::read_link(path);
        let address = target.map(|target| sha256(target.as_os_str().as_encoded_bytes()));
        (NodeKind::Symlink, address)
    } else if metadata.is_file() {
        (NodeKind::File, address(path, buffer))
    } else {
        return plain(NodeKind::Special, metadata);
    };
    match content {
        Ok(address) => Entry {
            sha256: Some(address),
            size: metadata.len(),
            ..plain(kind, metadata)
        },
        Err(_) => plain(NodeKind::Unreadable, metadata),
    }
}

/// The address of a file's content.
fn address(path: &Path, buffer: &mut Vec<u8>) -> io::Result<Digest> {
    let mut file = os::open_regular(path)?.take(MAX_HASHED);
    let mut pieces: Vec<Digest> = Vec::new();
    loop {
        buffer.clear();
        file.by_ref().take(PIECE).read_to_end(buffer)?;
        if buffer.is_empty() && !pieces.is_empty() {
            break;
        }
        let last = (buffer.len() as u64) < PIECE;
        pieces.push(sha256(&*buffer));
        if last {
            break;
        }
    }
    Ok(match &pieces[..] {
        [only] => only.clone(),
        many => sha256(many.iter().map(Digest::as_str).collect::<String>()),
    })
}

/// One thing that differs between two looks at a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Where.
    pub path: RelPath,
    /// How.
    pub how: TamperKind,
}

/// What differs, in the order of paths. A folder that came or went counts for itself only where nothing in it
/// did.
#[must_use]
pub fn changes(before: &Snapshot, after: &Snapshot) -> Vec<Change> {
    let (parents_before, parents_after) = (before.parents(), after.parents());
    let paths: BTreeSet<&RelPath> = before.entries.keys().chain(after.entries.keys()).collect();
    paths
        .into_iter()
        .filter_map(|path| {
            let full = |entry: &Entry, parents: &BTreeSet<&str>| {
                entry.kind == NodeKind::Dir && parents.contains(path.as_str())
            };
            let how = match (before.get(path), after.get(path)) {
                (None, Some(now)) if !full(now, &parents_after) => TamperKind::Created,
                (Some(then), None) if !full(then, &parents_before) => TamperKind::Removed,
                (Some(then), Some(now)) if then.differs(now) => TamperKind::Changed,
                _ => return None,
            };
            Some(Change {
                path: path.clone(),
                how,
            })
        })
        .collect()
}
