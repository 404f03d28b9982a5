//! What the origin of a model predicts, as its training script writes it.

use std::path::Path;

use crate::{FileFault, files, table};

/// What a prediction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// The sum of the trees or the last layer: `predict(raw_score=True)` of LightGBM, `predict(output_margin=True)` of
    /// XGBoost.
    Margin,
    /// The probability of the outcome named by `margin` in the declaration.
    Probability,
    /// The score, not rounded and not within 300 to 1000.
    Score,
}

impl Unit {
    const ALL: [Self; 3] = [Self::Margin, Self::Probability, Self::Score];

    /// The name of its column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Margin => "margin",
            Self::Probability => "probability",
            Self::Score => "score",
        }
    }
}

/// Predictions for each wallet, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// The columns of the file.
    pub units: Vec<Unit>,
    /// For each wallet, a prediction in each unit.
    pub rows: Vec<Vec<f64>>,
}

impl Predictions {
    /// # Errors
    /// The file has no column `margin`, `probability` or `score`, or a cell of it is not a number.
    pub fn read(path: &Path) -> Result<Self, FileFault> {
        let read = Self::read_odd(path)?;
        match read.rows.iter().position(|row| row.iter().any(|value| !value.is_finite())) {
            Some(at) => Err(FileFault::of(path, format!("prediction {} is not a finite number", at + 1))),
            None => Ok(read),
        }
    }

    /// The predictions for odd rows, which may be infinite or no number.
    ///
    /// # Errors
    /// As [`Self::read`], but for predictions that are not finite.
    pub fn read_odd(path: &Path) -> Result<Self, FileFault> {
        let text = files::text(path, files::TRAINED)?;
        let head = table::head(path, &text)?;
        let has = |unit: &Unit| head.contains(&unit.as_str());
        let units: Vec<Unit> = Unit::ALL.into_iter().filter(has).collect();
        if units.is_empty() {
            let message =
                "its first line has none of `margin`, `probability` and `score`: name the column of the predictions";
            return Err(FileFault::of(path, message));
        }
        let rows = table::rows(path, &text, &units.iter().map(|unit| unit.as_str()).collect::<Vec<_>>(), false)?;
        Ok(Self { units, rows })
    }
}
