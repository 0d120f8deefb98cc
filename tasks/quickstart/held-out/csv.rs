use units::csv;

#[test]
fn a_doubled_quote_in_a_quoted_field_is_one_quote() {
    assert_eq!(
        csv::split(r#""say ""hi""",x"#).unwrap(),
        [r#"say "hi""#, "x"]
    );
    assert_eq!(csv::split(r#""""""#).unwrap(), [r#"""#]);
    assert_eq!(csv::split(r#""a"",b""c",d"#).unwrap(), [r#"a",b"c"#, "d"]);
}

#[test]
fn an_empty_quoted_field_stays_empty() {
    assert_eq!(csv::split(r#""""#).unwrap(), [""]);
    assert_eq!(csv::split(r#""",x,"""#).unwrap(), ["", "x", ""]);
    assert_eq!(csv::split(r#""","a""""#).unwrap(), ["", r#"a""#]);
}

#[test]
fn a_field_that_ends_in_a_doubled_quote_is_still_open() {
    assert_eq!(csv::split(r#"a,"b"""#), Err(csv::CsvError::OpenQuote));
}

#[test]
fn what_was_joined_is_split_again() {
    for fields in [
        vec!["plain", "with, comma", r#"with "quotes""#],
        vec!["", "\"", "\"\"", ","],
        vec![""],
    ] {
        assert_eq!(csv::split(&csv::join(&fields)).unwrap(), fields);
    }
}
