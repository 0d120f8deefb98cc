//! What an agent may do, and what is undone that it did all the same.

use pretty_assertions::assert_eq;

use super::{bench, outcomes, run};

#[test]
fn a_protected_file_is_put_back_before_it_judges() {
    let taskgate = bench(
        r#"tasks:
  - id: t
    goal: g
    workspace: { files: { tests/one.txt: right, tests/two.txt: right, a.txt: a } }
    protect: ["tests/**"]
    policy: { exec: ["FAKES *"] }
    gates:
      - { name: one, file_equals: { path: tests/one.txt, text: right } }
      - { name: two, file_equals: { path: tests/two.txt, text: right } }
      - { name: three, command: ["FAKES", has, tests/three.txt], expect_exit: 1 }
"#,
        r#"turns:
  - calls: [ { tool: write_file, arguments: { path: tests/one.txt, content: wrong } } ]
  - calls:
      - { tool: exec, arguments: { argv: ["FAKES", write, tests/one.txt, wrong] } }
      - { tool: exec, arguments: { argv: ["FAKES", remove, tests/two.txt] } }
      - { tool: exec, arguments: { argv: ["FAKES", write, tests/three.txt, wrong] } }
      - { tool: write_file, arguments: { path: a.txt, content: b } }
  - text: done
"#,
    );
    let ran = run(&taskgate, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert_eq!(
        taskgate.rows("t.db", "SELECT outcome, tampered, patch_files FROM v_case"),
        "passed,3,1"
    );
    let events = "SELECT detail ->> 'path', detail ->> 'how' FROM v_event WHERE event = 'tampered' ORDER BY 1";
    insta::assert_snapshot!(taskgate.rows("t.db", events), @r#"
    tests/one.txt,changed
    tests/three.txt,created
    tests/two.txt,removed
    "#);
    assert!(
        taskgate.read("t.md").contains("tests/two.txt"),
        "{}",
        taskgate.read("t.md")
    );
}

#[test]
fn a_command_has_to_be_listed() {
    let script = r#"turns:
  - calls: [ { tool: exec, arguments: { argv: ["FAKES", write, "FOLDER/ran", x] } } ]
  - text: done
"#;
    // Nobody is there to be asked; a list says that nothing else is allowed; a denial beats a permission.
    for (policy, runs, refusal) in [
        ("", false, "exec,-,-,approver"),
        ("policy: { exec: [cargo *] }", false, "exec,-,-,policy"),
        (r#"policy: { exec: ["FAKES *"] }"#, true, ""),
        ("approve: allow", true, ""),
        (
            r#"policy: { exec: ["FAKES *"], deny_exec: ["taskgate-fakes* write*"] }"#,
            false,
            "exec,deny exec taskgate-fakes* write*,task,policy",
        ),
        (
            r#"policy: { exec: ["FAKES *"], deny_exec: ["*taskgate-fakes* write*"] }"#,
            false,
            "exec,deny exec *taskgate-fakes* write*,task,policy",
        ),
        (
            r#"policy: { exec: ["FAKES *"], ask_exec: ["*"] }"#,
            false,
            "exec,ask exec *,task,approver",
        ),
    ] {
        let comma = if policy.is_empty() { "" } else { ", " };
        let suite = format!("tasks: [ {{ id: t, goal: g, gates: []{comma}{policy} }} ]\n");
        let taskgate = bench(&suite, script);
        let ran = run(&taskgate, &[]);
        let said = taskgate.rows(
            "t.db",
            "SELECT act, coalesce(rule, '-'), coalesce(layer, '-'), by FROM v_refusal",
        );
        assert_eq!(
            (taskgate.has("ran"), said.as_str()),
            (runs, refusal),
            "{policy}: {}",
            ran.stderr
        );
    }
}

#[test]
fn a_path_out_of_the_workspace_is_an_answer_to_the_model() {
    let taskgate = bench(
        r#"tasks:
  - id: t
    goal: g
    workspace: { files: { a.txt: a, .env: SECRET=1 } }
    gates: [ { name: a, file_equals: { path: a.txt, text: b } } ]
"#,
        r#"turns:
  - calls:
      - { tool: write_file, arguments: { path: ../outside.txt, content: x } }
      - { tool: write_file, arguments: { path: "FOLDER/outside.txt", content: x } }
      - { tool: read_file, arguments: { path: ../../../suite.yaml } }
      - { tool: read_file, arguments: { path: .env } }
      - { tool: write_file, arguments: { path: "", content: x } }
      - { tool: launch_rockets, arguments: { now: true } }
      - { tool: write_file, raw_arguments: '{"path": "a.txt", "cont' }
      - { tool: write_file, arguments: { path: a.txt } }
  - calls: [ { tool: write_file, arguments: { path: a.txt, content: b } } ]
  - text: done
"#,
    );
    let ran = run(&taskgate, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert_eq!(outcomes(&taskgate), "t 1 passed");
    let decisions = "SELECT tool, ok, decision FROM v_tool ORDER BY step, position";
    insta::assert_snapshot!(taskgate.rows("t.db", decisions), @r#"
    write_file,0,write refused
    write_file,0,write refused
    read_file,0,read refused
    read_file,0,read refused
    write_file,0,write error
    launch_rockets,0,unknown tool launch_rockets
    write_file,0,write_file malformed arguments
    write_file,0,write_file wrong arguments
    write_file,1,wrote a.txt
    "#);
    assert!(!taskgate.has("outside.txt") && !taskgate.has("t.db.work"));
}
