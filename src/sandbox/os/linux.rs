//! Linux: what escaped the session is handed to this process when it is orphaned, and found in `/proc`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;

use nix::sys::prctl;
use nix::sys::resource::Resource;
use nix::unistd::getpid;

pub(super) use super::sweep::Family;
use super::sweep::{pidfd, proc_is_ours};
use crate::sandbox::{Fact, LayerName, LayerState, SandboxLimits};

/// The limit that private memory counts against.
pub(super) const MEMORY: Option<Resource> = Some(Resource::RLIMIT_DATA);

/// Once for the process: it adopts the orphans below it, and no other process of its user looks into its memory.
pub(super) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // A kernel that refuses either is one that `layers` and `facts` report so.
        let _refused = prctl::set_child_subreaper(true);
        let _refused = prctl::set_dumpable(false);
    });
}

/// In the child, between its birth and its program: no program gives it more rights than it has.
pub(super) fn confine_self() -> io::Result<()> {
    Ok(prctl::set_no_new_privs()?)
}

#[expect(unsafe_code, reason = "the call has no wrapper among our dependencies")]
fn is_root() -> bool {
    // SAFETY: the call takes nothing, touches no memory of ours and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// What holds here beyond what holds everywhere.
pub(super) fn layers(_limits: &SandboxLimits) -> Vec<(LayerName, LayerState)> {
    prepare();
    let root = is_root();
    let mut layers = vec![
        (
            LayerName::Memory,
            LayerState::partial(
                "RLIMIT_DATA",
                &[
                    "each process has its own limit",
                    "shared mappings do not count",
                    "a program over it is refused memory, and how it ends then is what is reported",
                ],
            ),
        ),
        (
            LayerName::Cpu,
            LayerState::partial(
                "RLIMIT_CPU",
                &["each process has its own limit, and only the first one's end is named"],
            ),
        ),
        (
            LayerName::Disk,
            LayerState::partial(
                "RLIMIT_FSIZE",
                &["each file has its own limit, and only the first process's end is named"],
            ),
        ),
        (LayerName::KillTree, kill_tree()),
        (
            LayerName::Syscalls,
            LayerState::absent(
                "the floor filters no system calls; programs that would give more rights do not (no_new_privs)",
            ),
        ),
    ];
    let mut terminal = vec!["the terminal's device file can still be opened by its path"];
    let mut view = vec!["other processes of its user are visible"];
    if root {
        terminal.push("a command that runs as root can type into it");
        view.push("a command that runs as root reads the runner's memory");
    }
    layers.push((
        LayerName::Tty,
        LayerState::partial("a session of its own", &terminal),
    ));
    if prctl::get_dumpable().is_ok_and(|dumpable| !dumpable) {
        layers.push((
            LayerName::ProcView,
            LayerState::partial("the runner's memory and variables are closed", &view),
        ));
    }
    layers
}

fn kill_tree() -> LayerState {
    let mut gaps = vec!["when the runner itself is killed, its commands go on"];
    if !proc_is_ours() {
        gaps.push("/proc is not there or not ours: what leaves the session survives");
        return LayerState::partial("signals to the session's group", &gaps);
    }
    if !prctl::get_child_subreaper().unwrap_or(false) {
        gaps.push(
            "the kernel hands orphans to another process: what leaves the session and drops its marker survives",
        );
    }
    gaps.push("what leaves the session and drops its marker while other commands run may live until those end");
    LayerState::partial(
        "signals to the session's group and a sweep of orphans and marked processes",
        &gaps,
    )
}

/// What the machine offers.
pub(in crate::sandbox) fn facts() -> Vec<Fact> {
    prepare();
    let sysctl = |name: &str| {
        std::fs::read_to_string(format!("/proc/sys/{name}"))
            .ok()
            .map(|text| text.trim().to_owned())
    };
    let restricted = sysctl("kernel/apparmor_restrict_unprivileged_userns");
    let most = sysctl("user/max_user_namespaces");
    let namespaces =
        most.as_deref().is_some_and(|most| most != "0") && restricted.as_deref() != Some("1");
    let cgroup = own_cgroup();
    let landlock = landlock_abi();
    vec![
        Fact::new("own /proc", proc_is_ours(), ""),
        Fact::new(
            "child subreaper",
            prctl::get_child_subreaper().unwrap_or(false),
            "",
        ),
        Fact::new("pidfd", pidfd(getpid()).is_ok(), ""),
        Fact::new(
            "landlock",
            landlock.is_some(),
            landlock.map_or_else(String::new, |abi| format!("ABI {abi}")),
        ),
        Fact::new(
            "seccomp",
            sysctl("kernel/seccomp/actions_avail").is_some(),
            sysctl("kernel/seccomp/actions_avail").unwrap_or_default(),
        ),
        Fact::new(
            "user namespaces",
            namespaces,
            match (most, restricted.as_deref()) {
                (_, Some("1")) => "restricted by AppArmor".to_owned(),
                (Some(most), _) => format!("at most {most}"),
                (None, _) => String::new(),
            },
        ),
        Fact::new(
            "own cgroup",
            cgroup.is_some(),
            cgroup.map_or_else(String::new, |path| path.display().to_string()),
        ),
    ]
}

/// The folder of this process's unified cgroup, where new ones can be made below it.
fn own_cgroup() -> Option<PathBuf> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let below = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let folder = PathBuf::from("/sys/fs/cgroup").join(below);
    let writable = folder.join("cgroup.procs").is_file()
        && nix::unistd::access(&folder, nix::unistd::AccessFlags::W_OK).is_ok();
    writable.then_some(folder)
}

#[expect(unsafe_code, reason = "the call has no wrapper among our dependencies")]
fn landlock_abi() -> Option<u32> {
    /// Asks for the version instead of making a ruleset.
    const VERSION: u32 = 1;
    // SAFETY: with this flag the call reads no memory, and wants a null pointer and no size.
    let abi = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            VERSION,
        )
    };
    u32::try_from(abi).ok().filter(|&abi| abi > 0)
}

/// Ends what a runner that is gone had started with this home.
pub(in crate::sandbox) fn end_leftovers(home: &Path) -> usize {
    super::sweep::end_leftovers(home)
}

/// The kernel's release.
pub(in crate::sandbox) fn kernel() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/osrelease")
        .ok()
        .map(|text| text.trim().to_owned())
}
