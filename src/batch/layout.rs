//! Where a case's folders are, the same after a restart.

use std::path::{Path, PathBuf};

use crate::base::sha256;
use crate::domain::CaseRef;

/// The folders of one attempt at a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Holds all others.
    pub(super) base: PathBuf,
    /// Where the agent works.
    pub(super) workspace: PathBuf,
    /// The workspace as it was when the agent began, where setup commands made it differ from the fixture.
    pub(super) pristine: PathBuf,
    /// Stands from the moment on at which gates may have written to the workspace.
    pub(super) judging: PathBuf,
    /// The home of its commands.
    pub(super) home: PathBuf,
    /// The temporary folder of its commands.
    pub(super) tmp: PathBuf,
    /// The home as setup commands left it.
    pub(super) home_before: PathBuf,
    /// The home of the gates' commands: the agent's may hold what the agent put there to change their verdict.
    pub(super) gate_home: PathBuf,
    /// The temporary folder of the gates' commands.
    pub(super) gate_tmp: PathBuf,
}

impl Layout {
    pub(super) fn of(work_dir: &Path, case: &CaseRef) -> Self {
        // Case ids hold characters that no file name may, and Windows knows no long paths.
        let id = case.id.as_str();
        let readable: String = id
            .split('/')
            .skip(1)
            .flat_map(str::chars)
            .filter(char::is_ascii_alphanumeric)
            .take(24)
            .collect();
        let name = format!("{readable}-{}-{}", &sha256(id).short()[..8], case.attempt);
        let base = work_dir.join(name);
        Self {
            workspace: base.join("workspace"),
            pristine: base.join("pristine"),
            judging: base.join("judging"),
            home: base.join("home"),
            tmp: base.join("tmp"),
            home_before: base.join("home-before"),
            gate_home: base.join("gate-home"),
            gate_tmp: base.join("gate-tmp"),
            base,
        }
    }
}
