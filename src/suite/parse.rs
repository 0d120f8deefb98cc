//! Bytes of a YAML file into a tree: the one place that knows the parser and its options.

use std::path::Path;
use std::sync::Arc;

use serde_yaml::budget::BudgetBreach;
use serde_yaml::{Error, Options};

use super::diagnose::{Problem, Source, shown_path};
use super::node::{Mark, Node, Raw, range};
use crate::base::format_bytes;

/// The largest file that is read.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;

/// The parser's options: YAML 1.2's reading of scalars, and budgets far above what a person writes and far below
/// what hurts.
fn options() -> Options {
    serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_events: 100_000,
            max_nodes: 50_000,
            max_aliases: 2_000,
            max_anchors: 1_000,
            max_depth: 48,
            flow_nesting_limit: 48,
            max_documents: 2,
            max_total_scalar_bytes: 8 * MAX_BYTES,
            max_recorded_anchor_bytes: 8 * MAX_BYTES,
            max_recorded_anchor_events: 200_000,
            max_merge_keys: 1_000,
        },
        alias_limits: serde_yaml::alias_limits! {
            max_total_replayed_events: 100_000,
            max_replay_stack_depth: 16,
        },
        emit_comments: false,
        duplicate_keys: serde_yaml::DuplicateKeyPolicy::PassThrough,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: serde_yaml::NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    }
}

/// Reads one document. The tree's marks carry `number` as their source.
///
/// # Errors
/// The first thing that keeps the parser from going on, at its place.
pub(crate) fn parse(path: &Path, bytes: &[u8], number: u8) -> Result<(Arc<Source>, Node), Problem> {
    if bytes.len() > MAX_BYTES {
        return Err(Problem::of_file(
            shown_path(path),
            format!(
                "the file is too large: more than {}",
                format_bytes(MAX_BYTES as u64)
            ),
        )
        .help("put large texts into files beside the suite and name them with `workspace: { dir: … }`"));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(not_utf8(path, bytes, error.valid_up_to())),
    };
    let source = Source::new(path, text);
    match serde_yaml::from_str_with_options::<Raw>(text, options()) {
        Ok(raw) => {
            let node = raw.resolve(text, number);
            Ok((source, node))
        }
        Err(error) => Err(explain(&source, &error)),
    }
}

fn not_utf8(path: &Path, bytes: &[u8], at: usize) -> Problem {
    let source = Source::new(path, String::from_utf8_lossy(bytes));
    let start = u32::try_from(at).unwrap_or(u32::MAX);
    let mark = Mark {
        source: 0,
        start,
        end: start.saturating_add(3),
    };
    let byte = bytes.get(at).copied().unwrap_or_default();
    Problem::at(
        &source,
        mark,
        "the file is not UTF-8",
        format!("byte 0x{byte:02x} begins no character"),
    )
    .help("save the file as UTF-8")
}

/// The parser's error in the words of the house.
fn explain(source: &Arc<Source>, error: &Error) -> Problem {
    let error = error.without_snippet();
    let mark = error.location().map(|location| {
        let range = range(&source.text, location);
        let start = u32::try_from(range.start).unwrap_or(u32::MAX);
        let end = u32::try_from(range.end).unwrap_or(u32::MAX);
        Mark {
            source: 0,
            start,
            end: end.max(start.saturating_add(1)),
        }
    });
    let (title, label, help) = words(error);
    let problem = match mark {
        Some(mark) => Problem::at(source, mark, title, label),
        None => Problem::of_file(source.name.clone(), title),
    };
    problem.help(help)
}

fn words(error: &Error) -> (String, &'static str, &'static str) {
    const TOO_MUCH: &str = "nothing that a person writes comes near the limits: write the values out instead of repeating anchors";
    match error {
        Error::AliasError { error, .. } => words(error),
        Error::MultipleDocuments { .. }
        | Error::Budget {
            breach: BudgetBreach::Documents { .. },
            ..
        } => (
            "a second document in one file".to_owned(),
            "begins here",
            "a suite is one YAML document: move the second one into a file of its own",
        ),
        Error::Budget { breach, .. } => (
            format!(
                "the document unfolds beyond a limit: {}",
                breach_words(breach)
            ),
            "reached here",
            TOO_MUCH,
        ),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. } => (
            "the document unfolds beyond a limit: aliases repeat too much".to_owned(),
            "reached here",
            TOO_MUCH,
        ),
        Error::UnknownAnchor { .. } => (
            "an alias of an unknown anchor".to_owned(),
            "no `&` gives this name before this line",
            "quote a text that begins with `*`",
        ),
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            ("an alias inside of its own anchor".to_owned(), "", "")
        }
        Error::UnsupportedTag { tag, .. } => (
            format!("unknown tag `{tag}`"),
            "",
            "quote a text that begins with `!`",
        ),
        Error::Unexpected { .. } => (
            "a key that is not a text".to_owned(),
            "",
            "keys are names; quote a text that begins with `[`, `{` or `?`",
        ),
        error => {
            let text = error.to_string();
            let end = text.rfind(" at line ").unwrap_or(text.len());
            let text = &text[..end];
            let help = if text.contains("tab") {
                "indent with spaces"
            } else {
                ""
            };
            (format!("not YAML: {text}"), "", help)
        }
    }
}

fn breach_words(breach: &BudgetBreach) -> &'static str {
    match breach {
        BudgetBreach::Depth { .. } => "it nests too deeply",
        BudgetBreach::ScalarBytes { .. } | BudgetBreach::RecordedAnchorBytes { .. } => {
            "its texts are too long in all"
        }
        BudgetBreach::Aliases { .. }
        | BudgetBreach::Anchors { .. }
        | BudgetBreach::MergeKeys { .. } => "it has too many anchors or aliases",
        _ => "it has too many values",
    }
}
