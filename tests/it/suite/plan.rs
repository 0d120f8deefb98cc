//! What suites unfold to.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use taskgate::domain::Verification;
use taskgate::suite::{
    CaseSpec, Filter, Plan, PlanOptions, Platform, Suite, WorkspaceSpec, load, plan,
};

use super::{Folder, ids, on_linux, small};

const EXAMPLE: &str = include_str!("example.yaml");

fn example() -> (Folder, Suite) {
    let folder = Folder::new();
    for name in [
        "tasks/fixtures/parser/src/lib.rs",
        "tasks/held-out/parser.rs",
        "tasks/scripts/fix.yaml",
        "prices/2026-11.toml",
    ] {
        folder.write(name, "");
    }
    let path = folder.write("tasks/parser.yaml", EXAMPLE);
    match load(&[path]) {
        Ok(mut suites) => (folder, suites.remove(0)),
        Err(problems) => panic!("{problems}"),
    }
}

#[test]
fn the_example_unfolds_to_its_cases() {
    let (folder, suite) = example();
    assert_eq!(suite.warnings, Vec::<String>::new());
    let plan = on_linux(&[suite]);
    let mut expected: Vec<String> = Vec::new();
    for prefix in [
        "sonnet/style=terse",
        "sonnet/style=verbose",
        "local/style=terse",
        "rehearsal/style=terse",
    ] {
        for trial in 1..=5 {
            expected.push(format!("parser-fixes/empty-input/{prefix}#{trial}"));
        }
    }
    assert_eq!(ids(&plan), expected);

    let case = &plan.cases[0];
    let base = folder.path().join("tasks");
    assert_eq!(case.base, base);
    assert_eq!(
        case.goal,
        "`parse` panics on an empty input. Make it return an error instead. Style: terse.\n"
    );
    assert_eq!(
        case.workspace,
        WorkspaceSpec::Dir(base.join("fixtures/parser"))
    );
    assert_eq!(case.protect, ["tests/**"]);
    assert_eq!((case.budget.steps, case.budget.tokens), (20, Some(100_000)));
    assert_eq!(
        case.budget.cost.map(|cost| cost.plain()),
        Some("0.5".to_owned())
    );
    assert_eq!(case.setup[0].timeout, Duration::from_secs(300));
    let gates: Vec<(&str, &str)> = case
        .gates
        .iter()
        .map(|gate| (gate.phase.as_str(), gate.name.as_str()))
        .collect();
    assert_eq!(
        gates,
        [
            ("build", "builds"),
            ("test", "unit"),
            ("accept", "held-out"),
            ("accept", "documented")
        ]
    );
    assert_eq!(
        case.gates[1].check,
        Verification::Command {
            argv: vec!["cargo".into(), "test".into(), "--offline".into()],
            expect_exit: 0,
            timeout: Duration::from_secs(600),
            network: false,
        }
    );
    assert_eq!(case.gates[2].files[0].0, base.join("held-out/parser.rs"));
    assert_eq!(case.gates[2].files[0].1.as_str(), "tests/held_out.rs");
    // The task says one thing, the provider another, and the default the third.
    assert_eq!((case.retry.attempts, case.retry.base.as_millis()), (2, 250));
    assert_eq!(case.policy.net.as_deref(), Some(&[] as &[String]));
    let line = EXAMPLE
        .lines()
        .position(|line| line.contains("- id: empty-input"));
    assert_eq!(case.line as usize, line.expect("the task's line") + 1);
    assert_eq!(
        plan.cases
            .last()
            .and_then(|case| case.provider_config.script.clone()),
        Some(base.join("scripts/fix.yaml"))
    );
    assert_eq!(plan.suites[0].prices, [base.join("../prices/2026-11.toml")]);
    assert_eq!(plan.suites[0].thresholds["pass_rate"], 0.8);
    // References to secrets stand as they were written.
    let local = &plan.cases[10].provider_config;
    assert_eq!(local.api_key.as_deref(), Some("${env:LOCAL_KEY}"));
}

