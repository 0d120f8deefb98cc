use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::{Input, Machine, Step};
use crate::base::Money;
use crate::domain::{
    Arguments, Block, Budget, BudgetKind, CompletionResponse, EventKind, FinishReason,
    ProviderCall, ProviderError, ProviderErrorKind, RunOutcome, TaskContract, ToolCall, ToolOutput,
    Usage, Verdict, Verification,
};

fn contract() -> TaskContract {
    TaskContract::workspace("mend it", "/w", Verification::None)
}

fn gated() -> TaskContract {
    let verify = Verification::WorkspaceFileContains {
        file: crate::base::RelPath::parse("a").expect("a path"),
        needle: "x".to_owned(),
    };
    TaskContract {
        verify,
        ..contract()
    }
}

fn call(tokens: u64) -> ProviderCall {
    ProviderCall {
        attempt: 1,
        provider: "p".to_owned(),
        requested_model: "m".to_owned(),
        served_model: None,
        fingerprint: None,
        usage: Some(Usage {
            total_tokens: tokens,
            ..Usage::default()
        }),
        latency_ms: 1,
        ttft_ms: None,
        finish_reason: None,
        failure: None,
        malformed_calls: 0,
        queued_ms: 0,
    }
}

fn answer(blocks: Vec<Block>, finish_reason: FinishReason) -> Input {
    let response = CompletionResponse {
        blocks,
        usage: None,
        model: None,
        fingerprint: None,
        finish_reason,
        ttft: None,
    };
    Input::Completion {
        response,
        call: call(10),
        cost: Some("0.25".parse().expect("an amount")),
    }
}

fn says(text: &str) -> Input {
    answer(
        vec![Block::Text {
            text: text.to_owned(),
        }],
        FinishReason::Stop,
    )
}

fn wants(tool: &str, argument: u32) -> Input {
    let arguments = Arguments::Json(json!({ "n": argument }));
    let call = ToolCall {
        id: format!("c{argument}"),
        name: tool.to_owned(),
        arguments,
    };
    answer(vec![Block::ToolCall(call)], FinishReason::ToolCalls)
}

fn output(changed: bool) -> ToolOutput {
    ToolOutput {
        call_id: "c".to_owned(),
        text: "ok".to_owned(),
        ok: true,
        changed,
        unseen: false,
    }
}

fn outputs(changed: bool) -> Input {
    Input::ToolOutputs(vec![output(changed)])
}

fn fails(kind: ProviderErrorKind, attempt: u32) -> Input {
    let failure = ProviderError {
        retry_after: Some(Duration::from_secs(86_400)),
        ..ProviderError::new(kind, "no")
    };
    Input::CallFailed {
        call: ProviderCall {
            attempt,
            failure: Some(failure),
            usage: None,
            ..call(0)
        },
        jitter: 1.0,
    }
}

/// Feeds all inputs to a machine that has begun, and says what is to be done after each.
fn play(
    contract: TaskContract,
    inputs: impl IntoIterator<Item = Input>,
) -> (Machine, Vec<EventKind>) {
    let mut machine = Machine::new(contract);
    let mut events = machine.feed(Input::Begin);
    for input in inputs {
        events.extend(machine.feed(input));
    }
    (machine, events)
}

fn verdict(passed: bool) -> Input {
    Input::Verdict(Verdict::of(passed, "because"))
}

#[test]
fn a_model_that_answers_without_a_call_is_finished() {
    let (machine, events) = play(contract(), [wants("t", 1), outputs(true), says("done")]);
    assert_eq!(machine.next(), Step::Done(RunOutcome::Finished));
    assert_eq!((machine.steps(), machine.tokens()), (2, 20));
    assert_eq!(machine.reply().as_deref(), Some("done"));
    let names: Vec<&str> = events.iter().map(EventKind::name).collect();
    assert_eq!(
        names,
        ["model_called", "step", "model_called", "step", "finished"]
    );
}

