//! Another score, which is a column of the file, beside the model on the same records.

use serde::Serialize;

use super::{
    Scored,
    beside::{Beside, beside},
};

/// The other score beside the model, on the records that have both.
#[derive(Debug, Clone, Serialize)]
pub struct External {
    pub column: String,
    #[serde(flatten)]
    pub beside: Beside,
}

/// `None` where the records with the column have no AUC: no record has it, or all outcomes are equal.
pub(crate) fn external(scored: &Scored<'_>, column: &str) -> Option<External> {
    Some(External { column: column.to_owned(), beside: beside(scored, |row| row.external)? })
}
