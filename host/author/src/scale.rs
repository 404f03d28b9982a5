//! How a margin becomes a score.

use crate::{
    FileFault,
    declaration::{DeclarationFile, DeclaredKind, Margin},
    predicts::Predicts,
};

/// The score is `base + per_margin * margin`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    pub per_margin: f64,
    pub base: f64,
}

/// The lowest score, where a scorecard of points begins.
const LOWEST: f64 = 300.0;

/// What the risk of a sybil model is linear in: a probability of 1 is a risk of 100.
const RISK: f64 = 100.0;

impl Scale {
    /// # Errors
    /// What the section `score` lacks or has wrong.
    pub(crate) fn of(file: &DeclarationFile) -> Result<Self, FileFault> {
        let score = &file.declared.score;
        let fault = |message: &str| Err(FileFault::of(&file.path, format!("[score]: {message}")));
        let odds = (score.points_to_double, score.anchor_score, score.anchor_odds);
        let scale = match (file.declared.kind, *score.margin.get_ref(), odds) {
            (DeclaredKind::Credit, Margin::Points, (None, None, None)) => {
                Self { per_margin: 1.0, base: score.base.unwrap_or(LOWEST) }
            }
            (DeclaredKind::Sybil, Margin::Points, (None, None, None)) => {
                Self { per_margin: 1.0, base: score.base.unwrap_or_default() }
            }
            (DeclaredKind::Sybil, Margin::LogOddsOfBot, (None, None, None)) if score.base.is_none() => {
                Self { per_margin: RISK, base: 0.0 }
            }
            (DeclaredKind::Sybil, Margin::LogOddsOfBot, _) => {
                return fault("the risk is 100 times the probability of a bot, and has no `base` and no odds");
            }
            (DeclaredKind::Sybil, Margin::LogOddsOfBad | Margin::LogOddsOfGood, _)
            | (DeclaredKind::Credit, Margin::LogOddsOfBot, _) => {
                let kinds = "a credit model has \"log-odds-of-bad\" or \"log-odds-of-good\", a sybil model \
                             \"log-odds-of-bot\", and both can have \"points\"";
                return Err(file.fault(&score.margin, kinds));
            }
            (_, Margin::Points, _) => return fault("with `margin = \"points\"` give `base`, and no odds"),
            (DeclaredKind::Credit, margin, (Some(double), Some(at), Some(odds)))
                if double > 0.0 && odds > 0.0 && score.base.is_none() =>
            {
                let per = double / std::f64::consts::LN_2;
                let sign = if margin == Margin::LogOddsOfBad { -1.0 } else { 1.0 };
                Self { per_margin: sign * per, base: at - per * odds.ln() }
            }
            (DeclaredKind::Credit, ..) => {
                return fault(
                    "a margin in log-odds needs `points_to_double`, `anchor_score` and `anchor_odds`, all above 0, and \
                     no `base`; or `table`, the table of the training, and none of these. With 60, 700 and 4, odds of \
                     4 to 1 score 700, and odds of 8 to 1 score 760",
                );
            }
        };
        if scale.per_margin.is_finite() && scale.base.is_finite() && score.intercept.is_finite() {
            return Ok(scale);
        }
        fault("a number is not finite")
    }
}

