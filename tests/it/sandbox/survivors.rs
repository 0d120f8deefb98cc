//! Nothing that a command started outlives it.

use std::sync::Arc;
use std::time::Duration;

use pretty_assertions::assert_eq;
use taskgate::sandbox::{Cap, Ending, SandboxLimits};

use super::os::alive;
use super::{Bench, argv, guarded, skipped, wide};

/// Whether what leaves its session is found on this system.
fn finds_daemons() -> bool {
    let finds = matches!(std::env::consts::OS, "linux" | "windows");
    if !finds {
        skipped("a process that leaves its session is not found on this system");
    }
    finds
}

/// Waits until a process is gone: it was killed, and the system may take a moment to forget it.
async fn gone(pid: i32) {
    while alive(pid) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_a_command_leaves_in_the_background_ends_with_it() {
    let bench = Bench::new();
    let file = bench.argument("pid");
    // It holds standard output, which must not hold up the end.
    let outcome = bench.fake(&["fork-child", &file], wide()).await;
    assert_eq!(outcome.ending, Ending::Exited(0));
    guarded(gone(bench.pid("pid"))).await;
}

#[tokio::test]
async fn a_daemon_ends_with_its_command() {
    if !finds_daemons() {
        return;
    }
    for verb in ["fork-daemon", "fork-stranger"] {
        let bench = Bench::new();
        let file = bench.argument("pid");
        let outcome = bench.fake(&[verb, &file], wide()).await;
        assert_eq!(outcome.ending, Ending::Exited(0), "{verb}");
        // One that threw its marker away may be another run's as long as older ones are going on.
        guarded(gone(bench.pid("pid"))).await;
    }
}

#[tokio::test]
async fn who_runs_from_process_to_process_is_caught() {
    if !finds_daemons() {
        return;
    }
    let bench = Bench::new();
    let outcome = bench
        .fake(&["fork-hopper", &bench.argument("steps")], wide())
        .await;
    assert_eq!(outcome.ending, Ending::Exited(0));
    let steps = || std::fs::read(bench.path("steps")).map_or(0, |steps| steps.len());
    let before = steps();
    // A moment in which one that is left would have moved on.
    for _ in 0..20 {
        bench.fake(&["exit", "0"], wide()).await;
    }
    assert_eq!(steps(), before);
}

#[tokio::test]
async fn running_out_of_time_leaves_nobody() {
    let bench = Bench::new();
    let (child, daemon) = (bench.argument("child"), bench.argument("daemon"));
    let limits = SandboxLimits {
        wall: Duration::from_secs(1),
        ..wide()
    };
    let outcome = bench
        .fake(&["fork-and-hang", &child, &daemon], limits)
        .await;
    assert_eq!(outcome.ending, Ending::Cap(Cap::Wall));
    assert_eq!(outcome.stdout.text, "forked\n");
    guarded(gone(bench.pid("child"))).await;
    if finds_daemons() {
        guarded(gone(bench.pid("daemon"))).await;
    }
}

async fn until_there(path: &std::path::Path) {
    while !path.exists() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn dropping_a_run_kills_all_of_it_at_once() {
    let bench = Bench::new();
    let argv = argv(&[
        "fork-and-hang",
        &bench.argument("child"),
        &bench.argument("daemon"),
    ]);
    let there = bench.path("daemon");
    guarded(async {
        tokio::select! {
            outcome = bench.sandbox.run(bench.spec(&argv, wide())) => panic!("{outcome:?}"),
            () = until_there(&there) => {}
        }
    })
    .await;
    guarded(gone(bench.pid("child"))).await;
    if finds_daemons() {
        guarded(gone(bench.pid("daemon"))).await;
    }
}

#[test]
fn the_end_of_a_runtime_kills_what_it_ran() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let bench = Arc::new(Bench::new());
    let argv = argv(&[
        "fork-and-hang",
        &bench.argument("child"),
        &bench.argument("daemon"),
    ]);
    let running = Arc::clone(&bench);
    runtime.spawn(async move {
        let outcome = running.sandbox.run(running.spec(&argv, wide())).await;
        panic!("{outcome:?}");
    });
    runtime.block_on(guarded(until_there(&bench.path("daemon"))));
    drop(runtime);
    let after = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    after.block_on(guarded(gone(bench.pid("child"))));
    if finds_daemons() {
        after.block_on(guarded(gone(bench.pid("daemon"))));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_do_not_get_into_each_others_way() {
    let bench = Arc::new(Bench::new());
    let runs: Vec<_> = (0..32_u8)
        .map(|number| {
            let bench = Arc::clone(&bench);
            tokio::spawn(async move {
                let file = bench.argument(&format!("pid-{number}"));
                let outcome = if number % 4 == 0 {
                    bench.fake(&["fork-daemon", &file], wide()).await
                } else {
                    bench.fake(&["exit", &number.to_string()], wide()).await
                };
                (number, outcome.ending)
            })
        })
        .collect();
    for run in runs {
        let (number, ending) = guarded(run).await.expect("no panic");
        if number % 4 != 0 {
            assert_eq!(ending, Ending::Exited(number.into()));
            continue;
        }
        assert_eq!(ending, Ending::Exited(0));
        if finds_daemons() {
            guarded(gone(bench.pid(&format!("pid-{number}")))).await;
        }
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it stands for a command whose runner is gone"
)]
fn what_a_killed_runner_left_behind_is_ended_by_its_home() {
    if std::env::consts::OS != "linux" {
        super::skipped("leftovers can be found on Linux alone");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (home, other) = (
        folder.path().join("home"),
        folder.path().join("home-of-another"),
    );
    let start = |home: &std::path::Path| {
        std::process::Command::new(env!("CARGO_BIN_EXE_taskgate-fakes"))
            .arg("hang")
            .env("HOME", home)
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("the helper starts")
    };
    let (mut left, mut stranger) = (start(&home), start(&other));
    assert_eq!(taskgate::sandbox::end_leftovers(&home), 1);
    let ended = left.wait().expect("it ended");
    assert_eq!(ended.code(), None, "by a signal");
    assert!(
        stranger.try_wait().expect("it can be asked").is_none(),
        "another home is left alone"
    );
    stranger.kill().expect("ended by hand");
    stranger.wait().expect("gone");
}
