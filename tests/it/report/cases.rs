//! One case as a person follows it.

use taskgate::report::{ReportError, case_json, render_case, show};

use super::fixture;

#[test]
fn a_case_as_it_reads() {
    let (_folder, conn) = fixture::open();
    let view = show(&conn, "parser/empty-input/sonnet#2", None, None).expect("a case");
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("case_text", render_case(&view));
        insta::assert_snapshot!("case_json", case_json(&view).expect("JSON"));
    });
}

#[test]
fn an_earlier_attempt_and_one_step() {
    let (_folder, conn) = fixture::open();
    let last = show(&conn, "parser/long-line/sonnet#2", None, None).expect("a case");
    assert_eq!((last.attempt, last.gates.len()), (2, 3));
    let first = show(&conn, "parser/long-line/sonnet#2", Some(1), None).expect("an attempt");
    assert_eq!(
        (first.attempt, first.gates.len(), first.steps[0].calls.len()),
        (1, 0, 2)
    );
    let step = show(&conn, "parser/long-line/sonnet#2", Some(1), Some(1)).expect("a step");
    assert_eq!(step.steps.len(), 1);
    assert!(!render_case(&step).contains("goal"));
    let error =
        show(&conn, "parser/long-line/sonnet#2", Some(3), None).expect_err("no such attempt");
    assert_eq!(
        error.to_string(),
        "case `parser/long-line/sonnet#2` has no attempt 3: it has 2"
    );
    let error = show(&conn, "parser/long-line/sonnet#2", None, Some(9)).expect_err("no such step");
    assert_eq!(
        error.to_string(),
        "case `parser/long-line/sonnet#2` has no step 9: it has 1"
    );
}

#[test]
fn a_case_is_found_by_part_of_its_name() {
    let (_folder, conn) = fixture::open();
    for (asked, found) in [
        ("parser/empty-input/local#2", "parser/empty-input/local#2"),
        ("input/local#2", "parser/empty-input/local#2"),
        ("parser/long-line/local#1", "parser/long-line/local#1"),
        // A case that never began.
        ("long-line/local#2", "parser/long-line/local#2"),
    ] {
        let view = show(&conn, asked, None, None).expect(asked);
        assert_eq!(view.case.case_id.as_str(), found);
        assert!(render_case(&view).starts_with(found));
    }
    let error = show(&conn, "sonnet", None, None).expect_err("several");
    assert!(
        matches!(&error, ReportError::Ambiguous { count: 4, matches, .. } if matches.len() == 4),
        "{error}"
    );
    let error = show(&conn, "parser/empty-input/sonet#1", None, None).expect_err("a slip");
    assert!(
        error.to_string().starts_with("no case `parser/empty-input/sonet#1` in the trace: did you mean parser/empty-input/sonnet#1"),
        "{error}"
    );
}