/// What the margin of a trained model, which is called `name`, is multiplied by for log-odds; none if it is in points.
///
/// # Errors
/// The declared margin has another meaning.
pub(crate) fn factor(file: &DeclarationFile, name: &str, predicts: &Predicts) -> Result<Option<f64>, FileFault> {
    let (margin, said) = (&file.declared.score.margin, &file.declared.score.predicts);
    let outcome = margin.get_ref().outcome();
    let (factor, class) = match (margin.get_ref(), predicts, said) {
        (Margin::Points, _, Some(said)) => {
            return Err(file.fault(said, format!("with `margin = \"points\"` the {name} predict points: remove this")));
        }
        (Margin::Points, Predicts::LogOdds { .. }, None) => {
            let message = format!(
                "the {name} predict log-odds and not points: write \"log-odds-of-bad\" or \"log-odds-of-good\", after \
                 the outcome that is 1 in the training"
            );
            return Err(file.fault(margin, message));
        }
        (Margin::Points, Predicts::Value(_), None) => return Ok(None),
        (_, Predicts::Value(_), Some(_)) => return Ok(Some(1.0)),
        (_, Predicts::Value(why), None) => {
            let message = format!(
                "the {name} may not predict log-odds: {why}. Train a binary objective; or write \"points\" if they \
                 predict a score; or add `predicts = \"log-odds\"` if their sum is in log-odds all the same"
            );
            return Err(file.fault(margin, message));
        }
        (_, Predicts::LogOdds { factor, class }, _) => (*factor, class.as_deref()),
    };
    match class.filter(|class| !class.eq_ignore_ascii_case(outcome)) {
        None => Ok(Some(factor)),
        Some(class) => Err(file.fault(margin, other_class(file.declared.kind, name, class))),
    }
}

/// Why a margin has another meaning if it is the log-odds of `class`, and what to do.
fn other_class(kind: DeclaredKind, name: &str, class: &str) -> String {
    let of = format!("the {name} predict the log-odds of {class:?}");
    match (kind, class.to_ascii_lowercase().as_str()) {
        (DeclaredKind::Credit, class @ ("bad" | "good")) => format!("{of}: write \"log-odds-of-{class}\""),
        (DeclaredKind::Credit, _) => format!(
            "{of}, and nothing says whether that is good or bad. Train with the classes 0 and 1, where 1 is the \
             outcome of `margin`, or \"bad\" and \"good\""
        ),
        (DeclaredKind::Sybil, _) => format!("{of}, and not of a bot. Train with the classes 0 and 1, where 1 is a bot"),
    }
}

/// The lowest scores of the deciles 2 to 10.
///
/// # Errors
/// They are not nine rising scores, or the model has no score.
pub(crate) fn deciles(file: &DeclarationFile) -> Result<&[u32], FileFault> {
    let declared = match (file.declared.kind, &file.declared.score.deciles) {
        (DeclaredKind::Credit, Some(declared)) => declared,
        (DeclaredKind::Credit, None) => {
            return Err(FileFault::of(
                &file.path,
                "[score]: `deciles` are missing: name `table`, the table of the training, and they are fitted to it",
            ));
        }
        (DeclaredKind::Sybil, Some(declared)) => return Err(file.fault(declared, "a sybil model has no deciles")),
        (DeclaredKind::Sybil, None) => return Ok(&[]),
    };
    let scores = declared.get_ref().as_slice();
    let within = scores.iter().all(|score| (301..=1000).contains(score));
    if scores.len() == 9 && within && scores.is_sorted_by(|low, high| low < high) {
        return Ok(scores);
    }
    Err(file
        .fault(declared, "deciles are nine scores from 301 to 1000, each above the one before: where 2 to 10 begin"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_class_is_refused_with_advice_that_its_kind_accepts() {
        for (kind, class, words) in [
            (DeclaredKind::Credit, "good", "write \"log-odds-of-good\""),
            (DeclaredKind::Credit, "Bad", "write \"log-odds-of-bad\""),
            (DeclaredKind::Credit, "repaid", "nothing says whether that is good or bad"),
            (DeclaredKind::Credit, "bot", "nothing says whether that is good or bad"),
            (DeclaredKind::Sybil, "human", "where 1 is a bot"),
            (DeclaredKind::Sybil, "good", "where 1 is a bot"),
            (DeclaredKind::Sybil, "bad", "where 1 is a bot"),
        ] {
            let said = other_class(kind, "trees", class);
            assert!(
                said.contains(words) && said.contains(&format!("log-odds of {class:?}")),
                "{kind:?} {class}: {said}"
            );
            assert_eq!(said.contains("write \"log-odds-of-"), words.starts_with("write"), "{kind:?} {class}: {said}");
        }
    }
}
