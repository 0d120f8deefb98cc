//! One way to end for each code of the table.

use pretty_assertions::assert_eq;
use taskgate::cli::{EXITS, Exit};

use super::small;
use crate::support::taskgate::Taskgate;

fn code(exit: Exit) -> Option<i32> {
    Some(i32::from(exit.number()))
}

#[test]
fn each_way_to_end_has_its_own_code_and_help_lists_them() {
    let help = Taskgate::new().run(&["--help"]);
    assert_eq!(help.code, code(Exit::Done));
    let mut last = None;
    for spec in EXITS {
        assert!(Some(spec.code) > last, "the table is in order");
        last = Some(spec.code);
        let line = format!("{:>5}  {}", spec.code, spec.meaning);
        assert!(help.stdout.lines().any(|known| known == line), "{line}");
        assert_eq!(spec.exit.number(), spec.code);
    }
    assert_eq!(Exit::Bug.number(), 1);
}

#[test]
fn done() {
    let ran = small().run(&["run", "suite.yaml"]);
    assert_eq!(ran.code, code(Exit::Done), "{}", ran.stderr);
}

#[test]
fn usage() {
    let taskgate = small();
    taskgate.file("broken.yaml", "version: 1\nname: b\n");
    for args in [
        &[][..],
        &["bogus"],
        &["run"],
        &["run", "nowhere.yaml"],
        &["run", "broken.yaml"],
        &["run", "suite.yaml", "--jobs", "0"],
        &["run", "suite.yaml", "--max-cost", "0"],
        &["run", "suite.yaml", "--trials", "0"],
        &["run", "suite.yaml", "--filter", "tsk=a"],
        &["run", "suite.yaml", "--report", "pdf=x"],
        &["run", "suite.yaml", "--report", "json"],
        &["plan", "broken.yaml"],
        &["validate", "broken.yaml"],
        &["report", "nowhere.db"],
        &["resume", "nowhere.db"],
        &["show", "nowhere.db", "x"],
        &["completions", "tcsh"],
    ] {
        let ran = taskgate.run(args);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (code(Exit::Usage), ""),
            "{args:?}"
        );
        assert!(!ran.stderr.is_empty(), "{args:?}");
    }
    assert!(!taskgate.has("traces"), "nothing ran");
}

#[test]
fn nothing_selected() {
    let taskgate = small();
    for verb in ["run", "plan"] {
        let ran = taskgate.run(&[verb, "suite.yaml", "--filter", "task=nope"]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (code(Exit::NothingSelected), "")
        );
        insta::allow_duplicates! {
            insta::assert_snapshot!(ran.stderr, @r#"
            error: no case fits the filter `task=nope`
              = help: `taskgate plan` prints the cases that there are
            "#);
        }
    }
    assert!(!taskgate.has("traces"));
}

#[test]
fn thresholds_not_met() {
    let taskgate = small();
    let ran = taskgate.run(&["run", "suite.yaml", "--filter", "provider=idler"]);
    assert_eq!(
        ran.code,
        code(Exit::Done),
        "no threshold speaks of the idler: {}",
        ran.stdout
    );
    let text = taskgate.read("suite.yaml").replace("{ fixer: 1 }", "0.9");
    taskgate.file("suite.yaml", &text);
    let ran = taskgate.run(&["run", "suite.yaml"]);
    assert_eq!(ran.code, code(Exit::ThresholdsNotMet), "{}", ran.stdout);
}

#[test]
fn not_judged() {
    let taskgate = small();
    taskgate.file(
        "idler.yaml",
        "version: 1\nturns: [ { error: { kind: server, status: 500, message: down } } ]\n",
    );
    let text = taskgate.read("suite.yaml").replace(
        "script: idler.yaml",
        "script: idler.yaml, retry: { attempts: 1 }",
    );
    taskgate.file("suite.yaml", &text);
    let ran = taskgate.run(&["run", "suite.yaml"]);
    assert_eq!(ran.code, code(Exit::NotJudged), "{}", ran.stdout);
}
