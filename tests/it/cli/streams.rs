//! Standard output is data, standard error is all else; colour is for who can see it.

use std::io::Read as _;

use pretty_assertions::assert_eq;

use super::{settled, small};
use crate::support::taskgate::Taskgate;

const ESCAPE: char = '\u{1b}';

#[test]
fn a_run_prints_its_summary_and_says_the_rest_beside_it() {
    let taskgate = small();
    let ran = taskgate.run(&["run", "suite.yaml", "--trace", "t.db", "--jobs", "1"]);
    insta::assert_snapshot!(settled(&ran.stdout), @r#"
    taskgate: small: thresholds met
    1 of 2 judged cases passed · cost >= $0.000250 · [TIME]

    provider  passed  95 %  cost  per pass  call p50  p95  first failing phase
    fixer  1/1  21–100 %  $0.000250  $0.000250  [TIME]  [TIME]  –
    idler  0/1  0–79 %  not priced  –  [TIME]  [TIME]  check (1)

    FAIL  small/greet/idler#1  check/greets: a.txt does not contain "world"  1 step  [TIME]
          taskgate show t.db small/greet/idler#1
    "#);
    insta::assert_snapshot!(settled(&ran.stderr), @r#"
    PASS  small/greet/fixer#1  2 steps  $0.000250  [TIME]
    FAIL  small/greet/idler#1  check/greets: a.txt does not contain "world"  1 step  not priced  [TIME]
          taskgate show t.db 'small/greet/idler#1'
    trace t.db  reports t.md t.json t.xml
    "#);
    assert!(!ran.stdout.contains(ESCAPE) && !ran.stderr.contains(ESCAPE));
    // What it printed is the report of the trace.
    assert_eq!(taskgate.run(&["report", "t.db"]).stdout, ran.stdout);
}

#[test]
fn colour_is_asked_for_or_left_out() {
    for (args, variables, colored) in [
        (&[][..], &[][..], false),
        (&["--color", "always"], &[], true),
        (&["--color", "always"], &[("NO_COLOR", "1")], true),
        (&[], &[("CLICOLOR_FORCE", "1")], true),
        (&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        (&[], &[("NO_COLOR", "")], false),
        (&["--color", "never"], &[("CLICOLOR_FORCE", "1")], false),
    ] {
        let mut taskgate = small();
        for (name, value) in variables {
            taskgate = taskgate.env(name, value);
        }
        let run = taskgate.run(&[&["run", "suite.yaml"], args].concat());
        assert_eq!(
            run.stderr.contains(ESCAPE),
            colored,
            "{args:?} {variables:?}: {}",
            run.stderr
        );
        assert!(!run.stdout.contains(ESCAPE), "data is never coloured");
        let broken = taskgate.run(&[&["run", "nowhere.yaml"], args].concat());
        assert_eq!(
            broken.stderr.contains(ESCAPE),
            colored,
            "{args:?} {variables:?}: {}",
            broken.stderr
        );
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let taskgate = small();
    for args in [
        &["run", "suite.yaml", "--trace", "t.db"][..],
        &["report", "t.db", "--format", "json"],
        &["plan", "suite.yaml"],
        &["schema"],
        &["doctor"],
        &["completions", "bash"],
        &["--help"],
        &["--version"],
    ] {
        let mut child = taskgate.spawn(args);
        drop(child.stdout.take());
        let mut said = String::new();
        let mut stderr = child.stderr.take().expect("piped");
        stderr.read_to_string(&mut said).expect("text");
        let status = child.wait().expect("ended");
        assert_eq!(status.code(), Some(0), "{args:?}: {said}");
        assert!(
            !said.contains("panic") && !said.contains("pipe"),
            "{args:?}: {said}"
        );
    }
    // Nor is one of standard error.
    let mut child = taskgate.spawn(&["run", "suite.yaml", "--trace", "u.db"]);
    drop(child.stderr.take());
    assert_eq!(child.wait().expect("ended").code(), Some(0));
    assert!(taskgate.has("u.md"));
}

#[test]
fn what_a_model_or_a_file_says_moves_no_cursor() {
    let taskgate = Taskgate::new();
    taskgate.file("suite.yaml", "version: 1\nname: s\nproviders: { p: { vendor: scripted, script: p.yaml } }\ntasks: [ { id: t, goal: \"red \\e[31m goal\", gates: [ { name: a, file_equals: { path: a.txt, text: b } } ] } ]\n");
    taskgate.file("p.yaml", "version: 1\nturns:\n  - text: \"\\e]0;title\\a::error::gotcha\"\n    calls: [ { tool: write_file, arguments: { path: a.txt, content: \"\\e[2J\" } }, { tool: \"\\e[31mred\" } ]\n  - text: done\n");
    let ran = taskgate.run(&["run", "suite.yaml", "--trace", "t.db"]);
    assert_eq!(ran.code, Some(10), "{}", ran.stderr);
    let shown = taskgate.run(&["show", "t.db", "s"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    for text in [
        ran.stdout,
        ran.stderr,
        shown.stdout,
        taskgate.read("t.md"),
        taskgate.read("t.xml"),
    ] {
        assert!(!text.contains(ESCAPE) && !text.contains('\u{7}'), "{text}");
    }
}
