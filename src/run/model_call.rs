//! One call of the model, measured and put on the ledger.

use super::driver::Pace;
use super::harness::Parts;
use super::machine::{Input, Machine};
use super::prompt;
use crate::base::{Money, millis};
use crate::domain::{
    Arguments, Block, CompletionRequest, CompletionResponse, IgnoreDeltas, PriceTable,
    ProviderCall, ProviderError, ProviderErrorKind, ToolChoice,
};
use crate::tools::builtin_specs;

/// Calls the model once. `None` where everything is to stop: the call is dropped and not recorded.
pub(super) async fn call_model(
    parts: &Parts,
    machine: &Machine,
    attempt: u32,
    pace: &Pace<'_>,
) -> Option<Input> {
    let tools = builtin_specs();
    let request = CompletionRequest {
        system: prompt::SYSTEM,
        messages: machine.messages(),
        tools: &tools,
        tool_choice: ToolChoice::Auto,
        step: machine.current_step(),
        attempt,
    };
    let asked = parts.clock.monotonic();
    let permit = match &parts.throttle {
        Some(throttle) => Some(pace.within(machine.wall_left(), throttle.admit()).await?),
        None => None,
    };
    let sent = parts.clock.monotonic();
    let result = match permit {
        // The run's time is up before its turn came.
        Some(None) => Err(out_of_time()),
        _ => {
            let left = machine
                .wall_left()
                .map(|left| left.saturating_sub(sent.saturating_sub(asked)));
            let answer = pace
                .within(left, parts.provider.complete(request, &IgnoreDeltas))
                .await?;
            answer.unwrap_or_else(|| Err(out_of_time()))
        }
    };
    let done = parts.clock.monotonic();
    let mut call = ProviderCall {
        attempt,
        provider: parts.provider.name().to_owned(),
        requested_model: parts.provider.model().to_owned(),
        served_model: None,
        fingerprint: None,
        usage: None,
        latency_ms: millis(done.saturating_sub(sent)),
        ttft_ms: None,
        finish_reason: None,
        failure: None,
        malformed_calls: 0,
        queued_ms: millis(sent.saturating_sub(asked)),
    };
    if let Some(throttle) = &parts.throttle {
        match &result {
            Ok(response) => throttle.charge(&response.usage.unwrap_or_default()),
            Err(error) => {
                // What one case is told to wait, all cases of the provider wait.
                if let Some(asked) = error.retry_after {
                    throttle.penalise(asked.min(machine.contract().retry.max));
                }
            }
        }
    }
    Some(match result {
        Ok(response) => {
            describe(&mut call, &response);
            let cost = cost(parts.prices.as_deref(), &call);
            Input::Completion {
                response,
                call,
                cost,
            }
        }
        Err(mut error) => {
            parts.redactor.clean_in_place(&mut error.message);
            call.failure = Some(error);
            Input::CallFailed {
                call,
                jitter: fastrand::f64(),
            }
        }
    })
}

fn out_of_time() -> ProviderError {
    ProviderError::new(
        ProviderErrorKind::Cancelled,
        "the run's wall budget ended the call",
    )
}

fn describe(call: &mut ProviderCall, response: &CompletionResponse) {
    call.served_model.clone_from(&response.model);
    call.fingerprint.clone_from(&response.fingerprint);
    call.usage = response.usage;
    call.ttft_ms = response.ttft.map(millis);
    call.finish_reason = Some(response.finish_reason.to_string());
    let malformed = response.blocks.iter().filter(|block| match block {
        Block::ToolCall(call) => matches!(call.arguments, Arguments::Invalid { .. }),
        Block::Text { .. } | Block::ToolResult { .. } | Block::Opaque { .. } => false,
    });
    call.malformed_calls = u32::try_from(malformed.count()).unwrap_or(u32::MAX);
}

/// By the model that was served, where the vendor says it, else by the one asked for: as the reports do.
fn cost(prices: Option<&PriceTable>, call: &ProviderCall) -> Option<Money> {
    let model = call.served_model.as_ref().unwrap_or(&call.requested_model);
    prices?.cost(model, &call.usage?)
}
