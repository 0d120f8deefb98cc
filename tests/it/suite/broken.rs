//! What a wrong suite is answered with.

use std::fmt::Write as _;

use super::{Folder, small};

/// The name of the case, the task's lines and the suite's further lines.
const MEANING: &[(&str, &str, &str)] = &[
    ("unknown key in a task", "gate: []\ngates: []", ""),
    (
        "unknown keys everywhere",
        "gates:\n  - { nme: x, command: [a], tests: 1 }\npolicy: { wirte: [x] }\nbudget: { step: 3 }",
        "matrix: { trails: 3 }\nthreshold: {}",
    ),
    ("duplicate key", "gates: []\ntags: [a]\ngates: []", ""),
    (
        "wrong types",
        "gates: none\nconstraints: { a: b }\nbudget: { steps: many, wall: [1s] }\napprove: yes\nsandbox: { network: yes }",
        "",
    ),
    ("empty values", "gates: []\nprotect:\ntags: [~]", ""),
    (
        "nan and ranges",
        "gates: []",
        "thresholds: { pass_rate: .nan, errors: -1, regression: { max_drop: 1.5, confidence: .inf } }\nmatrix: { trials: 0 }",
    ),
    (
        "negative threshold",
        "gates: []",
        "thresholds: { pass_rate: -0.5 }",
    ),
    (
        "pass rate by provider",
        "gates: []",
        "thresholds: { pass_rate: { rehersal: 0.5, rehearsal: 2 } }",
    ),
    (
        "budgets of nothing",
        "gates: []\nbudget: { steps: 0, tokens: 0, wall: 0s, cost_usd: 0 }",
        "budget: { cost_usd: -1, wall: 0s }",
    ),
    (
        "bare duration",
        "gates:\n  - { name: a, command: [a], timeout: 90 }\nexec_timeout: 1.5\nbudget: { wall: soon, tokens: 1.5 }\nsandbox: { limits: { memory: lots } }",
        "",
    ),
    (
        "missing fixture",
        "gates: []\nworkspace: { dir: fixtures/parser }",
        "",
    ),
    (
        "missing files",
        "gates:\n  - { name: a, command: [a], files: { tests/a.rs: held-out/a.rs, ../b.rs: suite.yaml } }",
        "prices: [prices/2026.toml]",
    ),
    (
        "two workspace sources",
        "gates: []\nworkspace: { dir: ., files: { a: b } }",
        "",
    ),
    ("no workspace source", "gates: []\nworkspace: {}", ""),
    (
        "short rev",
        "gates: []\nworkspace: { git: { path: ., rev: 1a2b3c } }",
        "",
    ),
    (
        "remote repository",
        "gates: []\nworkspace: { git: { url: 'https://example.org/x.git', rev: main } }",
        "",
    ),
    ("no gates", "tags: [a]", ""),
    (
        "gate without a check",
        "gates:\n  - { name: a, phase: build }",
        "",
    ),
    (
        "gate with two checks",
        "gates:\n  - { name: a, command: [a], compiles_rust: [b.rs] }",
        "",
    ),
    (
        "gates of one name",
        "gates:\n  - { name: a, command: [a] }\n  - { name: a, command: [b] }",
        "",
    ),
    (
        "empty commands",
        "gates:\n  - { name: a, command: [] }\n  - { name: b, command: [''] }\n  - { name: c, command: 'cargo test' }\n  - { name: e, command: { beos: [a] } }\n  - { name: f, command: [a, ~] }",
        "",
    ),
    (
        "platform forms",
        "gates:\n  - { name: b, command: [''] }\n  - { name: d, command: { linux: [a] } }\n  - { name: g, command: { default: [\"a\\0\"] } }\nsetup:\n  - { name: x, command: { windows: [a] } }",
        "",
    ),
    (
        "empty needle",
        "gates:\n  - { name: a, file_contains: { path: a, text: '' } }\n  - { name: b, compiles_rust: [] }\n  - { name: c, file_equals: { path: ., text: '' } }",
        "",
    ),
    (
        "settings without a command",
        "gates:\n  - { name: a, file_contains: { path: a, text: b }, timeout: 1s, expect_exit: 1 }",
        "",
    ),
    (
        "during with files",
        "gates:\n  - { name: a, command: [a], during: true, files: { x: suite.yaml } }",
        "",
    ),
    (
        "missing var",
        "gates:\n  - { name: a, command: [cargo, '{{modee}}'] }\nconstraints: ['be {{ style }}']",
        "matrix: { vars: { mode: [a] } }",
    ),
    (
        "unknown provider and task",
        "gates: []",
        "matrix:\n  providers: [rehearsel, nobody]\n  exclude: [{ task: frist, stile: x }]\n  include: [{ provider: none }]",
    ),
    (
        "idle lines",
        "gates: []",
        "matrix:\n  vars: { style: [a, b] }\n  exclude: [{ style: c }]\n  include: [{ task: first, provider: rehearsal, style: a }]",
    ),
    ("empty matrix", "gates: []", "matrix: { providers: [] }"),
    (
        "values that repeat",
        "gates: []",
        "matrix: { vars: { style: [a, a], task: [x], empty: [] } }",
    ),
    (
        "huge matrix",
        "gates: []",
        "matrix: { vars: { a: [1,2,3,4,5,6,7,8,9,10], b: [1,2,3,4,5,6,7,8,9,10], c: [1,2,3,4,5,6,7,8,9,10], d: [1,2,3,4,5,6,7,8,9,10], e: [1,2,3,4,5,6,7,8,9,10] } }",
    ),
    (
        "unknown platform",
        "gates: []\nplatforms: [linux, macosx]",
        "",
    ),
    (
        "duplicate and bad ids",
        "gates: []",
        "  - { id: first, goal: x, gates: [] }\n  - { id: Bad Name, goal: '', gates: [] }",
    ),
    (
        "a wrong default is one problem",
        "gates: []",
        "  - { id: second, goal: x }\ndefaults: { gates: [{ name: a }], protect: [''], id: x }",
    ),
    (
        "numbers beyond the types",
        "gates:\n  - { name: a, command: [a], expect_exit: -99999999999 }\nbudget: { steps: 99999999999999999999999999, tokens: 1e3 }\nstall: { window: 4294967296 }",
        "",
    ),
    (
        "control characters in a key",
        "gates: []\n\"\\e[31mred\": 1",
        "",
    ),
];

