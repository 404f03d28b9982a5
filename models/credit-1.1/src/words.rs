//! Figures as a person says them.

/// `1 loan`, `14 loans`.
pub fn count(n: u64, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {many}", grouped(n)) }
}

/// `$12,345`. Whole dollars, rounded down: nobody owns more for having it scored.
pub fn dollars(usd: f64) -> String {
    format!("${}", grouped(usd as u64))
}

/// `3 years and 2 months`, `5 months`, `12 days`, in years of 365 days and months of a twelfth of that.
pub fn span(days: f64) -> String {
    let days = days as u64;
    let (years, months) = (days / 365, days % 365 * 12 / 365);
    match (years, months) {
        (0, 0 | 1) => count(days, "day", "days"),
        (0, months) => count(months, "month", "months"),
        (years, 0) => count(years, "year", "years"),
        (years, months) => format!("{} and {}", count(years, "year", "years"), count(months, "month", "months")),
    }
}

/// With a comma between thousands.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
