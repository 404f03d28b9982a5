//! A result as CSV.

use csv::Writer;
use serde_json::Value;

use super::{Answered, FIGURES, Figure, own_text};

/// The table as CSV. A text that a spreadsheet would take for a formula begins with an apostrophe.
///
/// # Errors
/// Never in memory; the writer's error otherwise.
pub(crate) fn to_csv(answered: &Answered) -> Result<Vec<u8>, csv::Error> {
    let mut writer = Writer::from_writer(Vec::new());
    let own = answered.columns.iter().map(|name| defused(name.clone()));
    writer.write_record(own.chain(FIGURES.iter().map(|column| column.name_beside(&answered.columns))))?;
    for (row, answer) in &answered.rows {
        let own = row.cells.iter().map(|cell| match cell {
            Value::Number(number) => number.to_string(),
            cell => defused(own_text(cell)),
        });
        let figures = FIGURES.iter().map(|column| match column.of(answer) {
            None => String::new(),
            Some(Figure::Text(text)) => defused(text),
            Some(Figure::Whole(number)) => number.to_string(),
            Some(Figure::Real(number)) => number.to_string(),
        });
        writer.write_record(own.chain(figures))?;
    }
    writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))
}

/// `text`, unless a spreadsheet would compute it. A number stays as it is.
fn defused(text: String) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if is_formula { format!("'{text}") } else { text }
}
