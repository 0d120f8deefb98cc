//! A program that misbehaves on demand, for tests of the sandbox: `taskgate-fakes VERB [ARGUMENT]`.

mod os;

use std::io::{Write as _, stderr, stdout};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let verb = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    let first = rest.first().map_or("", String::as_str);
    match verb.as_str() {
        "hang" => {
            say("about to hang\n");
            hang()
        }
        "flood" => flood(first == "stderr"),
        "print" => {
            say(first);
            let _broken = stderr().write_all(rest.get(1).map_or("", String::as_str).as_bytes());
        }
        "bytes" => {
            let _broken = stdout().write_all(b"caf\xe9 \xff\xfe end\n");
        }
        "exit" => return ExitCode::from(first.parse::<u8>().unwrap_or(99)),
        "echo-env" => echo_env(),
        "echo-folder" => {
            let folder = std::env::current_dir().expect("a working folder");
            say(&folder.display().to_string());
        }
        "read-stdin" => {
            let count = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            say(&format!("{count:?}"));
        }
        "burn-cpu" => {
            say("burning\n");
            loop {
                std::hint::spin_loop();
            }
        }
        "burn-cpu-deaf" => {
            os::ignore("cpu");
            say("burning\n");
            loop {
                std::hint::spin_loop();
            }
        }
        "big-file" => return big_file(first),
        "alloc" => return alloc(first),
        "ignore-term" => {
            os::ignore("term");
            say("deaf\n");
            hang()
        }
        "abort" => std::process::abort(),
        "fork-child" => os::fork_child(first, hang),
        "fork-daemon" => os::fork_daemon(first, hang),
        "fork-stranger" => os::fork_stranger(first),
        "fork-hopper" => os::fork_hopper(first),
        "fork-and-hang" => {
            os::fork_child(first, hang);
            os::fork_daemon(rest.get(1).map_or("", String::as_str), hang);
            say("forked\n");
            hang()
        }
        "leave-file" => {
            write(first, "here");
        }
        "write" => write(first, rest.get(1).map_or("", String::as_str)),
        "folder" => std::fs::create_dir_all(first).expect("a folder"),
        "link" => os::replace_by_link(first, rest.get(1).map_or("", String::as_str)),
        "remove" => std::fs::remove_file(first).expect("a file that is there"),
        "append" => append(first, rest.get(1).map_or("", String::as_str)),
        "has" => return ExitCode::from(u8::from(!std::path::Path::new(first).exists())),
        "block" => block(first, rest.get(1).map_or("", String::as_str)),
        "fail-first" => return fail_first(first),
        _ => {
            let _broken = writeln!(stderr(), "no such verb: {verb}");
            return ExitCode::from(64);
        }
    }
    ExitCode::SUCCESS
}

fn say(text: &str) {
    let mut out = stdout();
    // Who reads may be gone: that is what some tests are about.
    let _broken = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[expect(
    clippy::disallowed_methods,
    reason = "what a command sees of the environment is what is asked"
)]
fn echo_env() {
    for (name, value) in std::env::vars_os() {
        say(&format!("{}={}\n", name.display(), value.display()));
    }
}

fn hang() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3_600));
    }
}

fn flood(to_stderr: bool) {
    let line = b"0123456789abcdef\n".repeat(512);
    while if to_stderr {
        stderr().write_all(&line)
    } else {
        stdout().write_all(&line)
    }
    .is_ok()
    {}
}

/// Writes until the system says no, which is a signal or an error.
fn big_file(path: &str) -> ExitCode {
    say("writing\n");
    let mut file = std::fs::File::create(path).expect("a file");
    let block = vec![0; 1 << 20];
    for _ in 0..64 {
        if file.write_all(&block).is_err() {
            return ExitCode::from(3);
        }
    }
    ExitCode::SUCCESS
}

/// Uses some mebibytes, or ends with 3 where it gets none.
fn alloc(mebibytes: &str) -> ExitCode {
    let bytes = mebibytes.parse::<usize>().unwrap_or(1) << 20;
    let mut block: Vec<u8> = Vec::new();
    if block.try_reserve_exact(bytes).is_err() {
        return ExitCode::from(3);
    }
    block.resize(bytes, 1);
    say(&format!("{}\n", block.iter().filter(|&&b| b == 1).count()));
    ExitCode::SUCCESS
}

/// One more line at the end of a file, which is made where it is missing.
fn append(path: &str, line: &str) {
    let mut file = std::fs::File::options()
        .append(true)
        .create(true)
        .open(path)
        .expect("a file");
    file.write_all(format!("{line}\n").as_bytes())
        .expect("a file");
}

/// Says with its number in the first file that it is there, and ends once there is a second one.
fn block(started: &str, until: &str) {
    write(started, &std::process::id().to_string());
    while !std::path::Path::new(until).exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Ends badly the first time, and well from then on.
fn fail_first(path: &str) -> ExitCode {
    if std::path::Path::new(path).exists() {
        return ExitCode::SUCCESS;
    }
    write(path, "");
    say("not yet\n");
    ExitCode::FAILURE
}

/// In one step, so that who waits for the file finds all of it.
fn write(path: &str, text: &str) {
    let half = format!("{path}.half");
    let mut file = std::fs::File::create(&half).expect("a file");
    file.write_all(text.as_bytes()).expect("a file");
    std::fs::rename(&half, path).expect("a file");
}
