//! The claims of a card: how often wallets of one population have an outcome, by range.

use assay_domain::{Claim, ClaimVerdict, Claims, ModelInfo, Population, Rate, stats::Interval};
use serde::Deserialize;

/// A test with fewer wallets shows nothing.
const ENOUGH: u64 = 50;

/// A claim as a card states it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CardClaims {
    /// In words.
    population: String,
    /// The population: wallets that owe at least this many dollars, and whose whole debt was read.
    owes_usd: Option<f64>,
    /// The population: wallets that were liquidated, and may have an unread debt.
    #[serde(default)]
    debt_unread: bool,
    /// The regime in which the rates hold, in words.
    condition: Option<String>,
    outcome: String,
    horizon_days: u32,
    rates: Vec<StatedRate>,
    /// The rates on records that they were not measured on.
    #[serde(default)]
    pub tested: Vec<Tested>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatedRate {
    range: String,
    low: f64,
    estimate: f64,
    high: f64,
}

/// The observations in one range, on records that its rate was not measured on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tested {
    range: String,
    wallets: u64,
    low: f64,
    observed: f64,
    high: f64,
}

/// The rates of `claims` that are not shown to hold, in words: by the tests beside them in the card, each with at least
/// 50 wallets.
pub(super) fn not_shown(claims: &[Claim], stated: &[CardClaims]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, claim) in claims.iter().enumerate() {
        let tested = stated.get(index).map(|stated| &stated.tested[..]).unwrap_or_default();
        let [failed, not_shown] = [ClaimVerdict::Fails, ClaimVerdict::NotShown].map(|wanted| {
            let of = claim.claims.rates.iter().filter(|rate| judged(rate, tested) == wanted);
            of.map(|rate| rate.range.as_str()).collect::<Vec<_>>().join(", ")
        });
        let days = claim.claims.horizon_days;
        for (ranges, verdict) in [(failed, "failed"), (not_shown, "not shown")] {
            if !ranges.is_empty() {
                found.push(format!("{ranges} within {days} days {verdict}"));
            }
        }
    }
    found
}

/// The verdict on a rate: it fails if one test fails, and holds if none fails and one holds.
fn judged(rate: &Rate, tested: &[Tested]) -> ClaimVerdict {
    let own = tested.iter().filter(|test| test.range == rate.range.as_str() && test.wallets >= ENOUGH);
    let verdicts: Vec<_> =
        own.map(|test| rate.verdict(test.observed, Interval { low: test.low, high: test.high })).collect();
    let has = |verdict| verdicts.contains(&verdict);
    match () {
        () if has(ClaimVerdict::Fails) => ClaimVerdict::Fails,
        () if has(ClaimVerdict::Holds) => ClaimVerdict::Holds,
        () => ClaimVerdict::NotShown,
    }
}

/// The claim of the component.
pub fn in_words(info: &ModelInfo) -> Vec<Claim> {
    info.claims
        .iter()
        .map(|claims| Claim { population: Population::Words, condition: None, claims: claims.clone() })
        .collect()
}

/// The claims of a card, which state that of the component too, with the same rates.
///
/// # Errors
/// The first problem.
pub(super) fn checked(stated: &[CardClaims], info: &ModelInfo) -> Result<Vec<Claim>, String> {
    let claims: Vec<Claim> = stated.iter().map(CardClaims::checked).collect::<Result<_, _>>()?;
    let says = |own: &Claims, claim: &Claim| {
        let Claims { outcome, horizon_days, rates, .. } = &claim.claims;
        (outcome, horizon_days, rates) == (&own.outcome, &own.horizon_days, &own.rates)
    };
    match &info.claims {
        Some(own) if !claims.is_empty() && !claims.iter().any(|claim| says(own, claim)) => Err(format!(
            "none has the outcome, the horizon and the rates that the component claims ({} within {} days)",
            own.outcome, own.horizon_days
        )),
        _ => Ok(claims),
    }
}

