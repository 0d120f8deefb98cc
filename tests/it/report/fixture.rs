//! A batch of two providers in which everything happens that a report has words for.

use std::path::Path;

use rusqlite::Connection;
use serde_json::json;
use taskgate::base::{Bounded, Redactor, Timestamp, sha256};
use taskgate::domain::{
    Act, Arguments, BatchRecord, Block, BudgetKind, CaseId, CaseOutcome, CaseRecord, CaseRef,
    CaseTimes, EventKind, GateResult, GateStatus, Message, Overrun, Price, PriceRecord,
    ProviderCall, ProviderError, ProviderErrorKind, Role, RunEvent, RunId, RunOutcome, SuiteRecord,
    TamperKind, ToolCall, Usage,
};
use taskgate::store::{BatchStatus, Commit, RunRecord, Store, StoredMessage, open_read_only};

/// Text as nobody should write it, in the output of a gate, in a reason and in a target.
pub(super) const HOSTILE: &str = "\u{1b}[31mred\u{1b}[0m ]]> & <script>alert(1)</script>\n::error::owned\n  ::warning file=a::owned\n##[error]owned\n\
`````\n</details>\n@team look | here\nnul\0byte\tand tab\u{202e}";

pub(super) fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000 + ms).expect("a time")
}

pub(super) fn case_id(task: &str, provider: &str, trial: u32) -> CaseId {
    CaseId::new("parser", task, provider, &[].into(), trial)
}

pub(super) fn case(task: &str, provider: &str, trial: u32) -> CaseRecord {
    CaseRecord {
        id: case_id(task, provider, trial),
        suite: "parser".to_owned(),
        task: task.to_owned(),
        provider: provider.to_owned(),
        model: if provider == "sonnet" {
            "model-s"
        } else {
            "model-l"
        }
        .to_owned(),
        vars: [].into(),
        trial,
        tags: vec!["smoke".to_owned()],
        line: if task == "empty-input" { 12 } else { 40 },
        gates: [
            ("build", "compiles"),
            ("test", "unit"),
            ("accept", "held-out"),
        ]
        .map(|(phase, gate)| (phase.to_owned(), gate.to_owned()))
        .to_vec(),
        digest: sha256(task),
        spec: json!({}),
        skip: None,
    }
}

pub(super) fn suite(name: &str, thresholds: serde_json::Value) -> SuiteRecord {
    SuiteRecord {
        name: name.to_owned(),
        description: "bugs of a parser".to_owned(),
        file: format!("tasks/{name}.yaml"),
        thresholds,
        warnings: Vec::new(),
    }
}

pub(super) fn batch(suites: Vec<SuiteRecord>, cases: Vec<CaseRecord>) -> BatchRecord {
    let price = |table: &str, input: &str, output: &str| PriceRecord {
        table: table.to_owned(),
        as_of: "2026-11-01".to_owned(),
        model: "model-s-2026".to_owned(),
        price: Price {
            input: input.parse().expect("money"),
            output: output.parse().expect("money"),
            cache_read: "0.3".parse().ok(),
            ..Price::default()
        },
    };
    BatchRecord {
        started_at: at(0),
        version: "0.1.0".to_owned(),
        platform: "linux/x86_64".to_owned(),
        options: json!({}),
        suites,
        cases,
        prices: vec![price("list", "3", "15"), price("contract", "2", "10")],
        sandbox: json!({ "backend": "portable_floor", "tier": "T0" }),
    }
}

fn bounded(text: &str) -> Bounded {
    Bounded {
        text: text.to_owned(),
        total: text.len() as u64,
        cut: 0,
    }
}

/// An answered call of so many prompt and completion tokens.
fn call(provider: &str, number: u32, prompt: u64, completion: u64) -> EventKind {
    let sonnet = provider == "sonnet";
    EventKind::ModelCalled(ProviderCall {
        attempt: number,
        provider: provider.to_owned(),
        requested_model: if sonnet { "model-s" } else { "model-l" }.to_owned(),
        served_model: sonnet.then(|| "model-s-2026".to_owned()),
        fingerprint: None,
        usage: Some(Usage {
            prompt_tokens: prompt,
            completion_tokens: completion,
            total_tokens: prompt + completion,
            cache_read_tokens: if sonnet { prompt / 2 } else { 0 },
            ..Usage::default()
        }),
        latency_ms: 1_000 + prompt / 10,
        ttft_ms: sonnet.then_some(250 + u64::from(number)),
        finish_reason: Some("tool_calls".to_owned()),
        failure: None,
        malformed_calls: 0,
        queued_ms: 0,
    })
}

fn failed_call(provider: &str) -> EventKind {
    EventKind::ModelCalled(ProviderCall {
        attempt: 1,
        provider: provider.to_owned(),
        requested_model: if provider == "sonnet" {
            "model-s"
        } else {
            "model-l"
        }
        .to_owned(),
        served_model: None,
        fingerprint: None,
        usage: None,
        latency_ms: 30_000,
        ttft_ms: None,
        finish_reason: None,
        failure: Some(ProviderError {
            status: Some(503),
            ..ProviderError::new(ProviderErrorKind::Overloaded, "come back later")
        }),
        malformed_calls: 0,
        queued_ms: 0,
    })
}