#[test]
fn a_call_and_its_result_stand_in_the_conversation_with_their_id() {
    let (machine, _) = play(contract(), [wants("t", 1)]);
    assert!(matches!(machine.next(), Step::RunTools(calls) if calls[0].id == "c1"));
    assert!(
        !machine.at_commit_point(),
        "a step is never stored half-done"
    );
    let (machine, _) = play(contract(), [wants("t", 1), outputs(false)]);
    assert!(
        matches!(&machine.messages()[2].blocks[0], Block::ToolResult { call_id, .. } if call_id == "c")
    );
    assert!(machine.at_commit_point());
}

#[test]
fn a_claim_is_verified_and_a_false_one_goes_on_with_what_is_missing() {
    let (mut machine, _) = play(gated(), [says("done")]);
    assert_eq!(machine.next(), Step::Verify);
    machine.feed(verdict(false));
    assert_eq!(machine.next(), Step::CallModel { attempt: 1 });
    let last = machine.messages().last().expect("a message");
    assert!(
        last.blocks[0]
            .as_text()
            .is_some_and(|text| text.contains("because"))
    );
    machine.feed(says("now"));
    machine.feed(verdict(true));
    assert_eq!(machine.next(), Step::Done(RunOutcome::Success));
}

#[test]
fn the_criterion_is_tried_before_a_budget_is_declared_exhausted_and_both_are_kept() {
    for (passed, outcome) in [
        (true, RunOutcome::Success),
        (false, RunOutcome::StepCapReached),
    ] {
        let (mut machine, events) = play(gated().with_max_steps(1), [wants("t", 1), outputs(true)]);
        assert!(events.iter().any(|event| matches!(
            event,
            EventKind::BudgetExceeded {
                kind: BudgetKind::Steps,
                ..
            }
        )));
        assert_eq!(machine.next(), Step::Verify);
        machine.feed(verdict(passed));
        assert_eq!(machine.next(), Step::Done(outcome));
        assert_eq!(
            machine.overrun().map(|overrun| overrun.kind),
            Some(BudgetKind::Steps)
        );
    }
}

#[test]
fn every_ceiling_ends_a_run_and_is_named() {
    let budget = Budget {
        steps: 9,
        ..Budget::default()
    };
    for (budget, inputs, outcome) in [
        (
            Budget { steps: 1, ..budget },
            vec![wants("t", 1), outputs(true)],
            RunOutcome::StepCapReached,
        ),
        (
            Budget {
                tokens: Some(9),
                ..budget
            },
            vec![wants("t", 1), outputs(true)],
            RunOutcome::TokenBudgetExceeded,
        ),
        (
            Budget {
                cost: Some("0.2".parse().expect("an amount")),
                ..budget
            },
            vec![wants("t", 1), outputs(true)],
            RunOutcome::CostBudgetExceeded,
        ),
        (
            Budget {
                wall: Some(Duration::from_secs(5)),
                ..budget
            },
            vec![
                wants("t", 1),
                Input::Tick(Duration::from_secs(5)),
                outputs(true),
            ],
            RunOutcome::TimeBudgetExceeded,
        ),
        (
            Budget {
                wall: Some(Duration::from_secs(5)),
                ..budget
            },
            vec![Input::Tick(Duration::from_secs(5))],
            RunOutcome::TimeBudgetExceeded,
        ),
    ] {
        let (machine, _) = play(contract().with_budget(budget), inputs);
        assert_eq!(machine.next(), Step::Done(outcome));
    }
}

#[test]
fn the_last_step_may_be_used_to_finish() {
    let (machine, _) = play(contract().with_max_steps(1), [says("done")]);
    assert_eq!(machine.next(), Step::Done(RunOutcome::Finished));
    assert_eq!(machine.overrun(), None);
}

#[test]
fn a_step_that_finishes_the_work_and_crosses_a_budget_is_a_success_with_the_overrun() {
    let budget = Budget {
        tokens: Some(5),
        ..Budget::default()
    };
    let (machine, _) = play(gated().with_budget(budget), [says("done"), verdict(true)]);
    assert_eq!(machine.next(), Step::Done(RunOutcome::Success));
    assert_eq!(
        machine.overrun().map(|overrun| overrun.kind),
        Some(BudgetKind::Tokens)
    );
}

