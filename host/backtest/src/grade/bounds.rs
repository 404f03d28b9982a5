//! The bounds of `--bounds`, and whether a model keeps them.

use std::str::FromStr;

use serde::Serialize;

use super::{Estimate, Grade};
use crate::{
    verdict::ENOUGH_BAD,
    words::{decimal, ends},
};

/// Bounds of `--bounds`, such as `auc=0.7,ks=0.2,psi=0.25,falls`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bounds {
    auc: Option<f64>,
    ks: Option<f64>,
    /// The highest stability index of a month.
    psi: Option<f64>,
    falls: bool,
}

/// One bound.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    pub bound: String,
    pub found: String,
    pub passed: bool,
}

impl FromStr for Bounds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut bounds = Self::default();
        for part in text.split(',').map(str::trim) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let number = || {
                let number = value.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
                number.ok_or_else(|| format!("{name} needs a number of at least 0, as in {name}=0.2"))
            };
            match name {
                "auc" => bounds.auc = Some(number()?),
                "ks" => bounds.ks = Some(number()?),
                "psi" => bounds.psi = Some(number()?),
                "falls" if value.is_empty() => bounds.falls = true,
                _ => return Err(format!("{part:?} is no bound; there are auc=N, ks=N, psi=N and falls")),
            }
        }
        Ok(bounds)
    }
}

/// The AUC and the KS pass if they reach their bounds on a sample with enough bad outcomes. The interval of the AUC must
/// also be above chance.
pub fn checks(grade: &Grade, bounds: &Bounds) -> Vec<Check> {
    let mut found = Vec::new();
    let enough = grade.bad >= ENOUGH_BAD;
    if let Some(bound) = bounds.auc {
        let above = grade.auc.interval.is_some_and(|interval| interval.low > 0.5);
        found.push(Check {
            bound: format!("AUC of at least {bound}, its interval above 0.5"),
            found: shown(grade.auc),
            passed: enough && above && grade.auc.value.is_some_and(|auc| auc >= bound),
        });
    }
    if let Some(bound) = bounds.ks {
        found.push(Check {
            bound: format!("KS of at least {bound}"),
            found: shown(grade.ks),
            passed: enough && grade.ks.value.is_some_and(|ks| ks >= bound),
        });
    }
    if let Some(bound) = bounds.psi {
        let most = grade.months.iter().filter_map(|month| month.psi).reduce(f64::max);
        found.push(Check {
            bound: format!("PSI of the scores of at most {bound} in every month"),
            found: decimal(most, 3),
            passed: most.is_none_or(|most| most <= bound),
        });
    }
    if bounds.falls {
        let words = match grade.falls {
            Some(true) => "it falls",
            Some(false) => "it does not fall",
            None => "fewer than two ranges have 50 records",
        };
        found.push(Check {
            bound: "the bad rate falls from range to range".into(),
            found: words.into(),
            passed: grade.falls == Some(true),
        });
    }
    found
}

fn shown(Estimate { value, interval }: Estimate) -> String {
    format!("{}, {}", decimal(value, 3), ends(interval, 3))
}

#[cfg(test)]
mod tests {
    use super::Bounds;

    #[test]
    fn a_bound_that_is_none_is_named() {
        let bounds: Bounds = "auc=0.7, falls".parse().unwrap();
        assert_eq!(bounds, Bounds { auc: Some(0.7), falls: true, ..Bounds::default() });
        for (text, part) in [("acu=1", "\"acu=1\" is no bound"), ("auc=x", "auc needs a number"), ("", "is no bound")] {
            assert!(text.parse::<Bounds>().unwrap_err().contains(part), "{text}");
        }
    }
}
