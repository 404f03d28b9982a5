//! How a margin becomes a score.

use crate::{
    Fault,
    declaration::{File, Margin},
    origin::Predicts,
};

/// The score is `base + per_margin * margin`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    pub per_margin: f64,
    pub base: f64,
}

/// The lowest score, where a scorecard of points begins.
const LOWEST: f64 = 300.0;

impl Scale {
    /// # Errors
    /// What the section `score` lacks or has wrong.
    pub fn of(file: &File) -> Result<Self, Fault> {
        let score = &file.declared.score;
        let fault = |message: &str| Err(Fault::of(&file.path, format!("[score]: {message}")));
        let odds = (score.points_to_double, score.anchor_score, score.anchor_odds);
        let scale = match (*score.margin.get_ref(), odds) {
            (Margin::Points, (None, None, None)) => Self { per_margin: 1.0, base: score.base.unwrap_or(LOWEST) },
            (Margin::Points, _) => return fault("with `margin = \"points\"` give `base`, and no odds"),
            (_, (Some(double), Some(at), Some(odds))) if double > 0.0 && odds > 0.0 && score.base.is_none() => {
                let per = double / std::f64::consts::LN_2;
                let sign = if *score.margin.get_ref() == Margin::LogOddsOfBad { -1.0 } else { 1.0 };
                Self { per_margin: sign * per, base: at - per * odds.ln() }
            }
            _ => {
                return fault(
                    "a margin in log-odds needs `points_to_double`, `anchor_score` and `anchor_odds`, all above 0, and no \
                     `base`. With 60, 700 and 4, odds of 4 to 1 score 700, and odds of 8 to 1 score 760",
                );
            }
        };
        if scale.per_margin.is_finite() && scale.base.is_finite() && score.intercept.is_finite() {
            return Ok(scale);
        }
        fault("a number is not finite")
    }

    /// The scale of trees whose sum means what `predicts` says.
    ///
    /// # Errors
    /// The declared margin has another meaning.
    pub fn of_trees(self, file: &File, predicts: &Predicts) -> Result<Self, Fault> {
        let (margin, said) = (&file.declared.score.margin, &file.declared.score.trees_predict);
        let (factor, class) = match (margin.get_ref(), predicts, said) {
            (Margin::Points, _, Some(said)) => {
                return Err(file.fault(said, "with `margin = \"points\"` the trees predict points: remove this"));
            }
            (Margin::Points, Predicts::LogOdds { .. }, None) => {
                let message = "the trees predict log-odds and not points: write \"log-odds-of-bad\" or \
                               \"log-odds-of-good\", after the outcome that is 1 in the training";
                return Err(file.fault(margin, message));
            }
            (Margin::Points, Predicts::Value(_), None) | (_, Predicts::Value(_), Some(_)) => return Ok(self),
            (_, Predicts::Value(why), None) => {
                let message = format!(
                    "the trees may not predict log-odds: {why}. Train a binary objective; or write \"points\" if they \
                     predict a score; or add `trees_predict = \"log-odds\"` if their sum is in log-odds all the same"
                );
                return Err(file.fault(margin, message));
            }
            (_, Predicts::LogOdds { factor, class }, _) => (*factor, class.as_deref()),
        };
        match (margin.get_ref(), class) {
            (_, None) | (Margin::LogOddsOfBad, Some("bad")) | (Margin::LogOddsOfGood, Some("good")) => {
                Ok(Self { per_margin: self.per_margin * factor, ..self })
            }
            (_, Some(class @ ("bad" | "good"))) => {
                let message = format!("the trees predict the log-odds of {class:?}: write \"log-odds-of-{class}\"");
                Err(file.fault(margin, message))
            }
            (_, Some(class)) => Err(file.fault(
                margin,
                format!(
                    "the trees predict the log-odds of the class {class:?}, and nothing says whether that is good or \
                     bad. Train with the classes 0 and 1, or \"bad\" and \"good\""
                ),
            )),
        }
    }
}

/// The lowest scores of the deciles 2 to 10.
///
/// # Errors
/// Where they are not nine rising scores.
pub fn deciles(file: &File) -> Result<&[u32], Fault> {
    let declared = &file.declared.score.deciles;
    let scores = declared.get_ref().as_slice();
    let within = scores.iter().all(|score| (301..=1000).contains(score));
    if scores.len() == 9 && within && scores.is_sorted_by(|low, high| low < high) {
        return Ok(scores);
    }
    Err(file
        .fault(declared, "deciles are nine scores from 301 to 1000, each above the one before: where 2 to 10 begin"))
}