#[test]
fn a_failed_call_is_tried_again_after_a_capped_wait_and_then_given_up() {
    let (mut machine, _) = play(contract(), [fails(ProviderErrorKind::Overloaded, 1)]);
    assert_eq!(
        machine.next(),
        Step::Wait(Duration::from_secs(30)),
        "a day is not waited"
    );
    machine.feed(Input::Waited);
    assert_eq!(machine.next(), Step::CallModel { attempt: 2 });
    machine.feed(fails(ProviderErrorKind::Transport, 2));
    machine.feed(Input::Waited);
    machine.feed(fails(ProviderErrorKind::Transport, 3));
    assert!(
        matches!(machine.next(), Step::Done(RunOutcome::Escalated { failure }) if failure.kind.is_retryable())
    );
    assert_eq!(machine.steps(), 0, "a retry is no step");
}

#[test]
fn what_will_not_succeed_later_is_not_tried_again() {
    for kind in [ProviderErrorKind::Auth, ProviderErrorKind::Request] {
        let (machine, _) = play(contract(), [fails(kind, 1)]);
        assert!(
            matches!(machine.next(), Step::Done(RunOutcome::Escalated { .. })),
            "{kind:?}"
        );
    }
}

#[test]
fn a_wait_that_the_budget_does_not_allow_is_not_begun() {
    let budget = Budget {
        wall: Some(Duration::from_secs(20)),
        ..Budget::default()
    };
    let (machine, _) = play(
        contract().with_budget(budget),
        [fails(ProviderErrorKind::RateLimited, 1)],
    );
    assert!(matches!(
        machine.next(),
        Step::Done(RunOutcome::Escalated { .. })
    ));
    assert!(
        machine
            .error()
            .is_some_and(|error| error.contains("no time is left"))
    );
}

#[test]
fn repetition_is_told_once_and_then_ends_the_run() {
    let same = || [wants("read", 1), outputs(false)];
    let (mut machine, events) = play(contract(), [same(), same(), same()].into_iter().flatten());
    assert_eq!(
        events
            .iter()
            .filter(|event| matches!(event, EventKind::Replan { .. }))
            .count(),
        1
    );
    for input in [same(), same(), same()].into_iter().flatten() {
        machine.feed(input);
    }
    assert_eq!(machine.next(), Step::Done(RunOutcome::Stalled));
}

#[test]
fn commands_that_may_have_changed_something_are_no_stall() {
    let unseen = || {
        Input::ToolOutputs(vec![ToolOutput {
            unseen: true,
            ..output(false)
        }])
    };
    let inputs = (0..10).flat_map(|n| [wants("exec", n), unseen(), wants("exec", 100), unseen()]);
    let (_, events) = play(contract().with_max_steps(50), inputs);
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, EventKind::Replan { .. }))
    );
}

#[test]
fn what_a_lost_step_cost_counts_against_the_budget() {
    let budget = Budget {
        tokens: Some(25),
        ..Budget::default()
    };
    let (mut machine, _) = play(
        contract().with_budget(budget),
        [wants("t", 1), outputs(true)],
    );
    machine.feed(Input::Restored);
    machine.feed(Input::Ledger {
        tokens: 20,
        cost: Money::ZERO,
    });
    assert_eq!(machine.next(), Step::CallModel { attempt: 1 });
    machine.feed(Input::Ledger {
        tokens: 30,
        cost: Money::ZERO,
    });
    assert_eq!(machine.next(), Step::Done(RunOutcome::TokenBudgetExceeded));
}

#[test]
fn progress_is_no_repetition() {
    let mut inputs = Vec::new();
    for n in 0..10 {
        inputs.extend([wants("write", n), outputs(true)]);
    }
    let (machine, events) = play(contract().with_max_steps(50), inputs);
    assert_eq!(machine.next(), Step::CallModel { attempt: 1 });
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, EventKind::Replan { .. }))
    );
}

