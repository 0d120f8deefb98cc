//! Searching the content of files for a regular expression.

use std::ops::ControlFlow;
use std::{fs, io};

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkMatch};

use super::walk::PathGlob;
use super::{Workspace, WorkspaceError, os};
use crate::base::{RelPath, one_line};

/// Files beyond this many bytes are not searched.
const MAX_FILE: u64 = 16 << 20;
/// One search reads no more than this many bytes in all.
const MAX_BYTES: u64 = 1 << 30;
/// One search counts no more lines than this.
const MAX_COUNTED: u64 = 100_000;
/// How much of a line is shown, in characters.
const MAX_LINE: usize = 400;
/// How long a pattern may be, in bytes, and how large compiled.
const MAX_PATTERN: usize = 4 << 10;
const MAX_COMPILED: usize = 4 << 20;

/// What to look for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepQuery {
    /// A regular expression that is tried on each line.
    pub pattern: String,
    /// Only files that this glob fits. Without a `/` in it, it is tried on a file's name, otherwise on its path.
    pub glob: Option<String>,
    /// How many lines are given back.
    pub limit: usize,
}

/// One line that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The file.
    pub path: RelPath,
    /// The number of the line, from 1.
    pub line: u64,
    /// The line without its end, clipped to 400 characters.
    pub text: String,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GrepHits {
    /// The first lines that fit, in the order of paths and lines.
    pub hits: Vec<Hit>,
    /// How many lines fit in all files that were searched.
    pub total: u64,
    /// In how many files.
    pub files: u64,
    /// How many files were too large to be searched.
    pub skipped: u64,
    /// Whether there is more: lines beyond the limit, or files that were not reached.
    pub truncated: bool,
}

impl Workspace {
    /// Searches the files that `visible` lets through and the tree's ignore files do not leave out. Binary files
    /// are left out, links are not followed.
    ///
    /// # Errors
    /// Where the pattern or the glob is none, or is too expensive.
    pub fn grep(
        &self,
        query: &GrepQuery,
        visible: &dyn Fn(&RelPath) -> bool,
    ) -> Result<GrepHits, WorkspaceError> {
        let matcher = compile(&query.pattern)?;
        let glob = query.glob.as_deref().map(PathGlob::new).transpose()?;
        let mut searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .memory_map(MmapChoice::never())
            .heap_limit(Some(2 * MAX_FILE as usize))
            .build();
        let mut hits = GrepHits::default();
        let mut read = 0;
        let complete = self.walk(|file| {
            let wanted = file.regular && glob.as_ref().is_none_or(|glob| glob.fits(&file.path));
            if !wanted || !visible(&file.path) {
                return ControlFlow::Continue(());
            }
            match fs::symlink_metadata(&file.absolute) {
                Ok(metadata) if metadata.len() > MAX_FILE => {
                    hits.skipped += 1;
                    return ControlFlow::Continue(());
                }
                Ok(metadata) => read += metadata.len(),
                Err(_) => return ControlFlow::Continue(()),
            }
            let Ok(opened) = os::open_regular(&file.absolute) else {
                return ControlFlow::Continue(());
            };
            let before = hits.total;
            let lines = Lines {
                path: &file.path,
                limit: query.limit,
                hits: &mut hits,
            };
            // A file that cannot be read to its end gives the lines up to there.
            let _ended = searcher.search_file(&matcher, &opened, lines);
            hits.files += u64::from(hits.total > before);
            if hits.total >= MAX_COUNTED || read > MAX_BYTES {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        hits.truncated = !complete || hits.total > hits.hits.len() as u64;
        Ok(hits)
    }
}

fn compile(pattern: &str) -> Result<RegexMatcher, WorkspaceError> {
    let bad = |reason: String| WorkspaceError::Pattern {
        pattern: one_line(pattern, 100),
        reason,
    };
    if pattern.len() > MAX_PATTERN {
        return Err(bad(format!("it is longer than {MAX_PATTERN} bytes")));
    }
    RegexMatcherBuilder::new()
        .crlf(true)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .build(pattern)
        .map_err(|error| bad(error.to_string()))
}

/// Takes the lines of one file.
struct Lines<'a> {
    path: &'a RelPath,
    limit: usize,
    hits: &'a mut GrepHits,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.hits.total += 1;
        if self.hits.hits.len() < self.limit {
            self.hits.hits.push(Hit {
                path: self.path.clone(),
                line: found.line_number().unwrap_or_default(),
                text: line_text(found.bytes()),
            });
        }
        Ok(self.hits.total < MAX_COUNTED)
    }
}

fn line_text(bytes: &[u8]) -> String {
    // A character has at most four bytes: more than these need not be decoded.
    let enough = bytes.get(..4 * (MAX_LINE + 1)).unwrap_or(bytes);
    let text = String::from_utf8_lossy(enough);
    let text = text.trim_end_matches(['\r', '\n']);
    match text.char_indices().nth(MAX_LINE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
