//! Which file a program's name means inside the sandbox.

use std::path::{Path, PathBuf};

use super::{Environment, os};

/// The file that `program` means, or nothing where there is none. A name with a separator is relative to `workdir`;
/// any other is looked up on the sandbox's `PATH`, of which only absolute folders count: what lies in the working
/// folder never stands in for an installed program.
pub(super) fn locate(program: &str, workdir: &Path, env: &Environment) -> Option<PathBuf> {
    if program.is_empty() {
        return None;
    }
    let spellings = os::spellings(program, env.get("PATHEXT"));
    if os::has_separator(program) {
        return spellings
            .iter()
            .map(|spelling| workdir.join(spelling))
            .find(|path| path.exists());
    }
    std::env::split_paths(env.get("PATH").unwrap_or_default())
        .filter(|folder| folder.is_absolute())
        .flat_map(|folder| {
            spellings
                .iter()
                .map(move |spelling| folder.join(spelling))
                .collect::<Vec<_>>()
        })
        .find(|path| os::is_program(path))
}
