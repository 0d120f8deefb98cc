//! Tables of what is decided and said, and properties over random policies with an oracle of their own.

use proptest::prelude::*;

use super::{Defaults, Layer, Policy, Rule, SECRETS_LAYER, Target, Verdict};
use crate::domain::{Act, Effect};

fn argv(line: &[&str]) -> Vec<String> {
    line.iter().map(|&word| word.to_owned()).collect()
}

#[test]
fn rules_are_read_and_written() {
    for (text, act, effect, pattern) in [
        ("allow exec cargo *", Act::Exec, Effect::Allow, "cargo *"),
        ("deny write tests/**", Act::Write, Effect::Deny, "tests/**"),
        (
            "  ask\tnet   *.example:443 ",
            Act::Net,
            Effect::Ask,
            "*.example:443",
        ),
        ("allow read a  b", Act::Read, Effect::Allow, "a  b"),
    ] {
        let rule: Rule = text.parse().expect("a rule");
        assert_eq!(rule, Rule::new(act, effect, pattern), "{text:?}");
    }
    for (text, complaint) in [
        (
            "",
            "`` begins with ``: a rule begins with `allow`, `ask` or `deny`",
        ),
        ("permit exec x", "begins with `permit`"),
        ("Allow exec x", "begins with `Allow`"),
        (
            "allow",
            "write `read`, `write`, `exec` or `net` after the effect",
        ),
        ("allow run x", "is about `run`"),
        ("allow exec", "`allow exec` has no pattern"),
        ("allow exec  ", "`allow exec` has no pattern"),
    ] {
        let error = text.parse::<Rule>().expect_err(text).to_string();
        assert!(error.contains(complaint), "{text:?}: {error}");
    }
}

#[test]
fn policies_are_stored_as_json() {
    let policy = Policy::ci_default().layer("suite").allow_exec("cargo *");
    let json = serde_json::to_string(&policy).expect("plain data");
    assert_eq!(
        serde_json::from_str::<Policy>(&json).expect("the same"),
        policy
    );
    let without_net = r#"{"layers":[],"defaults":{"read":"allow","write":"ask","exec":"ask"}}"#;
    let policy: Policy = serde_json::from_str(without_net).expect("a policy");
    assert_eq!(policy.defaults.net, Effect::Deny);
}

#[test]
fn paths() {
    let policy = Policy::ci_default()
        .layer("protect")
        .deny_write("tests/**")
        .layer("suite")
        .ask_write("src/gen/*")
        .allow_write("src/*");
    for (path, read, write) in [
        ("src/lib.rs", Effect::Allow, Effect::Allow),
        ("src/gen/a.rs", Effect::Allow, Effect::Ask),
        ("tests/a.rs", Effect::Allow, Effect::Deny),
        ("./tests//a.rs", Effect::Allow, Effect::Deny),
        ("src/../tests/a.rs", Effect::Allow, Effect::Deny),
        ("tests\\a.rs", Effect::Allow, Effect::Deny),
        ("a/b/.env", Effect::Deny, Effect::Deny),
        (".env", Effect::Deny, Effect::Deny),
        (".environment", Effect::Allow, Effect::Allow),
        ("deep/server.pem", Effect::Deny, Effect::Deny),
        ("home/.ssh/id_ed25519", Effect::Deny, Effect::Deny),
        ("home/.ssh/id_ed25519.pub", Effect::Allow, Effect::Allow),
        ("tls.key", Effect::Deny, Effect::Deny),
        ("/etc/tls.key", Effect::Deny, Effect::Deny),
        ("", Effect::Allow, Effect::Allow),
    ] {
        let target = Target::Path(path);
        assert_eq!(policy.decide(Act::Read, &target).effect, read, "{path:?}");
        assert_eq!(policy.decide(Act::Write, &target).effect, write, "{path:?}");
    }
}

