//! Which files of a folder are suites.

use super::{Folder, small};
use taskgate::suite::load;

fn named(name: &str) -> String {
    small("", "").replace("name: small", &format!("name: {name}"))
}

#[test]
fn a_folder_means_its_suites_and_nothing_else() {
    let folder = Folder::new();
    for (path, name) in [
        ("tasks/b.yaml", "b"),
        ("tasks/a.yml", "a"),
        ("tasks/deep/er/suite.yaml", "c"),
        ("tasks/deep/x.suite.yml", "d"),
    ] {
        folder.write(path, named(name));
    }
    // None of these would be read as a suite without a complaint.
    for path in [
        "tasks/providers.yaml",
        "tasks/deep/other.yaml",
        "tasks/fixtures/suite.yaml",
        "tasks/deep/held-out/suite.yaml",
        "tasks/scripts/suite.yaml",
        "tasks/target/suite.yaml",
        "tasks/node_modules/suite.yaml",
        "tasks/.git/suite.yaml",
        "tasks/.hidden/suite.yaml",
        "tasks/notes.txt",
    ] {
        folder.write(path, "name: of a script\nsteps: []\n");
    }
    let suites = load(&[folder.path().join("tasks")]).expect("four suites");
    let names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert!(suites[0].base.is_absolute());

    // A path of a file is a suite, whatever it is named, and is read once.
    let odd = folder.write("odd.txt", named("odd"));
    let again = folder.path().join("tasks").join("..").join("odd.txt");
    assert_eq!(load(&[odd, again]).expect("one suite").len(), 1);
}

#[test]
fn a_suite_that_is_broken_is_found_all_the_same() {
    for text in [
        "version: 1\nname: [\n",
        "version: 1\nname: x\ntask: []\n",
        "name: x\n'tasks': []\n",
        "\u{feff}version: 1\r\ntasks:\r\n\t- x\r\n",
    ] {
        let folder = Folder::new();
        folder.write("x.yaml", text);
        let problems = load(&[folder.path().to_path_buf()]).unwrap_err();
        assert!(
            problems.problems()[0].file().ends_with("x.yaml"),
            "{text:?}: {problems}"
        );
    }
}

#[test]
fn nothing_found_missing_paths_and_equal_names_are_said() {
    let folder = Folder::new();
    folder.write("empty/notes.yaml", "a: 1\n");
    let empty = folder.path().join("empty");
    let problems = load(&[empty, folder.path().join("nowhere")]).unwrap_err();
    insta::assert_snapshot!(folder.shown(&problems), @r"
    error: no suite is found below this folder
    --> empty
     = help: looked for `suite.yaml` and `*.suite.yaml` at any depth, and for `*.yaml` in the folder itself with two of the keys `version`, `name` and `tasks`
     = help: passed over: folders named fixtures, held-out, scripts, target, node_modules, .git

    error: there is no such file or folder
    --> nowhere
    ");
    let folder = Folder::new();
    let (a, b) = (
        folder.write("a.yaml", named("x")),
        folder.write("b.yaml", named("x")),
    );
    let problems = load(&[b, a]).unwrap_err();
    insta::assert_snapshot!(folder.shown(&problems), @r"
    error: two suites are named `x`: b.yaml and a.yaml
    --> a.yaml
     = help: a suite's name is unique in a batch: rename one, or run them apart
    ");
}

#[test]
fn the_problems_of_all_suites_are_said_at_once() {
    let folder = Folder::new();
    folder.write("a.yaml", small("gate: []\ngates: []", ""));
    folder.write(
        "b.yaml",
        small("", "").replace("goal: do it", "gaol: do it"),
    );
    let problems = load(&[folder.path().to_path_buf()]).unwrap_err();
    let titles: Vec<&str> = problems.problems().iter().map(|one| one.title()).collect();
    assert_eq!(
        titles,
        [
            "unknown key `gate` in a task",
            "a task without `goal`",
            "unknown key `gaol` in a task",
        ]
    );
}
