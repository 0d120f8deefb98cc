//! Budgets and the criterion: what was used is kept beside what was reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pretty_assertions::assert_eq;
use taskgate::domain::{Budget, BudgetKind, EventKind, PriceTable, RunOutcome, Verification};
use taskgate::run::Flow;

use super::trace::{count, trace};
use super::{Bench, Watch, holds, seconds};

const WORK: &str = r#"
- calls: [{tool: list_dir}]
  usage: {prompt_tokens: 100, completion_tokens: 10}
- calls: [{tool: write_file, arguments: {path: a.txt, content: "done\n"}}]
  usage: {prompt_tokens: 200, completion_tokens: 20}
- text: It is done.
  usage: {prompt_tokens: 300, completion_tokens: 30}
"#;

/// A dollar a token, whatever it is for.
fn prices() -> PriceTable {
    let text = r#"{"as_of": "2026-11-01", "name": "test",
        "models": {"scripted": {"input": "1000000", "output": "1000000"}}}"#;
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

fn budget(change: impl FnOnce(&mut Budget)) -> Budget {
    let mut budget = Budget::default();
    change(&mut budget);
    budget
}

#[tokio::test]
async fn the_criterion_is_tried_before_a_budget_ends_the_run_and_both_facts_are_kept() {
    for (kind, budget, limit, used) in [
        (
            BudgetKind::Tokens,
            budget(|budget| budget.tokens = Some(300)),
            "300",
            "330",
        ),
        (
            BudgetKind::Cost,
            budget(|budget| budget.cost = Some("300".parse().expect("money"))),
            "$300.00",
            "$330.00",
        ),
        (
            BudgetKind::Steps,
            budget(|budget| budget.steps = 2),
            "2",
            "2",
        ),
    ] {
        for (needle, outcome) in [
            ("done", RunOutcome::Success),
            ("never", RunOutcome::exhausted(kind)),
        ] {
            let mut bench = Bench::new(&[]);
            bench.prices = Some(prices());
            let contract = bench.contract(holds("a.txt", needle)).with_budget(budget);
            let (result, store) = bench.run(WORK, contract).await;
            assert_eq!((&result.outcome, result.steps), (&outcome, 2), "{kind:?}");
            let overrun = result.overrun.expect("the budget was crossed");
            assert_eq!(
                (overrun.kind, &*overrun.limit, &*overrun.used),
                (kind, limit, used)
            );
            assert_eq!(count(&store, result.run_id, "budget_exceeded"), 1);
            assert_eq!(count(&store, result.run_id, "verified"), 1);
        }
    }
}

#[tokio::test]
async fn the_step_that_claims_success_and_crosses_the_budget_is_a_success() {
    let bench = Bench::new(&[]);
    let contract = bench
        .contract(holds("a.txt", "done"))
        .with_budget(budget(|budget| budget.tokens = Some(500)));
    let (result, store) = bench.run(WORK, contract).await;
    assert_eq!((result.outcome, result.steps), (RunOutcome::Success, 3));
    assert_eq!(
        result.overrun.map(|overrun| overrun.used).as_deref(),
        Some("660")
    );
    insta::assert_snapshot!(trace(&store, result.run_id), @r#"
    started: mend it
    1.1 model: tool_calls, 110 tokens
    1   list_dir [.]: ok: listed . (0 entries)
    1 step: 1 calls, 110 tokens
    2.1 model: tool_calls, 220 tokens
    2   write_file [a.txt]: ok, changed: wrote a.txt
    2 step: 1 calls, 220 tokens, changed
    3.1 model: stop, 330 tokens
    3 step: 0 calls, 330 tokens
    3 budget: 660 of 500 tokens
    3 verified: a.txt contains "done"
    finished: success, 3 steps, 660 tokens
    "#);
}

#[tokio::test]
async fn time_counts_while_the_run_is_driven() {
    let slow = r#"
- calls: [{tool: list_dir}]
  delay: 40s
- calls: [{tool: write_file, arguments: {path: a.txt, content: "done\n"}}]
  delay: 40s
- text: It is done.
"#;
    let wall = |limit| budget(|budget| budget.wall = Some(seconds(limit)));
    for (limit, outcome, steps, overrun) in [
        (60, RunOutcome::Success, 2, Some("1m 20s")),
        (200, RunOutcome::Success, 3, None),
        (30, RunOutcome::TimeBudgetExceeded, 1, Some("40.0 s")),
    ] {
        let bench = Bench::new(&[]);
        let contract = bench
            .contract(holds("a.txt", "done"))
            .with_budget(wall(limit));
        let (result, _) = bench.run(slow, contract).await;
        assert_eq!(
            (&result.outcome, result.steps),
            (&outcome, steps),
            "{limit}"
        );
        let used = result.overrun.map(|overrun| overrun.used);
        assert_eq!(used.as_deref(), overrun, "{limit}");
    }
}

#[tokio::test]
async fn a_call_that_outlasts_the_run_is_ended_and_recorded() {
    let bench = Bench::new(&[]);
    let contract = bench
        .contract(Verification::None)
        .with_budget(budget(|budget| {
            budget.wall = Some(Duration::from_millis(20))
        }));
    let never = Arc::new(Never(Arc::clone(&bench.clock)));
    let (result, store) = bench
        .run_with(never, contract, Arc::new(taskgate::run::Ignore))
        .await;
    assert_eq!(result.outcome, RunOutcome::TimeBudgetExceeded);
    assert_eq!(count(&store, result.run_id, "model_called"), 1);
}

/// Never answers, while the clock goes on.
struct Never(Arc<taskgate::base::ManualClock>);

impl taskgate::provider::Provider for Never {
    fn name(&self) -> &str {
        "never"
    }

    fn model(&self) -> &str {
        "m"
    }

    fn endpoints(&self) -> Vec<String> {
        Vec::new()
    }

    fn complete<'a>(
        &'a self,
        _request: taskgate::domain::CompletionRequest<'a>,
        _sink: &'a dyn taskgate::domain::DeltaSink,
    ) -> taskgate::base::BoxFuture<'a, super::Answer> {
        self.0.advance(seconds(1));
        Box::pin(std::future::pending())
    }
}

/// The criterion that a command ends well, which it does.
fn command() -> Verification {
    Verification::Command {
        argv: ["taskgate-fakes", "exit", "0"].map(str::to_owned).to_vec(),
        expect_exit: 0,
        timeout: seconds(50),
        network: false,
    }
}

#[tokio::test]
async fn the_criterion_is_tried_when_the_model_claims_and_not_after_each_step() {
    let mut turns: String = (0..10)
        .map(|n| format!("- calls: [{{tool: grep, arguments: {{pattern: p{n}}}}}]\n"))
        .collect();
    turns.push_str("- text: Nothing to do.\n");
    let bench = Bench::new(&[]);
    let tried = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tried);
    let observer = Watch(move |event: &EventKind| {
        if matches!(event, EventKind::Verified(_)) {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        Flow::Continue
    });
    let contract = bench.contract(command());
    let (result, _) = bench
        .run_with(bench.model(&turns), contract, Arc::new(observer))
        .await;
    assert_eq!((result.outcome, result.steps), (RunOutcome::Success, 11));
    assert_eq!(tried.load(Ordering::Relaxed), 1);
}
