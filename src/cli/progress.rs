//! What a person sees while a batch runs: a display on a terminal, one line per finished case elsewhere.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::{Tone, counted, paint};
use crate::base::{Money, format_duration, one_line, printable};
use crate::domain::{CaseId, CaseOutcome, CaseTimes, EventKind, Overrun, PriceTable, RunEvent};
use crate::run::{Flow, Observer};

/// How often the display shows that time passes.
const TICK: Duration = Duration::from_millis(500);

/// Running cases that are shown at once; the rest is counted.
const MOST_LINES: usize = 12;

/// Watches a batch and shows how it goes.
pub(super) struct Progress {
    total: usize,
    trace: String,
    color: bool,
    ceiling: Option<Money>,
    prices: Option<PriceTable>,
    display: Option<Display>,
    state: Mutex<State>,
}

struct Display {
    bars: MultiProgress,
    summary: ProgressBar,
}

#[derive(Default)]
struct State {
    running: BTreeMap<CaseId, Running>,
    outcomes: BTreeMap<&'static str, usize>,
    spent: Money,
}

/// What a case cost as far as prices are known.
#[derive(Debug, Clone, Copy, Default)]
struct Bill {
    spent: Money,
    /// Whether a call had no price, so that `spent` is a floor.
    unpriced: bool,
}

struct Running {
    step: u32,
    doing: String,
    bill: Bill,
    bar: Option<ProgressBar>,
}

/// What the display is about.
pub(super) struct About {
    pub(super) total: usize,
    pub(super) trace: String,
    pub(super) color: bool,
    pub(super) interactive: bool,
    pub(super) ceiling: Option<Money>,
    pub(super) prices: Option<PriceTable>,
}

impl Progress {
    pub(super) fn new(about: About) -> Self {
        let display = about.interactive.then(|| {
            let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            let summary = bars.add(ProgressBar::new_spinner());
            summary.set_style(line_style());
            summary.enable_steady_tick(TICK);
            Display { bars, summary }
        });
        Self {
            total: about.total,
            trace: about.trace,
            color: about.color,
            ceiling: about.ceiling,
            prices: about.prices,
            display,
            state: Mutex::default(),
        }
    }

    /// Takes the display away, so that what follows stands on clean lines.
    pub(super) fn finish(&self) {
        if let Some(display) = &self.display {
            drop(display.bars.clear());
        }
    }

    /// Says something without tearing the display.
    pub(super) fn say(&self, line: &str) {
        match &self.display {
            Some(display) => drop(display.bars.println(line)),
            None => {
                use std::io::Write as _;
                drop(writeln!(std::io::stderr().lock(), "{line}"));
            }
        }
    }

    fn finished(&self, state: &mut State, id: &CaseId, end: &End<'_>) {
        *state.outcomes.entry(end.outcome.as_str()).or_default() += 1;
        let running = state.running.remove(id);
        if let (Some(display), Some(bar)) = (
            &self.display,
            running.as_ref().and_then(|running| running.bar.as_ref()),
        ) {
            display.bars.remove(bar);
        }
        let (steps, bill) =
            running.map_or((0, Bill::default()), |running| (running.step, running.bill));
        self.say(&self.line(id, end, steps, bill));
        if !matches!(end.outcome, CaseOutcome::Passed | CaseOutcome::Skipped) {
            let hint = format!("      taskgate show {} '{id}'", self.trace);
            self.say(&paint(self.color, Tone::Dim, &hint));
        }
    }

