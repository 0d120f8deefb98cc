use units::size;

#[test]
fn a_value_that_rounds_up_to_1024_moves_to_the_next_unit() {
    for (bytes, text) in [
        (1_048_575, "1.0 MiB"),
        (1_048_525, "1.0 MiB"),
        ((1 << 30) - 1, "1.0 GiB"),
        ((1 << 40) - 1, "1.0 TiB"),
    ] {
        assert_eq!(size::format(bytes), text, "{bytes}");
    }
}

#[test]
fn everything_else_stays_where_it_was() {
    for (bytes, text) in [
        (1_023, "1023 B"),
        (1_024, "1.0 KiB"),
        (1_048_500, "1023.9 KiB"),
        (1_047_552, "1023.0 KiB"),
        (1_048_576, "1.0 MiB"),
        (u64::MAX, "16777216.0 TiB"),
    ] {
        assert_eq!(size::format(bytes), text, "{bytes}");
    }
}
