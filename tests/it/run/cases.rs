//! Case files: a workspace, a policy, limits, what a model says, and what comes of it, each in one Markdown file below
//! `tests/it/cases/`. Every file is run three ways with one expected trace: straight; stopped and resumed at every
//! step; and through a server that streams the same answers, cut into pieces at random.
//!
//! A file's fenced blocks say by their first word what they are: `file PATH` (with `crlf`: its lines end so),
//! `link PATH`, `policy` (rules over the default of a CI), `limits`, `turns` and `trace`. With the environment
//! variable `UPDATE_CASES` set, the `trace` blocks are written anew; look at them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use taskgate::base::Redactor;
use taskgate::domain::{
    Arguments, Block, Budget, CompletionResponse, FinishReason, Message, ProviderErrorKind,
    RetryPolicy, RunResult, StallPolicy, TaskContract, Verification,
};
use taskgate::net::Client;
use taskgate::policy::{Layer, Policy};
use taskgate::provider::{Parts, Provider, Secrets, construct};
use taskgate::run::Ignore;
use taskgate::store::Store;

use super::resume::in_pieces;
use super::trace::trace;
use super::{Answer, Bench, Recorder, holds, os, seconds};
use crate::sandbox::{guarded, skipped};
use crate::support::http::{Reply, Server};

/// What a file says.
#[derive(Default)]
struct Case {
    files: Vec<(String, String)>,
    links: Vec<(String, String)>,
    policy: Vec<String>,
    limits: Limits,
    turns: String,
    trace: String,
}

/// The `limits` block.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Limits {
    goal: String,
    /// The criterion that a file holds a text: the file, then the text.
    holds: Option<(String, String)>,
    /// The criterion that a command ends with 0.
    command: Option<Vec<String>>,
    steps: u32,
    tokens: Option<u64>,
    attempts: u32,
    window: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            goal: "mend it".to_owned(),
            holds: None,
            command: None,
            steps: 12,
            tokens: None,
            attempts: 3,
            window: 3,
        }
    }
}

impl Case {
    fn parse(text: &str) -> Self {
        let mut case = Self::default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(head) = line.strip_prefix("```").filter(|head| !head.is_empty()) else {
                continue;
            };
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let all = |end: &str| body.iter().map(|line| format!("{line}{end}")).collect();
            match head.split(' ').collect::<Vec<_>>()[..] {
                ["file", path] => case.files.push((path.to_owned(), all("\n"))),
                ["file", path, "crlf"] => case.files.push((path.to_owned(), all("\r\n"))),
                ["link", path] => case.links.push((path.to_owned(), body.concat())),
                ["policy"] => case.policy = body.iter().map(ToString::to_string).collect(),
                ["limits"] => case.limits = yaml(&all("\n")),
                ["turns"] => case.turns = all("\n"),
                ["trace"] => case.trace = all("\n"),
                _ => panic!("no such block: {head}"),
            }
        }
        case
    }

    /// A workspace with the case's files; nothing where a link cannot be made.
    fn bench(&self) -> Option<Bench> {
        let rules = self.policy.iter().map(|rule| rule.parse().expect("a rule"));
        let mut policy = Policy::ci_default();
        policy.layers.push(Layer {
            name: "case".to_owned(),
            rules: rules.collect(),
        });
        let bench = Bench::new(&[]).policy(policy);
        for (path, text) in &self.files {
            bench.put(path, text);
        }
        let mut links = self.links.iter();
        links
            .all(|(path, target)| os::link(&bench.root().join(path), target))
            .then_some(bench)
    }

    fn contract(&self, bench: &Bench) -> TaskContract {
        let limits = &self.limits;
        let verify = match (&limits.holds, &limits.command) {
            (Some((file, text)), None) => holds(file, text),
            (None, Some(argv)) => Verification::Command {
                argv: argv.clone(),
                expect_exit: 0,
                timeout: seconds(50),
                network: false,
            },
            _ => Verification::None,
        };
        let mut contract = bench
            .contract(verify)
            .with_budget(Budget {
                steps: limits.steps,
                tokens: limits.tokens,
                ..Budget::default()
            })
            .with_retry_policy(RetryPolicy {
                attempts: limits.attempts,
                ..RetryPolicy::default()
            })
            .with_stall_policy(StallPolicy {
                window: limits.window,
                ..StallPolicy::default()
            });
        contract.goal.clone_from(&limits.goal);
        contract
    }

    /// What came of a run: its trace and every file.
    fn outcome(&self, bench: &Bench, store: &Store, result: &RunResult) -> String {
        let mut text = trace(store, result.run_id);
        text.push_str("files:\n");
        let mut files = BTreeMap::new();
        files_below(&bench.root(), "", &mut files);
        for (path, _) in self.files.iter().filter(|(path, _)| path.starts_with("..")) {
            files.insert(path.clone(), bench.get(path));
        }
        for (path, content) in files {
            writeln!(text, "  {path}: {content:?}").expect("a text takes any line");
        }
        text
    }
}

