//! The rows of a job with their answers, as JSON, CSV or Parquet. The caller's own columns come first.

mod columns;
mod separated;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use assay_domain::Time;
use chrono::SecondsFormat;
use serde_json::{Map, Value};

use crate::{
    records::{JobRecord, JobState},
    row::{RowRecord, RowStatus},
    table::Row,
};

pub(crate) use columns::to_parquet;
pub(crate) use separated::to_csv;

/// The form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultForm {
    Json,
    Csv,
    Parquet,
}

/// One cell that the server adds to a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Figure {
    Text(String),
    Whole(i64),
    Real(f64),
}

/// What a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FigureKind {
    Text,
    Whole,
    Real,
}

/// A column that the server adds.
pub(crate) struct FigureColumn {
    pub name: &'static str,
    pub kind: FigureKind,
    figure: FigureOf,
}

enum FigureOf {
    Any(fn(&RowRecord) -> Option<Figure>),
    Text(fn(&RowRecord) -> Option<String>),
}

/// The columns that the server adds, in their order.
pub(crate) const FIGURES: &[FigureColumn] = &[
    text("status", |row| Some(row.status.as_str().to_owned())),
    text("reason", |row| row.reason.clone()),
    text("resolved_address", |row| row.address.map(|address| address.to_string())),
    column("score", FigureKind::Whole, |row| Some(Figure::Whole(row.found.as_ref()?.score.into()))),
    column("decile", FigureKind::Whole, |row| Some(Figure::Whole(row.found.as_ref()?.decile.into()))),
    text("range", |row| Some(row.found.as_ref()?.range.clone())),
    text("coverage", |row| Some(row.found.as_ref()?.coverage.as_str().to_owned())),
    column("debt_usd", FigureKind::Real, |row| Some(Figure::Real(row.found.as_ref()?.debt_usd))),
    column("collateral_usd", FigureKind::Real, |row| Some(Figure::Real(row.found.as_ref()?.collateral_usd))),
    column("lowest_health_factor", FigureKind::Real, |row| row.found.as_ref()?.lowest_health_factor.map(Figure::Real)),
    text("last_liquidation_at", |row| row.found.as_ref()?.last_liquidation_at.map(moment)),
    text("read_at", |row| Some(moment(row.found.as_ref()?.read_at))),
    text("model_version", |row| Some(row.found.as_ref()?.model_version.clone())),
    text("score_id", |row| row.found.as_ref()?.score_id.clone()),
];

const fn column(name: &'static str, kind: FigureKind, figure: fn(&RowRecord) -> Option<Figure>) -> FigureColumn {
    FigureColumn { name, kind, figure: FigureOf::Any(figure) }
}

const fn text(name: &'static str, figure: fn(&RowRecord) -> Option<String>) -> FigureColumn {
    FigureColumn { name, kind: FigureKind::Text, figure: FigureOf::Text(figure) }
}

impl FigureColumn {
    pub(crate) fn of(&self, row: &RowRecord) -> Option<Figure> {
        match self.figure {
            FigureOf::Any(figure) => figure(row),
            FigureOf::Text(figure) => figure(row).map(Figure::Text),
        }
    }

    /// Its name in a table that has `own` columns too.
    pub(crate) fn name_beside(&self, own: &[String]) -> String {
        let is_taken = own.iter().any(|name| name == self.name);
        if is_taken { format!("assay_{}", self.name) } else { self.name.to_owned() }
    }
}

impl ResultForm {
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Parquet => "application/vnd.apache.parquet",
        }
    }
}

impl FromStr for ResultForm {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "json" => Ok(Self::Json),
            "csv" => Ok(Self::Csv),
            "parquet" => Ok(Self::Parquet),
            _ => Err("give json, csv or parquet"),
        }
    }
}

/// The rows of a job with their answers. A row that was never looked at, in a job that failed, is unread.
pub(crate) struct Answered {
    pub columns: Vec<String>,
    pub rows: Vec<(Row, RowRecord)>,
}

impl Answered {
    pub(crate) fn new(job: &JobRecord, rows: Vec<(Row, Option<RowRecord>)>) -> Self {
        let why = match &job.state {
            JobState::Failed { why } => why.clone(),
            _ => "it was not read yet".to_owned(),
        };
        let unread = || RowRecord::without(RowStatus::Unread, Some(why.clone()));
        let rows = rows.into_iter().map(|(row, answer)| (row, answer.unwrap_or_else(unread)));
        Self { columns: job.columns.clone(), rows: rows.collect() }
    }

    /// The rows as JSON objects; the caller's own cells are in `input`, so that no name stands twice.
    pub(crate) fn to_json(&self) -> Vec<Value> {
        let row = |(row, answer): &(Row, RowRecord)| {
            let own = self.columns.iter().cloned().zip(row.cells.iter().cloned());
            let mut fields = Map::from_iter([("input".to_owned(), Value::Object(own.collect()))]);
            for column in FIGURES {
                let value = match column.of(answer) {
                    None => Value::Null,
                    Some(Figure::Text(text)) => text.into(),
                    Some(Figure::Whole(number)) => number.into(),
                    Some(Figure::Real(number)) => number.into(),
                };
                fields.insert(column.name.to_owned(), value);
            }
            Value::Object(fields)
        };
        self.rows.iter().map(row).collect()
    }
}

/// A cell of the caller as text: nothing for null, and JSON for anything that is no text.
pub(crate) fn own_text(cell: &Value) -> String {
    match cell {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn moment(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}
