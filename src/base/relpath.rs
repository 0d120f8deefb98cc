//! A path below some root, written the same way on every platform.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};

/// Why a text is no path below a root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RelPathError {
    /// Starts at the file system's root, a drive or a share.
    #[error("`{0}` is absolute: name a path below the workspace root")]
    Absolute(String),
    /// Leaves the root on its way.
    #[error("`{0}` climbs out of the workspace root")]
    Climbs(String),
    /// Holds a character that no path holds.
    #[error("`{0}` holds a character that no path may hold")]
    Character(String),
}

/// A path below a root: `/` between names, no `.`, no `..`, never absolute. The root is the empty path.
///
/// ```
/// use taskgate::base::RelPath;
///
/// assert_eq!(RelPath::parse("./src/../src/lib.rs").expect("inside").as_str(), "src/lib.rs");
/// assert!(RelPath::parse("../secret").is_err());
/// assert!(RelPath::parse("/etc/passwd").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RelPath(String);

impl RelPath {
    /// Normalises `text` without looking at any file system.
    ///
    /// # Errors
    /// Where `text` is absolute on any platform, climbs above the root, or holds a NUL.
    pub fn parse(text: &str) -> Result<Self, RelPathError> {
        if text.contains('\0') {
            return Err(RelPathError::Character(text.escape_debug().to_string()));
        }
        let unified = text.replace('\\', "/");
        let drive =
            unified.as_bytes().get(1) == Some(&b':') && unified.as_bytes()[0].is_ascii_alphabetic();
        if unified.starts_with('/') || drive {
            return Err(RelPathError::Absolute(text.to_owned()));
        }
        let mut names: Vec<&str> = Vec::new();
        for name in unified.split('/') {
            match name {
                "" | "." => {}
                ".." => {
                    names
                        .pop()
                        .ok_or_else(|| RelPathError::Climbs(text.to_owned()))?;
                }
                name => names.push(name),
            }
        }
        Ok(Self(names.join("/")))
    }

    /// The root itself.
    #[must_use]
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// With `/` between names.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The names from the root downwards.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// The path below `root`, in the platform's own spelling. Symbolic links are not looked at.
    #[must_use]
    pub fn below(&self, root: &Path) -> PathBuf {
        let mut path = root.to_path_buf();
        path.extend(self.names());
        path
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for RelPath {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RelativePath".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A path below the workspace root, with `/` between names."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::RelPath;

    #[test]
    fn table() {
        for (text, expected) in [
            ("", Some("")),
            (".", Some("")),
            ("a//b/", Some("a/b")),
            ("a\\b", Some("a/b")),
            ("a/..", Some("")),
        ] {
            assert_eq!(
                RelPath::parse(text).ok().as_ref().map(RelPath::as_str),
                expected,
                "{text:?}"
            );
        }
        for text in [
            "..",
            "a/../..",
            "/a",
            "\\\\host\\share",
            "C:\\x",
            "c:x",
            "a\0b",
        ] {
            assert!(RelPath::parse(text).is_err(), "{text:?}");
        }
    }
}
