//! The calibration of a margin as the format has it.

use tables::link;

use crate::{
    FileFault,
    declaration::{Calibrated, Calibration, DeclarationFile, DeclaredKind, Margin, Method},
};

/// The most steps of an isotonic calibration.
const STEPS: usize = 4096;

/// The numbers of the link for a margin whose log-odds are `factor` times as much; none if the score is linear in it.
///
/// # Errors
/// What is wrong with the calibration.
pub(crate) fn numbers(file: &DeclarationFile, factor: Option<f64>) -> Result<Vec<f64>, FileFault> {
    let score = &file.declared.score;
    let is_risk = file.declared.kind == DeclaredKind::Sybil && *score.margin.get_ref() != Margin::Points;
    let makes = if is_risk { link::PROBABILITY } else { link::LOG_ODDS };
    let head = |method, of| vec![method, of, factor.unwrap_or(1.0), makes];
    let Some(declared) = &score.calibration else {
        return Ok(if is_risk { head(link::PLAIN, link::OF_MARGIN) } else { Vec::new() });
    };
    let fault = |message: &str| Err(file.fault(declared, message));
    if factor.is_none() {
        return fault("a calibration makes a probability, so the margin is in log-odds and not in points");
    }
    let Calibration { method, of, a, b, x, y } = declared.get_ref();
    let of = if *of == Calibrated::Margin { link::OF_MARGIN } else { link::OF_PROBABILITY };
    match (method, a, b, x, y) {
        (Method::Platt, Some(a), Some(b), None, None) if a.is_finite() && b.is_finite() => {
            if *a >= 0.0 {
                return fault(
                    "with an `a` of 0 or more the probability falls as the model sees more of its outcome. \
                     scikit-learn has `a_` below 0: 1 / (1 + exp(a * x + b))",
                );
            }
            Ok([head(link::PLATT, of), vec![*a, *b]].concat())
        }
        (Method::Platt, ..) => fault("`platt` needs `a` and `b`, which are `a_` and `b_` of scikit-learn"),
        (Method::Isotonic, None, None, Some(x), Some(y)) => {
            let rising = x.is_sorted_by(|low, high| low < high) && x.iter().all(|at| at.is_finite());
            let shares = y.is_sorted() && y.iter().all(|share| (0.0..=1.0).contains(share));
            if !rising || !shares || x.len() != y.len() || !(1..=STEPS).contains(&x.len()) {
                return fault(
                    "`isotonic` needs as many numbers in `x`, each above the one before, as rising probabilities in \
                     `y`; at most 4096: `X_thresholds_` and `y_thresholds_` of scikit-learn",
                );
            }
            Ok([head(link::ISOTONIC, of), x.clone(), y.clone()].concat())
        }
        (Method::Isotonic, ..) => {
            fault("`isotonic` needs `x` and `y`, which are `X_thresholds_` and `y_thresholds_` of scikit-learn")
        }
    }
}
