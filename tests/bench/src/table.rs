//! The result as text and as JSON: a row for each figure, with its reference, their ratio and the target.

use std::fmt;

use serde_json::{Value, json};

use super::cores;

/// One figure and its reference.
pub struct Row {
    pub what: String,
    pub measured: f64,
    pub reference: String,
    pub reference_value: f64,
    pub unit: Unit,
    /// The figure divided by its reference, in the same rounds; no number where that says nothing.
    pub ratio: f64,
    pub target: Target,
    /// A remark on the measurement.
    pub note: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Microseconds,
    Milliseconds,
    PerSecond,
    Count,
    Percent,
    Kilobytes,
}

/// The target of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// The ratio.
    AtMost(f64),
    /// The ratio.
    AtLeast(f64),
    /// The figure itself, in its unit.
    Within(f64),
    /// No target.
    None,
}

impl Row {
    fn met(&self) -> Option<bool> {
        match self.target {
            Target::AtMost(most) => Some(self.ratio <= most),
            Target::AtLeast(least) => Some(self.ratio >= least),
            Target::Within(most) => Some(self.measured <= most),
            Target::None => None,
        }
    }

    fn verdict(&self) -> &'static str {
        match self.met() {
            Some(true) => "met",
            Some(false) => "missed",
            None => "",
        }
    }

    fn target(&self) -> String {
        match self.target {
            Target::AtMost(most) => format!("<= {most}"),
            Target::AtLeast(least) => format!(">= {least}"),
            Target::Within(most) => format!("<= {}", self.unit.show(most)),
            Target::None => String::new(),
        }
    }
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            _ if value.is_nan() => String::new(),
            Self::Microseconds if value < 100.0 => format!("{value:.2} us"),
            Self::Microseconds => format!("{value:.0} us"),
            Self::Milliseconds if value < 100.0 => format!("{value:.1} ms"),
            Self::Milliseconds => format!("{value:.0} ms"),
            Self::PerSecond => format!("{value:.0}/s"),
            Self::Count if value.fract() > 0.0 => format!("{value:.1}"),
            Self::Count => format!("{value:.0}"),
            Self::Percent => format!("{value:.1} %"),
            Self::Kilobytes => format!("{value:.1} kB"),
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::PerSecond => "1/s",
            Self::Count => "1",
            Self::Percent => "%",
            Self::Kilobytes => "kB",
        }
    }
}

/// Every row, by group.
#[derive(Default)]
pub struct Table {
    rows: Vec<(String, Row)>,
}

impl Table {
    pub fn add(&mut self, group: &str, rows: Vec<Row>) {
        self.rows.extend(rows.into_iter().map(|row| (group.to_owned(), row)));
    }

    pub fn json(&self) -> String {
        let rows: Vec<Value> = self.rows.iter().map(|(group, row)| row_json(group, row)).collect();
        format!("{:#}\n", json!({ "cores": cores::available().len(), "rows": rows }))
    }
}

fn row_json(group: &str, row: &Row) -> Value {
    let target = match row.target {
        Target::AtMost(most) => json!({ "ratio_at_most": most }),
        Target::AtLeast(least) => json!({ "ratio_at_least": least }),
        Target::Within(most) => json!({ "measured_at_most": most }),
        Target::None => Value::Null,
    };
    json!({
        "group": group, "what": row.what, "measured": row.measured, "unit": row.unit.as_str(),
        "reference": row.reference, "reference_value": row.reference_value, "ratio": row.ratio, "target": target,
        "met": row.met(), "note": row.note,
    })
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["what", "measured", "reference", "", "ratio", "target", ""].map(str::to_owned);
        let line = |row: &Row| {
            let ratio = match row.ratio {
                ratio if ratio.is_nan() => String::new(),
                ratio if ratio < 100.0 => format!("{ratio:.2}"),
                ratio => format!("{ratio:.0}"),
            };
            let (measured, reference) = (row.unit.show(row.measured), row.unit.show(row.reference_value));
            [
                row.what.clone(),
                measured,
                reference,
                row.reference.clone(),
                ratio,
                row.target(),
                row.verdict().to_owned(),
            ]
        };
        let lines: Vec<_> = std::iter::once(head).chain(self.rows.iter().map(|(_, row)| line(row))).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 7] = std::array::from_fn(width);
        for [what, measured, reference, name, ratio, target, verdict] in &lines {
            let [a, b, c, d, e, t, _] = widths;
            let text =
                format!("{what:a$}  {measured:>b$}  {reference:>c$}  {name:d$}  {ratio:>e$}  {target:<t$}  {verdict}");
            writeln!(f, "{}", text.trim_end())?;
        }
        let notes: Vec<_> = self.rows.iter().filter(|(_, row)| !row.note.is_empty()).collect();
        if !notes.is_empty() {
            writeln!(f)?;
        }
        for (_, row) in notes {
            writeln!(f, "- {}: {}", row.what, row.note)?;
        }
        writeln!(
            f,
            "\nFigures are medians over interleaved rounds; a ratio is the median of the rounds' own ratios. A target \
             without a unit is for the ratio."
        )
    }
}
