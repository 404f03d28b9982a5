//! Formats numbers, intervals, dates and ranges for people.

use assay_domain::stats::Interval;

/// The lowest score and the name of each range.
pub(crate) const RANGES: [(u32, &str); 5] =
    [(300, "low"), (640, "fair"), (750, "good"), (840, "very good"), (920, "excellent")];

/// Whole numbers with a comma between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many records, and of how many wallets if a wallet has several.
pub(crate) fn records(records: u64, wallets: Option<u64>) -> String {
    match wallets {
        Some(wallets) => format!("{} records of {} wallets", grouped(records), grouped(wallets)),
        None => format!("{} wallets", grouped(records)),
    }
}

/// `part` of `of` in percent with one decimal; a dash if `of` is 0. Only exact values are shown as 0 % or 100 %.
pub(crate) fn percent(part: u64, of: u64) -> String {
    if of == 0 {
        return "–".into();
    }
    let share = part as f64 / of as f64 * 100.0;
    match share {
        _ if part == 0 => "0 %".into(),
        _ if part == of => "100 %".into(),
        ..0.1 => "under 0.1 %".into(),
        99.9.. => "over 99.9 %".into(),
        _ => format!("{share:.1} %"),
    }
}

/// A figure with `places` decimals; a dash for `None`.
pub(crate) fn decimal(figure: Option<f64>, places: usize) -> String {
    figure.map_or("–".into(), |figure| minus(&format!("{figure:.places$}")))
}

/// As [`decimal`], with a sign also for positive figures.
pub(crate) fn signed(figure: Option<f64>, places: usize) -> String {
    figure.map_or("–".into(), |figure| minus(&format!("{figure:+.places$}")))
}

/// The ends of an interval with `places` decimals; two dashes for `None`.
pub(crate) fn ends(interval: Option<Interval>, places: usize) -> String {
    let end = |end: fn(Interval) -> f64| decimal(interval.map(end), places);
    format!("{} to {}", end(|interval| interval.low), end(|interval| interval.high))
}

/// `2025-03-01`; the seconds themselves if they are no date.
pub(crate) fn day(seconds: u64) -> String {
    let date = i64::try_from(seconds).ok().and_then(|seconds| chrono::DateTime::from_timestamp(seconds, 0));
    date.map_or_else(|| seconds.to_string(), |date| date.format("%Y-%m-%d").to_string())
}

/// A figure of any size in about three digits.
pub(crate) fn size(figure: Option<f64>) -> String {
    let Some(figure) = figure else { return "–".into() };
    match figure.abs() {
        0.0 => "0".into(),
        ..0.01 => "<0.01".into(),
        ..10.0 => format!("{figure:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        ..1000.0 => format!("{figure:.0}"),
        ..1e15 => grouped(figure as u64),
        _ => format!("{figure:.1e}"),
    }
}

/// Bytes in KiB.
pub(crate) fn kib(bytes: u64) -> String {
    format!("{} KiB", grouped(bytes / 1024))
}

/// Uses the minus sign, and no sign for zero.
fn minus(text: &str) -> String {
    let zero = text.trim_start_matches(['-', '+']).chars().all(|c| c == '0' || c == '.');
    if zero { text.trim_start_matches(['-', '+']).to_owned() } else { text.replace('-', "−") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [(0, 9), (9, 9), (1, 9), (1, 10_000), (9_999, 10_000), (0, 0)].map(|(a, b)| percent(a, b)),
            ["0 %", "100 %", "11.1 %", "under 0.1 %", "over 99.9 %", "–"]
        );
        assert_eq!([Some(-0.001), Some(-1.26), None].map(|n| decimal(n, 1)), ["0.0", "−1.3", "–"]);
        assert_eq!([Some(0.04), Some(2.0), Some(-2.0)].map(|n| signed(n, 1)), ["0.0", "+2.0", "−2.0"]);
        assert_eq!([0.0, 0.001, 1.5, 42.4, 12_345.6].map(|n| size(Some(n))), ["0", "<0.01", "1.5", "42", "12,345"]);
    }
}
