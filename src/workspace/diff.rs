//! What changed, as a patch.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::{Change, names, os, read};
use crate::base::{Bounded, Collector, format_bytes};

/// The largest file whose lines are compared, in bytes.
const MAX_COMPARED: u64 = 2 << 20;
/// How long the comparison of one file looks for the smallest difference before it takes one that is larger.
const PATIENCE: Duration = Duration::from_secs(5);

/// Changes between two trees as a unified diff.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    /// How many files differ.
    pub files: u64,
    /// Lines added, in files that are text.
    pub added: u64,
    /// Lines removed, in files that are text.
    pub removed: u64,
    /// The diff. Files that are binary or large are named, their content is not shown.
    pub text: Bounded,
}

/// Writes down what `changes` say, with the content of both trees; at most `limit` bytes of it are kept.
#[must_use]
pub fn patch(pristine: &Path, changed: &Path, changes: &[Change], limit: usize) -> Patch {
    let mut collector = Collector::new(limit);
    let mut patch = Patch::default();
    for change in changes {
        let old = Side::of(&names::true_path(pristine, &change.path));
        let new = Side::of(&names::true_path(changed, &change.path));
        if let (Side::Missing, Side::Missing) = (&old, &new) {
            continue;
        }
        patch.files += 1;
        let (text, added, removed) = one(change.path.as_str(), &old, &new);
        patch.added += added;
        patch.removed += removed;
        collector.push(text.as_bytes());
    }
    patch.text = collector.finish();
    patch
}

/// What is at a path in one of the two trees.
enum Side {
    /// Nothing, or a folder: a patch does not speak of folders.
    Missing,
    Text {
        text: String,
        mode: u32,
    },
    /// A link, with what it holds.
    Link(String),
    /// Something whose content is not shown, with a word for it.
    Opaque(String),
}

impl Side {
    fn of(path: &Path) -> Self {
        let Ok(metadata) = fs::symlink_metadata(path) else {
            return Self::Missing;
        };
        if metadata.is_dir() {
            return Self::Missing;
        }
        if metadata.is_symlink() {
            return Self::Link(fs::read_link(path).map_or_else(
                |_| String::new(),
                |target| target.to_string_lossy().into_owned(),
            ));
        }
        if !metadata.is_file() {
            return Self::Opaque("special file".to_owned());
        }
        let size = format_bytes(metadata.len());
        let Ok(bytes) = read::read_capped(path, MAX_COMPARED, "") else {
            return Self::Opaque(format!("file of {size}"));
        };
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Self::Text {
                text,
                mode: git_mode(os::mode(&metadata)),
            },
            _ => Self::Opaque(format!("binary file of {size}")),
        }
    }

    /// The mode that stands in a patch.
    const fn mode(&self) -> Option<u32> {
        match self {
            Self::Text { mode, .. } => Some(*mode),
            Self::Link(_) => Some(0o120_000),
            Self::Missing | Self::Opaque(_) => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Missing => Some(""),
            Self::Text { text, .. } | Self::Link(text) => Some(text),
            Self::Opaque(_) => None,
        }
    }

    fn word(&self) -> &str {
        match self {
            Self::Missing => "nothing",
            Self::Text { .. } => "text file",
            Self::Link(_) => "symbolic link",
            Self::Opaque(word) => word,
        }
    }
}

const fn git_mode(mode: u32) -> u32 {
    if mode & 0o100 == 0 {
        0o100_644
    } else {
        0o100_755
    }
}

/// The part of a patch about one path, and the lines that it adds and removes.
fn one(path: &str, old: &Side, new: &Side) -> (String, u64, u64) {
    let (a, b) = (header_path("a", path), header_path("b", path));
    let mut text = format!("diff --git {a} {b}\n");
    let into = "writing into a string cannot fail";
    match (old, new) {
        (Side::Missing, now) => {
            let mode = now.mode().unwrap_or(0o100_644);
            writeln!(text, "new file mode {mode:06o}").expect(into);
        }
        (then, Side::Missing) => {
            let mode = then.mode().unwrap_or(0o100_644);
            writeln!(text, "deleted file mode {mode:06o}").expect(into);
        }
        (then, now) => {
            if let (Some(then), Some(now)) = (then.mode(), now.mode())
                && then != now
            {
                writeln!(text, "old mode {then:06o}\nnew mode {now:06o}").expect(into);
            }
        }
    }
    let (Some(before), Some(after)) = (old.text(), new.text()) else {
        writeln!(text, "not shown: {} -> {}", old.word(), new.word()).expect(into);
        return (text, 0, 0);
    };
    if before == after {
        return (text, 0, 0);
    }
    let diff = TextDiff::configure()
        .timeout(PATIENCE)
        .diff_lines(before, after);
    let (mut added, mut removed) = (0, 0);
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
            ChangeTag::Equal => {}
        }
    }
    let side = |side: &Side, path| match side {
        Side::Missing => "/dev/null".to_owned(),
        _ => path,
    };
    let mut unified = diff.unified_diff();
    unified
        .context_radius(3)
        .header(&side(old, a), &side(new, b));
    write!(text, "{unified}").expect(into);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    (text, added, removed)
}

/// A path as it stands in a header: in quotes where it could be read as more than a path.
fn header_path(side: &str, path: &str) -> String {
    if path.contains(|c: char| c.is_control() || c == '"') {
        format!("\"{side}/{}\"", path.escape_debug())
    } else {
        format!("{side}/{path}")
    }
}
