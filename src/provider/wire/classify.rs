//! What an error object of a vendor means, whatever status or stream it came in.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::base::{Redactor, Timestamp, one_line, printable};
use crate::domain::{ProviderError, ProviderErrorKind};

/// The longest message that is kept of what a vendor says, in characters.
const LONGEST_MESSAGE: usize = 500;

/// The longest wait that is taken over from a vendor: more is a slip of a clock or of a unit.
const LONGEST_WAIT: Duration = Duration::from_secs(7 * 86_400);

/// Words in an error's code, type or message, and what they mean. The first that is found decides.
const SIGNS: &[(&str, ProviderErrorKind)] = &[
    (
        "context_length_exceeded",
        ProviderErrorKind::ContextOverflow,
    ),
    ("exceed_context_size", ProviderErrorKind::ContextOverflow),
    ("maximum context length", ProviderErrorKind::ContextOverflow),
    ("context window", ProviderErrorKind::ContextOverflow),
    ("available context size", ProviderErrorKind::ContextOverflow),
    ("prompt is too long", ProviderErrorKind::ContextOverflow),
    ("insufficient_quota", ProviderErrorKind::Auth),
    ("invalid_api_key", ProviderErrorKind::Auth),
    ("authentication_error", ProviderErrorKind::Auth),
    ("permission_error", ProviderErrorKind::Auth),
    ("billing_", ProviderErrorKind::Auth),
    ("rate_limit", ProviderErrorKind::RateLimited),
    ("too_many_requests", ProviderErrorKind::RateLimited),
    ("overloaded", ProviderErrorKind::Overloaded),
    ("service_unavailable", ProviderErrorKind::Overloaded),
    ("timeout", ProviderErrorKind::Timeout),
    ("invalid_request", ProviderErrorKind::Request),
    ("model_not_found", ProviderErrorKind::Request),
];

/// How many of [`SIGNS`] hold whatever the status says: an overflow and an empty account are terminal also where a
/// vendor sends them as 429 or 500. The rest only tell errors apart that came without a status.
const DECISIVE: usize = 11;

/// The parts of a vendor's error object.
#[derive(Debug, Default)]
pub(crate) struct Described {
    code: String,
    message: String,
    status: Option<u16>,
}

impl Described {
    /// Reads `{"error": {…}}`, `{"error": "text"}` and `{"object": "error", "message": …}`; `None` for anything else.
    pub(crate) fn read(body: &Value) -> Option<Self> {
        let error = match body.get("error") {
            None | Some(Value::Null | Value::Bool(false)) => {
                let is_error = ["object", "type"]
                    .iter()
                    .any(|key| body.get(key).and_then(Value::as_str) == Some("error"));
                if !is_error {
                    return None;
                }
                body
            }
            Some(error) => error,
        };
        Some(Self::of(error))
    }

    /// Reads the error object itself, or whatever stands for it.
    pub(crate) fn of(error: &Value) -> Self {
        let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
        let status = ["code", "status", "status_code"]
            .iter()
            .find_map(|key| match error.get(key) {
                Some(Value::Number(number)) => number.as_u64(),
                Some(Value::String(text)) => text.parse().ok(),
                _ => None,
            })
            .and_then(|status| u16::try_from(status).ok())
            .filter(|status| (400..600).contains(status));
        let message = match error {
            Value::String(text) => text.clone(),
            _ if !text("message").is_empty() => text("message").to_owned(),
            _ => error.to_string(),
        };
        Self {
            code: format!("{} {}", text("code"), text("type")),
            message,
            status,
        }
    }

    fn sign(&self, signs: &[(&str, ProviderErrorKind)]) -> Option<ProviderErrorKind> {
        // A message may repeat the whole request; the sign stands at its beginning.
        let message: String = self.message.chars().take(2_000).collect();
        let text = format!("{} {message}", self.code).to_lowercase();
        signs
            .iter()
            .find(|(sign, _)| text.contains(sign))
            .map(|(_, kind)| *kind)
    }

    /// The error of an answer with a status that is no success.
    pub(crate) fn with_status(&self, status: u16) -> ProviderError {
        ProviderError {
            kind: self
                .sign(&SIGNS[..DECISIVE])
                .unwrap_or_else(|| ProviderErrorKind::from_status(status)),
            status: Some(status),
            retry_after: None,
            message: self.message.clone(),
        }
    }

    /// The error of a stream or an answer that had begun as a success.
    pub(crate) fn in_answer(&self) -> ProviderError {
        let kind = self
            .sign(&SIGNS[..DECISIVE])
            .or_else(|| self.status.map(ProviderErrorKind::from_status))
            .or_else(|| self.sign(SIGNS))
            .unwrap_or(ProviderErrorKind::Server);
        ProviderError {
            kind,
            status: self.status,
            retry_after: None,
            message: self.message.clone(),
        }
    }
}

/// Makes what a vendor said fit for reports: printable, on one line, bounded, and without any known secret.
pub(crate) fn presentable(text: &str, redactor: &Redactor) -> String {
    // Taking characters out may put a secret together that was not one before, so it is looked for twice.
    let clean = printable(&redactor.clean(text));
    let folded = one_line(&redactor.clean(&clean), LONGEST_MESSAGE);
    redactor.clean(&folded).into_owned()
}