    fn line(&self, id: &CaseId, end: &End<'_>, steps: u32, bill: Bill) -> String {
        let (word, tone) = match end.outcome {
            CaseOutcome::Passed => ("PASS", Tone::Good),
            CaseOutcome::Failed => ("FAIL", Tone::Bad),
            CaseOutcome::Exhausted => ("OUT ", Tone::Bad),
            CaseOutcome::Refused => ("REF ", Tone::Bad),
            CaseOutcome::Errored => ("ERR ", Tone::Odd),
            CaseOutcome::Interrupted => ("STOP", Tone::Odd),
            CaseOutcome::Skipped => ("SKIP", Tone::Dim),
        };
        let why = match end.overrun {
            _ if !end.reason.is_empty() => one_line(&printable(end.reason), 160),
            Some(overrun) => format!(
                "although the {} budget of {} ran out",
                overrun.kind.as_str(),
                overrun.limit
            ),
            None => String::new(),
        };
        let money = match (&self.prices, bill.unpriced) {
            (None, _) => String::new(),
            (Some(_), true) if bill.spent == Money::ZERO => "not priced".to_owned(),
            (Some(_), true) => format!(">= {}", bill.spent),
            (Some(_), false) => bill.spent.to_string(),
        };
        let wall = format_duration(Duration::from_millis(end.times.wall));
        let facts = [counted(steps as usize, "step"), money, wall];
        let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
        let parts = [
            format!("{}  {id}", paint(self.color, tone, word)),
            why,
            facts.join("  "),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("   ")
    }

    fn refresh(&self, state: &mut State, id: &CaseId) {
        let Some(display) = &self.display else { return };
        let shown = state
            .running
            .values()
            .filter(|running| running.bar.is_some())
            .count();
        if let Some(running) = state.running.get_mut(id) {
            if running.bar.is_none() && shown < MOST_LINES {
                let bar = display.bars.add(ProgressBar::new_spinner());
                bar.set_style(line_style());
                bar.enable_steady_tick(TICK);
                running.bar = Some(bar);
            }
            if let Some(bar) = &running.bar {
                let doing = one_line(&printable(&running.doing), 48);
                bar.set_message(format!(
                    "  {id}   step {}  {doing}   {}",
                    running.step, running.bill.spent
                ));
            }
        }
        let done: usize = state.outcomes.values().sum();
        let mut words = vec![format!("{done}/{} cases", self.total)];
        words.extend(
            state
                .outcomes
                .iter()
                .map(|(outcome, count)| format!("{count} {outcome}")),
        );
        words.push(format!("{} running", state.running.len()));
        words.push(match self.ceiling {
            Some(ceiling) => format!("{} of {ceiling}", state.spent),
            None => state.spent.to_string(),
        });
        display.summary.set_message(words.join("  "));
    }
}

struct End<'a> {
    outcome: CaseOutcome,
    reason: &'a str,
    overrun: Option<&'a Overrun>,
    times: CaseTimes,
}

impl Observer for Progress {
    fn event(&self, event: &RunEvent) -> Flow {
        let Some(case) = &event.case else {
            return Flow::Continue;
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let EventKind::CaseFinished {
            outcome,
            reason,
            overrun,
            times,
        } = &event.kind
        {
            let end = End {
                outcome: *outcome,
                reason,
                overrun: overrun.as_ref(),
                times: *times,
            };
            self.finished(&mut state, &case.id, &end);
            self.refresh(&mut state, &case.id);
            return Flow::Continue;
        }
        let running = state
            .running
            .entry(case.id.clone())
            .or_insert_with(|| Running {
                step: 0,
                doing: String::new(),
                bill: Bill::default(),
                bar: None,
            });
        running.step = running.step.max(event.step);
        let mut cost = Money::ZERO;
        match &event.kind {
            EventKind::CaseStarted { .. } => running.doing = "setting up".to_owned(),
            EventKind::ModelCalling { .. } => running.doing = "asking the model".to_owned(),
            EventKind::ModelCalled(call) => {
                let model = call.served_model.as_ref().unwrap_or(&call.requested_model);
                let priced = self
                    .prices
                    .as_ref()
                    .zip(call.usage)
                    .and_then(|(table, usage)| table.cost(model, &usage));
                running.bill.unpriced |= priced.is_none() && call.failure.is_none();
                cost = priced.unwrap_or_default();
            }
            EventKind::Retry { kind, .. } => {
                running.doing = format!("waiting after {}", kind.as_str())
            }
            EventKind::ToolCalling { name, target } => running.doing = format!("{name} {target}"),
            EventKind::GateStarted { phase, name } => {
                running.doing = format!("gate {phase}/{name}")
            }
            // The last step was not taken: the run ended on the one before.
            EventKind::Finished { steps, .. } => running.step = *steps,
            _ => {}
        }
        running.bill.spent += cost;
        state.spent += cost;
        self.refresh(&mut state, &case.id);
        Flow::Continue
    }
}

/// A line with the time since it appeared.
fn line_style() -> ProgressStyle {
    ProgressStyle::with_template("{wide_msg} {elapsed:>6}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}
