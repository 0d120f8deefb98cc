//! Keys and types of a tree against the tables of the schema: every slip of a file is found in one walk.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::diagnose::{Diagnostics, Problem, Source, did_you_mean, listed, quoted};
use super::node::{Entry, Kind, Mark, Node, Number, Scalar};
use super::schema::Table;
use super::types::Bytes;
use crate::base::{Size, Span};

/// Walks `node`; what does not fit is added to the problems.
pub(crate) fn check(
    node: &Node,
    table: Table<'static>,
    source: &Arc<Source>,
    into: &mut Diagnostics,
) {
    let mut walk = Walk { source, into };
    walk.node(node, table, Place::top(node));
}

struct Walk<'a> {
    source: &'a Arc<Source>,
    into: &'a mut Diagnostics,
}

/// What a value is called, and where it is pointed at.
#[derive(Clone, Copy)]
struct Place<'a> {
    name: &'a str,
    mark: Mark,
}

impl<'a> Place<'a> {
    const fn top(node: &Node) -> Self {
        Self {
            name: "",
            mark: node.mark,
        }
    }

    const fn of(entry: &'a Entry) -> Self {
        Self {
            name: entry.key.as_str(),
            mark: match entry.value.kind {
                Kind::Scalar(Scalar::Null, _) | Kind::Seq(_) | Kind::Map(_) => entry.key_mark,
                Kind::Scalar(..) => entry.value.mark,
            },
        }
    }
}

/// What a mapping is, in a sentence: its definition says it, or the key that led to it.
fn noun(table: Table<'static>, place: Place<'_>) -> String {
    match definition_noun(table.name) {
        "" if place.name.is_empty() => "this mapping".to_owned(),
        "" => quoted(place.name),
        noun => noun.to_owned(),
    }
}

const fn definition_noun(definition: &str) -> &'static str {
    match definition.as_bytes() {
        b"Suite" => "a suite",
        b"Task" => "a task",
        b"Defaults" => "`defaults`",
        b"Workspace" => "`workspace`",
        b"Git" => "`git`",
        b"Policy" => "`policy`",
        b"Setup" => "a setup command",
        b"Gate" => "a gate",
        b"FileText" => "a file check",
        b"Budget" | b"SuiteBudget" => "`budget`",
        b"Stall" => "`stall`",
        b"Sandbox" => "`sandbox`",
        b"SandboxLimits" | b"LimitsConfig" => "`limits`",
        b"Matrix" => "`matrix`",
        b"Thresholds" => "`thresholds`",
        b"Regression" => "`regression`",
        b"ProviderConfig" => "a provider",
        b"RetryConfig" => "`retry`",
        _ => "",
    }
}

