//! Each format of one report, to the byte.

use taskgate::report::{FORMATS, Format, RenderOptions, load, render};

use super::fixture;

fn options() -> RenderOptions {
    RenderOptions {
        trace: "trace.db".to_owned(),
        ..RenderOptions::default()
    }
}

#[test]
fn every_format_as_it_reads() {
    let (_folder, conn) = fixture::open();
    let report = load(&conn).expect("a report");
    for spec in &FORMATS {
        let text = render(&report, spec.format, &options()).expect(spec.name);
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(spec.name, text);
        });
    }
}

#[test]
fn one_trace_gives_one_report() {
    let (_first, one) = fixture::open();
    let (_second, other) = fixture::open();
    for spec in &FORMATS {
        let texts = [&one, &other, &one].map(|conn| {
            render(&load(conn).expect("a report"), spec.format, &options()).expect(spec.name)
        });
        assert_eq!(
            texts[0], texts[1],
            "{}: two traces of the same batch",
            spec.name
        );
        assert_eq!(texts[0], texts[2], "{}: read twice", spec.name);
    }
}

#[test]
fn nothing_hostile_gets_through() {
    let (_folder, conn) = fixture::open();
    let report = load(&conn).expect("a report");
    for spec in &FORMATS {
        let text = render(&report, spec.format, &options()).expect(spec.name);
        assert!(text.contains("owned"), "{}: the text is there", spec.name);
        assert!(!text.contains("##["), "{}", spec.name);
        for line in text.lines() {
            assert!(
                !line.trim_start().starts_with("::"),
                "{}: {line}",
                spec.name
            );
            let control = line.chars().find(|c| c.is_control() && *c != '\t');
            assert_eq!(control, None, "{}: {line}", spec.name);
        }
    }
    let markdown = render(&report, Format::Markdown, &options()).expect("Markdown");
    // Outside of fences and code no tag of somebody else's, and nobody is called.
    let mut fence: Option<&str> = None;
    for line in markdown.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if ticks >= 3 => fence = Some(&line[..ticks]),
            None => {
                let outside = outside_code(line);
                assert!(!outside.contains("<script"), "{line}");
                assert!(!outside.contains("@team"), "{line}");
            }
        }
    }
    assert_eq!(fence, None, "every fence is closed");
}

/// A line of Markdown without its code spans and escapes.
fn outside_code(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['`', '\\']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('\\') {
            rest = rest.get(2..).unwrap_or_default();
            continue;
        }
        let run = rest.len() - rest.trim_start_matches('`').len();
        let inside = &rest[run..];
        let closing = inside
            .match_indices('`')
            .map(|(start, _)| start)
            .filter(|start| !inside[..*start].ends_with('`'))
            .find(|start| {
                let tail = &inside[*start..];
                tail.len() - tail.trim_start_matches('`').len() == run
            });
        rest = &inside[closing.expect("every code span is closed") + run..];
    }
    out + rest
}

#[test]
fn junit_is_well_formed_and_keeps_failures_and_errors_apart() {
    let (_folder, conn) = fixture::open();
    let report = load(&conn).expect("a report");
    let xml = render(&report, Format::Junit, &options()).expect("XML");
    let read = quick_junit::Report::deserialize_from_str(&xml).expect("JUnit XML");
    assert_eq!(
        (read.tests, read.failures, read.errors, read.skipped),
        (8, 3, 1, 1)
    );
    let suite = &read.test_suites[0];
    assert_eq!(suite.name.as_str(), "parser");
    for case in &suite.test_cases {
        let file = case.extra.iter().find(|(name, _)| name.as_str() == "file");
        assert_eq!(
            file.map(|(_, file)| file.as_str()),
            Some("tasks/parser.yaml")
        );
    }
    assert!(xml.len() < 20_000, "outputs are bounded");
}

#[test]
fn markdown_is_cut_between_sections_and_says_so() {
    let (_folder, conn) = fixture::open();
    let report = load(&conn).expect("a report");
    let whole = render(&report, Format::Markdown, &options()).expect("Markdown");
    assert!(!whole.contains("Left out"));
    for max_bytes in [3_000, 5_000, 7_000] {
        let options = RenderOptions {
            max_bytes,
            ..options()
        };
        let cut = render(&report, Format::Markdown, &options).expect("Markdown");
        assert!(cut.len() <= max_bytes, "{} of {max_bytes}", cut.len());
        assert_eq!(
            cut.matches("<details>").count(),
            cut.matches("\n</details>\n").count() - fenced_closings(&cut)
        );
        assert!(cut.contains("Left out to keep this short: "), "{cut}");
        assert!(cut.contains("`taskgate report trace.db` writes all of it"));
    }
}

/// Closing tags that stand within a fence, as somebody else's text.
fn fenced_closings(text: &str) -> usize {
    text.matches("`````\n</details>\n").count()
}

#[test]
fn formats_are_found_by_name_and_a_wrong_one_is_answered_with_all() {
    for spec in &FORMATS {
        assert_eq!(spec.name.parse::<Format>().expect(spec.name), spec.format);
        assert_eq!(spec.format.to_string(), spec.name);
    }
    let error = "html5".parse::<Format>().expect_err("no such format");
    assert_eq!(
        error.to_string(),
        "unknown report format `html5`: one of markdown, json, junit, text"
    );
}