#[test]
fn commands() {
    let policy = Policy::new(Defaults::all(Effect::Ask))
        .layer("suite")
        .allow_exec("cargo *")
        .allow_exec("make")
        .deny_exec("cargo publish*")
        .deny_exec("rm")
        .deny_exec("git push*");
    for (line, effect) in [
        (&["cargo", "test"][..], Effect::Allow),
        (&["cargo"], Effect::Ask),
        (&["make", "all"], Effect::Allow),
        (&["./cargo", "test"], Effect::Ask),
        (&["/tmp/make"], Effect::Ask),
        (&["cargo x", "test"], Effect::Ask),
        (&["cargo x"], Effect::Ask),
        (&["cargo", "publish"], Effect::Deny),
        (&["./cargo", "publish", "--dry-run"], Effect::Deny),
        (&["rm", "-rf", "/"], Effect::Deny),
        (&["/bin/rm", "-rf", "/"], Effect::Deny),
        (&["../../bin/./rm"], Effect::Deny),
        (&["/usr/bin/git", "push", "origin"], Effect::Deny),
        (&["git", "pull"], Effect::Ask),
        (&[], Effect::Ask),
    ] {
        let line = argv(line);
        let verdict = policy.decide(Act::Exec, &Target::Argv(&line));
        assert_eq!(verdict.effect, effect, "{line:?}: {verdict:?}");
    }
    let spaced = Policy::new(Defaults::all(Effect::Deny)).allow_exec("\"C:/Program Files/x\" *");
    let line = argv(&["C:/Program Files/x", "run"]);
    assert_eq!(
        spaced.decide(Act::Exec, &Target::Argv(&line)).effect,
        Effect::Allow
    );
}

#[test]
fn hosts() {
    let policy = Policy::new(Defaults::all(Effect::Deny))
        .allow_net("docs.example")
        .allow_net("api.example:443")
        .allow_net("*.cdn.example")
        .allow_net("[::1]")
        .deny_net("bad.cdn.example");
    for (host, effect) in [
        ("docs.example:443", Effect::Allow),
        ("DOCS.example:80", Effect::Allow),
        ("docs.example.:80", Effect::Allow),
        ("docs.example", Effect::Allow),
        ("api.example:443", Effect::Allow),
        ("api.example:80", Effect::Deny),
        ("a.cdn.example:443", Effect::Allow),
        ("bad.cdn.example:443", Effect::Deny),
        ("BAD.cdn.example.:443", Effect::Deny),
        ("cdn.example:443", Effect::Deny),
        ("[::1]:8080", Effect::Allow),
        ("::1", Effect::Deny),
        ("docs.example.evil:443", Effect::Deny),
    ] {
        let verdict = policy.decide(Act::Net, &Target::Host(host));
        assert_eq!(verdict.effect, effect, "{host:?}: {verdict:?}");
    }
}

#[test]
fn folding_compares_as_windows_does() {
    let policy = Policy::permissive()
        .deny_write("tests/**")
        .deny_exec("rm")
        .deny_read(".env");
    let shout = argv(&["C:\\Tools\\RM.EXE", "-r"]);
    for (act, target) in [
        (Act::Write, Target::Path("Tests/a.rs")),
        (Act::Read, Target::Path("a/.ENV")),
        (Act::Exec, Target::Argv(&shout)),
    ] {
        let effect = |fold| policy.decide_folding(act, &target, fold).effect;
        assert_eq!(effect(true), Effect::Deny, "{target:?}");
        assert_eq!(effect(false), Effect::Allow, "{target:?}");
    }
}

#[test]
fn sentences_name_the_rule_and_the_layer() {
    let policy = Policy::default()
        .layer("protect")
        .deny_write("tests/**")
        .layer("later")
        .deny_write("tests/**")
        .ask_exec("git *")
        .allow_exec("cargo *");
    let (git, cargo, make) = (
        argv(&["git", "log"]),
        argv(&["cargo", "test"]),
        argv(&["make"]),
    );
    for (act, target, sentence) in [
        (
            Act::Write,
            Target::Path("tests/a.rs"),
            "write `tests/a.rs` is denied by rule `deny write tests/**` in layer `protect`",
        ),
        (
            Act::Read,
            Target::Path("x/.env"),
            "read `x/.env` is denied by rule `deny read .env` in layer `builtin-secrets`",
        ),
        (
            Act::Exec,
            Target::Argv(&git),
            "exec `git log` needs approval by rule `ask exec git *` in layer `later`",
        ),
        (
            Act::Exec,
            Target::Argv(&cargo),
            "exec `cargo test` is allowed by rule `allow exec cargo *` in layer `later`",
        ),
        (
            Act::Exec,
            Target::Argv(&make),
            "exec `make` needs approval: no rule allows it (default: ask)",
        ),
        (
            Act::Net,
            Target::Host("a.example:443"),
            "net `a.example:443` is not allowed by any rule (default: deny)",
        ),
        (
            Act::Read,
            Target::Path("src/a.rs\u{1b}[2J\nx"),
            "read `src/a.rs x` is allowed (default: allow)",
        ),
    ] {
        assert_eq!(policy.explain(act, &target), sentence);
    }
}

