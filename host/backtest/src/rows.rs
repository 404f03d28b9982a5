//! The file of `--scores`: one line of comma-separated values for each record.

use std::fmt::Write as _;

use crate::{graded::Called, record::Record, words::day};

/// The names of the columns of [`crate::Run::scores`]: the range and the points by factor of each model, then the score
/// of each model.
pub fn header(models: &[String]) -> String {
    let of = |model: &String| format!(",{0} range,{0} points", cell(model));
    let words: String = models.iter().map(of).collect();
    let scores: String = models.iter().map(|model| format!(",{}", cell(model))).collect();
    format!("line,id,date,outcome{words}{scores}")
}

pub(crate) fn row(rows: &mut String, line: u64, record: &Record, called: &[Called]) {
    let id = record.id.as_deref().map(cell).unwrap_or_default();
    let outcome = record.outcome.map_or("", |bad| if bad { "1" } else { "0" });
    // Writing to a string does not fail.
    let _ = write!(rows, "{line},{id},{},{outcome}", day(record.features.as_of));
    for (answer, _) in called {
        let _ = match answer {
            Ok(answer) => {
                let points = answer.factors.iter().map(|factor| format!("{} {}", factor.label, factor.points));
                write!(rows, ",{},{}", answer.score.range().as_str(), cell(&points.collect::<Vec<_>>().join("; ")))
            }
            Err(_) => write!(rows, ",,"),
        };
    }
    for (answer, _) in called {
        let _ = match answer {
            Ok(assessment) => write!(rows, ",{}", assessment.score),
            Err(_) => write!(rows, ","),
        };
    }
    rows.push('\n');
}

/// One cell with text from others: quoted if needed, and written so that no spreadsheet runs it as a formula.
fn cell(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text };
    if text.contains([',', '"', ';']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
