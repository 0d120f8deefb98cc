//! Problems of a suite: collected, so that all are said at once, and drawn at the line that they are about.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::node::Mark;
use crate::base::{one_line, printable};

/// More problems than this are counted, not shown.
const SHOWN: usize = 50;
/// More problems than this are not even kept.
const KEPT: usize = 500;
/// Longer lines are cut around what is pointed at.
const LINE_CHARS: usize = 160;

/// A file that was read, kept for the lines that problems show.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The file as it was given, with `/` between names.
    pub name: String,
    /// Its text; a byte that is no UTF-8 shows as U+FFFD.
    pub text: String,
}

impl Source {
    pub(crate) fn new(path: &Path, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self {
            name: shown_path(path),
            text: text.into(),
        })
    }
}

/// A path as diagnostics, traces and reports show it: the same on every platform.
pub(crate) fn shown_path(path: &Path) -> String {
    let text = path.display().to_string();
    if std::path::MAIN_SEPARATOR == '\\' {
        text.replace('\\', "/")
    } else {
        text
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Pointer {
    source: Arc<Source>,
    start: usize,
    end: usize,
    label: String,
}

/// One thing that is wrong, where it stands and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    title: String,
    file: String,
    pointers: Vec<Pointer>,
    help: Vec<String>,
}

impl Problem {
    /// A problem with a file as a whole, or with none at all where `file` is empty.
    pub(crate) fn of_file(file: impl Into<String>, title: impl AsRef<str>) -> Self {
        Self {
            title: clean(title.as_ref()),
            file: file.into(),
            pointers: Vec::new(),
            help: Vec::new(),
        }
    }

    /// A problem at a place of a source.
    pub(crate) fn at(
        source: &Arc<Source>,
        mark: Mark,
        title: impl AsRef<str>,
        label: impl AsRef<str>,
    ) -> Self {
        Self::of_file(source.name.clone(), title).also(source, mark, label)
    }

    /// Points at one more place.
    pub(crate) fn also(mut self, source: &Arc<Source>, mark: Mark, label: impl AsRef<str>) -> Self {
        let limit = source.text.len();
        let start = floor(&source.text, (mark.start as usize).min(limit));
        let end = floor(&source.text, (mark.end as usize).clamp(start, limit));
        self.pointers.push(Pointer {
            source: Arc::clone(source),
            start,
            end,
            label: clean(label.as_ref()),
        });
        self
    }

    /// Adds a way out.
    pub(crate) fn help(mut self, text: impl AsRef<str>) -> Self {
        let text = clean(text.as_ref());
        if !text.is_empty() {
            self.help.push(text);
        }
        self
    }

    /// What is wrong, on one line.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What stands at the place that is pointed at; empty where the title says it all.
    #[must_use]
    pub fn label(&self) -> &str {
        self.pointers
            .first()
            .map_or("", |pointer| pointer.label.as_str())
    }

    /// The ways out, one sentence each.
    #[must_use]
    pub fn ways_out(&self) -> &[String] {
        &self.help
    }

    /// The file as it was given, with `/` between names; empty where the problem is with no file.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Line and column (in characters), both from 1; `None` where the file as a whole is meant.
    #[must_use]
    pub fn position(&self) -> Option<(usize, usize)> {
        self.pointers
            .first()
            .map(|pointer| position(&pointer.source.text, pointer.start))
    }

    fn group<'a>(&'a self, windows: &'a [Window]) -> Group<'a> {
        let mut group = Group::with_title(Level::ERROR.primary_title(self.title.as_str()));
        if self.pointers.is_empty() && !self.file.is_empty() {
            group = group.element(Origin::path(self.file.as_str()));
        }
        for window in windows {
            let mut snippet = Snippet::source(window.text.as_str())
                .line_start(window.line)
                .path(window.source.name.as_str());
            for (index, range, label) in &window.annotations {
                let kind = if *index == 0 {
                    AnnotationKind::Primary
                } else {
                    AnnotationKind::Context
                };
                let annotation = kind.span(range.clone());
                snippet = snippet.annotation(if label.is_empty() {
                    annotation
                } else {
                    annotation.label(label.as_str())
                });
            }
            group = group.element(snippet);
        }
        for help in &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        group
    }

    /// The stretches of text that are shown: one for each source.
    fn windows(&self) -> Vec<Window> {
        let mut windows: Vec<Window> = Vec::new();
        for pointer in &self.pointers {
            if windows
                .iter()
                .all(|window| !Arc::ptr_eq(&window.source, &pointer.source))
            {
                windows.push(Window::over(&pointer.source, &self.pointers));
            }
        }
        windows
    }
}

/// Whole lines of a source, from the first to the last that is pointed at.
struct Window {
    source: Arc<Source>,
    line: usize,
    text: String,
    annotations: Vec<(usize, std::ops::Range<usize>, String)>,
}

impl Window {
    fn over(source: &Arc<Source>, pointers: &[Pointer]) -> Self {
        let text = &source.text;
        let mine = || {
            pointers
                .iter()
                .enumerate()
                .filter(|(_, pointer)| Arc::ptr_eq(&pointer.source, source))
        };
        let first = mine().map(|(_, pointer)| pointer.start).min().unwrap_or(0);
        let last = mine().map(|(_, pointer)| pointer.end).max().unwrap_or(0);
        let start = text[..first].rfind('\n').map_or(0, |at| at + 1);
        let end = text[last..].find('\n').map_or(text.len(), |at| last + at);
        let mut window = Self {
            source: Arc::clone(source),
            line: text[..start].matches('\n').count() + 1,
            text: text[start..end].to_owned(),
            annotations: mine()
                .map(|(index, pointer)| {
                    let range = pointer.start - start..pointer.end - start;
                    (index, range, pointer.label.clone())
                })
                .collect(),
        };
        window.crop();
        window
    }

    /// Cuts a single long line around what is pointed at.
    fn crop(&mut self) {
        let [(_, range, _)] = self.annotations.as_mut_slice() else {
            return;
        };
        if self.text.contains('\n') || self.text.chars().count() <= LINE_CHARS {
            return;
        }
        let start = floor(&self.text, range.start.saturating_sub(LINE_CHARS / 2));
        let end = floor(
            &self.text,
            (range.start + LINE_CHARS / 2).min(self.text.len()),
        );
        let before = if start > 0 { "…" } else { "" };
        let after = if end < self.text.len() { "…" } else { "" };
        let shift = |at: usize| at.min(end) - start + before.len();
        *range = shift(range.start)..shift(range.end);
        self.text = format!("{before}{}{after}", &self.text[start..end]);
    }
}

/// Every problem that was found; never empty where it is returned as an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics {
    problems: Vec<Problem>,
    /// Problems beyond what is kept.
    dropped: usize,
}

