//! The command line: exit codes, help, what goes to which stream, and each verb.

mod exits;
mod help;
mod os;
mod reports;
mod streams;
mod verbs;

use crate::support::taskgate::Taskgate;

/// A folder with a suite of one task, which one provider solves and one does not.
fn small() -> Taskgate {
    let taskgate = Taskgate::new();
    taskgate.filled(
        "suite.yaml",
        r#"version: 1
name: small
description: a greeting
providers:
  fixer: { vendor: scripted, model: fixer-1, script: fixer.yaml }
  idler: { vendor: scripted, model: idler-1, script: idler.yaml }
prices: [prices.toml]
tasks:
  - id: greet
    goal: Greet the world.
    workspace: { files: { a.txt: "hello moon\n" } }
    policy: { write: ["*.txt"], exec: ["FAKES *"] }
    tags: [smoke]
    gates:
      - { name: greets, phase: check, file_contains: { path: a.txt, text: world } }
      - { name: exact, phase: accept, file_equals: { path: a.txt, text: "hello world\n" } }
      - { name: runs, phase: accept, command: ["FAKES", print, "all is well"] }
thresholds: { pass_rate: { fixer: 1 } }
"#,
    );
    taskgate.filled(
        "fixer.yaml",
        r#"version: 1
turns:
  - text: I see what is wrong.
    calls:
      - { tool: edit_file, arguments: { path: a.txt, search: moon, replace: world } }
      - { tool: exec, arguments: { argv: [rm, -rf, /] } }
    usage: { prompt_tokens: 100, completion_tokens: 10 }
  - text: done
    usage: { prompt_tokens: 120, completion_tokens: 5 }
"#,
    );
    taskgate.file(
        "idler.yaml",
        "version: 1\nturns: [ { text: nothing to do } ]\n",
    );
    taskgate.file(
        "prices.toml",
        "as_of = \"2026-01-01\"\n[models.\"fixer-1\"]\ninput = \"1\"\noutput = \"2\"\n",
    );
    taskgate
}

/// The same folder with a trace, `t.db`.
fn traced() -> Taskgate {
    let taskgate = small();
    let ran = taskgate.run(&["run", "suite.yaml", "--trace", "t.db"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    taskgate
}

/// A text without what differs from run to run: times, and how much room they take.
fn settled(text: &str) -> String {
    let times = regex::Regex::new(r"\d+(\.\d+)? (ms|s)\b").expect("a pattern");
    let gaps = regex::Regex::new(r"(\S) {2,}").expect("a pattern");
    let text = times.replace_all(text, "[TIME]");
    gaps.replace_all(&text, "$1  ").into_owned()
}
