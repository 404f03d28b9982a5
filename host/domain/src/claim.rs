//! Claims: how often a model's card expects an outcome within a number of days, and for which wallets.

use serde::Serialize;

use crate::{Claims, Condition, Range, Rate, Standing, stats::Interval};

/// Maximum horizon: ten years, in days.
const MOST_DAYS: u32 = 3_650;

/// The rates of one population within one horizon. `claims.population` describes the population in words.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub population: Population,
    /// The regime in which the rates hold; `None` for all.
    pub condition: Option<Condition>,
    pub claims: Claims,
}

/// The rule that decides whether a wallet belongs to a population.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Population {
    /// The whole debt was read, and it is at least this many dollars.
    Owing { usd: f64 },
    /// A debt may exist that was not read, none is known, and the wallet was liquidated before.
    Unread,
    /// Stated only in words: no rule decides membership.
    Words,
}

/// Whether the claimed rate of a range has held on records with an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    Holds,
    Fails,
    /// The records are not enough to show either.
    NotShown,
}

/// A model's claims about one wallet.
#[derive(Debug, Clone, PartialEq)]
pub enum Claimed {
    /// The model makes no claims at all.
    Nothing,
    /// One rate for each horizon, of the range of the score.
    Rates(Vec<(Claim, Rate)>),
    /// Why no claim of the model applies.
    Outside(String),
}

impl Population {
    pub fn contains(&self, wallet: &Standing) -> bool {
        match self {
            Self::Owing { usd } => wallet.owes(*usd) && !wallet.is_debt_unread && !wallet.is_history_pending,
            Self::Unread => wallet.is_debt_unread && wallet.owed_usd <= 0.0 && wallet.liquidations > 0,
            Self::Words => false,
        }
    }
}

impl Claim {
    /// The population in words, with the condition.
    pub fn holds_for(&self) -> String {
        let population = &self.claims.population;
        self.condition.as_ref().map_or_else(|| population.clone(), |condition| format!("{population}, {condition}"))
    }

    /// The rate of a range.
    pub fn rate(&self, range: Range) -> Option<Rate> {
        self.claims.rates.iter().find(|rate| rate.range == range).copied()
    }
}

impl Rate {
    /// Compares the claim with an observed rate and its 95 % interval over wallets.
    ///
    /// The claim fails if each rate lies outside the other's interval. It holds if it does not fail, and the observed
    /// interval lies within the claimed one, widened to half and twice the claimed rate. A wider interval shows
    /// neither.
    pub fn verdict(&self, observed: f64, interval: Interval) -> ClaimVerdict {
        let claimed = Interval { low: self.low, high: self.high };
        if !interval.contains(self.estimate) && !claimed.contains(observed) {
            return ClaimVerdict::Fails;
        }
        let (low, high) = (self.low.min(self.estimate / 2.0), self.high.max(self.estimate * 2.0));
        match low <= interval.low && interval.high <= high {
            true => ClaimVerdict::Holds,
            false => ClaimVerdict::NotShown,
        }
    }
}

impl Claims {
    /// # Errors
    /// The first invalid part: a horizon, the order of the ranges, or a share.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=MOST_DAYS).contains(&self.horizon_days) {
            return Err(format!("a horizon of {} days, which is not 1 to {MOST_DAYS}", self.horizon_days));
        }
        if !self.rates.iter().is_sorted_by(|before, after| before.range < after.range) {
            return Err("claimed rates out of the order of the ranges, or two for one range".to_owned());
        }
        let is_no_share = |rate: &&Rate| {
            !(0.0 <= rate.low && rate.low <= rate.estimate && rate.estimate <= rate.high && rate.high <= 1.0)
        };
        match self.rates.iter().find(is_no_share) {
            None => Ok(()),
            Some(Rate { low, estimate, high, .. }) => {
                Err(format!("a claimed rate of {estimate} within {low} to {high}, which are no shares in order"))
            }
        }
    }
}

