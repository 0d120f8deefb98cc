//! The matrix of a suite: which task meets which provider under which values.

use std::collections::{BTreeMap, BTreeSet};

/// One assignment of values, by the names of the variables.
pub type Vars = BTreeMap<String, String>;

/// The most cells that a matrix may have; trials count on top.
pub(crate) const MAX_CELLS: usize = 20_000;

/// The matrix as it was declared, with its defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matrix {
    /// The providers that attempt every task, in order.
    pub providers: Vec<String>,
    /// How often each cell is tried; at least 1.
    pub trials: u32,
    /// The values of each variable, in order.
    pub vars: BTreeMap<String, Vec<String>>,
    /// Combinations that are left out: `task`, `provider` and variables.
    pub exclude: Vec<Vars>,
    /// Combinations that are added: `task`, `provider` and variables.
    pub include: Vec<Vars>,
}

/// A task, a provider and an assignment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Cell {
    /// The task's position in the suite.
    pub task: usize,
    pub provider: String,
    pub vars: Vars,
}

/// What a matrix unfolds to, and which of its lines do nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Expansion {
    /// By task, then provider, then values; what is included comes after the rest of its task.
    pub cells: Vec<Cell>,
    pub idle_excludes: Vec<usize>,
    pub idle_includes: Vec<usize>,
    /// More cells than [`MAX_CELLS`]: `cells` is then empty.
    pub too_many: bool,
}

impl Matrix {
    /// Unfolds the matrix over the tasks of a suite, given by their ids.
    pub(crate) fn expand(&self, tasks: &[String]) -> Expansion {
        let mut expansion = Expansion::default();
        let Some(assignments) = assignments(&self.vars) else {
            expansion.too_many = true;
            return expansion;
        };
        let mut used = vec![false; self.exclude.len()];
        let mut cells = Vec::new();
        let full = tasks
            .len()
            .saturating_mul(self.providers.len())
            .saturating_mul(assignments.len());
        if full > MAX_CELLS {
            expansion.too_many = true;
            return expansion;
        }
        for (task, id) in tasks.iter().enumerate() {
            for provider in &self.providers {
                for vars in &assignments {
                    let cell = Cell {
                        task,
                        provider: provider.clone(),
                        vars: vars.clone(),
                    };
                    let mut kept = true;
                    for (line, used) in self.exclude.iter().zip(&mut used) {
                        if excludes(line, id, &cell) {
                            (*used, kept) = (true, false);
                        }
                    }
                    if kept {
                        cells.push(cell);
                    }
                }
            }
        }
        let mut known: BTreeSet<Cell> = cells.iter().cloned().collect();
        for (index, line) in self.include.iter().enumerate() {
            let Some(added) = self.included(line, tasks) else {
                expansion.too_many = true;
                return expansion;
            };
            let before = cells.len();
            cells.extend(added.into_iter().filter(|cell| known.insert(cell.clone())));
            if cells.len() == before {
                expansion.idle_includes.push(index);
            }
            if cells.len() > MAX_CELLS {
                expansion.too_many = true;
                return expansion;
            }
        }
        cells.sort_by_key(|cell| cell.task);
        expansion.cells = cells;
        expansion.idle_excludes = used
            .iter()
            .enumerate()
            .filter(|(_, used)| !**used)
            .map(|(index, _)| index)
            .collect();
        expansion
    }

    /// What one line of `include` names: where it says nothing of a dimension, all of that dimension.
    fn included(&self, line: &Vars, tasks: &[String]) -> Option<Vec<Cell>> {
        let mut ranges = self.vars.clone();
        for (name, value) in line {
            if !is_dimension(name) {
                ranges.insert(name.clone(), vec![value.clone()]);
            }
        }
        let assignments = assignments(&ranges)?;
        let providers: Vec<&String> = match line.get("provider") {
            Some(provider) => vec![provider],
            None => self.providers.iter().collect(),
        };
        let chosen: Vec<usize> = (0..tasks.len())
            .filter(|task| line.get("task").is_none_or(|id| *id == tasks[*task]))
            .collect();
        let size = chosen
            .len()
            .saturating_mul(providers.len())
            .saturating_mul(assignments.len());
        if size > MAX_CELLS {
            return None;
        }
        let mut cells = Vec::with_capacity(size);
        for task in chosen {
            for provider in &providers {
                for vars in &assignments {
                    cells.push(Cell {
                        task,
                        provider: (*provider).clone(),
                        vars: vars.clone(),
                    });
                }
            }
        }
        Some(cells)
    }
}

/// Whether a key of `exclude` or `include` names a dimension of the matrix that is not a variable.
pub(crate) fn is_dimension(name: &str) -> bool {
    matches!(name, "task" | "provider")
}

fn excludes(line: &Vars, task: &str, cell: &Cell) -> bool {
    line.iter().all(|(name, value)| match name.as_str() {
        "task" => value == task,
        "provider" => *value == cell.provider,
        name => cell.vars.get(name) == Some(value),
    })
}

/// Every combination of values, the last variable changing fastest; `None` where there are too many.
fn assignments(vars: &BTreeMap<String, Vec<String>>) -> Option<Vec<Vars>> {
    let count = vars
        .values()
        .try_fold(1_usize, |count, values| count.checked_mul(values.len()))?;
    if count > MAX_CELLS {
        return None;
    }
    let mut all = vec![Vars::new()];
    for (name, values) in vars {
        all = all
            .iter()
            .flat_map(|vars| {
                values.iter().map(|value| {
                    let mut vars = vars.clone();
                    vars.insert(name.clone(), value.clone());
                    vars
                })
            })
            .collect();
    }
    Some(all)
}
