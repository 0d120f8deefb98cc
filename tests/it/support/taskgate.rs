//! Runs the program in a folder of its own, with an environment that no machine can colour.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// Variables that the program's children need to find their tools; nothing else is taken over, so that no
/// `GITHUB_*`, `CI`, `*_API_KEY`, colour or locale variable of the machine can reach a test.
const TAKEN_OVER: [&str; 12] = [
    "PATH",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "PYENV_ROOT",
    "SystemRoot",
    "SystemDrive",
    "windir",
    "ComSpec",
    "PATHEXT",
    "ProgramFiles",
    "ProgramFiles(x86)",
];

/// A temporary folder and the environment of the programs that run in it.
#[derive(Debug)]
pub(crate) struct Taskgate {
    folder: tempfile::TempDir,
    env: BTreeMap<String, String>,
}

/// How the program ended and what it wrote, with the folder's path as `[FOLDER]` and `/` between names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    /// The exit code; `None` after a signal.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Taskgate {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut env: BTreeMap<String, String> = TAKEN_OVER
            .into_iter()
            .filter_map(|name| host(name).map(|value| (name.to_owned(), value)))
            .collect();
        // The tool chain lies below the real home, which the program does not get to see.
        if let Some(home) = host("HOME").or_else(|| host("USERPROFILE")) {
            for (name, place) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
                let place = Path::new(&home).join(place);
                if place.is_dir() {
                    env.entry(name.to_owned())
                        .or_insert_with(|| place.display().to_string());
                }
            }
        }
        let inside = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(&path).expect("a folder below the temporary one");
            path.display().to_string()
        };
        for (name, place) in [
            ("HOME", ".home"),
            ("USERPROFILE", ".home"),
            ("APPDATA", ".home"),
            ("LOCALAPPDATA", ".home"),
            ("TMPDIR", ".tmp"),
            ("TEMP", ".tmp"),
            ("TMP", ".tmp"),
        ] {
            env.insert(name.to_owned(), inside(place));
        }
        env.insert("LC_ALL".to_owned(), "C".to_owned());
        env.insert("COLUMNS".to_owned(), "100".to_owned());
        Self { folder, env }
    }

    /// Sets a variable on top of those.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The folder, which is also the working folder of the program.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file below the folder, with the folders that lead to it.
    pub(crate) fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.folder().join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("a folder below the temporary one");
        }
        #[expect(clippy::disallowed_methods, reason = "a test lays out its own folder")]
        std::fs::write(&path, text).expect("a file below the temporary folder");
        path
    }

    /// Writes a file in which `FAKES` stands for the helper program of the tests and `FOLDER` for this folder.
    pub(crate) fn filled(&self, path: &str, text: &str) -> PathBuf {
        let slashed = |path: &Path| path.display().to_string().replace('\\', "/");
        let fakes = slashed(Path::new(env!("CARGO_BIN_EXE_taskgate-fakes")));
        let text = text
            .replace("FAKES", &fakes)
            .replace("FOLDER", &slashed(self.folder()));
        self.file(path, &text)
    }

    /// The text of a file below the folder.
    pub(crate) fn read(&self, path: &str) -> String {
        let path = self.folder().join(path);
        let text = std::fs::read(&path);
        self.scrub(&text.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    /// Whether something stands at a path below the folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.folder().join(path).exists()
    }

    /// What a query over a trace's views answers, as CSV without its header.
    pub(crate) fn rows(&self, trace: &str, sql: &str) -> String {
        let connection = taskgate::store::open_read_only(&self.folder().join(trace));
        let connection = connection.expect("a trace");
        let table = taskgate::report::run_sql(&connection, sql).expect("an answer");
        let csv = table.to_csv();
        let rows = csv.split_once('\n').map_or("", |(_, rows)| rows);
        self.scrub(rows.trim_end().as_bytes())
    }

    /// The program, started and not waited for; its output is piped.
    #[expect(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "a test that kills or signals the program needs its process"
    )]
    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        let child = std::process::Command::new(env!("CARGO_BIN_EXE_taskgate"))
            .env_clear()
            .envs(&self.env)
            .current_dir(self.folder())
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        child.expect("the program starts")
    }

    /// Waits until something stands at a path below the folder, or the program has ended.
    pub(crate) fn wait_for(&self, path: &str, child: &mut Child) {
        let path = self.folder().join(path);
        for _ in 0..12_000 {
            if path.exists() {
                return;
            }
            let ended = child.try_wait().expect("the program can be asked");
            assert_eq!(ended, None, "the program ended before {}", path.display());
            std::thread::park_timeout(Duration::from_millis(5));
        }
        panic!("nothing stands at {}", path.display());
    }

    /// The program with these arguments, not yet started.
    pub(crate) fn command(&self, args: &[&str]) -> assert_cmd::Command {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_taskgate"));
        command
            .env_clear()
            .envs(&self.env)
            .current_dir(self.folder())
            .args(args);
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().expect("the program starts");
        Ran {
            code: output.status.code(),
            stdout: self.scrub(&output.stdout),
            stderr: self.scrub(&output.stderr),
        }
    }

    fn scrub(&self, bytes: &[u8]) -> String {
        let mut text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
        let real = self.folder().canonicalize().unwrap_or_default();
        for path in [&real, self.folder()] {
            let path = path.display().to_string();
            if !path.is_empty() {
                text = text.replace(&path, "[FOLDER]");
                text = text.replace(&path.replace('\\', "/"), "[FOLDER]");
            }
        }
        if cfg!(windows) {
            text = text.replace('\\', "/");
        }
        text
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test hands the machine's tools on by name, and nothing else"
)]
fn host(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[test]
fn nothing_of_the_machine_but_its_tools_is_handed_on() {
    let taskgate = Taskgate::new().env("NO_COLOR", "1");
    for name in taskgate.env.keys() {
        let ours = [
            "HOME",
            "USERPROFILE",
            "APPDATA",
            "LOCALAPPDATA",
            "TMPDIR",
            "TEMP",
            "TMP",
        ];
        assert!(
            TAKEN_OVER.contains(&name.as_str())
                || ours.contains(&name.as_str())
                || ["LC_ALL", "COLUMNS", "NO_COLOR"].contains(&name.as_str()),
            "{name} reaches the program"
        );
    }
}

#[test]
fn the_program_starts_in_its_folder() {
    let taskgate = Taskgate::new();
    let file = taskgate.file("a/b.txt", "text");
    assert!(file.starts_with(taskgate.folder()));
    assert_eq!(
        taskgate.scrub(
            file.parent()
                .expect("a parent")
                .display()
                .to_string()
                .as_bytes()
        ),
        "[FOLDER]/a"
    );
    let ran = taskgate.run(&["--version"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(0), ""),
        "{}",
        ran.stdout
    );
}
