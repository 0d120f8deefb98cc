//! `taskgate init`

use crate::cli::args::InitArgs;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::workspace::write_output;

/// What is written, by its path below the folder.
const FILES: [(&str, &str); 5] = [
    ("tasks/first/suite.yaml", include_str!("starter/suite.yaml")),
    (
        "tasks/first/scripts/rehearsal.yaml",
        include_str!("starter/rehearsal.yaml"),
    ),
    (
        "tasks/first/fixtures/greeting/greeting.txt",
        include_str!("starter/greeting.txt"),
    ),
    (
        "tasks/first/fixtures/greeting/README.md",
        include_str!("starter/README.md"),
    ),
    (
        ".github/workflows/taskgate.yml",
        include_str!("starter/workflow.yml"),
    ),
];

pub(in crate::cli) fn run(args: &InitArgs, output: &Output) -> Exit {
    let taken: Vec<String> = FILES
        .iter()
        .map(|(path, _)| args.dir.join(path))
        .filter(|path| path.exists())
        .map(|path| path.display().to_string())
        .collect();
    if !taken.is_empty() {
        let text = format!("there already: {}", taken.join(", "));
        output.error(
            &text,
            Some("nothing was written; name another folder, or move these away"),
        );
        return Exit::Usage;
    }
    for (path, text) in FILES {
        let path = args.dir.join(path);
        if let Err(error) = write_output(&path, text.as_bytes()) {
            output.error(
                &format!("{} cannot be written: {error}", path.display()),
                None,
            );
            return Exit::Usage;
        }
        output.data_line(&path.display().to_string());
    }
    let suite = args.dir.join("tasks/first");
    output.note(&format!("next: taskgate run {}", suite.display()));
    Exit::Done
}
