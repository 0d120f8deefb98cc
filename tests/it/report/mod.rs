//! Reports, from traces that the store wrote.

mod cases;
mod fixture;
mod formats;
mod queries;
mod scale;
mod verdicts;