impl CardClaims {
    fn checked(&self) -> Result<Claim, String> {
        let population = match (self.owes_usd, self.debt_unread) {
            (Some(usd), false) if usd.is_finite() && usd > 0.0 => Population::Owing { usd },
            (None, true) => Population::Unread,
            _ => return Err("it needs either owes_usd, above 0, or debt_unread = true".to_owned()),
        };
        let rate = |rate: &StatedRate| {
            let range = rate.range.parse().map_err(|()| format!("there is no range {:?}", rate.range))?;
            Ok(Rate { range, low: rate.low, estimate: rate.estimate, high: rate.high })
        };
        let is_test = |test: &Tested| {
            let shares = [0.0, test.low, test.observed, test.high, 1.0];
            shares.is_sorted() && self.rates.iter().any(|rate| rate.range == test.range)
        };
        if let Some(test) = self.tested.iter().find(|test| !is_test(test)) {
            return Err(format!("a test of the range {:?} without a rate, or with shares out of order", test.range));
        }
        let claims = Claims {
            outcome: self.outcome.clone(),
            horizon_days: self.horizon_days,
            population: self.population.clone(),
            rates: self.rates.iter().map(rate).collect::<Result<_, String>>()?,
        };
        claims.check()?;
        let condition = self.condition.as_deref().and_then(|text| text.parse().ok());
        Ok(Claim { population, condition, claims })
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use assay_domain::ModelKind;
    use config::{Config, File, FileFormat};

    use super::*;
    use crate::cards::{claims, doubts, file::card};
    use assay_domain::Digest;

    /// The rates of the card of 1.3 are those that its fit measured.
    #[test]
    fn a_released_card_claims_what_its_fit_measured() {
        #[derive(Deserialize)]
        struct Scorecard {
            rate: Vec<Measured>,
        }
        #[derive(Deserialize)]
        struct Measured {
            population: String,
            days: u32,
            #[serde(flatten)]
            rate: StatedRate,
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (shelf, file) = (root.join("plugins"), root.join("models/credit-1.3/scorecard.toml"));
        let model = assay_registry::standalone(&fs::read(shelf.join("credit-1.3.wasm")).unwrap(), &Default::default());
        let model = model.unwrap();
        let claims = claims(&shelf, model.info(), model.digest(), None).unwrap();
        let text = fs::read_to_string(file).unwrap();
        let fit = Config::builder().add_source(File::from_str(&text, FileFormat::Toml)).build().unwrap();
        let fit: Scorecard = fit.try_deserialize().unwrap();
        let claimed: Vec<_> = claims
            .iter()
            .flat_map(|Claim { population, claims, .. }| {
                let name = if *population == Population::Unread { "unread" } else { "position" };
                let one = move |Rate { range, low, estimate, high }: &Rate| {
                    (name.to_owned(), claims.horizon_days, range.as_str().to_owned(), *low, *estimate, *high)
                };
                claims.rates.iter().map(one)
            })
            .collect();
        let measured: Vec<_> = fit
            .rate
            .into_iter()
            .map(|Measured { population, days, rate }| {
                (population, days, rate.range, rate.low, rate.estimate, rate.high)
            })
            .collect();
        assert_eq!(claimed, measured);
    }

    /// The rates of the card of 1.4 are measured ones, of the regime that its claims name.
    #[test]
    fn a_claim_of_one_regime_is_a_measured_rate_of_it() {
        #[derive(Deserialize)]
        struct Evidence {
            rate: Vec<Measured>,
        }
        #[derive(Deserialize)]
        struct Measured {
            set: String,
            days: u32,
            regime: String,
            range: String,
            low: Option<f64>,
            estimate: f64,
            high: Option<f64>,
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let shelf = root.join("plugins");
        let model = assay_registry::standalone(&fs::read(shelf.join("credit-1.4.wasm")).unwrap(), &Default::default());
        let model = model.unwrap();
        let text = fs::read_to_string(root.join("models/credit-1.4/evidence.toml")).unwrap();
        let evidence = Config::builder().add_source(File::from_str(&text, FileFormat::Toml)).build().unwrap();
        let evidence: Evidence = evidence.try_deserialize().unwrap();
        let claims = claims(&shelf, model.info(), model.digest(), None).unwrap();
        assert_eq!(claims.len(), 3);
        for claim in &claims {
            assert_eq!(claim.condition, Some(assay_domain::Condition::Ether { percent: 30.0, falls: false }));
            let set = if claim.population == Population::Unread { "again" } else { "vaults" };
            for rate in &claim.claims.rates {
                let is_same = |found: &&Measured| {
                    (&*found.set, found.days, &*found.regime, &*found.range)
                        == (set, claim.claims.horizon_days, "otherwise", rate.range.as_str())
                };
                let found = evidence.rate.iter().find(is_same).unwrap();
                let measured = (found.low, found.estimate, found.high);
                assert_eq!(measured, (Some(rate.low), rate.estimate, Some(rate.high)), "{rate:?}");
            }
        }
    }

    #[test]
    fn a_claim_without_a_test_or_with_a_wide_one_is_not_shown() {
        let shelf = tempfile::tempdir().unwrap();
        let info = ModelInfo {
            kind: ModelKind::Credit,
            version: "2.0".parse().unwrap(),
            title: "A model".into(),
            authors: Vec::new(),
            reads: Vec::new(),
            claims: None,
        };
        let doubts_of = |info: &ModelInfo, packed: Option<&str>| doubts(shelf.path(), info, Digest([1; 32]), packed);
        assert_eq!(doubts_of(&info, None).unwrap(), None, "it claims nothing");
        let card = |tested: &str| {
            format!(
                "[[section]]\ntitle = \"Purpose\"\n[[claim]]\npopulation = \"borrowers\"\nowes_usd = 10\noutcome = \
                 \"liquidated\"\nhorizon_days = 30\nrates = [{{ range = \"low\", low = 0.08, estimate = 0.1, high = \
                 0.12 }}]\ntested = [{tested}]\n"
            )
        };
        let test = |wallets: u64, low: f64, observed: f64, high: f64| {
            format!("{{ range = \"low\", wallets = {wallets}, low = {low}, observed = {observed}, high = {high} }}, ")
        };
        let holds = test(900, 0.09, 0.1, 0.11);
        for (tested, says) in [
            (String::new(), Some("low within 30 days not shown")),
            (test(49, 0.09, 0.1, 0.11), Some("low within 30 days not shown")),
            (test(60, 0.03, 0.1, 0.3), Some("low within 30 days not shown")),
            (test(900, 0.2, 0.25, 0.3), Some("low within 30 days failed")),
            (holds.clone() + &test(900, 0.2, 0.25, 0.3), Some("low within 30 days failed")),
            (holds.clone() + &test(60, 0.03, 0.1, 0.3), None),
            (holds, None),
        ] {
            let found = doubts_of(&info, Some(&card(&tested))).unwrap();
            let says = says.map(|says| format!("its card does not show that its claims hold ({says})"));
            assert_eq!(found, says, "{tested}");
        }
        let wrong = doubts_of(&info, Some(&card(&test(60, 0.3, 0.1, 0.3)))).unwrap_err().to_string();
        assert!(wrong.contains("shares out of order"), "{wrong}");
        // A claim that only the component states.
        let rate = Rate { range: assay_domain::Range::Low, low: 0.1, estimate: 0.2, high: 0.3 };
        let (outcome, population) = ("liquidated".to_owned(), "all".to_owned());
        let own = Claims { outcome, horizon_days: 90, population, rates: vec![rate] };
        let info = ModelInfo { claims: Some(own), ..info };
        let found = doubts_of(&info, None).unwrap().unwrap();
        assert!(found.contains("low within 90 days not shown"), "{found}");
    }

    /// The tests in the card of 1.4 agree with its evidence, and by the rule of a backtest they are not enough.
    #[test]
    fn the_card_of_1_4_does_not_show_that_its_claims_hold() {
        #[derive(Deserialize)]
        struct Evidence {
            rate: Vec<Measured>,
        }
        #[derive(Deserialize)]
        struct Measured {
            set: String,
            days: u32,
            regime: String,
            range: String,
            wallets: u64,
            low: Option<f64>,
            estimate: f64,
            high: Option<f64>,
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = fs::read_to_string(root.join("models/credit-1.4/evidence.toml")).unwrap();
        let evidence = Config::builder().add_source(File::from_str(&text, FileFormat::Toml)).build().unwrap();
        let evidence: Evidence = evidence.try_deserialize().unwrap();
        let shelf = root.join("plugins");
        let model = assay_registry::standalone(&fs::read(shelf.join("credit-1.4.wasm")).unwrap(), &Default::default());
        let model = model.unwrap();
        let card = card(&shelf, model.info(), model.digest(), None).unwrap().unwrap();
        let tests = card.claim.iter().flat_map(|claim| claim.tested.iter().map(|test| (claim.horizon_days, test)));
        let mut count = 0;
        for (days, test) in tests {
            let is_same = |found: &&Measured| {
                (&*found.set, found.days, &*found.regime, &found.range) == ("borrowers", days, "otherwise", &test.range)
            };
            let found = evidence.rate.iter().find(is_same).unwrap();
            let measured = (found.wallets, found.low, found.estimate, found.high);
            assert_eq!(measured, (test.wallets, Some(test.low), test.observed, Some(test.high)), "{}", test.range);
            count += 1;
        }
        assert_eq!(count, 4);
        let found = doubts(&shelf, model.info(), model.digest(), None).unwrap().unwrap();
        assert!(found.contains("low, fair within 90 days not shown"), "{found}");
    }
}
