//! Content addresses.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A SHA-256 as 64 lower-case hexadecimal characters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// All 64 characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve characters: enough for a person to tell two apart.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self.short())
    }
}

/// The address of some bytes.
///
/// ```
/// assert!(taskgate::base::sha256(b"abc").as_str().starts_with("ba7816bf"));
/// ```
#[must_use]
pub fn sha256(bytes: impl AsRef<[u8]>) -> Digest {
    use fmt::Write as _;
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes.as_ref()) {
        write!(hex, "{byte:02x}").expect("writing into a string cannot fail");
    }
    Digest(hex)
}
