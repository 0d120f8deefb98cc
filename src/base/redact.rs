//! Removes known secrets from everything that leaves the process.

use std::borrow::Cow;
use std::sync::{Arc, RwLock};

/// What stands where a secret stood.
const MARK: &str = "[redacted]";

/// Secrets shorter than this are not searched for: every report would be full of holes.
const SHORTEST: usize = 6;

/// Knows the secrets in use and replaces them, plain, URL-encoded and in base64, in any text.
///
/// Clones share their secrets.
///
/// ```
/// let redactor = taskgate::base::Redactor::default();
/// redactor.add("sk-very-secret");
/// assert_eq!(redactor.clean("key=sk-very-secret!"), "key=[redacted]!");
/// ```
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Arc<RwLock<Vec<String>>>,
}

impl Redactor {
    /// From now on `secret` is removed from every text, also where it is URL- or base64-encoded.
    pub fn add(&self, secret: &str) {
        let secret = secret.trim();
        if secret.len() < SHORTEST {
            return;
        }
        let mut secrets = self
            .secrets
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        for form in [
            secret.to_owned(),
            percent_encoded(secret),
            base64(secret.as_bytes()),
        ] {
            if !secrets.contains(&form) {
                secrets.push(form);
            }
        }
        // The longest first, so that a secret within another does not leave a tail behind.
        secrets.sort_by_key(|form| std::cmp::Reverse(form.len()));
    }

    /// `text` without any known secret.
    #[must_use]
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let secrets = self
            .secrets
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut clean = Cow::Borrowed(text);
        for secret in secrets.iter() {
            if clean.contains(secret.as_str()) {
                clean = Cow::Owned(clean.replace(secret.as_str(), MARK));
            }
        }
        clean
    }

    /// As [`Redactor::clean`], in place and without copying where nothing is found.
    pub fn clean_in_place(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.clean(text) {
            *text = clean;
        }
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

fn percent_encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("writing into a string cannot fail");
        }
    }
    out
}

/// The unpadded form: a substring of the padded one, so that both are found.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 2);
    for chunk in bytes.chunks(3) {
        let group = chunk
            .iter()
            .fold(0_u32, |group, &byte| group << 8 | u32::from(byte))
            << (8 * (3 - chunk.len()));
        for position in 0..=chunk.len() {
            let index = group >> (18 - 6 * position) & 63;
            out.push(char::from(ALPHABET[index as usize]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Redactor, base64};

    #[test]
    fn every_form_goes() {
        let redactor = Redactor::default();
        redactor.add("sk-a/b+c d");
        for text in ["sk-a/b+c d", "sk-a%2Fb%2Bc%20d", "c2stYS9iK2MgZA"] {
            assert_eq!(
                redactor.clean(&format!("<{text}>")),
                "<[redacted]>",
                "{text}"
            );
        }
        assert!(matches!(
            redactor.clean("nothing here"),
            std::borrow::Cow::Borrowed(_)
        ));
    }

    #[test]
    fn a_short_value_is_left_alone() {
        let redactor = Redactor::default();
        redactor.add("abc");
        assert_eq!(redactor.clean("abc"), "abc");
    }

    #[test]
    fn a_secret_within_another_leaves_no_tail() {
        let redactor = Redactor::default();
        redactor.add("secret-1");
        redactor.add("secret-1-and-more");
        assert_eq!(redactor.clean("secret-1-and-more"), "[redacted]");
    }

    #[test]
    fn base64_as_published() {
        for (plain, encoded) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }
}