#[test]
fn plans_and_cases_survive_json() {
    let (_folder, suite) = example();
    let plan = on_linux(&[suite]);
    let text = serde_json::to_string(&plan).expect("a plan is JSON");
    let back: Plan = serde_json::from_str(&text).expect("a plan");
    assert_eq!(back, plan);
    let record = plan.cases[0].record();
    let case: CaseSpec = serde_json::from_value(record.spec).expect("a case");
    assert_eq!(case, plan.cases[0]);
    assert_eq!(record.gates.len(), 4);
    assert_eq!(record.model, "claude-sonnet-4-5-20250929");
}

#[test]
fn a_digest_knows_what_a_case_is_and_not_where_it_lies() {
    let digests = |suite: &Suite| -> Vec<String> {
        let plan = on_linux(std::slice::from_ref(suite));
        plan.cases
            .iter()
            .map(|case| case.record().digest.as_str().to_owned())
            .collect()
    };
    let ((_a, one), (_b, two)) = (example(), example());
    assert_eq!(digests(&one), digests(&two));
    let distinct: BTreeSet<String> = digests(&one).into_iter().collect();
    assert_eq!(distinct.len(), 20);
}

#[test]
fn scalars_keep_their_text() {
    let folder = Folder::new();
    let suite = folder
        .suite(&small(
            "gates:\n  - { name: a, command: [echo, 1.10, no, 012, 0x10, 1e3, 1_000, true, off, '{{v}}'], expect_exit: 0x10 }\nconstraints: [1.10, no, 2026-11-30]",
            "matrix: { vars: { v: [1.10, no, 012, true, 1.1] } }\ndescription: 1.10\n",
        ))
        .unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(suite.description, "1.10");
    let plan = on_linux(&[suite]);
    let values: Vec<&str> = plan
        .cases
        .iter()
        .map(|case| case.vars["v"].as_str())
        .collect();
    assert_eq!(values, ["1.10", "no", "012", "true", "1.1"]);
    let Verification::Command {
        argv, expect_exit, ..
    } = &plan.cases[0].gates[0].check
    else {
        panic!("a command");
    };
    assert_eq!(
        argv.join(" "),
        "echo 1.10 no 012 0x10 1e3 1_000 true off 1.10"
    );
    assert_eq!(*expect_exit, 16);
    assert_eq!(plan.cases[0].constraints, ["1.10", "no", "2026-11-30"]);
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_change_nothing() {
    let folder = Folder::new();
    let text = small(
        "gates:\n  - { name: a, command: [a, '{{v}}'] }\nconstraints:\n  - |\n    two\n    lines",
        "matrix: { vars: { v: [1.10, x] } }\n",
    );
    let plain = on_linux(&[folder.suite(&text).expect("a suite")]);
    let marked = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let windows = on_linux(&[folder.suite(&marked).expect("a suite")]);
    assert_eq!(plain, windows);
    // Places are right in such a file, too.
    let broken = format!(
        "\u{feff}{}",
        small("gate: []\ngates: []", "").replace('\n', "\r\n")
    );
    let problems = folder.suite(&broken).unwrap_err();
    assert_eq!(problems.problems()[0].position(), Some((8, 5)));
    let broken = format!("\u{feff}{}", "versio: 1\r\n");
    let problems = folder.suite(&broken).unwrap_err();
    let unknown = problems
        .problems()
        .iter()
        .find(|one| one.title().contains("versio`"));
    assert_eq!(unknown.and_then(|one| one.position()), Some((1, 1)));
}

#[test]
fn defaults_lie_beneath_each_task() {
    let folder = Folder::new();
    let suite = folder
        .suite(&small(
            "gates: []\nbudget: { steps: 3 }\ntags: [own]",
            "defaults:\n  budget: { steps: 9, tokens: 1k, wall: 2m }\n  tags: [a, b]\n  protect: [x]\n  policy: { read: [a] }\n  approve: allow\n  stall: { window: 0 }\n  exec_timeout: 1m\n  sandbox: { backend: floor, network: true, limits: { memory: 1.5G, output: 64k, cpu: 1m } }\n",
        ))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let plan = on_linux(&[suite]);
    let case = &plan.cases[0];
    assert_eq!((case.budget.steps, case.budget.tokens), (3, Some(1_000)));
    assert_eq!(case.budget.wall, Some(Duration::from_secs(120)));
    assert_eq!(case.tags, ["own"]);
    assert_eq!(case.protect, ["x"]);
    assert_eq!((case.stall.window, case.stall.max_replans), (0, 1));
    assert_eq!(case.exec_timeout, Duration::from_secs(60));
    assert_eq!(case.sandbox.limits.memory_bytes, Some(1_500_000_000));
    assert_eq!(case.sandbox.limits.output_bytes, Some(64_000));
    assert_eq!(case.workspace, WorkspaceSpec::Empty);
}

#[test]
fn a_platform_gets_its_form_or_is_skipped() {
    let folder = Folder::new();
    let suites = [folder
        .suite(&small(
            "gates:\n  - { name: a, command: { windows: [w], default: [d] } }\n  - { name: b, command: { linux: [l], windows: [w] } }\nplatforms: [linux, windows]",
            "",
        ))
        .unwrap_or_else(|problems| panic!("{problems}"))];
    for (platform, first, skip) in [
        (Platform::Linux, "d", None),
        (Platform::Windows, "w", None),
        (
            Platform::Macos,
            "d",
            Some("runs on linux, windows, this is macos"),
        ),
    ] {
        let options = PlanOptions {
            platform,
            ..PlanOptions::default()
        };
        let plan = plan(&suites, &options).expect("a plan");
        let Verification::Command { argv, .. } = &plan.cases[0].gates[0].check else {
            panic!("a command");
        };
        assert_eq!(argv, &[first]);
        assert_eq!(plan.cases[0].skip.as_deref(), skip);
    }
}

#[test]
fn gates_run_by_the_first_appearance_of_their_phase() {
    let folder = Folder::new();
    let suite = folder
        .suite(&small(
            "gates:\n  - { name: a, phase: build, command: [a] }\n  - { name: b, command: [a] }\n  - { name: c, phase: build, compiles_rust: [a.rs] }\n  - { name: d, file_equals: { path: a/../b, text: '{{{{x}}}}' } }",
            "",
        ))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let plan = on_linux(&[suite]);
    let order: Vec<String> = plan.cases[0]
        .gates
        .iter()
        .map(|gate| format!("{}/{}:{}", gate.phase, gate.name, gate.line))
        .collect();
    assert_eq!(
        order,
        ["build/a:9", "build/c:11", "accept/b:10", "accept/d:12"]
    );
    let Verification::WorkspaceFileEquals { file, text } = &plan.cases[0].gates[3].check else {
        panic!("a file");
    };
    assert_eq!((file.as_str(), text.as_str()), ("b", "{{x}}"));
}

#[test]
fn variables_reach_paths_and_workspace_files() {
    let folder = Folder::new();
    folder.write("fixtures/big/x", "");
    folder.write("fixtures/small/x", "");
    let suite = folder.suite(&small(
        "gates: []\nworkspace: { dir: 'fixtures/{{size}}' }\npolicy: { write: ['{{size}}/**'] }",
        "matrix: { vars: { size: [big, small, none] } }\n",
    ));
    assert!(
        folder
            .shown(&suite.unwrap_err())
            .contains("a missing fixture: `fixtures/none`")
    );
    let suite = folder
        .suite(&small(
            "gates: []\nworkspace: { files: { '{{size}}.txt': 'it is {{size}}' } }",
            "matrix: { vars: { size: [big, small] } }\n",
        ))
        .expect("a suite");
    let plan = on_linux(&[suite]);
    let WorkspaceSpec::Files(files) = &plan.cases[1].workspace else {
        panic!("files");
    };
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    assert_eq!(files, [("small.txt", "it is small")]);
}

#[test]
fn a_repository_is_named_by_path_or_address() {
    let folder = Folder::new();
    folder.write("repo/HEAD", "");
    let rev = "0123456789ABCDEF0123456789abcdef01234567";
    for (source, location) in [
        (
            "path: repo",
            folder
                .path()
                .join("repo")
                .to_str()
                .expect("text")
                .to_owned(),
        ),
        ("url: 'file:///srv/x.git'", "file:///srv/x.git".to_owned()),
    ] {
        let suite = folder
            .suite(&small(
                &format!("gates: []\nworkspace: {{ git: {{ {source}, rev: {rev} }} }}"),
                "",
            ))
            .unwrap_or_else(|problems| panic!("{problems}"));
        let plan = on_linux(&[suite]);
        let rev = rev.to_lowercase();
        assert_eq!(
            plan.cases[0].workspace,
            WorkspaceSpec::Git { location, rev }
        );
    }
}

#[test]
fn providers_may_stand_in_a_file_of_their_own() {
    let folder = Folder::new();
    folder.write(
        "shared/providers.yaml",
        "a: { vendor: scripted, script: x.yaml }\nb: { vendor: scripted }\n",
    );
    folder.write("shared/x.yaml", "");
    let suite = folder
        .suite("version: 1\nname: small\nproviders: shared/providers.yaml\ntasks:\n  - { id: t, goal: g, gates: [] }\n")
        .unwrap_or_else(|problems| panic!("{problems}"));
    let plan = on_linux(&[suite]);
    assert_eq!(ids(&plan), ["small/t/a#1", "small/t/b#1"]);
    assert_eq!(
        plan.cases[0].provider_config.script,
        Some(folder.path().join("shared/x.yaml"))
    );
}

#[test]
fn anchors_and_merge_keys_work() {
    let folder = Folder::new();
    let suite = folder
        .suite(&small(
            "gates: &gates\n  - &first { name: a, command: &argv [cargo, test] }\n  - { <<: *first, name: b }",
            "  - { id: second, goal: x, gates: *gates }\n",
        ))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let plan = on_linux(&[suite]);
    assert_eq!(plan.cases[1].gates.len(), 2);
    assert_eq!(plan.cases[1].gates[1].name, "b");
}

#[test]
fn warnings_say_what_does_nothing() {
    let folder = Folder::new();
    let suite = folder
        .suite(&small(
            "",
            "matrix: { vars: { style: [a, b] } }\nbudget: { cost_usd: 1 }\n",
        ))
        .expect("a suite");
    insta::assert_snapshot!(suite.warnings.join("\n"), @r"
    no task uses the variable `style`: its values make equal cases
    the task `first` has no gates: its cases pass when the agent finishes
    a cost ceiling is set and the suite names no price table: without one nothing enforces it
    ");
}

#[test]
fn names_that_are_alike_are_refused() {
    let folder = Folder::new();
    let suite = folder
        .suite(&small(
            "gates: []",
            "matrix:\n  providers: []\n  include:\n    - { provider: rehearsal, a: '1,b=2' }\n    - { provider: rehearsal, a: '1', b: '2' }\n",
        ))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let problems = plan(&[suite], &PlanOptions::default()).unwrap_err();
    assert!(
        problems
            .to_string()
            .contains("two cases are named `small/first/rehearsal/a=1,b=2#1`"),
        "{problems}"
    );
}

#[test]
fn filters() {
    let (_folder, suite) = example();
    let suites = [suite];
    let count = |text: &str| {
        let filter: Filter = text
            .parse()
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        let options = PlanOptions {
            platform: Platform::Linux,
            filter: Some(filter),
            trials: None,
        };
        plan(&suites, &options).expect("a plan").cases.len()
    };
    for (filter, expected) in [
        ("*", 20),
        ("task=empty-input", 20),
        ("task=empty", 0),
        ("provider=local", 5),
        ("provider=local,tag=rust", 5),
        ("provider=local and tag=none", 0),
        ("not provider=local", 15),
        ("!provider=local", 15),
        ("not !provider=local", 5),
        ("suite=parser-*", 20),
        ("*#1", 4),
        ("case=*style=terse*", 15),
        ("*/style=verbose#?", 5),
        ("parser-fixes/empty-input/local/style=terse#3", 1),
        ("tag=smoke, not *#1 and provider=son*", 8),
        ("tag=s?oke", 20),
    ] {
        assert_eq!(count(filter), expected, "{filter}");
    }
    let mut answers = String::new();
    for wrong in [
        "",
        " , ",
        "task=",
        "task=a,",
        "and",
        "not",
        "a or b",
        "tsk=a",
        "style=terse",
    ] {
        let error = wrong.parse::<Filter>().expect_err(wrong);
        writeln!(answers, "{wrong:?}: {error}").expect("a text");
    }
    insta::assert_snapshot!(answers);
}

#[test]
fn trials_can_be_asked_for() {
    let (_folder, suite) = example();
    let suites = [suite];
    let of = |trials| {
        plan(
            &suites,
            &PlanOptions {
                platform: Platform::Linux,
                filter: None,
                trials: Some(trials),
            },
        )
    };
    assert_eq!(of(2).expect("a plan").cases.len(), 8);
    assert!(of(0).is_err());
}

/// A suite over some tasks, providers and values, given as positions so that their order may change.
fn generated(tasks: &[usize], providers: &[usize], values: &[usize], trials: u32) -> String {
    let list = |prefix: &str, of: &[usize]| {
        of.iter()
            .map(|n| format!("{prefix}{n}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let tasks: String = tasks
        .iter()
        .map(|n| format!("  - {{ id: t{n}, goal: g, gates: [] }}\n"))
        .collect();
    let declared: String = providers
        .iter()
        .map(|n| format!("  p{n}: {{ vendor: scripted }}\n"))
        .collect();
    format!(
        "version: 1\nname: s\nproviders:\n{declared}tasks:\n{tasks}matrix: {{ trials: {trials}, providers: [{}], vars: {{ v: [{}], w: [x, y] }}, exclude: [{{ task: t0, v: a0 }}], include: [{{ task: t0, v: new }}] }}\n",
        list("p", providers),
        list("a", values),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn ids_are_unique_and_know_no_order(
        tasks in Just((0..4).collect::<Vec<usize>>()).prop_shuffle(),
        providers in Just((0..3).collect::<Vec<usize>>()).prop_shuffle(),
        values in Just((0..3).collect::<Vec<usize>>()).prop_shuffle(),
        trials in 1_u32..4,
    ) {
        let folder = Folder::new();
        let of = |text: String| -> Vec<String> {
            let suite = folder.suite(&text).unwrap_or_else(|problems| panic!("{problems}"));
            ids(&on_linux(&[suite])).into_iter().map(str::to_owned).collect()
        };
        let shuffled = of(generated(&tasks, &providers, &values, trials));
        let straight = of(generated(&[0, 1, 2, 3], &[0, 1, 2], &[0, 1, 2], trials));
        let set: BTreeSet<&String> = shuffled.iter().collect();
        prop_assert_eq!(set.len(), shuffled.len());
        prop_assert_eq!(set, straight.iter().collect::<BTreeSet<_>>());
        // The first task of the file comes first.
        let first = format!("s/t{}/", tasks[0]);
        prop_assert!(shuffled[0].starts_with(&first));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0_usize..4_000) {
        let folder = Folder::new();
        let mut text = EXAMPLE.as_bytes().to_vec();
        let at = at.min(text.len());
        text.splice(at..at, bytes);
        let path: PathBuf = folder.write("suite.yaml", text);
        if let Err(problems) = load(&[path]) {
            prop_assert!(!problems.to_string().is_empty());
        }
    }
}