impl Walk<'_> {
    fn add(&mut self, problem: Problem) {
        self.into.push(problem);
    }

    fn node(&mut self, node: &Node, table: Table<'static>, place: Place<'_>) {
        if matches!(node.kind, Kind::Scalar(Scalar::Null, _)) {
            let title = if place.name.is_empty() {
                "an empty value".to_owned()
            } else {
                format!("{} has no value", quoted(place.name))
            };
            self.add(
                Problem::at(self.source, place.mark, title, "a value is needed").help(
                    "remove the key, or give it a value; quote a text that reads `null` or `~`",
                ),
            );
            return;
        }
        if self.quantity(node, table, place) {
            return;
        }
        let names = table.names();
        if !names.is_empty() {
            self.name(node, &names, place);
            return;
        }
        let forms: Vec<Table<'static>> = table.forms().collect();
        if !forms.is_empty() {
            match forms.iter().find(|form| fits(node, **form)) {
                Some(form) => self.node(node, *form, place),
                None => {
                    let takes: Vec<&str> = forms.iter().map(|form| kind_noun(*form)).collect();
                    self.mismatch(node, &takes.join(" or "), place);
                }
            }
            return;
        }
        if !fits(node, table) {
            self.mismatch(node, kind_noun(table), place);
            return;
        }
        match &node.kind {
            Kind::Scalar(Scalar::Number(number), _)
                if table.is("number") || table.is("integer") =>
            {
                if !table.is("string") {
                    self.number(*number, table, place);
                }
            }
            Kind::Scalar(..) => {}
            Kind::Seq(items) => {
                if items.is_empty() && table.number("minItems").is_some() {
                    let title = format!("{} is an empty list", quoted(place.name));
                    self.add(Problem::at(
                        self.source,
                        place.mark,
                        title,
                        "at least one item is needed",
                    ));
                }
                if let Some(each) = table.items() {
                    for item in items {
                        let mark = item.mark;
                        self.node(item, each, Place { mark, ..place });
                    }
                }
            }
            Kind::Map(entries) => self.mapping(entries, table, place),
        }
    }

    fn mapping(&mut self, entries: &[Entry], table: Table<'static>, place: Place<'_>) {
        let mut seen: BTreeMap<&str, Mark> = BTreeMap::new();
        for entry in entries {
            if let Some(first) = seen.get(entry.key.as_str()).copied() {
                let title = format!(
                    "the key {} stands twice in {}",
                    quoted(&entry.key),
                    noun(table, place)
                );
                let problem = Problem::at(self.source, entry.key_mark, title, "again here").also(
                    self.source,
                    first,
                    "first here",
                );
                self.add(problem);
                continue;
            }
            seen.insert(&entry.key, entry.key_mark);
            match table.property(&entry.key).or_else(|| table.additional()) {
                Some(inner) => self.node(&entry.value, inner, Place::of(entry)),
                None if table.properties().next().is_some() => self.unknown(entry, table, place),
                None => {}
            }
        }
        for key in table.required() {
            if !seen.contains_key(key) {
                let title = format!("{} without `{key}`", noun(table, place));
                self.add(Problem::at(
                    self.source,
                    place.mark,
                    title,
                    format!("`{key}` is required"),
                ));
            }
        }
        if entries.is_empty() && table.number("minProperties").is_some() {
            let title = format!("{} is an empty mapping", quoted(place.name));
            self.add(Problem::at(
                self.source,
                place.mark,
                title,
                "at least one key is needed",
            ));
        }
    }

    fn unknown(&mut self, entry: &Entry, table: Table<'static>, place: Place<'_>) {
        let noun = noun(table, place);
        let required: Vec<&str> = table.required().collect();
        let rest = table.properties().filter(|key| !required.contains(key));
        let takes: Vec<&str> = required.iter().copied().chain(rest).collect();
        let mut label = did_you_mean(&entry.key, table.properties());
        if label.is_empty() {
            "no such key".clone_into(&mut label);
        }
        let problem = Problem::at(
            self.source,
            entry.key_mark,
            format!("unknown key {} in {noun}", quoted(&entry.key)),
            label,
        )
        .help(format!(
            "{noun} takes: {} (taskgate schema)",
            takes.join(", ")
        ));
        self.add(problem);
    }

    /// Durations, counts and sizes say what they want themselves.
    fn quantity(&mut self, node: &Node, table: Table<'static>, place: Place<'_>) -> bool {
        let read = |text: &str| match table.name {
            "Duration" => text
                .parse::<Span>()
                .map(drop)
                .map_err(|error| error.to_string()),
            "Count" => text
                .parse::<Size>()
                .map(drop)
                .map_err(|error| error.to_string()),
            _ => text.parse::<Bytes>().map(drop),
        };
        let what = match table.name {
            "Duration" => "a duration such as `90s`",
            "Count" => "a count such as `200k`",
            "Bytes" => "a number of bytes such as `512M`",
            _ => return false,
        };
        match &node.kind {
            Kind::Scalar(Scalar::Number(_) | Scalar::Text, text) => {
                // A count in another base is a count: the parser has read it already.
                let whole = matches!(node.kind, Kind::Scalar(Scalar::Number(Number::Whole(_)), _));
                if whole && table.name != "Duration" && text.starts_with('0') {
                    return true;
                }
                if let Err(message) = read(text) {
                    let title = format!("{}: {message}", quoted(place.name));
                    self.add(Problem::at(
                        self.source,
                        place.mark,
                        title,
                        format!("expected {what}"),
                    ));
                }
            }
            _ => self.mismatch(node, what, place),
        }
        true
    }

    fn name(&mut self, node: &Node, names: &[&'static str], place: Place<'_>) {
        match &node.kind {
            Kind::Scalar(_, text) if names.contains(&text.as_str()) => {}
            Kind::Scalar(_, text) => {
                let title = format!("{} cannot be {}", quoted(place.name), quoted(text));
                let label = did_you_mean(text, names.iter().copied());
                self.add(
                    Problem::at(self.source, place.mark, title, label)
                        .help(format!("one of {}", listed(names.iter().copied()))),
                );
            }
            _ => self.mismatch(
                node,
                &format!("one of {}", listed(names.iter().copied())),
                place,
            ),
        }
    }

    fn number(&mut self, number: Number, table: Table<'static>, place: Place<'_>) {
        #[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
        let value = match number {
            Number::Whole(value) => value as f64,
            Number::Negative(value) => value as f64,
            Number::Fraction(value) => value,
        };
        let limit = if !value.is_finite() {
            Some("a finite number".to_owned())
        } else if let Some(least) = table.number("minimum").filter(|least| value < *least) {
            Some(format!("at least {least}"))
        } else if let Some(most) = table.number("maximum").filter(|most| value > *most) {
            Some(format!("at most {most}"))
        } else if let Some(over) = table
            .number("exclusiveMinimum")
            .filter(|over| value <= *over)
        {
            Some(format!("more than {over}"))
        } else if let (Some(most), Number::Whole(value)) = (table.ceiling(), number) {
            (value > most).then(|| format!("at most {most}"))
        } else if let (Some(most), Number::Negative(value)) = (table.ceiling(), number) {
            // Only signed types come here: the others have a minimum.
            (value.unsigned_abs() > most + 1).then(|| format!("at least -{}", most + 1))
        } else {
            None
        };
        if let Some(limit) = limit {
            let title = format!("{} is out of range", quoted(place.name));
            self.add(Problem::at(
                self.source,
                place.mark,
                title,
                format!("must be {limit}"),
            ));
        }
    }

    fn mismatch(&mut self, node: &Node, takes: &str, place: Place<'_>) {
        let title = if place.name.is_empty() {
            format!("expected {takes}, found {}", node.noun())
        } else {
            format!(
                "{} takes {takes}, found {}",
                quoted(place.name),
                node.noun()
            )
        };
        let mut problem = Problem::at(self.source, place.mark, title, format!("expected {takes}"));
        if let Kind::Scalar(Scalar::Text, text) = &node.kind
            && takes.contains("boolean")
            && matches!(text.to_lowercase().as_str(), "yes" | "no" | "on" | "off")
        {
            problem = problem.help("a boolean is `true` or `false`");
        }
        self.add(problem);
    }
}

/// Whether the shape of a node is one that the table takes.
fn fits(node: &Node, table: Table<'static>) -> bool {
    match &node.kind {
        Kind::Map(_) => table.is("object"),
        Kind::Seq(_) => table.is("array"),
        Kind::Scalar(_, _) if table.is("string") => true,
        Kind::Scalar(Scalar::Number(Number::Fraction(_)), _) => table.is("number"),
        Kind::Scalar(Scalar::Number(_), _) => table.is("number") || table.is("integer"),
        Kind::Scalar(Scalar::Bool(_), _) => table.is("boolean"),
        Kind::Scalar(_, _) => false,
    }
}

fn kind_noun(table: Table<'static>) -> &'static str {
    match () {
        () if table.is("object") => "a mapping",
        () if table.is("array") => "a list",
        () if table.is("string") => "a text",
        () if table.is("integer") => "a whole number",
        () if table.is("number") => "a number",
        () if table.is("boolean") => "a boolean (`true` or `false`)",
        () => "a value",
    }
}
