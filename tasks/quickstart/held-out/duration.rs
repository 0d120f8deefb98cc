use std::time::Duration;

use units::duration;

#[test]
fn milliseconds_are_read_wherever_they_stand() {
    for (text, millis) in [
        ("250ms", 250),
        ("1s250ms", 1_250),
        ("250ms1s", 1_250),
        ("1m5ms", 60_005),
        ("5ms1m", 60_005),
        ("0ms", 0),
    ] {
        assert_eq!(
            duration::parse(text),
            Ok(Duration::from_millis(millis)),
            "{text}"
        );
    }
}

#[test]
fn minutes_stay_minutes() {
    assert_eq!(duration::parse("2m"), Ok(Duration::from_secs(120)));
    assert_eq!(duration::parse("2m3s"), Ok(Duration::from_secs(123)));
}

#[test]
fn what_is_written_is_read_again() {
    for millis in [1, 999, 1_000, 61_250, 3_600_001, 90_061_007] {
        let written = duration::format(Duration::from_millis(millis));
        assert_eq!(
            duration::parse(&written),
            Ok(Duration::from_millis(millis)),
            "{written}"
        );
    }
}
