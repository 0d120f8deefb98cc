//! Every way in which a command ends is named, and what it printed is kept.

use std::time::Duration;

use pretty_assertions::assert_eq;
use taskgate::sandbox::{Backend, Cap, Ending, LayerName, SandboxError, SandboxLimits};

use super::{Bench, FAKES, guarded, wide};

fn brief() -> SandboxLimits {
    SandboxLimits {
        wall: Duration::from_millis(300),
        ..wide()
    }
}

#[tokio::test]
async fn a_status_is_reported_as_it_is() {
    let bench = Bench::new();
    for status in [0_u8, 1, 42, 101, 255] {
        let outcome = bench.fake(&["exit", &status.to_string()], wide()).await;
        assert_eq!(outcome.ending, Ending::Exited(status.into()));
        assert_eq!(outcome.success(), status == 0);
        assert_eq!(outcome.backend, Backend::PortableFloor);
    }
}

#[tokio::test]
async fn both_streams_are_kept_apart() {
    let outcome = Bench::new().fake(&["print", "out", "err"], wide()).await;
    assert_eq!(outcome.ending, Ending::Exited(0));
    assert_eq!(
        (&*outcome.stdout.text, &*outcome.stderr.text),
        ("out", "err")
    );
}

#[tokio::test]
async fn arguments_reach_the_program_as_they_are() {
    let odd = "a b\t$HOME * \"quoted\" 'single' \\ ; | > &";
    let outcome = Bench::new().fake(&["print", odd], wide()).await;
    assert_eq!(outcome.stdout.text, odd);
}

#[tokio::test]
async fn bytes_that_are_no_text_are_shown_as_such() {
    let outcome = Bench::new().fake(&["bytes"], wide()).await;
    assert_eq!(outcome.stdout.text, "caf\u{fffd} \u{fffd}\u{fffd} end\n");
}

#[tokio::test]
async fn standard_input_is_empty() {
    let outcome = Bench::new().fake(&["read-stdin"], wide()).await;
    assert_eq!(outcome.stdout.text, "Ok(0)");
}

#[tokio::test]
async fn it_starts_in_its_folder() {
    let bench = Bench::new();
    let outcome = bench.fake(&["echo-folder"], wide()).await;
    assert_eq!(
        std::path::Path::new(&outcome.stdout.text)
            .canonicalize()
            .expect("a folder"),
        bench.path("").canonicalize().expect("a folder")
    );
}

#[tokio::test]
async fn time_runs_out_and_what_was_printed_is_kept() {
    let bench = Bench::new();
    for verb in ["hang", "ignore-term"] {
        let outcome = bench.fake(&[verb], brief()).await;
        assert_eq!(outcome.ending, Ending::Cap(Cap::Wall), "{verb}");
        assert!(!outcome.stdout.text.is_empty(), "{verb}");
    }
}

#[tokio::test]
async fn processor_time_runs_out() {
    let bench = Bench::new();
    if !bench.holds(LayerName::Cpu) {
        return;
    }
    let limits = SandboxLimits {
        cpu: Some(Duration::from_secs(1)),
        ..wide()
    };
    let outcome = bench.fake(&["burn-cpu"], limits).await;
    assert_eq!(outcome.ending, Ending::Cap(Cap::Cpu));
    assert_eq!(outcome.stdout.text, "burning\n");
    if std::env::consts::OS == "linux" {
        let outcome = bench.fake(&["burn-cpu-deaf"], limits).await;
        assert_eq!(outcome.ending, Ending::Cap(Cap::Cpu));
    }
}

#[tokio::test]
async fn a_file_grows_too_big() {
    let bench = Bench::new();
    if !bench.holds(LayerName::Disk) {
        return;
    }
    let limits = SandboxLimits {
        file_bytes: Some(1 << 20),
        ..wide()
    };
    let outcome = bench
        .fake(&["big-file", &bench.argument("big")], limits)
        .await;
    assert_eq!(outcome.ending, Ending::Cap(Cap::Disk));
    assert_eq!(outcome.stdout.text, "writing\n");
}

#[tokio::test]
async fn memory_is_refused() {
    let bench = Bench::new();
    if !bench.holds(LayerName::Memory) {
        return;
    }
    let limits = SandboxLimits {
        memory_bytes: Some(128 << 20),
        ..wide()
    };
    let outcome = bench.fake(&["alloc", "512"], limits).await;
    assert_eq!(outcome.ending, Ending::Exited(3));
    let outcome = bench.fake(&["alloc", "16"], limits).await;
    assert_eq!(outcome.ending, Ending::Exited(0));
}

#[tokio::test]
async fn a_flood_is_cut_off_and_its_beginning_and_end_are_kept() {
    let bench = Bench::new();
    let limits = SandboxLimits {
        output_bytes: 1_000,
        output_kill_bytes: 1 << 20,
        ..wide()
    };
    for (stream, to) in [("stdout", 0), ("stderr", 1)] {
        let outcome = bench.fake(&["flood", stream], limits).await;
        assert_eq!(outcome.ending, Ending::Cap(Cap::Output), "{stream}");
        let kept = [outcome.stdout, outcome.stderr][to].clone();
        assert!(kept.text.starts_with("0123456789abcdef\n"), "{stream}");
        assert!(kept.total > 1 << 20 && kept.total - kept.cut == 1_000);
    }
}

#[tokio::test]
async fn a_long_output_below_the_ceiling_is_no_flood() {
    let limits = SandboxLimits {
        output_bytes: 10,
        ..wide()
    };
    let text = "x".repeat(20_000);
    let outcome = Bench::new().fake(&["print", &text], limits).await;
    assert_eq!(outcome.ending, Ending::Exited(0));
    assert_eq!((outcome.stdout.total, outcome.stdout.cut), (20_000, 19_990));
}

