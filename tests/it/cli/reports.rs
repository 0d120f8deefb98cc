//! Reports from a trace: the same bytes whenever they are made.

use pretty_assertions::assert_eq;
use taskgate::report::FORMATS;

use super::{settled, small, traced};

#[test]
fn a_report_made_later_is_the_one_made_live() {
    let taskgate = small();
    let mut args = vec![
        "run".to_owned(),
        "suite.yaml".to_owned(),
        "--trace".to_owned(),
        "t.db".to_owned(),
    ];
    for format in FORMATS {
        args.extend(["--report".to_owned(), format!("{0}=live/{0}", format.name)]);
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    assert_eq!(taskgate.run(&args).code, Some(0));
    assert!(
        !taskgate.has("t.md"),
        "what is asked for takes the place of the usual"
    );
    for format in FORMATS {
        let live = taskgate.read(&format!("live/{}", format.name));
        assert!(!live.is_empty());
        let later = taskgate.run(&["report", "t.db", "--format", format.name]);
        assert_eq!((later.code, later.stderr.as_str()), (Some(0), ""));
        assert_eq!(later.stdout.trim_end(), live.trim_end(), "{}", format.name);
        let target = format!("{0}=later/{0}", format.name);
        assert_eq!(
            taskgate.run(&["report", "t.db", "--report", &target]).code,
            Some(0)
        );
        assert_eq!(taskgate.read(&format!("later/{}", format.name)), live);
    }
}

#[test]
fn the_usual_reports_stand_beside_the_trace() {
    let taskgate = traced();
    for (file, format) in [("t.md", "markdown"), ("t.json", "json"), ("t.xml", "junit")] {
        let later = taskgate.run(&["report", "t.db", "--format", format]);
        assert_eq!(
            later.stdout.trim_end(),
            taskgate.read(file).trim_end(),
            "{file}"
        );
    }
    let json: serde_json::Value = serde_json::from_str(&taskgate.read("t.json")).expect("JSON");
    assert_eq!(json["format"], "taskgate-report/1");
    assert!(
        !taskgate.has("t.db.work") && !taskgate.has("t.db-wal"),
        "one file is left"
    );
}

#[test]
fn a_trace_without_a_name_gets_one_of_its_own() {
    let taskgate = small();
    for count in [1, 2] {
        assert_eq!(taskgate.run(&["run", "suite.yaml"]).code, Some(0));
        let traces = std::fs::read_dir(taskgate.folder().join("traces")).expect("a folder");
        let traces: Vec<String> = traces
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .filter(|name| name.ends_with(".db"))
            .collect();
        assert_eq!(traces.len(), count, "{traces:?}");
        assert!(
            traces.iter().all(|name| name.starts_with("small-")),
            "{traces:?}"
        );
    }
    // A trace is never written over.
    let ran = taskgate.run(&["run", "suite.yaml", "--trace", "t.db"]);
    assert_eq!(ran.code, Some(0));
    let ran = taskgate.run(&["run", "suite.yaml", "--trace", "t.db"]);
    assert_eq!(ran.code, Some(2));
    insta::assert_snapshot!(ran.stderr, @r#"
    error: the trace t.db exists already
      = help: `taskgate resume t.db` goes on with it; or name another file with --trace
    "#);
}

#[test]
fn a_query_of_one_s_own_in_three_forms() {
    let taskgate = traced();
    taskgate.file(
        "q.sql",
        "-- mine\nSELECT provider, outcome, steps, NULL AS none, 'a,\"b' AS odd FROM v_case ORDER BY 1;\n",
    );
    let rows = |format: &str| {
        let ran = taskgate.run(&["report", "t.db", "--sql", "q.sql", "--rows", format]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        ran.stdout
    };
    insta::assert_snapshot!(rows("table"), @r#"
    provider  outcome  steps  none  odd
    fixer     passed   2            a,"b
    idler     failed   1            a,"b
    "#);
    insta::assert_snapshot!(rows("csv"), @r#"
    provider,outcome,steps,none,odd
    fixer,passed,2,,"a,""b"
    idler,failed,1,,"a,""b"
    "#);
    let json: serde_json::Value = serde_json::from_str(&rows("json")).expect("JSON");
    assert_eq!(
        json[0],
        serde_json::json!({"provider": "fixer", "outcome": "passed", "steps": 2, "none": null, "odd": "a,\"b"})
    );

    let before = std::fs::read(taskgate.folder().join("t.db")).expect("a trace");
    let mut said = Vec::new();
    for sql in [
        "SELCT 1",
        "DELETE FROM planned",
        "SELECT 1; DELETE FROM planned",
        "ATTACH 'other.db' AS other",
        "PRAGMA user_version = 3",
        "SELECT nothing FROM v_case",
        "",
    ] {
        taskgate.file("bad.sql", sql);
        let ran = taskgate.run(&["report", "t.db", "--sql", "bad.sql"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{sql}");
        said.push(ran.stderr);
    }
    insta::assert_snapshot!(said.join(""), @r#"
    error: bad.sql: cannot read the trace with the query: near "SELCT": syntax error in SELCT 1 at offset 0
    error: bad.sql: the SQL is not one query that only reads: write one SELECT over the views
    error: bad.sql: cannot read the trace with the query: Multiple statements provided
    error: bad.sql: the SQL is not one query that only reads: write one SELECT over the views
    error: bad.sql: the SQL is not one query that only reads: write one SELECT over the views
    error: bad.sql: cannot read the trace with the query: near "nothing": syntax error in SELECT nothing FROM v_case at offset 7
    error: bad.sql: cannot read the trace with the query: SQL is empty or comment only
    "#);
    let missing = taskgate.run(&["report", "t.db", "--sql", "nowhere.sql"]);
    assert!(
        missing.stderr.starts_with("error: nowhere.sql: "),
        "{}",
        missing.stderr
    );
    assert_eq!(
        std::fs::read(taskgate.folder().join("t.db")).expect("a trace"),
        before
    );
    assert!(!taskgate.has("other.db"));
}

#[test]
fn a_case_is_shown_as_a_person_reads_it() {
    let taskgate = traced();
    let ran = taskgate.run(&["show", "t.db", "fixer"]);
    // Where the time went is named as far as there is any.
    let lines = ran
        .stdout
        .lines()
        .filter(|line| !line.starts_with("  time:"));
    let shown: Vec<String> = lines.map(settled).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    small/greet/fixer#1
      outcome: passed
      model: fixer, fixer-1
      task: greet (suite.yaml:9)
      cost: $0.000250 in 2 calls

    goal
      | Goal:
      | Greet the world.

    step 1: [TIME], 100 -> 10 tokens
      | I see what is wrong.
      > edit_file: edited a.txt  [TIME]
      | {"path":"a.txt","replace":"world","search":"moon"}
      < result
      | changed a.txt
      > exec: exec refused  not done  [TIME]
      | {"argv":["rm","-rf","/"]}
      < result
      | refused: exec `rm -rf /` is not allowed by any rule (default: deny)
      refused by the policy: exec rm -rf / (the default)

    step 2: [TIME], 120 -> 5 tokens
      | done

    gates
      passed  check/greets: a.txt contains "world", [TIME]
      passed  accept/exact: a.txt is as expected, [TIME]
      passed  accept/runs: exit 0, [TIME]

    patch: 1 file, +1 -1
      | diff --git a/a.txt b/a.txt
      | --- a/a.txt
      | +++ b/a.txt
      | @@ -1 +1 @@
      | -hello moon
      | +hello world
    "#);
    let step = taskgate.run(&["show", "t.db", "fixer", "--step", "1"]);
    assert!(
        step.stdout.contains("edit_file") && !step.stdout.contains("step 2"),
        "{}",
        step.stdout
    );
    let json = taskgate.run(&["show", "t.db", "small/greet/fixer#1", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json["case"]["outcome"], "passed");

    let mut said = Vec::new();
    for (args, code) in [
        (&["small/gret/fixer#1"][..], 4),
        (&["zzz"], 4),
        (&["greet"], 2),
        (&["fixer", "--step", "9"], 4),
        (&["fixer", "--attempt", "2"], 4),
    ] {
        let ran = taskgate.run(&[&["show", "t.db"], args].concat());
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(code), ""),
            "{args:?}"
        );
        said.push(ran.stderr);
    }
    insta::assert_snapshot!(said.join(""), @r#"
    error: no case `small/gret/fixer#1` in the trace: did you mean small/greet/fixer#1 or small/greet/idler#1?
      = help: a case is named by its id, or by any part that fits it alone; `taskgate report TRACE --format json` names them all
    error: no case `zzz` in the trace
      = help: a case is named by its id, or by any part that fits it alone; `taskgate report TRACE --format json` names them all
    error: `greet` stands for 2 cases: small/greet/fixer#1, small/greet/idler#1
      = help: a case is named by its id, or by any part that fits it alone; `taskgate report TRACE --format json` names them all
    error: case `small/greet/fixer#1` has no step 9: it has 2
    error: case `small/greet/fixer#1` has no attempt 2: it has 1
    "#);
}