fn yaml<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn files_below(folder: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = format!("{prefix}{}", entry.file_name().display());
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            files_below(&entry.path(), &format!("{name}/"), found);
        } else if kind.is_symlink() {
            found.insert(name, "(link)".to_owned());
        } else {
            let bytes = std::fs::read(entry.path()).expect("a file");
            found.insert(name, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}

/// The answers that a model gave, as a server sends them: each in pieces that begin and end anywhere.
fn replies(answers: &[Answer], seed: u64) -> Vec<Reply> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut replies = Vec::new();
    for (at, answer) in answers.iter().enumerate() {
        let reply = match answer {
            Ok(response) => streamed(response).done(),
            Err(error) if error.kind == ProviderErrorKind::Malformed => {
                // The answer that comes in the end, without its end.
                let whole = answers[at..].iter().find_map(|answer| answer.as_ref().ok());
                streamed(whole.expect("an answer in the end")).without_its_end(&mut random)
            }
            Err(error) => {
                let body = json!({"error": {"message": error.message}});
                Reply::status(error.status.expect("the script says which status"))
                    .header("content-type", "application/json")
                    .send(body.to_string())
            }
        };
        replies.push(reply.in_random_pieces(&mut random));
    }
    replies
}

fn streamed(response: &CompletionResponse) -> Reply {
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({
            "model": response.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        })
    };
    let mut chunks = vec![chunk(json!({"role": "assistant"}), None)];
    let mut index = 0;
    for block in &response.blocks {
        match block {
            Block::Text { text } => {
                let middle = text.len() / 2;
                let middle = (0..=middle).rev().find(|at| text.is_char_boundary(*at));
                let (one, other) = text.split_at(middle.unwrap_or(0));
                chunks.push(chunk(json!({"content": one}), None));
                chunks.push(chunk(json!({"content": other}), None));
            }
            Block::ToolCall(call) => {
                let written = match &call.arguments {
                    Arguments::Json(value) => value.to_string(),
                    Arguments::Invalid { raw, .. } => raw.clone(),
                };
                let begun = json!({
                    "index": index,
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": ""},
                });
                chunks.push(chunk(json!({"tool_calls": [begun]}), None));
                for letter in written.chars() {
                    let more = json!({"index": index, "function": {"arguments": letter}});
                    chunks.push(chunk(json!({"tool_calls": [more]}), None));
                }
                index += 1;
            }
            other => panic!("a script does not say {other:?}"),
        }
    }
    let finish = match &response.finish_reason {
        FinishReason::Refusal => "content_filter".to_owned(),
        other => other.to_string(),
    };
    chunks.push(chunk(json!({}), Some(&finish)));
    if let Some(usage) = response.usage {
        chunks.push(json!({"choices": [], "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.total_tokens,
        }}));
    }
    Reply::events(chunks)
}

