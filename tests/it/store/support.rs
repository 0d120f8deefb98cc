//! A small batch in all its parts.

use taskgate::base::{Bounded, Timestamp, sha256};
use taskgate::domain::{
    Act, BatchRecord, BudgetKind, CaseId, CaseOutcome, CaseRecord, CaseRef, CaseTimes, EventKind,
    GateResult, GateStatus, Overrun, Price, PriceRecord, ProviderCall, ProviderError,
    ProviderErrorKind, RunEvent, RunId, RunOutcome, SuiteRecord, TamperKind, Usage,
};
use taskgate::store::{Commit, RunRecord};

/// The moment `ms` milliseconds after the batch began.
pub(super) fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_700_000_000_000 + ms).expect("a time")
}

pub(super) fn case_id(task: &str, trial: u32) -> CaseId {
    CaseId::new("parser", task, "local", &[].into(), trial)
}

pub(super) fn case_ref(task: &str, attempt: u32) -> CaseRef {
    CaseRef {
        id: case_id(task, 1),
        attempt,
    }
}

pub(super) fn case(task: &str, trial: u32) -> CaseRecord {
    let spec = serde_json::json!({ "goal": format!("mend {task}: {}", "at length ".repeat(40)) });
    CaseRecord {
        id: case_id(task, trial),
        suite: "parser".to_owned(),
        task: task.to_owned(),
        provider: "local".to_owned(),
        model: "tiny-1".to_owned(),
        vars: [("style".to_owned(), "terse".to_owned())].into(),
        trial,
        tags: vec!["quick".to_owned()],
        line: 12,
        gates: [
            ("build", "compiles"),
            ("test", "unit"),
            ("test", "doc"),
            ("accept", "style"),
        ]
        .map(|(phase, gate)| (phase.to_owned(), gate.to_owned()))
        .to_vec(),
        digest: sha256(spec.to_string()),
        spec,
        skip: None,
    }
}

pub(super) fn batch(cases: Vec<CaseRecord>) -> BatchRecord {
    let price = |table: &str, model: &str, cache_read: Option<&str>| PriceRecord {
        table: table.to_owned(),
        as_of: "2026-11-01".to_owned(),
        model: model.to_owned(),
        price: Price {
            input: "0.15".parse().expect("money"),
            output: "0.6".parse().expect("money"),
            cache_read: cache_read.map(|text| text.parse().expect("money")),
            ..Price::default()
        },
    };
    BatchRecord {
        started_at: at(0),
        version: "0.1.0".to_owned(),
        platform: "linux/x86_64".to_owned(),
        options: serde_json::json!({ "jobs": 2 }),
        suites: vec![SuiteRecord {
            name: "parser".to_owned(),
            description: "the parser's bugs".to_owned(),
            file: "tasks/parser.yaml".to_owned(),
            thresholds: serde_json::json!({ "pass_rate": 0.5 }),
            warnings: vec!["nothing enforces a cost".to_owned()],
        }],
        cases,
        prices: vec![
            price("list", "tiny-1", Some("0.015")),
            price("list", "tiny-2", None),
            price("contract", "tiny-1", None),
        ],
        sandbox: serde_json::json!({ "tier": "T0" }),
    }
}

pub(super) fn run(id: RunId, case: Option<CaseRef>) -> RunRecord {
    RunRecord {
        id,
        case,
        contract: serde_json::json!({ "goal": "mend it" }),
        policy: serde_json::json!({ "layers": [] }),
        provider: "local".to_owned(),
        model: "tiny-1".to_owned(),
        started_at: at(50),
    }
}

pub(super) fn call(attempt: u32) -> ProviderCall {
    ProviderCall {
        attempt,
        provider: "local".to_owned(),
        requested_model: "tiny-1".to_owned(),
        served_model: Some("tiny-1-2026".to_owned()),
        fingerprint: None,
        usage: Some(Usage {
            prompt_tokens: 100,
            completion_tokens: 20,
            total_tokens: 120,
            ..Usage::default()
        }),
        latency_ms: 900,
        ttft_ms: Some(100),
        finish_reason: Some("tool_calls".to_owned()),
        failure: None,
        malformed_calls: 0,
        queued_ms: 5,
    }
}

pub(super) fn failed_call(attempt: u32) -> ProviderCall {
    ProviderCall {
        served_model: None,
        usage: None,
        ttft_ms: None,
        finish_reason: None,
        malformed_calls: 2,
        failure: Some(ProviderError {
            status: Some(503),
            ..ProviderError::new(ProviderErrorKind::Overloaded, "come back later")
        }),
        ..call(attempt)
    }
}