#[test]
fn meaning() {
    let mut all = String::new();
    for (name, task, rest) in MEANING {
        let folder = Folder::new();
        let answer = match folder.suite(&small(task, rest)) {
            Ok(_) => "no problem was found".to_owned(),
            Err(problems) => folder.shown(&problems),
        };
        writeln!(all, "## {name}\n{answer}\n").expect("a text");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn providers() {
    let folder = Folder::new();
    let problems = folder
        .suite(
            "version: 1\nname: small\nproviders:\n  a: { vendor: antropic, model: x }\n  b: { vendor: openai }\n  c: { vendor: compatible, model: m, temperature: 3, limits: { concurrency: 0 } }\n  d: { vendor: openai, model: gpt-latest, script: s.yaml }\n  e f: { vendor: scripted, script: scripts/none.yaml, retry: { attempts: 0, base: 5 } }\n  g: { model: x }\n  h: { vendor: compatible, model: m, base_url: 'localhost:80', top_p: .nan }\ntasks:\n  - { id: a, goal: b, gates: [] }\n",
        )
        .unwrap_err();
    insta::assert_snapshot!(folder.shown(&problems));
    let folder = Folder::new();
    let problems = folder
        .suite("version: 1\nname: small\nproviders:\n  b: { vendor: openai }\n  c: { vendor: compatible, model: m, temperature: 3, limits: { concurrency: 0 } }\n  d: { vendor: openai, model: gpt-latest, script: s.yaml }\n  e f: { vendor: scripted, script: scripts/none.yaml, retry: { attempts: 0 } }\n  h: { vendor: compatible, model: m, base_url: 'localhost:80' }\ntasks:\n  - { id: a, goal: b, gates: [] }\n")
        .unwrap_err();
    insta::assert_snapshot!(folder.shown(&problems));
}

#[test]
fn a_file_of_providers_is_shown_where_it_is_wrong() {
    let folder = Folder::new();
    folder.write(
        "shared/providers.yaml",
        "local: { vendor: scripted, modl: x }\n",
    );
    let suite = "version: 1\nname: small\nproviders: shared/providers.yaml\ntasks:\n  - { id: a, goal: b, gates: [] }\n";
    let problems = folder.suite(suite).unwrap_err();
    insta::assert_snapshot!(folder.shown(&problems));
    let problems = folder
        .suite(&suite.replace("shared/", "share/"))
        .unwrap_err();
    insta::assert_snapshot!(folder.shown(&problems));
}

#[test]
fn form() {
    let bomb = {
        let mut text = "version: 1\nname: bomb\na: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for (name, before) in ["b", "c", "d", "e", "f", "g"]
            .iter()
            .zip(["a", "b", "c", "d", "e", "f"])
        {
            let items = vec![format!("*{before}"); 10].join(", ");
            writeln!(text, "{name}: &{name} [{items}]").expect("a text");
        }
        text
    };
    let wide = format!(
        "version: 1\nname: w\na: &a {}\nb: [{}]\n",
        "x".repeat(20_000),
        vec!["*a"; 1_900].join(", ")
    );
    let long = format!(
        "version: 1\nname: w\ndescription: {} {{ nope: \n",
        "x".repeat(5_000)
    );
    let deep = format!("version: 1\nname: {}\n", "[".repeat(100));
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", b"".to_vec()),
        ("only a comment", b"# nothing\n".to_vec()),
        ("a list", b"- a\n- b\n".to_vec()),
        (
            "a newer version",
            b"version: 2\nname: x\nnew_key: 1\n".to_vec(),
        ),
        ("a quoted version", b"version: '1'\nname: x\n".to_vec()),
        ("nothing but a version", b"version: 1\n".to_vec()),
        ("tab", b"version: 1\ntasks:\n\t- id: a\n".to_vec()),
        ("two documents", b"version: 1\n---\nversion: 1\n".to_vec()),
        ("not UTF-8", b"version: 1\nname: gr\xfcn\n".to_vec()),
        ("unclosed", b"version: 1\nname: \"x\n".to_vec()),
        ("unclosed list", b"version: 1\ntasks: [a, b\n".to_vec()),
        ("colons", b"version: 1\nname: a: b\n".to_vec()),
        ("unknown alias", b"version: 1\nname: *x\n".to_vec()),
        ("recursion", b"version: 1\nname: &x [*x]\n".to_vec()),
        (
            "tag",
            b"version: 1\nname: !!binary aGk=\ntasks: !foo []\n".to_vec(),
        ),
        ("key that is a list", b"version: 1\n? [a]\n: b\n".to_vec()),
        ("escape", b"version: 1\nname: \x1b[31mred\n".to_vec()),
        ("alias bomb", bomb.into_bytes()),
        ("wide aliases", wide.into_bytes()),
        ("deep", deep.into_bytes()),
        ("a long line", long.into_bytes()),
        (
            "many problems",
            (0..40_000)
                .map(|n| format!("k{n}: 1\n"))
                .collect::<String>()
                .into_bytes(),
        ),
        (
            "no more than fifty are shown",
            (0..60)
                .map(|n| format!("k{n}: 1\n"))
                .collect::<String>()
                .into_bytes(),
        ),
        ("too large", vec![b'#'; 1024 * 1024 + 1]),
    ];
    let mut all = String::new();
    for (name, bytes) in cases {
        let folder = Folder::new();
        let path = folder.write("suite.yaml", bytes);
        let answer = match taskgate::suite::load(&[path]) {
            Ok(_) => "no problem was found".to_owned(),
            Err(problems) if problems.problems().len() > 40 => {
                let text = problems.to_string();
                text.lines().last().unwrap_or_default().to_owned()
            }
            Err(problems) => folder.shown(&problems),
        };
        writeln!(all, "## {name}\n{answer}\n").expect("a text");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn positions_are_given_for_annotations() {
    let folder = Folder::new();
    let problems = folder.suite(&small("gate: []\ngates: []", "")).unwrap_err();
    let [problem] = problems.problems() else {
        panic!("{problems}")
    };
    assert_eq!(problem.position(), Some((8, 5)));
    assert!(
        problem.file().ends_with("/suite.yaml"),
        "{}",
        problem.file()
    );
    assert_eq!(problem.title(), "unknown key `gate` in a task");
    assert_eq!(problem.label(), "did you mean `gates`?");
    assert!(problem.ways_out()[0].starts_with("a task takes: id, approve, "));
    assert!(problems.render(true).contains('\u{1b}'));
}
