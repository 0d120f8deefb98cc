//! Building blocks without domain words and without I/O: identifiers, the clock, paths, globs,
//! bounded text, hashes, money, sizes and durations, redaction.

mod clock;
pub(crate) mod glob;
mod hash;
mod money;
mod quantity;
mod redact;
mod relpath;
mod text;

pub use clock::{Clock, ManualClock, SystemClock};
pub use glob::Pattern;
pub use hash::{Digest, sha256};
pub use money::Money;
pub use quantity::{QuantityError, Size, Span, format_bytes, format_duration, millis};
pub use redact::Redactor;
pub use relpath::{RelPath, RelPathError};
pub use text::{Bounded, Collector, clip_head, clip_middle, one_line, printable};

/// The current time as the trace records it: UTC, with a resolution of one millisecond.
pub type Timestamp = jiff::Timestamp;

/// A boxed future that may move between threads: what object-safe traits of this crate return.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
