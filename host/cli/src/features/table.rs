//! `assay features table`: the matrix to train on, from the expressions that the model will serve with.

use std::{
    borrow::Cow,
    io::{self, BufWriter, Write as _},
    path::Path,
};

use assay_author::{Matrix, OddRows};
use assay_backtest::{Record, RecordSource};
use assay_domain::features::Features;

use super::ended;
use crate::Failure;

/// Writes the features of each wallet of a file to standard output.
pub fn print(declaration: &Path, features: &Path) -> Result<(), Failure> {
    let matrix = Matrix::of(declaration).map_err(Failure::no)?;
    let cannot = |error: io::Error| Failure::cannot(format!("{} cannot be read: {error}", features.display()));
    let mut source = RecordSource::open(features).map_err(cannot)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut empty = true;
    while let Some(chunk) = source.chunk().map_err(cannot)? {
        for (_, record) in chunk.records() {
            let record = record.map_err(|bad| Failure::no(format!("line {}: {}", bad.line, bad.reason)))?;
            let Some(record) = record else { continue };
            if empty {
                write(&mut out, &format!("id,as_of,cluster,{},outcome", matrix.header()))?;
            }
            empty = false;
            write(&mut out, &row(&matrix, &record))?;
        }
    }
    if empty {
        return Err(Failure::no(format!("{} has no wallet", features.display())));
    }
    out.flush().map_err(ended)
}

/// Writes the odd rows of a trained model to standard output.
pub fn print_odd(declaration: &Path) -> Result<(), Failure> {
    let odd = OddRows::of(declaration).map_err(Failure::no)?;
    io::stdout().lock().write_all(odd.text().as_bytes()).map_err(ended)
}

/// A record without id, cluster or outcome has an empty cell there; without a cluster, its id is its cluster.
fn row(matrix: &Matrix, record: &Record) -> String {
    let id = record.id.as_deref().unwrap_or_default();
    let cluster = record.cluster.as_deref().unwrap_or(id);
    let outcome = record.outcome.map_or("", |bad| if bad { "1" } else { "0" });
    let Features { as_of, .. } = &record.features;
    format!("{},{as_of},{},{},{outcome}", cell(id), cell(cluster), matrix.line(&record.features))
}

/// A text as a cell of CSV.
fn cell(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\"").replace(['\n', '\r'], " ")).into();
    }
    text.into()
}

fn write(out: &mut impl io::Write, line: &str) -> Result<(), Failure> {
    writeln!(out, "{line}").map_err(ended)
}

#[cfg(test)]
mod tests {
    use assay_author::Language;
    use assay_domain::ModelKind;

    use super::*;

    #[test]
    fn a_row_keeps_who_when_and_what_came_of_it() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in assay_author::template(Language::Trees, ModelKind::Credit, "t", "0.1", "").unwrap() {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let matrix = Matrix::of(&folder.path().join("model.toml")).unwrap();
        let said = |json: &str| row(&matrix, &Record::read(1, json.as_bytes()).unwrap().unwrap());
        assert_eq!(said(r#"{"as_of":86400,"id":"a","cluster":7,"outcome":true}"#), "a,86400,7,,0,0,0,1");
        assert_eq!(said(r#"{"as_of":1,"id":"b, \"c\"","outcome":0}"#), r#""b, ""c""",1,"b, ""c""",,0,0,0,0"#);
        assert_eq!(said(r#"{"as_of":1}"#), ",1,,,0,0,0,");
    }
}