#[test]
fn presets() {
    assert!(Policy::permissive().is_permissive());
    assert!(Policy::permissive().allow_exec("x").is_permissive());
    assert!(!Policy::permissive().deny_exec("x").is_permissive());
    let ci = Policy::ci_default();
    assert_eq!(ci.layers[0].name, SECRETS_LAYER);
    assert_eq!(
        ci.defaults,
        Defaults {
            read: Effect::Allow,
            write: Effect::Allow,
            exec: Effect::Ask,
            net: Effect::Deny
        }
    );
    assert_eq!(Policy::default().defaults.write, Effect::Ask);
}

#[test]
fn a_child_that_asks_does_not_open_what_was_shut() {
    let parent = Policy::new(Defaults::all(Effect::Deny)).allow_net("docs.example");
    let child = Policy::permissive().ask_net("*").allow_net("other.example");
    let contained = parent.contain(&child);
    for host in ["docs.example:443", "other.example:443"] {
        assert_eq!(
            contained.decide(Act::Net, &Target::Host(host)).effect,
            Effect::Deny
        );
    }
}

// An oracle that shares no code with the policy: plain recursion over characters, and all fitting rules
// collected before the strictest is taken.

fn fits(pattern: &[char], text: &[char]) -> bool {
    match (pattern.first(), text.first()) {
        (None, None) => true,
        (Some('*'), _) => {
            fits(&pattern[1..], text) || (!text.is_empty() && fits(pattern, &text[1..]))
        }
        (Some('?'), Some(_)) => fits(&pattern[1..], &text[1..]),
        (Some(a), Some(b)) if a == b => fits(&pattern[1..], &text[1..]),
        _ => false,
    }
}

fn oracle(policy: &Policy, act: Act, target: &Owned) -> Effect {
    let texts = |effect: Effect| -> Vec<String> {
        match target {
            Owned::Path(path) => {
                let last = path.split('/').next_back().unwrap_or_default();
                vec![path.clone(), last.to_owned()]
            }
            Owned::Host(host) => vec![
                host.clone(),
                host.split(':').next().unwrap_or_default().into(),
            ],
            Owned::Argv(argv) => {
                let mut texts = vec![argv[0].clone(), argv.join(" ")];
                if effect != Effect::Allow {
                    let mut bare = argv.clone();
                    bare[0] = bare[0]
                        .split('/')
                        .next_back()
                        .unwrap_or_default()
                        .to_owned();
                    texts.extend([bare[0].clone(), bare.join(" ")]);
                }
                texts
            }
        }
    };
    let fit = |rule: &Rule| {
        let pattern: Vec<char> = rule.pattern.chars().collect();
        rule.act == act
            && texts(rule.effect)
                .iter()
                .any(|text| fits(&pattern, &text.chars().collect::<Vec<_>>()))
    };
    policy
        .layers
        .iter()
        .flat_map(|layer| &layer.rules)
        .filter(|rule| fit(rule))
        .map(|rule| rule.effect)
        .max()
        .unwrap_or(policy.defaults.of(act))
}

#[derive(Debug, Clone)]
enum Owned {
    Path(String),
    Argv(Vec<String>),
    Host(String),
}

impl Owned {
    fn borrow(&self) -> Target<'_> {
        match self {
            Self::Path(path) => Target::Path(path),
            Self::Argv(argv) => Target::Argv(argv),
            Self::Host(host) => Target::Host(host),
        }
    }
}

fn acts() -> impl Strategy<Value = Act> {
    prop::sample::select(Act::ALL.to_vec())
}

fn effects() -> impl Strategy<Value = Effect> {
    prop::sample::select(vec![Effect::Allow, Effect::Ask, Effect::Deny])
}

fn rules() -> impl Strategy<Value = Rule> {
    (acts(), effects(), "[ab*?/: ]{1,5}").prop_map(|(act, effect, pattern)| Rule {
        act,
        effect,
        pattern,
    })
}

fn policies() -> impl Strategy<Value = Policy> {
    let layer = ("[a-z]{1,3}", prop::collection::vec(rules(), 0..4))
        .prop_map(|(name, rules)| Layer { name, rules });
    let defaults =
        (effects(), effects(), effects(), effects()).prop_map(|(read, write, exec, net)| {
            Defaults {
                read,
                write,
                exec,
                net,
            }
        });
    (prop::collection::vec(layer, 0..4), defaults)
        .prop_map(|(layers, defaults)| Policy { layers, defaults })
}