#[tokio::test]
async fn a_signal_is_no_status() {
    let outcome = Bench::new().fake(&["abort"], wide()).await;
    match outcome.ending {
        Ending::Signalled(6) => {}
        Ending::Exited(status) => assert!(status != 0 && cfg_is_windows(), "{status}"),
        other => panic!("{other:?}"),
    }
}

fn cfg_is_windows() -> bool {
    std::env::consts::OS == "windows"
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let bench = Bench::with_host(&[("PATH", "/nowhere/at/all")]);
    for program in [
        "taskgate-no-such-program",
        "./no-such-script.sh",
        "/no/such/program",
        "",
    ] {
        let outcome = bench.run(&[program.to_owned()], wide()).await;
        let program = program.to_owned();
        assert_eq!(outcome.ending, Ending::NotFound { program });
    }
    let nothing = guarded(bench.sandbox.run(bench.spec(&[], wide()))).await;
    assert!(matches!(nothing, Err(SandboxError::NoProgram)));
}

#[tokio::test]
async fn a_file_that_is_no_program_does_not_start() {
    let bench = Bench::new();
    let outcome = bench
        .fake(&["leave-file", &bench.argument("plain.txt")], wide())
        .await;
    assert_eq!(outcome.ending, Ending::Exited(0));
    let outcome = bench.run(&["./plain.txt".to_owned()], wide()).await;
    assert!(
        matches!(
            outcome.ending,
            Ending::NotStarted { .. } | Ending::NotFound { .. }
        ),
        "{:?}",
        outcome.ending
    );
}

#[tokio::test]
async fn a_missing_folder_is_named() {
    let bench = Bench::new();
    let argv = super::argv(&["exit", "0"]);
    let gone = bench.path("gone");
    let mut spec = bench.spec(&argv, wide());
    spec.workdir = &gone;
    let outcome = guarded(bench.sandbox.run(spec)).await.expect("an outcome");
    assert!(
        matches!(
            outcome.ending,
            Ending::NotStarted {
                stage: "workdir",
                ..
            }
        ),
        "{:?}",
        outcome.ending
    );
}

#[tokio::test]
async fn programs_are_found_on_the_path_and_beside_the_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let suffix = std::env::consts::EXE_SUFFIX;
    let path = format!("relative:{}", folder.path().display());
    let path = if cfg_is_windows() {
        path.replacen("relative:", "relative;", 1)
    } else {
        path
    };
    std::fs::copy(FAKES, folder.path().join(format!("on-the-path{suffix}"))).expect("a copy");
    let bench = Bench::with_host(&[("PATH", &path)]);
    std::fs::copy(FAKES, bench.path(&format!("beside{suffix}"))).expect("a copy");

    for (program, found) in [
        ("on-the-path", true),
        ("./beside", true),
        // What lies in the working folder does not stand in for a program that is looked up.
        ("beside", false),
    ] {
        let argv = [program, "exit", "7"].map(str::to_owned);
        let expected = if found {
            Ending::Exited(7)
        } else {
            Ending::NotFound {
                program: program.to_owned(),
            }
        };
        assert_eq!(bench.run(&argv, wide()).await.ending, expected, "{program}");
    }
}

#[tokio::test]
async fn no_secret_of_the_host_is_seen() {
    let canary = "canary-5f1c";
    let secrets = [
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "GITHUB_ENV",
        "ACTIONS_RUNTIME_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "SSH_AUTH_SOCK",
        "LC_SECRET",
        "DATABASE_URL",
        "NPM_TOKEN",
        "TASKGATE_ANYTHING",
    ];
    let mut host: Vec<(&str, &str)> = secrets.iter().map(|name| (*name, canary)).collect();
    host.extend([
        ("LANG", "C.UTF-8"),
        ("HTTPS_PROXY", "http://user:canary-5f1c@proxy:1"),
        ("HOME", "/host/home"),
        ("TERM", "xterm"),
    ]);
    let bench = Bench::with_host(&host);
    let outcome = bench.fake(&["echo-env"], wide()).await;
    let seen = outcome.stdout.text;
    assert!(!seen.contains(canary), "{seen}");
    assert!(!seen.contains("/host/home"), "{seen}");
    for line in ["LANG=C.UTF-8", "TERM=dumb"] {
        assert!(seen.lines().any(|found| found == line), "{line} in {seen}");
    }
    // Nor of the process that runs this.
    assert!(!seen.contains("CARGO_MANIFEST_DIR="), "{seen}");
}

#[tokio::test]
async fn without_network_package_managers_are_told_so() {
    let bench = Bench::with_host(&[("HTTPS_PROXY", "http://proxy:1"), ("no_proxy", "x")]);
    let argv = super::argv(&["echo-env"]);
    for network in [true, false] {
        let mut spec = bench.spec(&argv, wide());
        spec.network = network;
        let outcome = guarded(bench.sandbox.run(spec)).await.expect("an outcome");
        let seen = outcome.stdout.text.to_ascii_uppercase();
        assert_eq!(seen.contains("HTTPS_PROXY="), network, "{seen}");
        assert_eq!(seen.contains("NO_PROXY="), network, "{seen}");
        assert_eq!(seen.contains("CARGO_NET_OFFLINE=TRUE"), !network, "{seen}");
        assert_eq!(seen.contains("GOPROXY=OFF"), !network, "{seen}");
    }
}
