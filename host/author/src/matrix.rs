//! The matrix to train on: one row for each wallet, one column for each feature. The model evaluates the same
//! expressions.

use std::{fmt::Write as _, path::Path};

use assay_domain::features::Features;
use tables::{data::FEATURES, value};

use crate::{FileFault, Wallet, declaration::DeclarationFile, language::Expression, pack::expressions};

/// The features of a declaration, or of a card.
#[derive(Debug)]
pub struct Matrix {
    names: Vec<String>,
    codes: Vec<Vec<u8>>,
}

impl Matrix {
    /// # Errors
    /// The first problem of the declaration.
    pub fn of(declaration: &Path) -> Result<Self, FileFault> {
        let file = DeclarationFile::read(declaration)?;
        let codes = expressions(&file)?.into_iter().map(|expression| expression.code).collect();
        Ok(Self { names: file.names().into_iter().map(Into::into).collect(), codes })
    }

    /// The features of a card: names and expressions.
    ///
    /// # Errors
    /// The first problem of an expression.
    pub fn of_card<'a>(features: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, String> {
        let mut found = Self { names: Vec::new(), codes: Vec::new() };
        for (name, is) in features {
            let parsed = Expression::parse(is).map_err(|wrong| format!("input {name}: {}", wrong.message))?;
            found.names.push(name.to_owned());
            found.codes.push(parsed.code);
        }
        if found.names.len() > FEATURES {
            return Err(format!("it has {} inputs; {FEATURES} are possible", found.names.len()));
        }
        Ok(found)
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of the columns, as a line of CSV.
    pub fn header(&self) -> String {
        self.names.join(",")
    }

    /// The features of a wallet; NaN if one is absent.
    pub fn row(&self, features: &Features) -> Vec<f64> {
        self.codes.iter().map(|code| value(&mut code.as_slice(), &Wallet::new(features))).collect()
    }

    /// The row as a line of CSV, with an empty cell if a feature is absent. Who parses a number gets exactly its bits.
    pub fn line(&self, features: &Features) -> String {
        cells(&self.row(features))
    }
}

/// Writes figures as one line of CSV. NaN becomes an empty cell.
pub(crate) fn cells(row: &[f64]) -> String {
    let mut line = String::new();
    for (at, value) in row.iter().enumerate() {
        if at > 0 {
            line.push(',');
        }
        // Writing to a string does not fail. Extreme figures would have hundreds of digits.
        let _ = match value.abs() {
            size if size.is_nan() => Ok(()),
            0.0 | 1e-9..=1e17 => write!(line, "{value}"),
            _ => write!(line, "{value:e}"),
        };
    }
    line
}
