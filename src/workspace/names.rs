//! Names as they are written in paths, for file systems that allow more than a path can say.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::base::{RelPath, sha256};

/// How this program's temporary files begin. They end in [`TEMP_SUFFIX`], with [`TEMP_RANDOM`] letters
/// and digits between.
pub(super) const TEMP_PREFIX: &str = ".taskgate-";
pub(super) const TEMP_SUFFIX: &str = ".tmp";
pub(super) const TEMP_RANDOM: usize = 16;

const REPLACEMENT: char = '\u{fffd}';

/// Whether a file of this name is a temporary one of this program's, left behind by a crash.
pub(super) fn is_temporary(name: &str) -> bool {
    name.strip_prefix(TEMP_PREFIX)
        .and_then(|rest| rest.strip_suffix(TEMP_SUFFIX))
        .is_some_and(|random| {
            random.len() == TEMP_RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

/// The name as a path can hold it. One that is no UTF-8, or that a path would read as something else, has
/// its odd characters replaced and the address of the true name put in, so that two never look the same
/// and the beginning and the end still fit the patterns that the true name would.
pub(super) fn shown(name: &OsStr) -> String {
    let odd = |at: usize, c: char| c == '\\' || c == REPLACEMENT || (at == 1 && c == ':');
    let lossy = name.to_string_lossy();
    let Some(first) = lossy.char_indices().find(|&(at, c)| odd(at, c)) else {
        return lossy.into_owned();
    };
    let drive = first.1 == ':' && !lossy.starts_with(|c: char| c.is_ascii_alphabetic());
    if drive && !lossy.contains(['\\', REPLACEMENT]) {
        return lossy.into_owned();
    }
    let address = sha256(name.as_encoded_bytes());
    let mut text = String::with_capacity(lossy.len() + 16);
    for (at, c) in lossy.char_indices() {
        text.push(if odd(at, c) { REPLACEMENT } else { c });
        if at == first.0 {
            text.push_str(address.as_str().get(..16).unwrap_or_default());
        }
    }
    text
}

/// The path of an entry of the folder at `parent`.
pub(super) fn child(parent: &RelPath, name: &OsStr) -> RelPath {
    let name = shown(name);
    let text = if parent.is_root() {
        name
    } else {
        format!("{parent}/{name}")
    };
    RelPath::parse(&text).expect("a shown name holds nothing that a path may not")
}

/// The path as it is below `root`, with the names of a file system's own: `shown` undone. Where a name was
/// replaced its folder is searched for the true one.
pub(super) fn true_path(root: &Path, path: &RelPath) -> PathBuf {
    let mut at = root.to_path_buf();
    for name in path.names() {
        let found = if name.contains(REPLACEMENT) {
            entry_shown_as(&at, name)
        } else {
            None
        };
        match found {
            Some(found) => at = found,
            None => at.push(name),
        }
    }
    at
}

fn entry_shown_as(folder: &Path, name: &str) -> Option<PathBuf> {
    fs::read_dir(folder)
        .ok()?
        .flatten()
        .find(|entry| shown(&entry.file_name()) == name)
        .map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::{is_temporary, shown};

    #[test]
    fn plain_names_stay_and_odd_ones_are_told_apart() {
        for name in ["a.rs", "ü", "1:2", "ab:c", "with space", "..."] {
            assert_eq!(shown(name.as_ref()), name);
        }
        for name in ["a\\b", "C:", "x\u{fffd}", "a\\..\\b"] {
            let text = shown(name.as_ref());
            assert!(text.contains('\u{fffd}') && !text.contains('\\'), "{text}");
        }
        assert_ne!(shown("a\\b".as_ref()), shown("a\u{fffd}b".as_ref()));
        assert!(shown("a\\b.pem".as_ref()).ends_with("b.pem"));
    }

    #[test]
    fn only_the_exact_form_is_temporary() {
        for (name, expected) in [
            (".taskgate-0123456789abcdEF.tmp", true),
            (".taskgate-0123456789abcde.tmp", false),
            (".taskgate-0123456789abcde/.tmp", false),
            (".taskgate-notes.md", false),
            ("x.taskgate-0123456789abcdef.tmp", false),
        ] {
            assert_eq!(is_temporary(name), expected, "{name}");
        }
    }
}
