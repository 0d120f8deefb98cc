//! One command from its start to the last of its processes: drain, deadline, kill the tree.

use std::future::pending;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::locate::locate;
use super::os::{Launch, Tree, plain};
use super::{Backend, Cap, Ending, RunSpec, SandboxError, SandboxOutcome};
use crate::base::{Bounded, Clock, Collector};

/// How long a command that ran out of time may take to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// How long pipes are read once everything that should hold them is dead.
const DRAIN: Duration = Duration::from_secs(2);
/// How often a program is started whose file is still open for writing somewhere.
const BUSY: usize = 50;
/// The wait between two of these.
const PAUSE: Duration = Duration::from_millis(10);
/// What is read from a pipe at once, in bytes.
const CHUNK: usize = 64 << 10;
/// The variable by which a run's processes are known, wherever they went.
pub(super) const MARKER: &str = "TASKGATE_SANDBOX_ID";

/// Runs one command with what every platform has.
pub(super) async fn run(
    clock: &dyn Clock,
    backend: Backend,
    spec: RunSpec<'_>,
) -> Result<SandboxOutcome, SandboxError> {
    let began = clock.monotonic();
    let program = spec.argv.first().ok_or(SandboxError::NoProgram)?;
    let (ending, stdout, stderr) = match start(program, &spec).await {
        Ok(tree) => attend(tree, program, &spec).await?,
        Err(ending) => (ending, Bounded::default(), Bounded::default()),
    };
    Ok(SandboxOutcome {
        ending,
        stdout,
        stderr,
        duration: clock.monotonic().saturating_sub(began),
        backend,
    })
}

async fn start(program: &str, spec: &RunSpec<'_>) -> Result<Tree, Ending> {
    let not_started = |stage, error: std::io::Error| Ending::NotStarted {
        stage,
        error: error.to_string(),
    };
    let workdir = workdir(spec.workdir).map_err(|error| not_started("workdir", error))?;
    let env = if spec.network {
        spec.env.clone()
    } else {
        spec.env.offline()
    };
    let file = locate(program, &workdir, &env).ok_or_else(|| Ending::NotFound {
        program: program.to_owned(),
    })?;
    let env = env.with(MARKER, format!("{:032x}", fastrand::u128(..)));
    let launch = Launch {
        file: &file,
        argv: spec.argv,
        workdir: &workdir,
        env: &env,
    };
    for _ in 1..BUSY {
        match Tree::spawn(&launch, &spec.limits) {
            // A process that is being started elsewhere holds the file open from when it was written.
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                tokio::time::sleep(PAUSE).await;
            }
            tree => return tree.map_err(|error| not_started("spawn", error)),
        }
    }
    Tree::spawn(&launch, &spec.limits).map_err(|error| not_started("spawn", error))
}

fn workdir(path: &Path) -> std::io::Result<std::path::PathBuf> {
    if path.metadata()?.is_dir() {
        std::path::absolute(path).map(plain)
    } else {
        Err(std::io::ErrorKind::NotADirectory.into())
    }
}

/// Sees a command through to its end.
async fn attend(
    mut tree: Tree,
    program: &str,
    spec: &RunSpec<'_>,
) -> Result<(Ending, Bounded, Bounded), SandboxError> {
    let failed = |stage| {
        move |source| SandboxError::Io {
            stage,
            program: program.to_owned(),
            source,
        }
    };
    let limits = &spec.limits;
    let (stdout, stderr) = tree.pipes();
    let mut output = Output {
        stdout: Stream::new(stdout, limits.output_bytes),
        stderr: Stream::new(stderr, limits.output_bytes),
        ceiling: limits.output_kill_bytes,
    };

    let mut cap = tokio::select! {
        biased;
        () = tokio::time::sleep(limits.wall) => Some(Cap::Wall),
        ended = tree.ended() => {
            ended.map_err(failed("wait for the end"))?;
            None
        }
        () = output.overflow() => Some(Cap::Output),
    };
    if cap == Some(Cap::Wall) && tree.ask_to_end() {
        tokio::select! {
            biased;
            () = tokio::time::sleep(GRACE) => {}
            ended = tree.ended() => ended.map_err(failed("wait for the end"))?,
            () = output.overflow() => {}
        }
    }
    let end = tree
        .destroy(limits)
        .await
        .map_err(failed("end the processes"))?;
    if cap != Some(Cap::Output) {
        // What is still in the pipes; a process that got away must not hold this up.
        tokio::select! {
            biased;
            () = tokio::time::sleep(DRAIN) => {}
            drained = output.drain() => {
                if drained == Drained::Overflow {
                    cap = cap.or(Some(Cap::Output));
                }
            }
        }
    }
    if end.survivors > 0 {
        return Err(SandboxError::Survivors {
            count: end.survivors,
            program: program.to_owned(),
        });
    }
    let ending = cap.map_or(end.ending, Ending::Cap);
    Ok((
        ending,
        output.stdout.kept.finish(),
        output.stderr.kept.finish(),
    ))
}

/// Both streams of a command, and how much they may bring.
struct Output<O, E> {
    stdout: Stream<O>,
    stderr: Stream<E>,
    ceiling: u64,
}

/// Why reading stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drained {
    /// Nobody can write any more.
    Closed,
    /// There was more than the ceiling allows.
    Overflow,
}

impl<O: AsyncRead + Unpin, E: AsyncRead + Unpin> Output<O, E> {
    async fn drain(&mut self) -> Drained {
        while self.stdout.pipe.is_some() || self.stderr.pipe.is_some() {
            tokio::select! {
                () = self.stdout.fill() => {}
                () = self.stderr.fill() => {}
            }
            if self.stdout.kept.total() + self.stderr.kept.total() > self.ceiling {
                return Drained::Overflow;
            }
        }
        Drained::Closed
    }

    /// Ends when there is more than the ceiling allows, and never otherwise.
    async fn overflow(&mut self) {
        if self.drain().await == Drained::Closed {
            pending::<()>().await;
        }
    }
}

/// One pipe and what is kept of it.
struct Stream<R> {
    pipe: Option<R>,
    kept: Collector,
    chunk: Box<[u8]>,
}

impl<R: AsyncRead + Unpin> Stream<R> {
    fn new(pipe: Option<R>, limit: usize) -> Self {
        Self {
            pipe,
            kept: Collector::new(limit),
            chunk: vec![0; CHUNK].into_boxed_slice(),
        }
    }

    /// Takes what is there, waiting for something; never ends once the pipe is closed. Nothing is lost when this
    /// is dropped halfway.
    async fn fill(&mut self) {
        match &mut self.pipe {
            None => pending().await,
            Some(pipe) => match pipe.read(&mut self.chunk).await {
                Ok(0) | Err(_) => self.pipe = None,
                Ok(count) => self.kept.push(&self.chunk[..count]),
            },
        }
    }
}
