//! What a trained model predicts.

/// What the sum of the trees or the last layer means, by what their file says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Predicts {
    /// The log-odds of an outcome, divided by `factor`. `class` is the label of the outcome, unless it is 1 of 0 and 1.
    LogOdds { factor: f64, class: Option<String> },
    /// A value: the text says which, as in `its objective is regression`.
    Value(String),
}

impl Predicts {
    pub(crate) const LOG_ODDS: Self = Self::LogOdds { factor: 1.0, class: None };

    /// Takes the label of the outcome.
    pub(crate) fn of_class(&mut self, label: Option<String>) {
        if let Self::LogOdds { class, .. } = self {
            *class = label;
        }
    }
}