impl std::error::Error for Diagnostics {}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl Diagnostics {
    /// The problems, in the order of their places.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// Adds a problem, unless it is known: a wrong default is one problem, not one of each task.
    pub(crate) fn push(&mut self, problem: Problem) {
        if self.problems.contains(&problem) {
            return;
        }
        if self.problems.len() < KEPT {
            self.problems.push(problem);
        } else {
            self.dropped += 1;
        }
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.dropped += other.dropped;
        for problem in other.problems {
            self.push(problem);
        }
    }

    /// Sorts by file, in the order in which files were first named, and within a file by place.
    pub(crate) fn sort(&mut self) {
        let mut files: Vec<String> = Vec::new();
        for problem in &self.problems {
            if !files.contains(&problem.file) {
                files.push(problem.file.clone());
            }
        }
        self.problems.sort_by_key(|problem| {
            (
                files.iter().position(|file| *file == problem.file),
                problem.pointers.first().map(|pointer| pointer.start),
            )
        });
    }

    /// `Ok` where nothing was found.
    pub(crate) fn or<T>(mut self, value: T) -> Result<T, Self> {
        if self.is_empty() {
            Ok(value)
        } else {
            self.sort();
            Err(self)
        }
    }

    /// Draws all problems, each with its place and its line, without a newline at the end. `styled` adds ANSI colours.
    #[must_use]
    pub fn render(&self, styled: bool) -> String {
        let renderer = if styled {
            Renderer::styled()
        } else {
            Renderer::plain()
        }
        .decor_style(DecorStyle::Ascii);
        let mut drawn: Vec<String> = self
            .problems
            .iter()
            .take(SHOWN)
            .map(|problem| {
                let windows = problem.windows();
                renderer.render(&[problem.group(&windows)])
            })
            .collect();
        let more = self.problems.len().saturating_sub(SHOWN) + self.dropped;
        if more > 0 {
            drawn.push(format!("error: {more} more problems are not shown"));
        }
        drawn.join("\n\n")
    }
}

/// Line and column, both from 1, of a byte.
pub(crate) fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = &text[..floor(text, byte.min(text.len()))];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before[start..]
        .trim_start_matches('\u{feff}')
        .chars()
        .count();
    (before.matches('\n').count() + 1, column + 1)
}

/// The nearest character boundary at or before a byte.
fn floor(text: &str, byte: usize) -> usize {
    (0..=byte)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// One line that no terminal acts on.
fn clean(text: &str) -> String {
    one_line(&printable(text), 400)
}

/// A text of the suite's between backticks, short enough for a title.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", one_line(&printable(text), 60))
}

/// The candidate that a slip most likely meant.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if name.chars().count() > 60 {
        return None;
    }
    let name = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&name, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// ``did you mean `x`?``, or nothing.
pub(crate) fn did_you_mean<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> String {
    nearest(name, candidates).map_or_else(String::new, |near| format!("did you mean `{near}`?"))
}

/// Names in a sentence: `a`, `b`, `c`.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names
        .into_iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Where a check writes down what it finds: problems at marks of one suite's sources.
pub(crate) struct Desk<'a> {
    sources: &'a [Arc<Source>],
    found: Diagnostics,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(sources: &'a [Arc<Source>]) -> Self {
        Self {
            sources,
            found: Diagnostics::default(),
        }
    }

    /// A problem at a mark, not yet written down.
    pub(crate) fn at(&self, mark: Mark, title: impl AsRef<str>, label: impl AsRef<str>) -> Problem {
        match self.source(mark) {
            Some(source) => Problem::at(source, mark, title, label),
            None => Problem::of_file("", title),
        }
    }

    pub(crate) fn source(&self, mark: Mark) -> Option<&'a Arc<Source>> {
        self.sources.get(usize::from(mark.source))
    }

    pub(crate) fn add(&mut self, problem: Problem) {
        self.found.push(problem);
    }

    /// Writes down a problem that needs no more than a title and a label.
    pub(crate) fn say(&mut self, mark: Mark, title: impl AsRef<str>, label: impl AsRef<str>) {
        let problem = self.at(mark, title, label);
        self.add(problem);
    }

    pub(crate) fn count(&self) -> usize {
        self.found.problems.len()
    }

    pub(crate) fn finish(self) -> Diagnostics {
        self.found
    }
}
