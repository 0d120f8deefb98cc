//! Gates: what they say of misbehaving commands, in which order they run, and what they see.

use pretty_assertions::assert_eq;

use super::{IDLE, bench, outcomes, run};

#[test]
fn a_gate_that_misbehaves_is_one_case_s_trouble() {
    let taskgate = bench(
        r#"tasks:
  - { id: floods, goal: g, sandbox: { limits: { output_kill: 1M } }, gates: [ { name: a, command: ["FAKES", flood] } ] }
  - { id: endless, goal: g, gates: [ { name: a, command: ["FAKES", hang], timeout: 200ms } ] }
  - { id: killed, goal: g, gates: [ { name: a, command: ["FAKES", abort] } ] }
  - { id: not-installed, goal: g, gates: [ { name: a, command: [no-such-program, "1"] } ] }
  - { id: not-built, goal: g, gates: [ { name: a, command: [./built, "1"] } ] }
  - { id: wrong, goal: g, gates: [ { name: a, command: ["FAKES", exit, "3"] } ] }
  - { id: expected, goal: g, gates: [ { name: a, command: ["FAKES", exit, "3"], expect_exit: 3 } ] }
  - { id: noisy, goal: g, gates: [ { name: a, command: ["FAKES", bytes] } ] }
"#,
        IDLE,
    );
    let ran = run(&taskgate, &[]);
    assert_eq!(ran.code, Some(20), "{}", ran.stderr);
    let said = outcomes(&taskgate);
    // What an abort looks like is the system's own.
    let said: Vec<&str> = said
        .lines()
        .filter(|line| !line.starts_with("killed"))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    floods 1 failed: accept/a: printed more than 976.6 KiB
    endless 1 failed: accept/a: timed out after 200ms
    not-installed 1 errored: accept/a: cannot run the check: program no-such-program was not found on PATH
    not-built 1 failed: accept/a: program ./built is missing in the workspace
    wrong 1 failed: accept/a: exit 3 (expected 0)
    expected 1 passed
    noisy 1 passed
    "#);
    let killed = taskgate.rows("t.db", "SELECT outcome FROM v_case WHERE task = 'killed'");
    assert_eq!(killed, "failed");
    let flood = "SELECT length(output) < 300000, output_bytes > 1000000, output_cut > 0 FROM v_gate WHERE task = 'floods'";
    assert_eq!(taskgate.rows("t.db", flood), "1,1,1");
    let kept = taskgate.rows(
        "t.db",
        "SELECT rtrim(output, char(10)) FROM v_gate WHERE task = 'endless'",
    );
    assert_eq!(kept, "about to hang");
}

