//! Unix: a session of its own, resource limits, signals to the group.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, setsid};
use process_wrap::tokio::{ChildWrapper, CommandWrap, CommandWrapper};
use tokio::process::{ChildStderr, ChildStdout};

use super::system::{self, Family};
use super::{End, Launch};
use crate::sandbox::exec::MARKER;
use crate::sandbox::{Cap, Ending, SandboxLimits};

/// The variable that names the user's home.
pub(in crate::sandbox) const HOME: &str = "HOME";
/// What this platform adds to the allow list of variables.
pub(in crate::sandbox) const KEPT: &[&str] = &[];

/// Whether two names mean the same variable.
pub(in crate::sandbox) fn same_name(one: &str, other: &str) -> bool {
    one == other
}

/// The variables that name the home and the folder for temporary files.
pub(in crate::sandbox) fn places<'a>(
    home: &'a Path,
    tmp: &'a Path,
) -> Vec<(&'static str, std::borrow::Cow<'a, Path>)> {
    vec![(HOME, home.into()), ("TMPDIR", tmp.into())]
}

/// Whether a program's name is a path rather than a name to look up.
pub(in crate::sandbox) fn has_separator(program: &str) -> bool {
    program.contains('/')
}

/// The file names that a program's name may stand for.
pub(in crate::sandbox) fn spellings(program: &str, _extensions: Option<&str>) -> Vec<String> {
    vec![program.to_owned()]
}

/// The path in the form that every program understands.
pub(in crate::sandbox) fn plain(path: PathBuf) -> PathBuf {
    path
}

/// Whether a file can be run.
pub(in crate::sandbox) fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// A running command and everything that it starts. Dropping it kills all of them.
pub(in crate::sandbox) struct Tree {
    child: Box<dyn ChildWrapper>,
    group: Pid,
    family: Family,
    /// Set where the system has no way to see an end without taking the status.
    status: Option<ExitStatus>,
    over: bool,
}

impl Tree {
    /// Starts a command under its caps.
    pub(in crate::sandbox) fn spawn(
        launch: &Launch<'_>,
        limits: &SandboxLimits,
    ) -> io::Result<Self> {
        system::prepare();
        let mut command = CommandWrap::with_new(launch.file, |command| {
            if let Some((program, arguments)) = launch.argv.split_first() {
                command.arg0(program).args(arguments);
            }
            command
                .env_clear()
                .envs(launch.env.iter())
                .current_dir(launch.workdir)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        command.wrap(Confine {
            limits: resource_limits(limits),
        });
        let (child, group, family) =
            Family::of(launch.env.get(MARKER).unwrap_or_default(), || {
                let child = command.spawn()?;
                let id = child
                    .id()
                    .and_then(|id| i32::try_from(id).ok())
                    .ok_or_else(|| io::Error::other("the process ended before it had a number"))?;
                Ok((child, Pid::from_raw(id)))
            })?;
        Ok(Self {
            child,
            group,
            family,
            status: None,
            over: false,
        })
    }

    /// Standard output and standard error, once.
    pub(in crate::sandbox) fn pipes(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdout().take(), self.child.stderr().take())
    }

    /// Waits for the first process to end. May be dropped and asked again.
    pub(in crate::sandbox) async fn ended(&mut self) -> io::Result<()> {
        if self.status.is_none() && !self.family.ended().await? {
            self.status = Some(self.child.wait().await?);
        }
        Ok(())
    }

    /// Asks the group to end by itself; whether it is worth to wait for that.
    pub(in crate::sandbox) fn ask_to_end(&self) -> bool {
        killpg(self.group, Signal::SIGTERM).is_ok()
    }

    /// Kills what is left, and says how the first process ended.
    pub(in crate::sandbox) async fn destroy(&mut self, limits: &SandboxLimits) -> io::Result<End> {
        self.kill_group();
        let survivors = self.family.sweep().await;
        let used = self.family.processor_time();
        let status = match self.status {
            Some(status) => status,
            None => tokio::time::timeout(UNKILLABLE, self.child.wait())
                .await
                .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??,
        };
        self.over = true;
        self.family.release();
        Ok(End {
            ending: ending(status, used, limits),
            survivors,
        })
    }

    fn kill_group(&self) {
        // Nobody left to kill is what is wanted, so that there is nothing to say about a failure.
        let _gone = killpg(self.group, Signal::SIGKILL);
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.over {
            self.kill_group();
            self.family.sweep_now();
            self.family.release();
        }
    }
}

/// How long a killed process may take to go: one that waits for a broken disk may never.
const UNKILLABLE: Duration = Duration::from_secs(10);

fn ending(status: ExitStatus, used: Option<Duration>, limits: &SandboxLimits) -> Ending {
    let Some(signal) = status.signal() else {
        return Ending::Exited(status.code().unwrap_or(-1));
    };
    let spent = limits
        .cpu
        .zip(used)
        .is_some_and(|(limit, used)| used >= Duration::from_secs(whole_seconds(limit)));
    match Signal::try_from(signal) {
        Ok(Signal::SIGXCPU) if limits.cpu.is_some() => Ending::Cap(Cap::Cpu),
        // Who ignores the first signal is killed by the second.
        Ok(Signal::SIGKILL) if spent => Ending::Cap(Cap::Cpu),
        Ok(Signal::SIGXFSZ) if limits.file_bytes.is_some() => Ending::Cap(Cap::Disk),
        _ => Ending::Signalled(signal),
    }
}

fn whole_seconds(span: Duration) -> u64 {
    span.as_secs() + u64::from(span.subsec_nanos() > 0)
}

/// Soft and hard limits, none above what this process has itself: to raise those takes a privilege.
fn resource_limits(limits: &SandboxLimits) -> Vec<(Resource, rlim_t, rlim_t)> {
    let cpu = limits.cpu.map(|span| whole_seconds(span).max(1));
    let mut wanted = vec![(Resource::RLIMIT_CORE, Some(0), Some(0))];
    wanted.push((Resource::RLIMIT_CPU, cpu, cpu.map(|s| s.saturating_add(1))));
    wanted.push((
        Resource::RLIMIT_NOFILE,
        limits.open_files,
        limits.open_files,
    ));
    wanted.push((Resource::RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes));
    if let Some(resource) = system::MEMORY {
        wanted.push((resource, limits.memory_bytes, limits.memory_bytes));
    }
    wanted
        .into_iter()
        .filter_map(|(resource, soft, hard)| {
            let (_, most) = getrlimit(resource).ok()?;
            Some((resource, soft?.min(most), hard?.min(most)))
        })
        .collect()
}

/// What a process does to itself between its birth and its program.
#[derive(Debug)]
struct Confine {
    limits: Vec<(Resource, rlim_t, rlim_t)>,
}

impl CommandWrapper for Confine {
    #[expect(
        unsafe_code,
        reason = "there is no other way to act in the child before its program starts"
    )]
    #[expect(
        clippy::disallowed_types,
        reason = "this is how processes start in sandbox/"
    )]
    fn pre_spawn(
        &mut self,
        command: &mut tokio::process::Command,
        _core: &CommandWrap,
    ) -> io::Result<()> {
        let limits = std::mem::take(&mut self.limits);
        // SAFETY: the closure runs in the forked child, where only calls that are safe in a signal handler are
        // allowed. Each of these is one system call on values made before the fork; nothing allocates or locks.
        unsafe {
            command.pre_exec(move || {
                setsid()?;
                for &(resource, soft, hard) in &limits {
                    setrlimit(resource, soft, hard)?;
                }
                system::confine_self()
            });
        }
        Ok(())
    }
}
