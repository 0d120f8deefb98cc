//! The verbs, one file each, and what several of them share.

pub(super) mod completions;
pub(super) mod doctor;
pub(super) mod init;
pub(super) mod plan;
pub(super) mod report;
pub(super) mod resume;
pub(super) mod run;
pub(super) mod schema;
pub(super) mod show;
pub(super) mod validate;

mod batch;
mod planning;
mod reports;
