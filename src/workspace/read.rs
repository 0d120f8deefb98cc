//! Reading files whole, or as lines of text.

use std::io::{self, Read as _};
use std::path::Path;
use std::{cmp, fs};

use super::{Resolved, Workspace, WorkspaceError, names, os};

/// The largest file that is read into memory, in bytes.
pub const MAX_READ: u64 = 64 << 20;

/// How far into a file a NUL is looked for.
const BINARY_WINDOW: usize = 8 << 10;

/// How many names of a folder are compared with one that is missing, and how many are suggested.
const NAMES_COMPARED: usize = 2_000;
const NAMES_SUGGESTED: usize = 3;

const BOM: &str = "\u{feff}";

/// Some lines of a text file. Line ends are `\n` here, whatever they are in the file, and a byte order mark
/// is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSlice {
    /// The lines, each with its end where it has one.
    pub text: String,
    /// The number of the first line, from 1.
    pub first_line: u64,
    /// How many lines there are in `text`.
    pub lines: u64,
    /// How many lines the file has.
    pub total_lines: u64,
}

impl Workspace {
    /// Reads a whole file of at most [`MAX_READ`] bytes.
    ///
    /// # Errors
    /// Where it is missing (with similar names that do exist), is no regular file, or is too large.
    pub fn read_bytes(&self, at: &Resolved) -> Result<Vec<u8>, WorkspaceError> {
        let path = at.lexical.to_string();
        let metadata = match fs::symlink_metadata(&at.absolute) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(WorkspaceError::NotFound {
                    path,
                    near: self.similar(at),
                });
            }
            Err(error) => return Err(WorkspaceError::io("reading", path)(error)),
        };
        expect_file(&metadata, &path)?;
        read_capped(&at.absolute, MAX_READ, &path)
    }

    /// Reads `limit` lines of a text file from line `offset` on, which counts from 1. Without them, all lines.
    /// Lines beyond the end are none.
    ///
    /// # Errors
    /// As [`Workspace::read_bytes`]; where the file is no UTF-8 text, that it is binary.
    pub fn read_text(
        &self,
        at: &Resolved,
        offset: Option<u64>,
        limit: Option<u64>,
    ) -> Result<TextSlice, WorkspaceError> {
        let path = at.lexical.to_string();
        let text = Decoded::new(self.read_bytes(at)?, &path)?.text;
        let text = text.replace("\r\n", "\n");
        let first_line = offset.unwrap_or(1).max(1);
        let skip = usize::try_from(first_line - 1).unwrap_or(usize::MAX);
        let take = limit.map_or(usize::MAX, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        });
        let total_lines = text.split_inclusive('\n').count() as u64;
        let lines: Vec<&str> = text.split_inclusive('\n').skip(skip).take(take).collect();
        Ok(TextSlice {
            text: lines.concat(),
            first_line,
            lines: lines.len() as u64,
            total_lines,
        })
    }

    /// Paths beside a missing one with names like its own, the most similar one first.
    pub(super) fn similar(&self, at: &Resolved) -> Vec<String> {
        let mut folder = self.root.clone();
        let mut parent = String::new();
        let mut wanted = "";
        for name in at.canonical.names() {
            let next = folder.join(name);
            if !next.is_dir() {
                wanted = name;
                break;
            }
            folder = next;
            parent.push_str(name);
            parent.push('/');
        }
        let Ok(entries) = fs::read_dir(&folder) else {
            return Vec::new();
        };
        let mut found: Vec<(f64, String)> = entries
            .flatten()
            .take(NAMES_COMPARED)
            .map(|entry| names::shown(&entry.file_name()))
            .map(|name| {
                let likeness = strsim::normalized_damerau_levenshtein(
                    &name.to_lowercase(),
                    &wanted.to_lowercase(),
                );
                (likeness, name)
            })
            .filter(|(likeness, name)| *likeness >= 0.5 && !names::is_temporary(name))
            .collect();
        found.sort_by(|a, b| {
            b.0.partial_cmp(&a.0)
                .unwrap_or(cmp::Ordering::Equal)
                .then_with(|| a.1.cmp(&b.1))
        });
        found
            .into_iter()
            .take(NAMES_SUGGESTED)
            .map(|(_, name)| format!("{parent}{name}"))
            .collect()
    }
}

/// Says what stands where a file is needed.
pub(super) fn expect_file(metadata: &fs::Metadata, path: &str) -> Result<(), WorkspaceError> {
    let what = if metadata.is_file() {
        return Ok(());
    } else if metadata.is_dir() {
        "a folder"
    } else if metadata.is_symlink() {
        "a symbolic link"
    } else {
        "a special file"
    };
    Err(WorkspaceError::NotAFile {
        path: path.to_owned(),
        what,
    })
}

/// Reads a regular file, however its size changes meanwhile.
pub(super) fn read_capped(path: &Path, limit: u64, shown: &str) -> Result<Vec<u8>, WorkspaceError> {
    let too_large = |size| WorkspaceError::TooLarge {
        path: shown.to_owned(),
        size,
        limit,
    };
    let file = os::open_regular(path).map_err(WorkspaceError::io("reading", shown))?;
    let size = file
        .metadata()
        .map_err(WorkspaceError::io("reading", shown))?
        .len();
    if size > limit {
        return Err(too_large(size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(WorkspaceError::io("reading", shown))?;
    if bytes.len() as u64 > limit {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// A text file without its byte order mark.
pub(super) struct Decoded {
    pub(super) text: String,
    /// Whether there was a mark.
    pub(super) bom: bool,
}

impl Decoded {
    pub(super) fn new(bytes: Vec<u8>, path: &str) -> Result<Self, WorkspaceError> {
        let size = bytes.len() as u64;
        let binary = || WorkspaceError::Binary {
            path: path.to_owned(),
            size,
        };
        if bytes.iter().take(BINARY_WINDOW).any(|&byte| byte == 0) {
            return Err(binary());
        }
        let mut text = String::from_utf8(bytes).map_err(|_| binary())?;
        let bom = text.starts_with(BOM);
        if bom {
            text.drain(..BOM.len());
        }
        Ok(Self { text, bom })
    }

    pub(super) fn encode(self) -> Vec<u8> {
        if self.bom {
            (BOM.to_owned() + &self.text).into_bytes()
        } else {
            self.text.into_bytes()
        }
    }
}
