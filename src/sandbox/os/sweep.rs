//! Linux: the processes of a run, wherever they went, found in `/proc` and killed.
//!
//! Some try to get away: one that leaves its session and forks again and again is never at the same number twice. Such
//! a one is orphaned at every step, which makes it a child of this process: the list of these is short, so that it is
//! read and acted upon faster than a process moves on. The list of all processes is read as well, for what is not
//! orphaned, and is slow. So that nobody slips through between the two, it is not enough to find nobody alive: nobody
//! new may have died meanwhile either.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpid, getsid};
use process_wrap::tokio::ChildWrapper;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::sandbox::exec::MARKER;

/// How often the list of all processes is gone through before the sweep gives up.
const ROUNDS: usize = 500;
/// How often between two of these the list of orphans is, at most.
const CHASE: usize = 100;
/// How often in a row nothing may be found before it is believed.
const QUIET: usize = 2;
/// How much of a process's variables is looked at, in bytes.
const ENVIRON: u64 = 4 << 20;

/// Whose first process is running: its start, in ticks since the machine's, and its run's marker.
struct Live {
    started: u64,
    marker: Arc<str>,
    /// Its processes are being killed, so that none is spared because it may be one of them.
    ending: bool,
}

/// The first processes of all runs that are going on. Held while one starts, so that nothing of a run is ever seen
/// before the run is known.
static LIVE: Mutex<BTreeMap<i32, Live>> = Mutex::new(BTreeMap::new());

fn live() -> MutexGuard<'static, BTreeMap<i32, Live>> {
    // What is in the map is whole between two calls on it.
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The descendants of a command, wherever they went.
pub(super) struct Family {
    kin: Kin,
    watch: Option<AsyncFd<OwnedFd>>,
}

impl Family {
    /// Starts a command.
    pub(super) fn of(
        marker: &str,
        spawn: impl FnOnce() -> io::Result<(Box<dyn ChildWrapper>, Pid)>,
    ) -> io::Result<(Box<dyn ChildWrapper>, Pid, Self)> {
        let mut live = live();
        let (child, leader) = spawn()?;
        let kin = Kin {
            leader: leader.as_raw(),
            started: Seen::read(leader.as_raw()).map_or(0, |seen| seen.started),
            marker: marker.into(),
        };
        live.insert(
            kin.leader,
            Live {
                started: kin.started,
                marker: Arc::clone(&kin.marker),
                ending: false,
            },
        );
        let watch = watch(leader).ok();
        Ok((child, leader, Self { kin, watch }))
    }

    /// Waits for the first process to end and leaves its status where it is, so that its number stays its own until
    /// its descendants are dead. False where the kernel has no way to wait so.
    pub(super) async fn ended(&self) -> io::Result<bool> {
        match &self.watch {
            Some(watch) => watch.readable().await.map(|_ready| true),
            None => Ok(false),
        }
    }

    /// Kills what is left; how many processes would not go.
    pub(super) async fn sweep(&self) -> usize {
        let kin = self.kin.clone();
        match tokio::task::spawn_blocking(move || kin.sweep()).await {
            Ok(survivors) => survivors,
            // The runtime is shutting down.
            Err(_) => self.kin.sweep(),
        }
    }

    /// As [`Family::sweep`], at once.
    pub(super) fn sweep_now(&self) {
        self.kin.sweep();
    }

    /// What the first process used, as long as its status was not taken.
    pub(super) fn processor_time(&self) -> Option<Duration> {
        let ticks = Seen::read(self.kin.leader)?.ticks;
        let per_second = ticks_per_second()?;
        Some(Duration::from_millis(
            ticks.saturating_mul(1_000) / per_second,
        ))
    }

    /// Forgets the run once its first process is gone.
    pub(super) fn release(&self) {
        live().remove(&self.kin.leader);
    }
}

/// By what the processes of one run are known.
#[derive(Clone)]
struct Kin {
    leader: i32,
    started: u64,
    marker: Arc<str>,
}

/// What a sweep has learnt so far: what a process of the run started or led is the run's.
struct Known {
    me: i32,
    session: i32,
    pids: BTreeSet<i32>,
    sessions: BTreeSet<i32>,
}

