//! Whole batches, timed: `cargo bench --bench batch -- [CASES] [JOBS]`. With a third argument, the trace of a
//! suite with five providers is left at that path, for measuring reports.

#![expect(
    clippy::print_stdout,
    reason = "the figures are what this program is for"
)]

#[expect(dead_code, reason = "other benches use the rest")]
mod support;

use std::path::Path;

use support::{Scene, TASKS, clock, runtime};

/// Steps of each case.
const STEPS: f64 = 5.0;

fn main() {
    // Cargo adds a flag of its own.
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with("--"))
        .collect();
    let number = |at: usize, usual: u32| {
        given
            .get(at)
            .map_or(usual, |text| text.parse().expect("a number"))
    };
    let (cases, jobs) = (number(0, 1_000), number(1, 2));
    let kept = given.get(2).map(Path::new);
    let providers = if kept.is_some() { 5 } else { 1 };
    let scene = Scene::new(providers);
    let trials = cases / (TASKS * providers);
    let clock = clock();
    let begun = clock.monotonic();
    let trace = runtime().block_on(scene.run(trials, jobs as usize, "trace.db"));
    let took = (clock.monotonic() - begun).as_secs_f64();
    let cases = f64::from(trials * TASKS * providers);
    println!(
        "{cases} cases, {jobs} at once: {took:.2} s, {:.0} steps per second",
        cases * STEPS / took
    );
    if let Some(kept) = kept {
        std::fs::copy(trace, kept).expect("a copy of the trace");
    }
}
