//! The verbs that run nothing.

use pretty_assertions::assert_eq;

use super::small;
use crate::support::taskgate::Taskgate;

#[test]
fn a_plan_is_printed_and_filtered() {
    let taskgate = small();
    let table = taskgate.run(&[
        "plan",
        "suite.yaml",
        "--trials",
        "2",
        "--filter",
        "provider=fix*",
    ]);
    insta::assert_snapshot!(table.stdout, @r#"
    case                 model    gates  budget    skipped
    small/greet/fixer#1  fixer-1  3      12 steps
    small/greet/fixer#2  fixer-1  3      12 steps
    "#);
    assert_eq!(
        (table.code, table.stderr.as_str()),
        (Some(0), "2 cases, 0 of them skipped here\n")
    );
    let json = taskgate.run(&[
        "plan",
        "suite.yaml",
        "--format",
        "json",
        "--filter",
        "not provider=idler",
    ]);
    insta::assert_snapshot!(json.stdout, @r#"
    {
      "cases": [
        {
          "file": "suite.yaml",
          "id": "small/greet/fixer#1",
          "line": 9,
          "model": "fixer-1",
          "provider": "fixer",
          "skip": null,
          "suite": "small",
          "tags": [
            "smoke"
          ],
          "task": "greet",
          "trial": 1,
          "vars": {}
        }
      ],
      "format": "taskgate-plan/1"
    }
    "#);
    for (filter, cases) in [
        ("tag=smoke", 2),
        ("!tag=smoke", 0),
        ("task=greet, provider=idler", 1),
        ("*idler*", 1),
        ("case=small/greet/fixer#1", 1),
    ] {
        let ran = taskgate.run(&["plan", "suite.yaml", "--format", "json", "--filter", filter]);
        let count = serde_json::from_str(&ran.stdout).map_or(0, |plan: serde_json::Value| {
            plan["cases"].as_array().map_or(0, Vec::len)
        });
        assert_eq!(count, cases, "{filter}: {}", ran.stderr);
    }
    assert!(!taskgate.has("traces"), "a plan runs nothing");
}

#[test]
fn a_suite_is_validated() {
    let taskgate = small();
    let good = taskgate.run(&["validate", "."]);
    assert_eq!(
        (good.code, good.stdout.as_str(), good.stderr.as_str()),
        (Some(0), "./suite.yaml: 1 task, 2 providers, 2 cases\n", "")
    );

    // A key that is not set is this machine's matter, not the suite's.
    let text = taskgate.read("suite.yaml");
    taskgate.file(
        "suite.yaml",
        &text.replace("prices:", "  paid: { vendor: openai, model: m }\nprices:"),
    );
    let unset = taskgate.run(&["validate", "suite.yaml"]);
    assert_eq!(unset.code, Some(0));
    insta::assert_snapshot!(unset.stderr, @"warning: not available here: provider `paid`: `api_key` wants the environment variable OPENAI_API_KEY, which is unset or empty");

    taskgate.file(
        "suite.yaml",
        &text
            .replace("[prices.toml]", "[prices.toml, lost.toml]")
            .replace("script: idler.yaml", "script: lost.yaml"),
    );
    taskgate.file("prices.toml", "as_of = \"soon\"\n");
    let bad = taskgate.run(&["validate", "suite.yaml"]);
    assert_eq!(bad.code, Some(2), "{}", bad.stdout);
    insta::assert_snapshot!(bad.stderr, @r#"
    error: a missing script: `lost.yaml`
     --> suite.yaml:6:54
      |
    6 |   idler: { vendor: scripted, model: idler-1, script: lost.yaml }
      |                                                      ^^^^^^^^^ nothing is there
      |
      = help: looked for [FOLDER]/lost.yaml

    error: a missing price table: `lost.toml`
     --> suite.yaml:7:23
      |
    7 | prices: [prices.toml, lost.toml]
      |                       ^^^^^^^^^ nothing is there
      |
      = help: looked for [FOLDER]/lost.toml
    nothing was run
    "#);
}

#[test]
fn the_schema_is_the_one_in_the_documents() {
    let ran = Taskgate::new().run(&["schema"]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/suite.schema.json");
    let known = std::fs::read_to_string(path)
        .expect("the schema")
        .replace("\r\n", "\n");
    assert_eq!(ran.stdout, known);
}

#[test]
fn a_starter_is_right_and_runs() {
    let taskgate = Taskgate::new();
    let ran = taskgate.run(&["init"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    insta::assert_snapshot!(ran.stdout, @r#"
    ./tasks/first/suite.yaml
    ./tasks/first/scripts/rehearsal.yaml
    ./tasks/first/fixtures/greeting/greeting.txt
    ./tasks/first/fixtures/greeting/README.md
    ./.github/workflows/taskgate.yml
    "#);
    let checked = taskgate.run(&["validate", "tasks"]);
    assert_eq!(
        (checked.code, checked.stderr.as_str()),
        (Some(0), ""),
        "{}",
        checked.stdout
    );
    // As the workflow that was written does.
    let workflow = taskgate.read(".github/workflows/taskgate.yml");
    let line = workflow
        .lines()
        .find_map(|line| line.trim().strip_prefix("- run: taskgate "))
        .expect("a line that runs it");
    let args: Vec<&str> = line.split(' ').collect();
    let ran = taskgate.run(&args);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    for word in line
        .split([' ', '='])
        .filter(|word| word.starts_with("out/"))
    {
        assert!(taskgate.has(word), "{word}");
    }
    let before = taskgate.read("tasks/first/suite.yaml");
    let again = taskgate.run(&["init"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(again.stderr, @r#"
    error: there already: ./tasks/first/suite.yaml, ./tasks/first/scripts/rehearsal.yaml, ./tasks/first/fixtures/greeting/greeting.txt, ./tasks/first/fixtures/greeting/README.md, ./.github/workflows/taskgate.yml
      = help: nothing was written; name another folder, or move these away
    "#);
    assert_eq!(taskgate.read("tasks/first/suite.yaml"), before);
    // One file that is there keeps all others from being written.
    taskgate.file("half/tasks/first/suite.yaml", "mine");
    assert_eq!(taskgate.run(&["init", "half"]).code, Some(2));
    assert!(!taskgate.has("half/.github"));
    assert_eq!(taskgate.run(&["init", "new/er"]).code, Some(0));
}

#[test]
fn the_machine_is_looked_at() {
    let taskgate = Taskgate::new().env("OPENAI_API_KEY", "sk-a-very-secret-key");
    let text = taskgate.run(&["doctor"]);
    assert_eq!((text.code, text.stderr.as_str()), (Some(0), ""));
    for part in [
        "taskgate ",
        "machine ",
        "sandbox ",
        "fs_write ",
        "found",
        "keys",
        "OPENAI_API_KEY       set",
    ] {
        assert!(text.stdout.contains(part), "{part}: {}", text.stdout);
    }
    let json = taskgate.run(&["doctor", "--json"]);
    let all: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    let keys: Vec<&str> = all
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(keys, ["keys", "machine", "sandbox", "version"]);
    assert_eq!(all["keys"][0]["set"], true);
    assert!(
        all["sandbox"]["layers"]
            .as_object()
            .is_some_and(|layers| !layers.is_empty())
    );
    assert!(!text.stdout.contains("secret") && !json.stdout.contains("secret"));
    let unset = Taskgate::new().run(&["doctor"]);
    assert!(
        unset
            .stdout
            .contains("not set: cases of this vendor cannot run"),
        "{}",
        unset.stdout
    );
}

#[test]
fn shells_complete_every_verb() {
    let taskgate = Taskgate::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = taskgate.run(&["completions", shell]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["taskgate", "resume", "validate", "skip-unavailable"] {
            assert!(ran.stdout.contains(word), "{shell}: {word}");
        }
    }
}
