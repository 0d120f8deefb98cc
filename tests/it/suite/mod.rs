//! Suites through their public functions: files in, plans and diagnostics out.

mod broken;
mod discover;
mod plan;
mod schema;

use std::path::{Path, PathBuf};

use taskgate::suite::{Diagnostics, Plan, PlanOptions, Platform, Suite, load, plan as make_plan};

/// A folder with files for one test.
pub(crate) struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    #[expect(clippy::disallowed_methods, reason = "fixtures of a test")]
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
        std::fs::write(&path, bytes).expect("a file");
        path
    }

    pub(crate) fn suite(&self, text: &str) -> Result<Suite, Diagnostics> {
        let path = self.write("suite.yaml", text);
        load(&[path]).map(|mut suites| suites.remove(0))
    }

    /// Diagnostics as text, with the folder's own path taken out.
    pub(crate) fn shown(&self, problems: &Diagnostics) -> String {
        let root = self.path().to_str().expect("a text").replace('\\', "/");
        problems
            .to_string()
            .replace('\\', "/")
            .replace(&format!("{root}/"), "")
            .replace(&root, "FOLDER")
    }
}

/// A suite with one task and one scripted provider; the parameters are further lines of the task and of the suite.
pub(crate) fn small(task: &str, rest: &str) -> String {
    let task = if task.is_empty() { "gates: []" } else { task };
    let task: String = task.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "version: 1\nname: small\nproviders:\n  rehearsal: {{ vendor: scripted }}\ntasks:\n  - id: first\n    goal: do it\n{task}{rest}"
    )
}

pub(crate) fn on_linux(suites: &[Suite]) -> Plan {
    let options = PlanOptions {
        platform: Platform::Linux,
        ..PlanOptions::default()
    };
    match make_plan(suites, &options) {
        Ok(plan) => plan,
        Err(problems) => panic!("{problems}"),
    }
}

pub(crate) fn ids(plan: &Plan) -> Vec<&str> {
    plan.cases.iter().map(|case| case.id.as_str()).collect()
}
