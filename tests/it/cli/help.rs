//! Help fits a terminal of 80 columns and about a screen.

use pretty_assertions::assert_eq;

use crate::support::taskgate::Taskgate;

const VERBS: [&str; 10] = [
    "run",
    "plan",
    "resume",
    "report",
    "show",
    "validate",
    "schema",
    "init",
    "doctor",
    "completions",
];

#[test]
fn the_program_says_what_it_can_do() {
    let ran = Taskgate::new().run(&["--help"]);
    insta::assert_snapshot!(ran.stdout, @r#"
    Headless runner for batch evaluations of LLM agents: task matrices, sandboxed
    agents, command gates and reports from a durable trace

    Usage: taskgate [OPTIONS] <COMMAND>

    Commands:
      run          Plan and run suites; write the trace and the reports
      plan         Print the cases without running them
      resume       Go on with an interrupted batch; finished cases are not run again
      report       Write reports from a trace, or run a query over its views
      show         Show one case as a person reads it
      validate     Check suites, providers, scripts and price tables, offline
      schema       Print the JSON Schema of a suite
      init         Write a starter suite and a workflow
      doctor       Say what this machine can enforce, and which keys are set
      completions  Print a completion script for a shell

    Options:
          --color <WHEN>  Colour; `auto` goes by the terminal, NO_COLOR and
                          CLICOLOR_FORCE [default: auto] [possible values: auto,
                          always, never]
      -h, --help          Print help
      -V, --version       Print version

    Exit codes:
        0  done, and every threshold is met
        1  a bug of taskgate
        2  the command line, a suite or the set-up is wrong; nothing ran
        4  nothing was selected, or all of it was skipped
       10  a threshold is not met
       20  more cases could not be judged than `errors` lets pass
      130  interrupted; what there is was written, and `resume` goes on
    "#);
    let version = Taskgate::new().run(&["--version"]);
    assert_eq!(
        version.stdout,
        concat!("taskgate ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn each_verb_says_what_it_takes() {
    let taskgate = Taskgate::new();
    for verb in VERBS {
        let ran = taskgate.run(&[verb, "--help"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        for line in ran.stdout.lines() {
            assert!(line.chars().count() <= 80, "{verb}: {line}");
        }
        assert!(ran.stdout.lines().count() <= 50, "{verb}:\n{}", ran.stdout);
        assert_eq!(
            taskgate.run(&[verb, "-h"]).stdout,
            ran.stdout,
            "{verb}: one help is enough"
        );
        insta::assert_snapshot!(format!("help_{verb}"), ran.stdout);
    }
    let all = taskgate.run(&["--help"]).stdout;
    let named: Vec<&str> = all
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(named, VERBS, "a verb without a snapshot");
}
