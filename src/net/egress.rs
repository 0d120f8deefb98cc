//! The name under which a policy knows where a URL leads.

use reqwest::Url;

use super::{NetError, NetErrorKind};

/// The `host:port` of a URL, as rules about the network are written: the scheme's usual port is filled in,
/// user and password are dropped, an IPv6 address keeps its brackets, letters of the host are small.
///
/// ```
/// use taskgate::net::target;
///
/// assert_eq!(target("https://user:word@API.example.com/v1?key=1").unwrap(), "api.example.com:443");
/// assert_eq!(target("http://[::1]:8080/v1").unwrap(), "[::1]:8080");
/// assert!(target("file:///etc/passwd").is_err());
/// ```
///
/// # Errors
/// Where the text is no `http` or `https` URL with a host.
pub fn target(url: &str) -> Result<String, NetError> {
    parse(url).map(|url| place(&url))
}

/// Reads an address that can be dialled.
pub(super) fn parse(url: &str) -> Result<Url, NetError> {
    // The text is not repeated: it may hold a password.
    let bad = |why: &str| NetError::new(NetErrorKind::Address, "address", why);
    let url = Url::parse(url).map_err(|error| bad(&format!("not a URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(&format!(
            "the scheme is `{}`: only http and https are dialled",
            url.scheme()
        )));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(bad("the URL names no host"));
    }
    Ok(url)
}

/// The host and port of an address that [`parse`] accepted.
pub(super) fn place(url: &Url) -> String {
    format!(
        "{}:{}",
        url.host_str().unwrap_or_default(),
        url.port_or_known_default().unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::target;

    #[test]
    fn table() {
        for (url, expected) in [
            ("http://localhost", Some("localhost:80")),
            ("https://localhost/v1", Some("localhost:443")),
            ("http://127.0.0.1:8080/v1", Some("127.0.0.1:8080")),
            ("https://u:p@h.example:8443/?q", Some("h.example:8443")),
            ("http://[fe80::1]", Some("[fe80::1]:80")),
            ("HTTP://EXAMPLE.com", Some("example.com:80")),
            // Other spellings of an address are the same address.
            ("http://0x7f.1/", Some("127.0.0.1:80")),
            ("http://127.1:1/", Some("127.0.0.1:1")),
            ("ftp://example.com", None),
            ("example.com:443", None),
            ("/v1", None),
            ("http://", None),
            ("", None),
            ("http://host:99999/", None),
        ] {
            assert_eq!(target(url).ok().as_deref(), expected, "{url:?}");
        }
    }

    #[test]
    fn an_error_does_not_repeat_the_address() {
        for url in ["http://user:hunter2@[bad/", "ftp://user:hunter2@host/"] {
            let error = target(url).expect_err(url);
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        }
    }
}
