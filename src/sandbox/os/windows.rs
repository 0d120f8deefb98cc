//! Windows: a job object that dies with the runner.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ::windows::Win32::System::Threading::CREATE_NO_WINDOW;
use process_wrap::tokio::{ChildWrapper, CommandWrap, CreationFlags, JobObject, KillOnDrop};
use tokio::process::{ChildStderr, ChildStdout};

use super::{End, Launch};
use crate::sandbox::{Ending, Fact, LayerName, LayerState, SandboxLimits};

/// The variable that names the user's home.
pub(in crate::sandbox) const HOME: &str = "USERPROFILE";

/// What this platform adds to the allow list of variables: without these, system libraries do not load and
/// toolchains do not find each other.
pub(in crate::sandbox) const KEPT: &[&str] = &[
    "SystemRoot",
    "SystemDrive",
    "windir",
    "ComSpec",
    "PATHEXT",
    "OS",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
    "ProgramFiles",
    "ProgramFiles(x86)",
    "ProgramW6432",
    "ProgramData",
    "CommonProgramFiles",
    "CommonProgramFiles(x86)",
    "CommonProgramW6432",
    "ALLUSERSPROFILE",
    "PUBLIC",
    "USERNAME",
    "INCLUDE",
    "LIB",
    "LIBPATH",
];

/// The length from which on a path has to be verbatim.
const LONGEST: usize = 248;

/// What runs without an extension that says so, where the machine does not say it.
const EXTENSIONS: &str = ".COM;.EXE;.BAT;.CMD";

/// Whether two names mean the same variable.
pub(in crate::sandbox) fn same_name(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// The variables that name the home and the folder for temporary files.
pub(in crate::sandbox) fn places<'a>(
    home: &'a Path,
    tmp: &'a Path,
) -> Vec<(&'static str, Cow<'a, Path>)> {
    vec![
        (HOME, home.into()),
        ("HOME", home.into()),
        ("APPDATA", home.join("AppData").join("Roaming").into()),
        ("LOCALAPPDATA", home.join("AppData").join("Local").into()),
        ("TEMP", tmp.into()),
        ("TMP", tmp.into()),
    ]
}

/// Whether a program's name is a path rather than a name to look up.
pub(in crate::sandbox) fn has_separator(program: &str) -> bool {
    program.contains(['/', '\\'])
}

/// The file names that a program's name may stand for: itself where it has an extension that runs, and with each
/// of those appended.
pub(in crate::sandbox) fn spellings(program: &str, extensions: Option<&str>) -> Vec<String> {
    let extensions: Vec<&str> = extensions
        .unwrap_or(EXTENSIONS)
        .split(';')
        .filter(|extension| !extension.is_empty())
        .collect();
    let name = program.to_ascii_lowercase();
    let complete = extensions
        .iter()
        .any(|extension| name.ends_with(&extension.to_ascii_lowercase()));
    complete
        .then(|| program.to_owned())
        .into_iter()
        .chain(
            extensions
                .iter()
                .map(|extension| format!("{program}{}", extension.to_ascii_lowercase())),
        )
        .collect()
}

/// The path in the form that every program understands: many do not start in a folder that is named verbatim.
pub(in crate::sandbox) fn plain(path: PathBuf) -> PathBuf {
    match path.to_str().and_then(|text| text.strip_prefix(r"\\?\")) {
        Some(rest) if rest.as_bytes().get(1) == Some(&b':') && rest.len() < LONGEST => rest.into(),
        _ => path,
    }
}

/// Whether a file can be run.
pub(in crate::sandbox) fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// A running command and everything that it starts: one job. Dropping it kills all of them.
pub(in crate::sandbox) struct Tree {
    child: Box<dyn ChildWrapper>,
}

impl Tree {
    /// Starts a command. None of its caps is one that the system keeps.
    pub(in crate::sandbox) fn spawn(
        launch: &Launch<'_>,
        _limits: &SandboxLimits,
    ) -> io::Result<Self> {
        let mut command = CommandWrap::with_new(launch.file, |command| {
            command
                .args(launch.argv.iter().skip(1))
                .env_clear()
                .envs(launch.env.iter())
                .current_dir(launch.workdir)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        command
            .wrap(KillOnDrop)
            .wrap(CreationFlags(CREATE_NO_WINDOW))
            .wrap(JobObject);
        Ok(Self {
            child: command.spawn()?,
        })
    }

    /// Standard output and standard error, once.
    pub(in crate::sandbox) fn pipes(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdout().take(), self.child.stderr().take())
    }

    /// Waits for the first process to end, not for the job. May be dropped and asked again.
    pub(in crate::sandbox) async fn ended(&mut self) -> io::Result<()> {
        self.child.inner_mut().wait().await.map(drop)
    }

    /// There is no way to ask a program without a window.
    pub(in crate::sandbox) const fn ask_to_end(&self) -> bool {
        false
    }

    /// Kills what is left of the job, and says how the first process ended.
    pub(in crate::sandbox) async fn destroy(&mut self, _limits: &SandboxLimits) -> io::Result<End> {
        self.child.start_kill()?;
        let status = tokio::time::timeout(UNKILLABLE, self.child.inner_mut().wait())
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        Ok(End {
            ending: Ending::Exited(status.code().unwrap_or(-1)),
            survivors: 0,
        })
    }
}

/// How long a killed process may take to go.
const UNKILLABLE: Duration = Duration::from_secs(10);

/// What holds here beyond what holds everywhere.
pub(super) fn layers(_limits: &SandboxLimits) -> Vec<(LayerName, LayerState)> {
    vec![
        (
            LayerName::KillTree,
            LayerState::partial(
                "a job object that is killed when it is closed",
                &["a process started through a service, a scheduled task or WMI is not in the job"],
            ),
        ),
        (
            LayerName::Tty,
            LayerState::partial(
                "no console window",
                &["a command may attach to the console of another process of its user"],
            ),
        ),
    ]
}

/// What the machine offers.
pub(in crate::sandbox) fn facts() -> Vec<Fact> {
    vec![Fact::new("job objects", true, "kill on close")]
}

/// What a runner that is gone had started cannot be found here.
pub(in crate::sandbox) const fn end_leftovers(_home: &Path) -> usize {
    0
}

/// The system's release, where it is known.
pub(in crate::sandbox) const fn kernel() -> Option<String> {
    None
}