#[test]
fn a_phase_runs_only_where_the_earlier_ones_passed() {
    let taskgate = bench(
        r#"tasks:
  - id: t
    goal: g
    gates:
      - { name: one, phase: build, command: ["FAKES", exit, "0"] }
      - { name: late, phase: accept, command: ["FAKES", write, "FOLDER/accepted", x] }
      - { name: two, phase: build, command: ["FAKES", exit, "1"] }
      - { name: three, phase: build, command: ["FAKES", exit, "0"] }
      - { name: unit, phase: test, command: ["FAKES", write, "FOLDER/tested", x] }
"#,
        IDLE,
    );
    assert_eq!(run(&taskgate, &[]).code, Some(10));
    assert_eq!(
        outcomes(&taskgate),
        "t 1 failed: build/two: exit 1 (expected 0)"
    );
    let gates = taskgate.rows(
        "t.db",
        "SELECT phase, gate, status, reason FROM v_gate ORDER BY phase_position, position",
    );
    insta::assert_snapshot!(gates, @r#"
    build,one,passed,exit 0
    build,two,failed,exit 1 (expected 0)
    build,three,passed,exit 0
    accept,late,skipped,phase build did not pass
    test,unit,skipped,phase build did not pass
    "#);
    assert!(!taskgate.has("accepted") && !taskgate.has("tested"));
}

#[test]
fn files_are_laid_in_at_their_own_gate_and_never_before() {
    let taskgate = bench(
        r#"tasks:
  - id: t
    goal: g
    workspace: { files: { a.txt: a } }
    policy: { exec: ["FAKES *"] }
    gates:
      - { name: not-yet, phase: early, command: ["FAKES", has, held.txt], expect_exit: 1 }
      - { name: there, phase: late, file_equals: { path: held.txt, text: "held out\n" }, files: { held.txt: held/out.txt } }
"#,
        r#"turns:
  - calls: [ { tool: list_dir }, { tool: read_file, arguments: { path: held.txt } } ]
  - calls: [ { tool: write_file, arguments: { path: held.txt, content: mine } } ]
  - calls: [ { tool: exec, arguments: { argv: ["FAKES", write, held.txt, mine] } } ]
  - text: done
"#,
    );
    taskgate.file("held/out.txt", "held out\n");
    let ran = run(&taskgate, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let refused = "SELECT act, target, rule, layer FROM v_refusal";
    assert_eq!(
        taskgate.rows("t.db", refused),
        "write,held.txt,deny write held.txt,protect"
    );
    let tampered = "SELECT tampered, patch_files FROM v_case";
    assert_eq!(taskgate.rows("t.db", tampered), "1,0");
    let seen = "SELECT count(*) FROM v_message WHERE body LIKE '%held out%'";
    assert_eq!(taskgate.rows("t.db", seen), "0");
}

#[test]
fn a_gate_during_the_work_sends_the_agent_back_to_it() {
    let suite = r#"tasks:
  - id: t
    goal: g
    budget: { steps: 4 }
    workspace: { files: { a.txt: moon } }
    gates: [ { name: a, file_contains: { path: a.txt, text: world }, during: true } ]
"#;
    let taskgate = bench(
        suite,
        r#"turns:
  - text: I think that it is done.
  - calls: [ { tool: write_file, arguments: { path: a.txt, content: the world } } ]
  - text: now it is
  - text: this is never said
"#,
    );
    assert_eq!(run(&taskgate, &[]).code, Some(0));
    let steps = "SELECT outcome, steps FROM v_case";
    assert_eq!(taskgate.rows("t.db", steps), "passed,3");
    let told =
        "SELECT body FROM v_message WHERE role <> 'assistant' ORDER BY position DESC LIMIT 3";
    let told = taskgate.rows("t.db", told);
    assert!(told.contains("does not contain"), "{told}");

    let taskgate = bench(suite, "turns: [ { text: done } ]\nafter: repeat");
    assert_eq!(run(&taskgate, &[]).code, Some(10));
    let said = outcomes(&taskgate);
    insta::assert_snapshot!(said, @r#""t 1 exhausted: the steps budget of 4 ran out; accept/a: a.txt does not contain ""world""""#);
}

#[test]
fn a_task_without_gates_says_that_nothing_was_checked() {
    let taskgate = bench("tasks: [ { id: t, goal: g, gates: [] } ]\n", IDLE);
    assert_eq!(run(&taskgate, &[]).code, Some(0));
    assert_eq!(
        outcomes(&taskgate),
        "t 1 passed: nothing was checked: the task has no gates"
    );
    assert!(
        taskgate.read("t.md").contains("has no gates"),
        "{}",
        taskgate.read("t.md")
    );
}

#[test]
fn setup_comes_first_and_belongs_to_the_task() {
    let taskgate = bench(
        r#"tasks:
  - id: sets-up
    goal: g
    setup: [ { name: make, command: ["FAKES", write, made.txt, made] } ]
    gates: [ { name: a, file_equals: { path: made.txt, text: made } } ]
  - id: cannot
    goal: g
    setup:
      - { name: breaks, command: ["FAKES", exit, "3"] }
      - { name: never, command: ["FAKES", write, "FOLDER/never", x] }
    gates: [ { name: a, command: ["FAKES", write, "FOLDER/never", x] } ]
  - id: elsewhere
    goal: g
    platforms: [PLATFORM]
    gates: [ { name: a, command: ["FAKES", write, "FOLDER/never", x] } ]
"#
        .replace("PLATFORM", if cfg!(windows) { "linux" } else { "windows" })
        .as_str(),
        IDLE,
    );
    let ran = run(&taskgate, &[]);
    assert_eq!(ran.code, Some(20), "{}", ran.stderr);
    let said = outcomes(&taskgate).replace("only on linux", "only on windows");
    insta::assert_snapshot!(said, @r#"
    sets-up 1 passed
    cannot 1 errored: setup breaks: exit 3 (expected 0)
    "elsewhere 1 skipped: runs on windows, this is linux"
    "#);
    assert!(!taskgate.has("never"));
    let patch = "SELECT patch_files, tampered FROM v_case WHERE task = 'sets-up'";
    assert_eq!(taskgate.rows("t.db", patch), "0,0");
    let calls = "SELECT count(*) FROM v_call WHERE task = 'cannot'";
    assert_eq!(taskgate.rows("t.db", calls), "0");
}

#[test]
fn a_gate_has_a_home_that_the_agent_never_had() {
    let taskgate = bench(
        r#"tasks:
  - id: plain
    goal: g
    policy: { exec: ["FAKES *"] }
    gates: [ { name: home, command: ["FAKES", has, ../gate-home/planted] }, { name: env, command: ["FAKES", echo-env] } ]
  - id: set-up
    goal: g
    policy: { exec: ["FAKES *"] }
    setup: [ { name: cache, command: ["FAKES", write, ../home/cache, warm] } ]
    gates: [ { name: cache, command: ["FAKES", has, ../gate-home/cache] }, { name: home, command: ["FAKES", has, ../gate-home/planted] } ]
"#,
        r#"turns:
  - calls: [ { tool: exec, arguments: { argv: ["FAKES", write, ../home/planted, x] } } ]
  - text: done
"#,
    );
    run(&taskgate, &[]);
    let gates = "SELECT task, gate, status FROM v_gate ORDER BY task, position";
    assert_eq!(
        taskgate.rows("t.db", gates),
        "plain,home,failed\nplain,env,passed\nset-up,cache,passed\nset-up,home,failed"
    );
    let homes = "SELECT output LIKE '%HOME=%gate-home%' AND output LIKE '%TMPDIR=%gate-tmp%' FROM v_gate WHERE gate = 'env'";
    assert_eq!(taskgate.rows("t.db", homes), "1");
}