fn tool(decision: &str, ok: bool) -> EventKind {
    EventKind::ToolCalled {
        call_id: "1".to_owned(),
        name: "exec".to_owned(),
        target: "cargo test".to_owned(),
        ok,
        changed: false,
        decision: decision.to_owned(),
        duration_ms: 40,
    }
}

fn gate(position: u32, status: GateStatus, reason: &str, output: &str) -> EventKind {
    let (phase, name) = [
        ("build", "compiles"),
        ("test", "unit"),
        ("accept", "held-out"),
    ][position as usize];
    EventKind::GateFinished {
        position,
        result: GateResult {
            phase: phase.to_owned(),
            name: name.to_owned(),
            status,
            reason: reason.to_owned(),
            exit_code: None,
            duration_ms: if status == GateStatus::Skipped {
                0
            } else {
                600
            },
            output: bounded(output),
        },
    }
}

/// Three gates of which the first `passed` pass, the next one fails with `output`, and the rest is skipped.
fn gates(passed: u32, output: &str) -> Vec<EventKind> {
    (0..3)
        .map(|position| match position.cmp(&passed) {
            std::cmp::Ordering::Less => gate(position, GateStatus::Passed, "exit 0", "fine"),
            std::cmp::Ordering::Equal => gate(
                position,
                GateStatus::Failed,
                "exit 101 (expected 0)",
                output,
            ),
            std::cmp::Ordering::Greater => gate(
                position,
                GateStatus::Skipped,
                "an earlier phase did not pass",
                "",
            ),
        })
        .collect()
}

fn finished(outcome: CaseOutcome, reason: &str, wall: u64, overrun: Option<Overrun>) -> EventKind {
    EventKind::CaseFinished {
        outcome,
        reason: reason.to_owned(),
        overrun,
        times: CaseTimes {
            wall,
            setup: 100,
            provider: wall / 2,
            waiting: 0,
            tools: 40,
            gates: wall / 4,
        },
    }
}

fn refused() -> EventKind {
    EventKind::Refused {
        act: Act::Exec,
        target: HOSTILE.to_owned(),
        rule: Some("deny exec rm *".to_owned()),
        layer: Some("suite".to_owned()),
        by: "policy".to_owned(),
    }
}

fn overrun() -> Overrun {
    Overrun {
        kind: BudgetKind::Tokens,
        limit: "20k".to_owned(),
        used: "21k".to_owned(),
    }
}

/// Writes attempts one after the other.
pub(super) struct Author {
    pub(super) store: Store,
    clock: i64,
}

impl Author {
    pub(super) fn new(store: Store) -> Self {
        Self { store, clock: 10 }
    }

    async fn commit(
        &mut self,
        case: &CaseRef,
        run: Option<RunId>,
        step: u32,
        kinds: Vec<EventKind>,
    ) {
        let events = kinds.into_iter().map(|kind| {
            self.clock += 10;
            RunEvent {
                at: at(self.clock),
                case: Some(case.clone()),
                run_id: run,
                step,
                kind,
            }
        });
        let events = events.collect();
        let commit = Commit {
            events,
            ..Commit::default()
        };
        self.store.commit(commit).await.expect("a commit");
    }

    /// An attempt with one step of those events, and what came after the agent had stopped.
    pub(super) async fn attempt(
        &mut self,
        case: &CaseRecord,
        attempt: u32,
        step: Vec<EventKind>,
        end: Vec<EventKind>,
    ) {
        let of = CaseRef {
            id: case.id.clone(),
            attempt,
        };
        let begun = EventKind::CaseStarted {
            workspace: "/w".to_owned(),
        };
        let setup = EventKind::SetupFinished {
            name: "fetch".to_owned(),
            ok: true,
            reason: "exit 0".to_owned(),
            duration_ms: 80,
            output: bounded("fetched"),
        };
        self.commit(&of, None, 0, vec![begun, setup]).await;
        let run = self.store.next_run_id();
        let record = RunRecord {
            id: run,
            case: Some(of.clone()),
            contract: json!({}),
            policy: json!({}),
            provider: case.provider.clone(),
            model: case.model.clone(),
            started_at: at(self.clock),
        };
        self.store.start_run(record).await.expect("a run");
        self.messages(run).await;
        self.commit(&of, Some(run), 1, step).await;
        let done = EventKind::Finished {
            outcome: RunOutcome::Finished,
            steps: 1,
            tokens: 0,
            error: None,
        };
        self.commit(&of, Some(run), 1, vec![done]).await;
        self.commit(&of, None, 0, end).await;
    }

