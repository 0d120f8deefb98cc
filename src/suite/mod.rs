//! Suites: YAML files that name tasks, pinned providers and the matrix between them, into a plan of cases.
//!
//! [`load`] reads and checks files, [`plan`] unfolds them. Everything that is wrong is found before anything runs, and
//! all of it is said at once, each at its line ([`Diagnostics`]).
//!
//! A file goes through these steps: bytes to a tree of marked nodes (`parse`, `node`), the tree against the tables of
//! the schema (`keys`), `defaults` beneath each task (`read`), the tree into the types of the format (`decode`,
//! `types`), and checks of meaning that point back into the tree (`check`, `providers`, `resolve`).

mod check;
mod decode;
mod diagnose;
mod keys;
mod load;
mod matrix;
mod node;
mod parse;
mod plan;
mod providers;
mod read;
mod resolve;
mod schema;
mod select;
mod types;
mod vars;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use diagnose::{Diagnostics, Problem};
pub use load::load;
pub use matrix::{Matrix, Vars};
pub use plan::{
    CaseSpec, GateSpec, Plan, PlanOptions, SandboxLimitsSpec, SandboxSpec, SetupSpec, SuiteInfo,
    WorkspaceSpec, plan,
};
pub use schema::schema;
pub use select::{Filter, FilterError};
pub use types::{Approve, PassRate, Platform, PolicySpec, Regression, SandboxBackend, Thresholds};

use crate::base::{Money, Span};
use crate::domain::{Budget, StallPolicy};
use crate::provider::ProviderConfig;

/// A suite that was read and found right.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The suite's name.
    pub name: String,
    /// One line for the reports; may be empty.
    pub description: String,
    /// The file as it was given.
    pub file: PathBuf,
    /// The folder that holds the file; absolute.
    pub base: PathBuf,
    /// The providers by name. Paths of scripts are absolute.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Price tables; absolute.
    pub prices: Vec<PathBuf>,
    /// The tasks, in the order of the file.
    pub tasks: Vec<TaskSpec>,
    /// The matrix, with its defaults filled in.
    pub matrix: Matrix,
    /// Ceilings of the whole suite.
    pub budget: SuiteBudget,
    /// When the suite counts as passed.
    pub thresholds: Thresholds,
    /// What a reader of every report must know.
    pub warnings: Vec<String>,
    cells: Vec<matrix::Cell>,
    sources: Vec<Arc<diagnose::Source>>,
}

/// Ceilings of a whole suite: no new case starts past them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SuiteBudget {
    /// Dollars under the suite's first price table.
    pub cost_usd: Option<Money>,
    /// Time from the suite's first case on.
    pub wall: Option<Span>,
}

/// A task of a suite, before variables and platform are known.
#[derive(Debug, Clone)]
pub struct TaskSpec {
    /// The task's id.
    pub id: String,
    /// Labels to select by.
    pub tags: Vec<String>,
    /// Its line in the suite's file, from 1.
    pub line: u32,
    /// The platforms on which it makes sense; never empty.
    pub platforms: Vec<Platform>,
    mark: node::Mark,
    approve: Approve,
    budget: Budget,
    stall: StallPolicy,
    exec_timeout: Duration,
    sandbox: SandboxSpec,
    file: types::TaskFile,
    /// The task's tree, with the suite's defaults beneath it.
    node: node::Node,
}