/// How long an answer's headers ask to wait: `retry-after-ms`, or `retry-after` in seconds or as a date. A date is
/// measured from the server's own clock where the answer gives it.
pub(crate) fn retry_after<'a>(
    header: impl Fn(&str) -> Option<&'a str>,
    now: Timestamp,
) -> Option<Duration> {
    let number = |name: &str| {
        let number: f64 = header(name)?.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    let wait = if let Some(millis) = number("retry-after-ms") {
        Duration::try_from_secs_f64(millis / 1_000.0).unwrap_or(LONGEST_WAIT)
    } else if let Some(seconds) = number("retry-after") {
        Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST_WAIT)
    } else {
        let date = |name: &str| httpdate::parse_http_date(header(name)?.trim()).ok();
        let until = date("retry-after")?;
        let from = date("date").unwrap_or_else(|| {
            let since = u64::try_from(now.as_millisecond()).unwrap_or(0);
            SystemTime::UNIX_EPOCH + Duration::from_millis(since)
        });
        until.duration_since(from).unwrap_or_default()
    };
    Some(wait.min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::{Described, presentable, retry_after};
    use crate::base::{Redactor, Timestamp};
    use crate::domain::ProviderErrorKind as Kind;
    use serde_json::json;
    use std::time::Duration;

    #[test]
    fn kinds_under_a_status() {
        for (status, body, expected) in [
            (
                400,
                json!({"error": {"code": "context_length_exceeded", "message": "too long"}}),
                Kind::ContextOverflow,
            ),
            (
                400,
                json!({"error": {"type": "exceed_context_size_error", "message": "x"}}),
                Kind::ContextOverflow,
            ),
            (
                400,
                json!({"object": "error", "message": "This model's maximum context length is 4096 tokens"}),
                Kind::ContextOverflow,
            ),
            (
                429,
                json!({"error": {"code": "insufficient_quota", "message": "x"}}),
                Kind::Auth,
            ),
            (
                429,
                json!({"error": {"code": "rate_limit_exceeded", "message": "x"}}),
                Kind::RateLimited,
            ),
            (
                400,
                json!({"error": {"code": "invalid_api_key", "message": "x"}}),
                Kind::Auth,
            ),
            (
                500,
                json!({"error": {"message": "invalid_request happened inside"}}),
                Kind::Server,
            ),
            (
                404,
                json!({"error": {"code": "model_not_found", "message": "x"}}),
                Kind::Request,
            ),
            (503, json!({"error": "down"}), Kind::Overloaded),
        ] {
            let error = Described::read(&body)
                .expect("an error")
                .with_status(status);
            assert_eq!(
                (error.kind, error.status),
                (expected, Some(status)),
                "{body}"
            );
        }
    }

    #[test]
    fn kinds_in_a_stream() {
        for (body, expected) in [
            (
                json!({"error": {"code": 502, "message": "x"}}),
                Kind::Server,
            ),
            (
                json!({"error": {"code": "529", "message": "x"}}),
                Kind::Overloaded,
            ),
            (
                json!({"error": {"type": "overloaded_error", "message": "x"}}),
                Kind::Overloaded,
            ),
            (
                json!({"error": {"code": "rate_limit_exceeded"}}),
                Kind::RateLimited,
            ),
            (json!({"error": "boom"}), Kind::Server),
            (json!({"error": {}}), Kind::Server),
            (json!({"error": [1, 2]}), Kind::Server),
            (json!({"type": "error", "message": "gone"}), Kind::Server),
        ] {
            let error = Described::read(&body).expect("an error").in_answer();
            assert_eq!(error.kind, expected, "{body}");
        }
        for body in [json!({}), json!({"error": null}), json!([]), json!("error")] {
            assert!(Described::read(&body).is_none(), "{body}");
        }
    }

    #[test]
    fn no_secret_survives_folding() {
        let redactor = Redactor::default();
        redactor.add("sk-123456789");
        for text in [
            "key sk-123456789!",
            "key sk-123\u{7}456789!",
            "key sk-\u{1b}[1m123456789",
        ] {
            let shown = presentable(text, &redactor);
            assert!(shown.contains("[redacted]"), "{shown}");
        }
        assert!(presentable(&"x".repeat(5_000), &redactor).chars().count() <= 500);
    }

    #[test]
    fn waits() {
        let now: Timestamp = "2026-11-01T12:00:00Z".parse().expect("a time");
        let at = |headers: &'static [(&'static str, &'static str)]| {
            retry_after(
                move |name| {
                    headers
                        .iter()
                        .find(|(key, _)| *key == name)
                        .map(|(_, value)| *value)
                },
                now,
            )
        };
        let seconds = Duration::from_secs;
        assert_eq!(at(&[]), None);
        assert_eq!(at(&[("retry-after", "2")]), Some(seconds(2)));
        assert_eq!(
            at(&[("retry-after", " 1.5 ")]),
            Some(Duration::from_millis(1_500))
        );
        assert_eq!(
            at(&[("retry-after", "9"), ("retry-after-ms", "250")]),
            Some(Duration::from_millis(250))
        );
        assert_eq!(
            at(&[("retry-after", "Sun, 01 Nov 2026 12:00:30 GMT")]),
            Some(seconds(30))
        );
        assert_eq!(
            at(&[("retry-after", "Sun, 01 Nov 2026 11:00:00 GMT")]),
            Some(seconds(0))
        );
        assert_eq!(
            at(&[
                ("retry-after", "Sun, 01 Nov 2026 12:00:30 GMT"),
                ("date", "Sun, 01 Nov 2026 12:00:20 GMT")
            ]),
            Some(seconds(10))
        );
        for odd in ["-1", "soon", "NaN", "inf", ""] {
            let header = move |name: &str| (name == "retry-after").then_some(odd);
            assert_eq!(retry_after(header, now), None, "{odd}");
        }
        assert_eq!(at(&[("retry-after", "1e300")]), Some(seconds(7 * 86_400)));
    }
}