pub(super) fn tool(name: &str, target: &str) -> EventKind {
    EventKind::ToolCalled {
        call_id: format!("call-{target}"),
        name: name.to_owned(),
        target: target.to_owned(),
        ok: true,
        changed: name == "write_file",
        decision: format!("{name} {target}"),
        duration_ms: 7,
    }
}

pub(super) fn gate(
    position: u32,
    phase: &str,
    name: &str,
    status: GateStatus,
    output: &str,
) -> EventKind {
    EventKind::GateFinished {
        position,
        result: GateResult {
            phase: phase.to_owned(),
            name: name.to_owned(),
            status,
            reason: format!("{name} {}", status.as_str()),
            exit_code: (status != GateStatus::Skipped)
                .then_some(i32::from(status != GateStatus::Passed)),
            duration_ms: 30,
            output: Bounded {
                text: output.to_owned(),
                total: output.len() as u64 + 10,
                cut: 10,
            },
        },
    }
}

pub(super) fn finished(outcome: CaseOutcome) -> EventKind {
    EventKind::CaseFinished {
        outcome,
        reason: format!("because {}", outcome.as_str()),
        overrun: Some(Overrun {
            kind: BudgetKind::Tokens,
            limit: "200k".to_owned(),
            used: "201k".to_owned(),
        }),
        times: CaseTimes {
            wall: 5_000,
            setup: 100,
            provider: 3_000,
            waiting: 200,
            tools: 400,
            gates: 600,
        },
    }
}

/// Events of one case and run, each a millisecond after the one before.
pub(super) fn commit(
    case: Option<&CaseRef>,
    run: Option<RunId>,
    step: u32,
    kinds: impl IntoIterator<Item = EventKind>,
) -> Commit {
    let events = kinds.into_iter().zip(0..).map(|(kind, index)| RunEvent {
        at: at(i64::from(step) * 1_000 + index),
        case: case.cloned(),
        run_id: run,
        step,
        kind,
    });
    Commit {
        events: events.collect(),
        ..Commit::default()
    }
}

/// What an attempt says before its run.
pub(super) fn beginning(workspace: &str) -> [EventKind; 3] {
    [
        EventKind::CaseStarted {
            workspace: workspace.to_owned(),
        },
        EventKind::Materialised {
            digest: sha256("files"),
            files: 3,
        },
        EventKind::SetupFinished {
            name: "fetch".to_owned(),
            ok: true,
            reason: "exit 0".to_owned(),
            duration_ms: 80,
            output: Bounded {
                text: "fetched".to_owned(),
                total: 7,
                cut: 0,
            },
        },
    ]
}

/// A step with everything that a step can have.
pub(super) fn step() -> Vec<EventKind> {
    vec![
        EventKind::ModelCalled(failed_call(1)),
        EventKind::Retry {
            kind: ProviderErrorKind::Overloaded,
            attempt: 1,
            delay_ms: 500,
        },
        EventKind::ModelCalled(call(2)),
        EventKind::ToolCalling {
            name: "read_file".to_owned(),
            target: "a".to_owned(),
        },
        tool("read_file", "a"),
        tool("write_file", "b"),
        EventKind::Refused {
            act: Act::Exec,
            target: "rm -rf /".to_owned(),
            rule: Some("deny exec rm *".to_owned()),
            layer: Some("suite".to_owned()),
            by: "policy".to_owned(),
        },
        EventKind::Step {
            calls: 2,
            tokens: 120,
            changed: true,
        },
    ]
}

/// What an attempt says after its run.
pub(super) fn end(outcome: CaseOutcome) -> Vec<EventKind> {
    vec![
        EventKind::Finished {
            outcome: RunOutcome::Success,
            steps: 1,
            tokens: 120,
            error: None,
        },
        EventKind::Tampered {
            path: "tests/unit.rs".to_owned(),
            how: TamperKind::Changed,
        },
        EventKind::Patched {
            files: 2,
            added: 10,
            removed: 3,
            patch: Bounded {
                text: "+a line\n".repeat(100),
                total: 800,
                cut: 0,
            },
        },
        gate(0, "build", "compiles", GateStatus::Passed, "fine"),
        gate(
            1,
            "test",
            "unit",
            GateStatus::Failed,
            &"assertion failed\n".repeat(50),
        ),
        gate(3, "accept", "style", GateStatus::Skipped, ""),
        finished(outcome),
    ]
}