/// The claims about a wallet of this standing whose score is in `range`.
pub fn claimed(claims: &[Claim], standing: &Standing, range: Range) -> Claimed {
    if claims.is_empty() {
        return Claimed::Nothing;
    }
    if claims.iter().all(|claim| claim.population == Population::Words) {
        return Claimed::Outside(
            "The model states only in words which wallets its rates hold for, so none is claimed here.".to_owned(),
        );
    }
    let of = |claims: Vec<&Claim>| {
        let mut words: Vec<_> = claims.iter().map(|claim| claim.claims.population.as_str()).collect();
        words.dedup();
        words.join("; or ")
    };
    let own: Vec<_> = claims.iter().filter(|claim| claim.population.contains(standing)).collect();
    if own.is_empty() {
        return Claimed::Outside(format!("Rates are claimed only for {}.", of(claims.iter().collect())));
    }
    let rates: Vec<_> = own.iter().filter_map(|claim| Some(((*claim).clone(), claim.rate(range)?))).collect();
    match rates.is_empty() {
        true => Claimed::Outside(format!("No rate is claimed for the range {} of {}.", range.as_str(), of(own))),
        false => Claimed::Rates(rates),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(population: Population, words: &str, horizon_days: u32) -> Claim {
        let rate = Rate { range: Range::Low, low: 0.1, estimate: 0.2, high: 0.3 };
        let (outcome, population_words) = ("liquidated".to_owned(), words.to_owned());
        let claims = Claims { outcome, horizon_days, population: population_words, rates: vec![rate] };
        Claim { population, condition: None, claims }
    }

    #[test]
    fn a_claim_fails_holds_or_is_not_shown() {
        use crate::stats::wilson;
        use ClaimVerdict::{Fails, Holds, NotShown};

        // `fair` and `good` of credit 1.3, within 90 days.
        let fair = Rate { range: Range::Fair, low: 0.0074, estimate: 0.0243, high: 0.0474 };
        let good = Rate { range: Range::Good, low: 0.0, estimate: 0.0107, high: 0.0343 };
        let of = |rate: Rate, bad: u64, wallets: u64| {
            let interval = wilson(bad, wallets);
            let overlaps = interval.low <= rate.high && rate.low <= interval.high;
            (rate.verdict(bad as f64 / wallets as f64, interval), overlaps)
        };
        // 6 % where 2.4 % are claimed: overlapping intervals are no agreement.
        assert_eq!(of(fair, 12, 200), (Fails, true));
        assert_eq!(of(fair, 5, 80), (Fails, true));
        assert_eq!(of(good, 8, 150), (Fails, true));
        // One of twenty may be chance, and so may none.
        assert_eq!(of(fair, 1, 20), (NotShown, true));
        assert_eq!(of(fair, 0, 50), (NotShown, true));
        // The same rate holds once there are enough wallets.
        assert_eq!(of(fair, 2, 80), (NotShown, true));
        assert_eq!(of(fair, 25, 1_000), (Holds, true));
        assert_eq!(of(good, 0, 400), (Holds, true));
        // A claim that is too high also fails.
        assert_eq!(of(fair, 0, 400), (Fails, true));
        assert_eq!(of(fair, 0, 800), (Fails, false));
        // A claim without an interval is compared with half and twice its rate.
        let exact = Rate { range: Range::Low, low: 0.1, estimate: 0.1, high: 0.1 };
        assert_eq!((of(exact, 101, 1_000).0, of(exact, 150, 1_000).0), (Holds, Fails));
    }

    #[test]
    fn a_wallet_has_the_claims_of_its_population_or_the_reason_why_none() {
        let claims = [
            claim(Population::Owing { usd: 10.0 }, "those who owe", 90),
            claim(Population::Owing { usd: 10.0 }, "those who owe", 30),
            claim(Population::Unread, "those who were liquidated", 90),
        ];
        let of = |owed_usd, is_debt_unread, liquidations| {
            let mut standing = Standing::default();
            (standing.owed_usd, standing.is_debt_unread, standing.liquidations) =
                (owed_usd, is_debt_unread, liquidations);
            standing
        };
        let (owing, unread) = (of(10.0, false, 0), of(0.0, true, 1));
        let days = |standing: &Standing, range| match claimed(&claims, standing, range) {
            Claimed::Rates(rates) => rates.iter().map(|(claim, _)| claim.claims.horizon_days).collect(),
            Claimed::Outside(why) => panic!("{why}"),
            Claimed::Nothing => Vec::new(),
        };
        assert_eq!((days(&owing, Range::Low), days(&unread, Range::Low)), (vec![90, 30], vec![90]));
        let why = |standing: &Standing, range| match claimed(&claims, standing, range) {
            Claimed::Outside(why) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(why(&owing, Range::Good), "No rate is claimed for the range good of those who owe.");
        let none = "Rates are claimed only for those who owe; or those who were liquidated.";
        let mut pending = owing;
        pending.is_history_pending = true;
        for standing in [Standing::default(), of(9.99, false, 0), of(10.0, true, 0), of(0.0, true, 0), pending] {
            assert_eq!(why(&standing, Range::Low), none, "{standing:?}");
        }
        assert_eq!(claimed(&[], &owing, Range::Low), Claimed::Nothing);
    }
}
