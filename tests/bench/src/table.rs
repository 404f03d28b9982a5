//! The result as text and as JSON: a row for each figure, with its reference, their ratio and the target.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::record::{Record, RecordedRow, RecordedTarget};

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    #[serde(rename = "us")]
    Microseconds,
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "1/s")]
    PerSecond,
    #[serde(rename = "1")]
    Count,
    #[serde(rename = "%")]
    Percent,
    #[serde(rename = "kB")]
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
    /// What runs are compared by: the ratio, or the figure of a row without one.
    fn figure(&self) -> f64 {
        if self.ratio.is_nan() { self.measured } else { self.ratio }
    }

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
}

/// The tables of several runs as one, with each row of the run that is the median for it.
pub struct Runs {
    runs: usize,
    median: Table,
    /// In the order of the rows.
    noise: Vec<Option<f64>>,
}

impl Runs {
    pub fn of(mut tables: Vec<Table>) -> Self {
        let (runs, mut median, mut noise) = (tables.len(), Table::default(), Vec::new());
        while let Some((group, what)) = next(&tables) {
            let is_row = |(of, row): &(String, Row)| (of, &row.what) == (&group, &what);
            let mut rows: Vec<Row> = tables
                .iter_mut()
                .filter_map(|table| Some(table.rows.remove(table.rows.iter().position(is_row)?).1))
                .collect();
            rows.sort_by(|a, b| a.figure().total_cmp(&b.figure()));
            let middle = rows.remove((rows.len() - 1) / 2);
            let figure = middle.figure();
            let far = rows.iter().map(|row| (row.figure() / figure - 1.0).abs()).reduce(f64::max);
            noise.push(far.filter(|far| far.is_finite()));
            median.rows.push((group, middle));
        }
        Self { runs, median, noise }
    }

    pub fn record(&self) -> Record {
        let rows = self.median.rows.iter().zip(&self.noise).map(|((group, row), noise)| recorded(group, row, *noise));
        Record::new(self.runs, rows.collect())
    }
}

/// The group and the name of the next row.
fn next(tables: &[Table]) -> Option<(String, String)> {
    let (group, row) = tables.iter().find_map(|table| table.rows.first())?;
    Some((group.clone(), row.what.clone()))
}

fn recorded(group: &str, row: &Row, noise: Option<f64>) -> RecordedRow {
    let number = |value: f64| Some(value).filter(|value| value.is_finite());
    RecordedRow {
        group: group.to_owned(),
        what: row.what.clone(),
        measured: number(row.measured),
        unit: row.unit,
        reference: row.reference.clone(),
        reference_value: number(row.reference_value),
        ratio: number(row.ratio),
        noise,
        target: match row.target {
            Target::AtMost(most) => Some(RecordedTarget::RatioAtMost(most)),
            Target::AtLeast(least) => Some(RecordedTarget::RatioAtLeast(least)),
            Target::Within(most) => Some(RecordedTarget::MeasuredAtMost(most)),
            Target::None => None,
        },
        met: row.met(),
        note: row.note.clone(),
    }
}

impl fmt::Display for Runs {
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
        let lines: Vec<_> = std::iter::once(head).chain(self.median.rows.iter().map(|(_, row)| line(row))).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 7] = std::array::from_fn(width);
        for [what, measured, reference, name, ratio, target, verdict] in &lines {
            let [a, b, c, d, e, t, _] = widths;
            let text =
                format!("{what:a$}  {measured:>b$}  {reference:>c$}  {name:d$}  {ratio:>e$}  {target:<t$}  {verdict}");
            writeln!(f, "{}", text.trim_end())?;
        }
        let notes: Vec<_> = self.median.rows.iter().filter(|(_, row)| !row.note.is_empty()).collect();
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
