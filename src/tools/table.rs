//! The one table of tools. Schema, parsing, dispatch and the documentation are derived from it.

use std::sync::{Arc, LazyLock};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::builtin::{EditFile, Exec, Find, Grep, ListDir, ReadFile, WriteFile};
use crate::domain::{Act, ToolSpec};

/// One row: everything that the rest of the house knows of a tool.
pub(super) struct Row {
    pub(super) name: &'static str,
    description: &'static str,
    parameters: fn() -> Value,
    pub(super) parse: fn(Value) -> Result<Work, serde_json::Error>,
}

/// A call whose arguments were understood.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Work {
    ReadFile(ReadFile),
    WriteFile(WriteFile),
    EditFile(EditFile),
    Grep(Grep),
    Find(Find),
    ListDir(ListDir),
    Exec(Exec),
}

/// What a call will do, before it does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Intent {
    /// Acts on one path of the workspace, in each of these ways.
    Path {
        acts: &'static [Act],
        path: String,
        content: Option<String>,
    },
    /// Starts a program.
    Exec { argv: Vec<String> },
    /// Looks through the workspace and sees only what the policy lets it read.
    Search,
}

static ROWS: [Row; 7] = [
    Row {
        name: "read_file",
        description: "Read a text file. A long file comes in parts: the answer then begins with which lines of how \
                      many it shows, and `offset` goes on from there.",
        parameters: schema::<ReadFile>,
        parse: |value| serde_json::from_value(value).map(Work::ReadFile),
    },
    Row {
        name: "write_file",
        description: "Create a file, with the folders that lead to it, or replace the whole content of one. To change \
                      part of a file, use edit_file.",
        parameters: schema::<WriteFile>,
        parse: |value| serde_json::from_value(value).map(Work::WriteFile),
    },
    Row {
        name: "edit_file",
        description: "Replace a text that occurs exactly once in a file. Copy `search` from what read_file shows, with \
                      its indentation, and give enough lines around it to make it unique.",
        parameters: schema::<EditFile>,
        parse: |value| serde_json::from_value(value).map(Work::EditFile),
    },
    Row {
        name: "grep",
        description: "Search the text of all files for a regular expression (Rust syntax). Shows the first 100 hits as \
                      `path:line: text`. Files that the repository ignores and binary files are left out.",
        parameters: schema::<Grep>,
        parse: |value| serde_json::from_value(value).map(Work::Grep),
    },
    Row {
        name: "find",
        description: "List all files, in any folder, whose name or whole path fits a glob, for instance `*.rs` or \
                      `src/**/mod.rs`. Files that the repository ignores are left out.",
        parameters: schema::<Find>,
        parse: |value| serde_json::from_value(value).map(Work::Find),
    },
    Row {
        name: "list_dir",
        description: "List what is in one folder: files with their size, folders with a `/` at the end.",
        parameters: schema::<ListDir>,
        parse: |value| serde_json::from_value(value).map(Work::ListDir),
    },
    Row {
        name: "exec",
        description: "Run a program in the workspace root, wait for its end, and show its exit status and what it \
                      printed. No shell reads the arguments: no pipes, no redirection, no globbing. Nothing can \
                      be typed into it, and nothing that it starts stays when it ends.",
        parameters: schema::<Exec>,
        parse: |value| serde_json::from_value(value).map(Work::Exec),
    },
];

pub(super) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// The names of all tools in the table.
#[must_use]
pub fn builtin_names() -> Vec<&'static str> {
    ROWS.iter().map(|row| row.name).collect()
}

/// The tools as a model is offered them. Made once for the process.
#[must_use]
pub fn builtin_specs() -> Arc<[ToolSpec]> {
    static SPECS: LazyLock<Arc<[ToolSpec]>> = LazyLock::new(|| {
        let spec = |row: &Row| ToolSpec {
            name: row.name.to_owned(),
            description: row.description.to_owned(),
            parameters: (row.parameters)(),
        };
        ROWS.iter().map(spec).collect()
    });
    Arc::clone(&SPECS)
}

/// The schema of a tool's arguments, without what a model does not need and some servers refuse.
fn schema<T: JsonSchema + DeserializeOwned>() -> Value {
    let generator = schemars::generate::SchemaSettings::draft07().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = generator
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Value::Object(object) = &mut schema {
        object.remove("title");
    }
    simplify(&mut schema);
    schema
}

/// An optional argument is one that is left out: `null` and number formats only confuse small models.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.remove("format");
            object.remove("default");
            if let Some(Value::Array(kinds)) = object.get("type").cloned()
                && let [kind] = kinds
                    .iter()
                    .filter(|kind| *kind != "null")
                    .collect::<Vec<_>>()[..]
            {
                object.insert("type".to_owned(), kind.clone());
            }
            object.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl Work {
    /// What the call acts on, on one line.
    pub(super) fn target(&self) -> String {
        match self {
            Self::ReadFile(ReadFile { path, .. })
            | Self::WriteFile(WriteFile { path, .. })
            | Self::EditFile(EditFile { path, .. })
            | Self::ListDir(ListDir { path }) => path.clone(),
            Self::Grep(Grep { pattern, .. }) => pattern.clone(),
            Self::Find(Find { name_glob }) => name_glob.clone(),
            Self::Exec(Exec { argv }) => argv.join(" "),
        }
    }

    /// Whether it changes nothing, so that it may run beside others of its kind.
    pub(super) const fn is_read_only(&self) -> bool {
        match self {
            Self::ReadFile(_) | Self::Grep(_) | Self::Find(_) | Self::ListDir(_) => true,
            Self::WriteFile(_) | Self::EditFile(_) | Self::Exec(_) => false,
        }
    }

    /// What it will do.
    pub(super) fn intent(&self) -> Intent {
        let path = |acts, path: &String, content| Intent::Path {
            acts,
            path: path.clone(),
            content,
        };
        match self {
            Self::ReadFile(ReadFile { path: at, .. }) | Self::ListDir(ListDir { path: at }) => {
                path(&[Act::Read], at, None)
            }
            Self::WriteFile(WriteFile { path: at, content }) => {
                path(&[Act::Write], at, Some(content.clone()))
            }
            // Whether a text was found tells what is in the file.
            Self::EditFile(EditFile {
                path: at, replace, ..
            }) => path(&[Act::Read, Act::Write], at, Some(replace.clone())),
            Self::Grep(_) | Self::Find(_) => Intent::Search,
            Self::Exec(Exec { argv }) => Intent::Exec { argv: argv.clone() },
        }
    }
}
