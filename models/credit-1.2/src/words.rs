//! Figures as a person says them.

/// `1 loan`, `14 loans`.
pub fn count(n: u64, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {many}", grouped(n)) }
}

/// `$12,345`, and `over a billion dollars`. Whole dollars, rounded down: nobody owns more for having it scored.
pub fn dollars(usd: f64) -> String {
    if usd > 1e9 { "over a billion dollars".into() } else { format!("${}", grouped(usd as u64)) }
}

/// `3 years and 2 months`, `5 months`, `12 days`, in years of 365 days and months of a twelfth of that.
pub fn span(days: f64) -> String {
    let days = days as u64;
    let (years, months) = (days / 365, days % 365 * 12 / 365);
    match (years, months) {
        (101.., _) => "over 100 years".into(),
        (0, 0) if days == 0 => "less than a day".into(),
        (0, 0 | 1) => count(days, "day", "days"),
        (0, months) => count(months, "month", "months"),
        (years, 0) => count(years, "year", "years"),
        (years, months) => format!("{} and {}", count(years, "year", "years"), count(months, "month", "months")),
    }
}

/// `today`, or a [`span`] ago.
pub fn ago(days: f64) -> String {
    if days < 1.0 { "today".into() } else { format!("{} ago", span(days)) }
}

/// With a comma between thousands. Nobody counts past a billion, and a sentence has room for no more.
fn grouped(n: u64) -> String {
    if n > 1_000_000_000 {
        return "over a billion".into();
    }
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