impl Kin {
    /// How many processes are left, after all that can be done.
    fn sweep(&self) -> usize {
        if !proc_is_ours() {
            return 0;
        }
        if let Some(run) = live().get_mut(&self.leader) {
            run.ending = true;
        }
        let mut known = Known {
            me: getpid().as_raw(),
            session: getsid(None).map_or(0, Pid::as_raw),
            pids: [self.leader].into(),
            sessions: [self.leader].into(),
        };
        let (mut quiet, mut moving) = (0, 0);
        for _ in 0..ROUNDS {
            let before = known.pids.len();
            let alive = self.chase(&mut known) + self.strike(all(), &mut known);
            moving = alive + known.pids.len() - before;
            if moving > 0 {
                quiet = 0;
                std::thread::yield_now();
                continue;
            }
            quiet += 1;
            if quiet == QUIET {
                break;
            }
        }
        moving
    }

    /// Kills orphans as fast as they come; how many were alive at last.
    fn chase(&self, known: &mut Known) -> usize {
        let mut alive = 0;
        for _ in 0..CHASE {
            let before = known.pids.len();
            alive = self.strike(children(), known);
            if alive + known.pids.len() == before {
                break;
            }
        }
        alive
    }

    /// Kills those of a list that are the run's; how many of them were alive.
    fn strike(&self, list: impl Iterator<Item = i32>, known: &mut Known) -> usize {
        // A descendant is never older than the first process.
        let seen: Vec<Seen> = list
            .filter_map(Seen::read)
            .filter(|seen| seen.started >= self.started && seen.pid != known.me)
            .filter(|seen| seen.session != known.session)
            .collect();
        // After the list: what is in it and belongs to another run, belongs to one that is known by now.
        let live = live();
        let before_others = live
            .iter()
            .filter(|(leader, other)| **leader != self.leader && !other.ending)
            .map(|(_, other)| other.started)
            .min()
            .unwrap_or(u64::MAX);
        let of_others = |seen: &Seen, marker: Option<&str>| {
            (seen.pid != self.leader && live.contains_key(&seen.pid))
                || live
                    .values()
                    .any(|other| *other.marker != *self.marker && Some(&*other.marker) == marker)
        };
        for process in &seen {
            if known.has(process) {
                continue;
            }
            let marker = if process.ended {
                None
            } else {
                marker_of(process.pid)
            };
            let marked = marker.as_deref() == Some(&*self.marker);
            // An orphan without a marker has thrown it away. It is this run's where no other run is old enough.
            let stray = process.parent == known.me && process.started < before_others;
            if marked || (stray && !of_others(process, marker.as_deref())) {
                known.add(process);
            }
        }
        known.close(&seen);
        let mut alive = 0;
        for process in &seen {
            let first = live.contains_key(&process.pid);
            if process.ended {
                if process.parent == known.me && !first {
                    // An orphan's status that nobody asks for. It has ended, so that this does not wait.
                    let _gone = waitpid(Pid::from_raw(process.pid), Some(WaitPidFlag::WNOHANG));
                }
            } else if known.pids.contains(&process.pid) {
                alive += 1;
                let _gone = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
            }
        }
        alive
    }
}

impl Known {
    fn has(&self, process: &Seen) -> bool {
        self.pids.contains(&process.pid)
            || self.pids.contains(&process.parent)
            || self.sessions.contains(&process.session)
    }

    fn add(&mut self, process: &Seen) {
        self.pids.insert(process.pid);
        self.sessions.insert(process.session);
    }

    /// Takes in what descends from what is known, until nothing is added.
    fn close(&mut self, seen: &[Seen]) {
        loop {
            let before = self.pids.len();
            for process in seen {
                if self.has(process) {
                    self.add(process);
                }
            }
            if self.pids.len() == before {
                break;
            }
        }
    }
}

/// One process as the kernel lists it.
struct Seen {
    pid: i32,
    parent: i32,
    session: i32,
    /// Only its status is left.
    ended: bool,
    /// Processor time in ticks.
    ticks: u64,
    /// Its start, in ticks since the machine's.
    started: u64,
}

impl Seen {
    fn read(pid: i32) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(pid, &String::from_utf8_lossy(&stat))
    }

    /// The program's name comes in parentheses and may hold any character, parentheses included.
    fn parse(pid: i32, stat: &str) -> Option<Self> {
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<i64>().ok();
        let small = |at| i32::try_from(number(at)?).ok();
        let large = |at| u64::try_from(number(at)?).ok();
        Some(Self {
            pid,
            parent: small(1)?,
            session: small(3)?,
            ended: matches!(*fields.first()?, "Z" | "X" | "x"),
            ticks: large(11)?.saturating_add(large(12)?),
            started: large(19)?,
        })
    }
}