    async fn messages(&self, run_id: RunId) {
        let call = ToolCall {
            id: "1".to_owned(),
            name: "exec".to_owned(),
            arguments: Arguments::Json(json!({ "argv": ["cargo", "test"] })),
        };
        let answer = Block::ToolResult {
            call_id: "1".to_owned(),
            text: HOSTILE.to_owned(),
            ok: false,
        };
        let text = |text: &str| Block::Text {
            text: text.to_owned(),
        };
        let turns = [
            Message::user("`parse` panics on an empty input. Make it return an error."),
            Message::assistant(vec![
                text("I run the tests first.\n::error::owned"),
                Block::ToolCall(call),
            ]),
            Message {
                role: Role::User,
                blocks: vec![answer, text("Two steps are left.")],
            },
        ];
        let messages = turns
            .into_iter()
            .zip(0..)
            .map(|(message, position)| StoredMessage {
                run_id,
                position,
                message,
            });
        let commit = Commit {
            messages: messages.collect(),
            ..Commit::default()
        };
        self.store.commit(commit).await.expect("messages");
    }
}

/// Writes the whole batch to `path`.
pub(super) async fn write(path: &Path) {
    let store = Store::create(path, Redactor::default()).expect("a new trace");
    let mut cases: Vec<CaseRecord> = ["sonnet", "local"]
        .into_iter()
        .flat_map(|provider| {
            ["empty-input", "long-line"]
                .into_iter()
                .flat_map(move |task| [1, 2].map(|trial| case(task, provider, trial)))
        })
        .collect();
    cases[7].skip = Some("not on linux".to_owned());
    let mut suite = suite(
        "parser",
        json!({ "pass_rate": { "sonnet": 0.9, "local": 0.0 }, "p95_wall": "90s", "errors": 0 }),
    );
    suite.warnings = vec!["nothing enforces <a cost> for `local` @team".to_owned()];
    store
        .begin_batch(batch(vec![suite], cases.clone()))
        .await
        .expect("a batch");
    let mut author = Author::new(store);
    let patched = EventKind::Patched {
        files: 1,
        added: 2,
        removed: 1,
        patch: bounded("--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1 +1,2 @@\n-old\n+new\n+newer\n"),
    };
    let passed = |wall| finished(CaseOutcome::Passed, "", wall, None);

    let mut end = vec![patched.clone()];
    end.extend(gates(3, ""));
    end.push(passed(20_000));
    let step = vec![
        call("sonnet", 1, 4_000, 300),
        tool("exec cargo exit 0", true),
    ];
    author.attempt(&cases[0], 1, step, end).await;

    let mut end = vec![patched.clone()];
    end.extend(gates(1, HOSTILE));
    end.push(finished(
        CaseOutcome::Failed,
        "gate unit said no",
        41_000,
        None,
    ));
    let step = vec![
        failed_call("sonnet"),
        EventKind::Retry {
            kind: ProviderErrorKind::Overloaded,
            attempt: 1,
            delay_ms: 500,
        },
        call("sonnet", 2, 8_000, 900),
        refused(),
        tool("refused", false),
    ];
    author.attempt(&cases[1], 1, step, end).await;

    let mut end = vec![EventKind::Tampered {
        path: "tests/held|out.rs".to_owned(),
        how: TamperKind::Changed,
    }];
    end.extend(gates(3, ""));
    end.push(finished(CaseOutcome::Passed, "", 33_000, Some(overrun())));
    author
        .attempt(&cases[2], 1, vec![call("sonnet", 1, 20_000, 1_000)], end)
        .await;

    let end = vec![finished(
        CaseOutcome::Errored,
        "the provider is down",
        5_000,
        None,
    )];
    author
        .attempt(
            &cases[3],
            1,
            vec![call("sonnet", 1, 1_000, 10), failed_call("sonnet")],
            end,
        )
        .await;
    let mut end = gates(3, "");
    end.push(passed(28_000));
    author
        .attempt(&cases[3], 2, vec![call("sonnet", 1, 6_000, 400)], end)
        .await;

    local_attempts(&mut author, &cases[4..]).await;
    author
        .store
        .finish_batch(BatchStatus::Finished, at(130_000))
        .await
        .expect("an end");
    author.store.close().await.expect("a clean end");
}

/// A build that fails, a budget that runs out, a provider that is down.
async fn local_attempts(author: &mut Author, cases: &[CaseRecord]) {
    let mut end = gates(0, "error: expected `;`\n");
    end.push(finished(CaseOutcome::Failed, HOSTILE, 60_000, None));
    author
        .attempt(&cases[0], 1, vec![call("local", 1, 2_000, 200)], end)
        .await;

    let mut end = gates(0, &"a line of output\n".repeat(40));
    end.push(finished(
        CaseOutcome::Exhausted,
        "tokens ran out",
        70_000,
        Some(overrun()),
    ));
    author
        .attempt(
            &cases[1],
            1,
            vec![call("local", 1, 3_000, 100), refused()],
            end,
        )
        .await;

    let end = vec![finished(CaseOutcome::Errored, HOSTILE, 1_000, None)];
    author
        .attempt(&cases[2], 1, vec![failed_call("local")], end)
        .await;
}

/// The batch, opened as reports open it. The folder goes with the guard.
pub(super) fn open() -> (tempfile::TempDir, Connection) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    run(write(&path));
    let conn = open_read_only(&path).expect("a trace");
    (folder, conn)
}

/// Drives one future to its end.
pub(super) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime")
        .block_on(work)
}