fn remote(server: &Server, bench: &Bench) -> Arc<dyn Provider> {
    let config =
        json!({"vendor": "compatible", "model": "scripted", "base_url": server.base_url()});
    let config = serde_json::from_value(config).expect("a provider");
    let nothing = |_: &str| None;
    let secrets = Secrets {
        env: &nothing,
        base: Path::new("."),
    };
    let parts = Parts {
        client: Client::default(),
        clock: bench.clock.clone(),
        redactor: Redactor::default(),
    };
    let built = construct("remote", &config, &secrets, &parts).expect("callable");
    built.for_case("task", 1)
}

fn conversation(store: &Store, result: &RunResult) -> Vec<Message> {
    store.load_run(result.run_id).expect("the run").messages
}

/// Runs a case the three ways. What it came to the first way; nothing where this machine cannot run it.
async fn check(name: &str, case: &Case) -> Option<String> {
    let Some(bench) = case.bench() else {
        skipped(&format!("{name}: links cannot be made here"));
        return None;
    };
    let model = Recorder::new(bench.model(&case.turns));
    let contract = case.contract(&bench);
    let (result, store) = bench
        .run_with(model.clone(), contract, Arc::new(Ignore))
        .await;
    let straight = case.outcome(&bench, &store, &result);
    let said = conversation(&store, &result);

    let bench = case.bench().expect("as before");
    let (result, store, _) = in_pieces(&bench, &case.turns, case.contract(&bench)).await;
    let pieces = case.outcome(&bench, &store, &result);
    pretty_assertions::assert_eq!(straight, pieces, "{name}: in pieces");
    pretty_assertions::assert_eq!(said, conversation(&store, &result), "{name}: in pieces");

    for seed in 0..3 {
        let answers = model.answers.lock().expect("a lock").clone();
        let server = Server::start(replies(&answers, seed)).await;
        let mut bench = case.bench().expect("as before");
        bench.policy = bench.policy.layer("server").allow_net("127.0.0.1");
        let contract = case.contract(&bench);
        let (result, store) = bench
            .run_with(remote(&server, &bench), contract, Arc::new(Ignore))
            .await;
        let streamed = case.outcome(&bench, &store, &result);
        pretty_assertions::assert_eq!(straight, streamed, "{name}: streamed, seed {seed}");
        pretty_assertions::assert_eq!(said, conversation(&store, &result), "{name}: streamed");
        assert_eq!(server.requests().len(), answers.len(), "{name}");
    }
    Some(straight)
}

fn case_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cases");
    let entries = std::fs::read_dir(folder).expect("the case files");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

#[expect(
    clippy::disallowed_methods,
    reason = "who changes a case says so by a variable, and gets the file"
)]
fn update(file: &Path, text: &str, case: &Case, outcome: &str) -> bool {
    if std::env::var_os("UPDATE_CASES").is_none() {
        return false;
    }
    let (old, new) = (&case.trace, outcome);
    let updated = text.replace(
        &format!("```trace\n{old}```"),
        &format!("```trace\n{new}```"),
    );
    std::fs::write(file, updated).expect("the case file");
    true
}

/// What is wrong with a case file, where anything is.
async fn judged(file: PathBuf) -> Option<String> {
    let name = file.file_name().expect("a name").display().to_string();
    let text = std::fs::read_to_string(&file).expect("a case");
    let text = text.replace("\r\n", "\n");
    let case = Case::parse(&text);
    let outcome = guarded(check(&name, &case)).await?;
    let right = outcome == case.trace || update(&file, &text, &case, &outcome);
    (!right).then(|| format!("{name}: expected\n{}\nfound\n{outcome}", case.trace))
}

#[tokio::test]
async fn every_case_goes_the_same_way_straight_in_pieces_and_streamed() {
    let files = case_files();
    assert!(files.len() >= 12, "{files:?}");
    // Most of the time goes into closing traces: some cases at a time do not wait for each other's.
    let wrong: Vec<String> = stream::iter(files)
        .map(judged)
        .buffered(4)
        .filter_map(std::future::ready)
        .collect()
        .await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
