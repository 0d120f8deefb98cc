//! What the harness costs beside the model.

#[expect(dead_code, reason = "other benches use the rest")]
mod support;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use support::{Scene, plan, runtime};
use taskgate::base::Redactor;
use taskgate::domain::{Act, EventKind, Message, RunEvent};
use taskgate::policy::{Policy, Target};
use taskgate::provider::wire::sse::Parser;
use taskgate::store::{
    CHECKPOINT_FORMAT, Commit, RunRecord, Store, StoredCheckpoint, StoredMessage, open_read_only,
};

fn policy(c: &mut Criterion) {
    let policy = Policy::ci_default()
        .layer("task")
        .allow_write("src/**")
        .layer("protect")
        .deny_write("tests/**");
    let argv = ["cargo", "test", "--locked"].map(str::to_owned);
    c.bench_function("policy: decide about a path", |b| {
        b.iter(|| policy.decide(Act::Write, black_box(&Target::Path("src/a/lib.rs"))));
    });
    c.bench_function("policy: decide about a command", |b| {
        b.iter(|| policy.decide(Act::Exec, black_box(&Target::Argv(&argv))));
    });
}

fn sse(c: &mut Criterion) {
    let event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a few words\"}}]}\n\n";
    let stream = event.repeat(1_000);
    c.bench_function("sse: 1,000 events in pieces of 1 KiB", |b| {
        b.iter(|| {
            let mut parser = Parser::default();
            let mut events = 0;
            for piece in stream.as_bytes().chunks(1_024) {
                parser.push(piece).expect("a stream");
                while parser.pop().is_some() {
                    events += 1;
                }
            }
            assert_eq!(events, 1_000);
        });
    });
}

fn planning(c: &mut Criterion) {
    let scene = Scene::new(1);
    let suites = scene.suites();
    c.bench_function("plan: 1,000 cases", |b| {
        b.iter(|| plan(black_box(&suites), 100))
    });
}

fn commit(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = runtime();
    let store =
        Store::create(&folder.path().join("trace.db"), Redactor::default()).expect("a new trace");
    let run_id = store.next_run_id();
    let clock = support::clock();
    let record = RunRecord {
        id: run_id,
        case: None,
        contract: serde_json::json!({}),
        policy: serde_json::json!({}),
        provider: "local".to_owned(),
        model: "tiny-1".to_owned(),
        started_at: clock.now(),
    };
    runtime.block_on(store.start_run(record)).expect("a run");
    let mut step = 0;
    c.bench_function("trace: commit a step", |b| {
        b.iter(|| {
            step += 1;
            let event = |kind| RunEvent {
                at: clock.now(),
                case: None,
                run_id: Some(run_id),
                step,
                kind,
            };
            let tool = EventKind::ToolCalled {
                call_id: format!("call-{step}"),
                name: "read_file".to_owned(),
                target: "src/lib.rs".to_owned(),
                ok: true,
                changed: false,
                decision: "read allowed".to_owned(),
                duration_ms: 1,
            };
            let message = |offset, text: &str| StoredMessage {
                run_id,
                position: 2 * step + offset,
                message: Message::user(format!("{step}: {}", text.repeat(20))),
            };
            let commit = Commit {
                events: vec![
                    event(tool),
                    event(EventKind::Step {
                        calls: 1,
                        tokens: 100,
                        changed: false,
                    }),
                ],
                messages: vec![
                    message(0, "words of a call "),
                    message(1, "words of its result "),
                ],
                checkpoint: Some(StoredCheckpoint {
                    run_id,
                    format: CHECKPOINT_FORMAT,
                    step,
                    state: "{}".to_owned(),
                }),
            };
            runtime.block_on(store.commit(commit)).expect("a commit");
        });
    });
    runtime.block_on(store.close()).expect("a trace");
}

fn case(c: &mut Criterion) {
    let scene = Scene::new(1);
    let runtime = runtime();
    c.bench_function("batch: 10 cases of five steps, one at a time", |b| {
        b.iter(|| runtime.block_on(scene.run(1, 1, "trace.db")));
    });
}

fn report(c: &mut Criterion) {
    let scene = Scene::new(5);
    let trace = runtime().block_on(scene.run(20, 2, "trace.db"));
    c.bench_function("report: load 1,000 cases", |b| {
        b.iter(|| {
            let connection = open_read_only(&trace).expect("a trace");
            taskgate::report::load(&connection).expect("a report")
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    targets = policy, sse, planning, commit, case, report
}
criterion_main!(benches);
