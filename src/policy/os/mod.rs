//! How the platform at hand compares names.

/// Whether paths and program names are compared as Windows does: `\` is `/`, letter case does not
/// count, and a program may be named without its extension.
pub const FOLD_PATHS: bool = cfg!(windows);
