//! `assay features table`: the matrix to train on, from the expressions that the model will serve with.

use std::{
    io::{self, BufWriter, Write as _},
    path::Path,
};

use assay_author::Matrix;
use assay_backtest::{Record, Source};

use crate::Failure;

/// Writes the features of each wallet of a file to standard output.
pub fn print(declaration: &Path, features: &Path) -> Result<(), Failure> {
    let matrix = Matrix::of(declaration).map_err(Failure::no)?;
    let cannot = |error: io::Error| Failure::cannot(format!("{} cannot be read: {error}", features.display()));
    let mut source = Source::open(features).map_err(cannot)?;
    let mut out = BufWriter::new(io::stdout().lock());
    // Whether there is a column of outcomes, by the first wallet.
    let mut outcomes = None;
    while let Some(chunk) = source.chunk().map_err(cannot)? {
        for (line, record) in chunk.records() {
            let record = record.map_err(|bad| Failure::no(format!("line {}: {}", bad.line, bad.reason)))?;
            let Some(record) = record else { continue };
            if outcomes.is_none() {
                write(&mut out, &(matrix.header() + if record.outcome.is_some() { ",outcome" } else { "" }))?;
            }
            let wanted = *outcomes.get_or_insert(record.outcome.is_some());
            write(&mut out, &row(&matrix, &record, wanted, line)?)?;
        }
    }
    match outcomes {
        Some(_) => out.flush().map_err(Failure::cannot),
        None => Err(Failure::no(format!("{} has no wallet", features.display()))),
    }
}

fn row(matrix: &Matrix, record: &Record, with_outcome: bool, line: u64) -> Result<String, Failure> {
    let row = matrix.line(&record.features);
    match (with_outcome, record.outcome) {
        (true, Some(outcome)) => Ok(format!("{row},{}", u8::from(outcome))),
        (false, None) => Ok(row),
        _ => Err(Failure::no(format!("line {line}: every wallet needs an `outcome`, or none of them"))),
    }
}

/// A closed pipe (`| head`) ends the command without an error.
fn write(out: &mut impl io::Write, line: &str) -> Result<(), Failure> {
    writeln!(out, "{line}").map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure { message: String::new(), code: 0 },
        _ => Failure::cannot(error),
    })
}