/// How often leftovers are looked for again: what is killed may have started something at the last moment.
const LEFTOVER_ROUNDS: usize = 200;

/// All processes, the newest first as far as their numbers tell.
fn all() -> impl Iterator<Item = i32> {
    let mut pids: Vec<i32> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    pids.into_iter().rev()
}

/// The children of this process, orphans that it adopted among them. Empty on a kernel that does not list them.
fn children() -> impl Iterator<Item = i32> {
    let lists: Vec<String> = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .collect();
    let pids: Vec<i32> = lists
        .iter()
        .flat_map(|list| list.split_whitespace())
        .filter_map(|pid| pid.parse().ok())
        .collect();
    pids.into_iter()
}

/// Whether `/proc` counts processes the way this process does.
pub(super) fn proc_is_ours() -> bool {
    std::fs::read_link("/proc/self").is_ok_and(|link| link.to_str() == Some(&*getpid().to_string()))
}

/// The variables that a process was started with, as far as they can be seen.
fn environ_of(pid: i32) -> Option<Vec<u8>> {
    let mut environ = Vec::new();
    File::open(format!("/proc/{pid}/environ"))
        .and_then(|file| file.take(ENVIRON).read_to_end(&mut environ))
        .ok()?;
    Some(environ)
}

/// Ends every process that was started with this home by a runner that is gone, and what they start meanwhile. How many
/// there were.
pub(super) fn end_leftovers(home: &Path) -> usize {
    let wanted = [b"HOME=", home.as_os_str().as_encoded_bytes()].concat();
    let mut ended = BTreeSet::new();
    for _ in 0..LEFTOVER_ROUNDS {
        let found: Vec<i32> = all()
            .filter(|&pid| {
                environ_of(pid).is_some_and(|environ| {
                    environ
                        .split(|&byte| byte == 0)
                        .any(|entry| entry == wanted)
                })
            })
            .collect();
        if found.is_empty() {
            break;
        }
        for pid in found {
            let _gone = kill(Pid::from_raw(pid), Signal::SIGKILL);
            ended.insert(pid);
        }
    }
    ended.len()
}

/// The marker that a process carries, where it can be seen.
fn marker_of(pid: i32) -> Option<String> {
    let environ = environ_of(pid)?;
    environ
        .split(|&byte| byte == 0)
        .filter_map(|entry| std::str::from_utf8(entry).ok())
        .find_map(|entry| {
            entry
                .strip_prefix(MARKER)?
                .strip_prefix('=')
                .map(str::to_owned)
        })
}

#[expect(unsafe_code, reason = "the call has no wrapper among our dependencies")]
fn ticks_per_second() -> Option<u64> {
    // SAFETY: the call takes an integer and touches no memory of ours.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|&ticks| ticks > 0)
}

#[expect(unsafe_code, reason = "the call has no wrapper among our dependencies")]
pub(super) fn pidfd(pid: Pid) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two integers and touches no memory of ours.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the kernel has just made this descriptor, and nothing else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Becomes readable when the process ends.
#[expect(unsafe_code, reason = "the caller vouches for the descriptor")]
fn watch(pid: Pid) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an owned descriptor is the same one for as long as it lives, which is as long as it is registered.
    Ok(unsafe { AsyncFd::register_with_interest(pidfd(pid)?, Interest::READABLE)? })
}

#[cfg(test)]
mod tests {
    use super::Seen;

    #[test]
    fn a_programs_name_cannot_forge_the_rest_of_its_line() {
        let after = "S 7 8 9 0 -1 4194304 1 0 0 0 21 4 0 0 20 0 1 0 555 1000 10";
        for name in ["cat", "a) Z 1 1 1 (b", ")", ""] {
            let seen = Seen::parse(5, &format!("5 ({name}) {after}")).expect("a process");
            assert_eq!(
                (seen.parent, seen.session, seen.ended),
                (7, 9, false),
                "{name}"
            );
            assert_eq!((seen.ticks, seen.started), (25, 555), "{name}");
        }
        for broken in ["", "5 (cat", "5 (cat) S 1 2", "5 (cat) S x 2 3"] {
            assert!(Seen::parse(5, broken).is_none(), "{broken}");
        }
    }
}