#[test]
fn a_refusal_and_a_cut_off_answer_are_no_success() {
    let (machine, _) = play(contract(), [answer(vec![], FinishReason::Refusal)]);
    assert_eq!(machine.next(), Step::Done(RunOutcome::Refused));
    let (machine, _) = play(contract(), [answer(vec![], FinishReason::Length)]);
    assert_eq!(machine.next(), Step::CallModel { attempt: 1 });
}

#[test]
fn a_stored_message_never_changes() {
    let (mut machine, _) = play(gated(), [says("done")]);
    let (_, _) = machine.checkpoint();
    let before = machine.messages().to_vec();
    machine.feed(verdict(false));
    assert_eq!(&machine.messages()[..before.len()], before.as_slice());
}

#[test]
fn a_checkpoint_does_not_grow_with_the_run() {
    let sizes = [10, 200].map(|steps| {
        let mut machine = Machine::new(contract().with_max_steps(1_000));
        machine.feed(Input::Begin);
        let mut size = 0;
        for n in 0..steps {
            machine.feed(wants("write", 1_000 + n));
            machine.feed(outputs(true));
            size = machine.checkpoint().0.len();
        }
        size
    });
    assert!(sizes[1] < sizes[0] + 20, "{sizes:?}");
}

#[test]
fn a_checkpoint_with_too_few_messages_is_refused() {
    let (mut machine, _) = play(contract(), [wants("t", 1), outputs(true)]);
    let state = machine.checkpoint().0;
    assert!(Machine::restore(contract(), &state, Vec::new()).is_err());
    assert!(Machine::restore(contract(), "{}", Vec::new()).is_err());
}

#[test]
fn an_input_out_of_turn_changes_nothing() {
    let (machine, _) = play(contract(), [says("done")]);
    for input in [
        says("again"),
        outputs(true),
        verdict(true),
        Input::Cancel,
        Input::Waited,
    ] {
        let mut copy = machine.clone();
        assert_eq!(copy.feed(input), Vec::new());
        assert_eq!(copy, machine);
    }
}

fn any_input() -> impl Strategy<Value = Input> {
    prop_oneof![
        4 => (0_u32..3).prop_map(|n| wants("t", n)),
        4 => any::<bool>().prop_map(outputs),
        1 => Just(says("done")),
        2 => any::<bool>().prop_map(verdict),
        1 => (1_u32..4).prop_map(|attempt| fails(ProviderErrorKind::Server, attempt)),
        1 => Just(Input::Waited),
        1 => (0_u64..3).prop_map(|secs| Input::Tick(Duration::from_secs(secs))),
        1 => Just(answer(vec![], FinishReason::Length)),
    ]
}

proptest! {
    /// Serialise and restore at every commit point: the run goes the same way.
    #[test]
    fn restoring_changes_nothing(inputs in proptest::collection::vec(any_input(), 0..60), with_gate in any::<bool>()) {
        let budget = Budget { steps: 20, tokens: Some(150), wall: Some(Duration::from_secs(40)), cost: Some(Money::ZERO + "4".parse().expect("an amount")) };
        let contract = if with_gate { gated() } else { contract() }.with_budget(budget);
        let mut straight = Machine::new(contract.clone());
        straight.feed(Input::Begin);
        let mut restored = straight.clone();
        let mut stored = Vec::new();
        for input in inputs {
            let expected = straight.feed(input.clone());
            let events = restored.feed(input);
            prop_assert_eq!(events, expected);
            if straight.at_commit_point() {
                straight.checkpoint();
            }
            if restored.at_commit_point() {
                let (state, new) = restored.checkpoint();
                stored.extend_from_slice(new);
                restored = Machine::restore(contract.clone(), &state, stored.clone()).expect("its own checkpoint");
            }
            prop_assert_eq!(restored.next(), straight.next());
            prop_assert!(restored.steps() <= 20);
        }
        prop_assert_eq!(restored.messages(), straight.messages());
    }
}
