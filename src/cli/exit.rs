//! How the process ends, as one table: `--help`, the documents and the code itself derive from it.

use std::process::ExitCode;

/// A way to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// Done, and every threshold is met.
    Done,
    /// A bug of this program.
    Bug,
    /// The command line, a suite or the configuration is wrong, and nothing ran.
    Usage,
    /// Nothing fits what was asked for, or every case of it is skipped here.
    NothingSelected,
    /// A threshold is not met.
    ThresholdsNotMet,
    /// More cases could not be judged than the threshold `errors` lets pass.
    NotJudged,
    /// Stopped from outside; what there is was written.
    Interrupted,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitSpec {
    /// The way to end.
    pub exit: Exit,
    /// Its code.
    pub code: u8,
    /// What it means, in one line.
    pub meaning: &'static str,
}

/// Every way to end. Where several hold, the greatest code wins.
pub const EXITS: [ExitSpec; 7] = [
    ExitSpec {
        exit: Exit::Done,
        code: 0,
        meaning: "done, and every threshold is met",
    },
    ExitSpec {
        exit: Exit::Bug,
        code: 1,
        meaning: "a bug of taskgate",
    },
    ExitSpec {
        exit: Exit::Usage,
        code: 2,
        meaning: "the command line, a suite or the set-up is wrong; nothing ran",
    },
    ExitSpec {
        exit: Exit::NothingSelected,
        code: 4,
        meaning: "nothing was selected, or all of it was skipped",
    },
    ExitSpec {
        exit: Exit::ThresholdsNotMet,
        code: 10,
        meaning: "a threshold is not met",
    },
    ExitSpec {
        exit: Exit::NotJudged,
        code: 20,
        meaning: "more cases could not be judged than `errors` lets pass",
    },
    ExitSpec {
        exit: Exit::Interrupted,
        code: 130,
        meaning: "interrupted; what there is was written, and `resume` goes on",
    },
];

impl Exit {
    /// The code that the process ends with.
    #[must_use]
    pub fn code(self) -> ExitCode {
        ExitCode::from(self.number())
    }

    /// The code as a number.
    #[must_use]
    pub fn number(self) -> u8 {
        EXITS
            .iter()
            .find(|spec| spec.exit == self)
            .map_or(1, |spec| spec.code)
    }
}

/// The table as `--help` shows it.
pub(super) fn help() -> String {
    let rows: Vec<String> = EXITS
        .iter()
        .map(|spec| format!("  {:>3}  {}", spec.code, spec.meaning))
        .collect();
    format!("Exit codes:\n{}", rows.join("\n"))
}
