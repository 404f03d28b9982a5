//! The bounds of `--bounds`, and whether a model keeps them.

use std::str::FromStr;

use serde::Serialize;

use super::{
    ComparedValue, Estimate, Grade,
    beside::names,
    claims::{self, ClaimsResult},
};
use crate::{
    verdict::ENOUGH_BAD,
    words::{decimal, ends},
};

/// Bounds of `--bounds`, such as `auc=0.7,within=0.7,ks=0.2,psi=0.25,falls,claims,calibration,beats=health_factor`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GradeBounds {
    auc: Option<f64>,
    /// The lowest AUC within dates.
    within: Option<f64>,
    ks: Option<f64>,
    /// The highest stability index of a month.
    psi: Option<f64>,
    falls: bool,
    claims: bool,
    calibration: bool,
    /// Names of baselines.
    beats: Vec<&'static str>,
}

/// One bound.
#[derive(Debug, Clone, Serialize)]
pub struct BoundCheck {
    pub bound: String,
    pub found: String,
    pub passed: bool,
}

impl FromStr for GradeBounds {
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
                "within" => bounds.within = Some(number()?),
                "falls" if value.is_empty() => bounds.falls = true,
                "claims" if value.is_empty() => bounds.claims = true,
                "calibration" if value.is_empty() => bounds.calibration = true,
                "beats" => bounds.beats.push(baseline(value)?),
                _ => {
                    return Err(format!(
                        "{part:?} is no bound; there are auc=N, within=N, ks=N, psi=N, falls, claims, calibration and \
                         beats=BASELINE"
                    ));
                }
            }
        }
        Ok(bounds)
    }
}

fn baseline(value: &str) -> Result<&'static str, String> {
    let known = names();
    let found = known.into_iter().find(|name| *name == value);
    found.ok_or_else(|| format!("beats needs one of {}, as in beats=health_factor", known.join(", ")))
}

/// The AUC and the KS pass if they reach their bounds on a sample with enough bad outcomes. The interval of the AUC
/// must also be above chance.
pub(crate) fn checks(grade: &Grade, bounds: &GradeBounds) -> Vec<BoundCheck> {
    let mut found = Vec::new();
    let enough = grade.bad >= ENOUGH_BAD;
    for (name, bound, of) in [("AUC", bounds.auc, grade.auc), ("AUC within dates", bounds.within, grade.within_dates)] {
        let Some(bound) = bound else { continue };
        let above = of.interval.is_some_and(|interval| interval.low > 0.5);
        found.push(BoundCheck {
            bound: format!("{name} of at least {bound}, its interval above 0.5"),
            found: shown(of),
            passed: enough && above && of.value.is_some_and(|auc| auc >= bound),
        });
    }
    if let Some(bound) = bounds.ks {
        found.push(BoundCheck {
            bound: format!("KS of at least {bound}"),
            found: shown(grade.ks),
            passed: enough && grade.ks.value.is_some_and(|ks| ks >= bound),
        });
    }
    if let Some(bound) = bounds.psi {
        let most = grade.months.iter().filter_map(|month| month.psi).reduce(f64::max);
        found.push(BoundCheck {
            bound: format!("PSI of the scores of at most {bound} in every month"),
            found: decimal(most, 3),
            passed: most.is_none_or(|most| most <= bound),
        });
    }
    if bounds.falls {
        let words = match grade.falls {
            Some(true) => "it falls",
            Some(false) => "it does not fall",
            None => "fewer than two ranges have 50 records, or none of these is bad",
        };
        found.push(BoundCheck {
            bound: "the bad rate falls from range to range".into(),
            found: words.into(),
            passed: grade.falls == Some(true),
        });
    }
    found.extend(bounds.beats.iter().map(|name| beats(grade, name)));
    if bounds.calibration {
        let briers = grade.held_out.as_ref().map(|held_out| (held_out.brier, held_out.brier_of_base_rate));
        found.push(BoundCheck {
            bound: "a Brier score on wallets without a fit that is below that of the bad rate alone".into(),
            found: briers.map_or("too few outcomes of one kind".into(), |(own, base)| {
                format!("{}, {} for the bad rate alone", decimal(Some(own), 4), decimal(Some(base), 4))
            }),
            passed: briers.is_some_and(|(own, base)| own < base),
        });
    }
    found.extend(claims(grade, bounds.claims));
    found
}

/// A baseline is beaten if the interval of the difference is above 0.
fn beats(grade: &Grade, name: &str) -> BoundCheck {
    let beside = grade.baselines.iter().find(|baseline| baseline.name == name).and_then(|one| one.beside.as_ref());
    let found = beside.map_or("it cannot rank the records of this file".to_owned(), |beside| {
        let paired = beside.fairest();
        format!(
            "{}, {} for {name}; difference {}",
            decimal(paired.model.value, 3),
            decimal(paired.auc.value, 3),
            shown(paired.difference)
        )
    });
    let is_above =
        |beside: &ComparedValue| beside.fairest().difference.interval.is_some_and(|interval| interval.low > 0.0);
    BoundCheck {
        bound: format!("ranks better than {name}, the interval of the difference above 0"),
        found,
        passed: beside.is_some_and(|beside| beside.bad >= ENOUGH_BAD && is_above(beside)),
    }
}

/// A claim that fails also fails every verdict. One that is not shown fails only if the bound was stated.
fn claims(grade: &Grade, is_stated: bool) -> Option<BoundCheck> {
    let (found, passed) = match claims::kept(&grade.claims) {
        Some(ClaimsResult::No(why)) => (why, false),
        _ if !is_stated => return None,
        Some(ClaimsResult::Yes) => ("all hold".into(), true),
        Some(ClaimsResult::Unknown(why)) => (why, false),
        None => ("it claims nothing".into(), false),
    };
    let bound = "each claim holds, in every range with 50 records".into();
    Some(BoundCheck { bound, found, passed })
}

fn shown(Estimate { value, interval }: Estimate) -> String {
    format!("{}, {}", decimal(value, 3), ends(interval, 3))
}

#[cfg(test)]
mod tests {
    use super::GradeBounds;

    #[test]
    fn a_bound_that_is_none_is_named() {
        let bounds: GradeBounds = "auc=0.7, falls".parse().unwrap();
        assert_eq!(bounds, GradeBounds { auc: Some(0.7), falls: true, ..GradeBounds::default() });
        let bounds: GradeBounds =
            "within=0.7,claims,calibration,beats=health_factor,beats=utilisation".parse().unwrap();
        assert_eq!((bounds.within, &bounds.beats[..]), (Some(0.7), &["health_factor", "utilisation"][..]));
        assert!(bounds.claims && bounds.calibration);
        for (text, part) in [
            ("beats=1.1", "beats needs one of health_factor, utilisation, last_liquidation"),
            ("claims=1", "is no bound"),
            ("acu=1", "\"acu=1\" is no bound"),
            ("auc=x", "auc needs a number"),
            ("", "is no bound"),
        ] {
            assert!(text.parse::<GradeBounds>().unwrap_err().contains(part), "{text}");
        }
    }
}
