//! The features of a model as its card states them: each with its expression, and with the table of the training in
//! bins. A server evaluates the expressions on the wallets that it scores, and compares.

use std::fmt::{self, Write as _};

use assay_domain::stats::{Bins, Sketch};

use crate::{declaration::DeclarationFile, training::Training};

/// Bins of the figures of one feature, without those of absent figures and of zero.
const BINS: u32 = 10;

/// A feature, and the table of the training in bins.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    pub name: String,
    /// An expression of the feature language.
    pub is: String,
    /// `None` if the declaration names no table.
    pub training: Option<Bins>,
}

/// The features of a declaration, in its order.
pub(crate) fn inputs(file: &DeclarationFile, training: Option<&Training>) -> Vec<Input> {
    let column = |at: usize| {
        let training = training?;
        let mut sketch = Sketch::default();
        training.rows.iter().for_each(|row| sketch.add(row.get(at).copied()));
        Some(Bins::of(&sketch, BINS))
    };
    let features = file.declared.features.iter().enumerate();
    features
        .map(|(at, feature)| Input {
            name: feature.name.get_ref().clone(),
            is: feature.is.get_ref().clone(),
            training: column(at),
        })
        .collect()
}

/// The lines of a card.
impl fmt::Display for Input {
    fn fmt(&self, lines: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, is, training } = self;
        writeln!(lines, "\n[[input]]\nname = {name:?}\nis = {is:?}")?;
        let Some(bins) = training else { return Ok(()) };
        let Bins { absent, zero, edges, counts } = bins;
        writeln!(lines, "training = {{ absent = {absent}, zero = {zero}, edges = {edges:?}, counts = {counts:?} }}")
    }
}

/// The lines of all inputs.
pub(crate) fn lines(inputs: &[Input]) -> String {
    inputs.iter().fold(String::new(), |mut text, input| {
        // Writing to a string does not fail.
        let _ = write!(text, "{input}");
        text
    })
}