fn actions() -> impl Strategy<Value = (Act, Owned)> {
    prop_oneof![
        (
            prop::sample::select(vec![Act::Read, Act::Write]),
            "[ab]{1,2}(/[ab]{1,2}){0,2}".prop_map(Owned::Path)
        ),
        (
            Just(Act::Exec),
            (
                "/?[ab]{1,2}(/[ab]{1,2}){0,1}",
                prop::collection::vec("[ab]{0,2}", 0..3)
            )
                .prop_map(|(program, mut rest)| {
                    rest.insert(0, program);
                    Owned::Argv(rest)
                })
        ),
        (Just(Act::Net), "[ab]{1,3}:[1-9]{1,2}".prop_map(Owned::Host)),
    ]
}

fn answer(policy: &Policy, action: &(Act, Owned)) -> Verdict {
    policy.decide_folding(action.0, &action.1.borrow(), false)
}

proptest! {
    #[test]
    fn an_oracle_agrees(policy in policies(), action in actions()) {
        prop_assert_eq!(answer(&policy, &action).effect, oracle(&policy, action.0, &action.1));
    }

    #[test]
    fn the_named_rule_stands_in_the_named_layer(policy in policies(), action in actions()) {
        let verdict = answer(&policy, &action);
        match (verdict.rule, verdict.layer) {
            (Some(rule), Some(layer)) => {
                let stands = policy.layers.iter().filter(|found| found.name == layer).any(|found| {
                    found.rules.iter().any(|found| found.to_string() == rule && found.effect == verdict.effect)
                });
                prop_assert!(stands);
            }
            (None, None) => prop_assert_eq!(verdict.effect, policy.defaults.of(action.0)),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn one_deny_beats_everything(policy in policies(), action in actions(), at in 0_usize..4) {
        let mut policy = policy;
        let rules = vec![Rule::new(action.0, Effect::Deny, "*")];
        policy.layers.insert(at.min(policy.layers.len()), Layer { name: "deny".into(), rules });
        prop_assert_eq!(answer(&policy, &action).effect, Effect::Deny);
    }

    #[test]
    fn adding_a_deny_never_allows_more(policy in policies(), rule in rules(), action in actions()) {
        let before = answer(&policy, &action).effect;
        let after = answer(&policy.clone().rule(rule.act, Effect::Deny, rule.pattern), &action).effect;
        prop_assert!(after >= before);
    }

    #[test]
    fn containing_never_widens(parent in policies(), child in policies(), action in actions()) {
        prop_assert!(answer(&parent.contain(&child), &action).effect >= answer(&parent, &action).effect);
    }

    #[test]
    fn merging_keeps_every_denial_by_rule(base in policies(), overlay in policies(), action in actions()) {
        let merged = answer(&base.clone().merge(overlay.clone()), &action).effect;
        for part in [base, overlay] {
            let alone = answer(&part, &action);
            if alone.rule.is_some() {
                prop_assert!(merged >= alone.effect);
            }
        }
    }

    #[test]
    fn printing_and_parsing_are_inverse(act in acts(), effect in effects(), pattern in "[^\\s]([ -~é\\t]{0,8}[^\\s])?") {
        let rule = Rule::new(act, effect, pattern);
        prop_assert_eq!(rule.to_string().parse::<Rule>(), Ok(rule));
    }

    #[test]
    fn no_text_breaks_the_parser(text in "\\PC{0,40}") {
        if let Ok(rule) = text.parse::<Rule>() {
            prop_assert_eq!(rule.to_string().parse::<Rule>(), Ok(rule));
        }
    }

    #[test]
    fn no_target_breaks_the_decision(policy in policies(), text in "\\PC{0,20}") {
        let argv = vec![text.clone()];
        for target in [Target::Path(&text), Target::Argv(&argv), Target::Host(&text)] {
            for act in Act::ALL {
                for fold in [false, true] {
                    let verdict = policy.decide_folding(act, &target, fold);
                    prop_assert_eq!(verdict.rule.is_some(), verdict.layer.is_some());
                }
                prop_assert!(policy.explain(act, &target).starts_with(act.as_str()));
            }
        }
    }
}
