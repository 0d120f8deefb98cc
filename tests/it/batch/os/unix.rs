//! Links that lead out of the workspace.

use std::os::unix::fs::symlink;

use pretty_assertions::assert_eq;

use crate::batch::{IDLE, bench, outcomes, run};

#[test]
fn a_fixture_that_leads_out_of_itself_is_not_laid_out() {
    let taskgate = bench(
        "tasks: [ { id: t, goal: g, workspace: { dir: fixture }, gates: [] } ]\n",
        IDLE,
    );
    taskgate.file("outside/secret.txt", "secret");
    taskgate.file("fixture/a.txt", "a");
    let target = taskgate.folder().join("outside");
    symlink(target, taskgate.folder().join("fixture/out")).expect("a link");
    assert_eq!(run(&taskgate, &[]).code, Some(20));
    insta::assert_snapshot!(outcomes(&taskgate), @r#""t 1 errored: the workspace cannot be laid out: the link `out` leads to `[FOLDER]/outside`, out of its tree: a workspace holds relative links to its own files alone""#);
}

#[test]
fn a_link_that_a_command_made_is_not_followed() {
    let taskgate = bench(
        r#"tasks:
  - id: t
    goal: g
    workspace: { files: { a.txt: a, out/o.txt: o, tests/t.txt: right } }
    protect: ["tests/**"]
    policy: { exec: ["FAKES *"] }
    gates:
      - { name: a, phase: one, file_equals: { path: a.txt, text: b } }
      - { name: kept, phase: one, file_equals: { path: tests/t.txt, text: right } }
      - { name: linked, phase: two, file_contains: { path: out/secret.txt, text: secret } }
"#,
        r#"turns:
  - calls:
      - { tool: exec, arguments: { argv: ["FAKES", link, "FOLDER/outside", out] } }
      - { tool: exec, arguments: { argv: ["FAKES", link, "FOLDER/outside", tests] } }
  - calls:
      - { tool: read_file, arguments: { path: out/secret.txt } }
      - { tool: write_file, arguments: { path: out/new.txt, content: x } }
      - { tool: edit_file, arguments: { path: out/secret.txt, search: secret, replace: open } }
      - { tool: list_dir, arguments: { path: out } }
      - { tool: grep, arguments: { pattern: s.cret } }
      - { tool: find, arguments: { name_glob: "*.txt" } }
      - { tool: write_file, arguments: { path: a.txt, content: b } }
  - text: done
"#,
    );
    taskgate.file("outside/secret.txt", "secret");
    let ran = run(&taskgate, &[]);
    let decisions = "SELECT tool, ok, decision FROM v_tool WHERE step = 2 ORDER BY position";
    insta::assert_snapshot!(taskgate.rows("t.db", decisions), @r#"
    read_file,0,read refused
    write_file,0,write refused
    edit_file,0,write refused
    list_dir,0,read refused
    grep,1,"grep ""s.cret"" (0 hits)"
    find,1,"find ""*.txt"" (1 paths)"
    write_file,1,wrote a.txt
    "#);
    insta::assert_snapshot!(outcomes(&taskgate), @"t 1 failed: two/linked: out/secret.txt leads out of the workspace");
    assert_eq!(ran.code, Some(10), "{}", ran.stderr);
    let gates = "SELECT gate, status FROM v_gate ORDER BY position";
    insta::assert_snapshot!(taskgate.rows("t.db", gates), @r#"
    a,passed
    kept,passed
    linked,failed
    "#);
    // What lies outside was neither read nor written, not even to put back what is protected.
    let outside = std::fs::read_dir(taskgate.folder().join("outside")).expect("a folder");
    assert_eq!(outside.count(), 1);
    assert_eq!(taskgate.read("outside/secret.txt"), "secret");
    let tampered = "SELECT detail ->> 'path', detail ->> 'how' FROM v_event WHERE event = 'tampered' ORDER BY 1";
    insta::assert_snapshot!(taskgate.rows("t.db", tampered), @"tests/t.txt,removed");
}
