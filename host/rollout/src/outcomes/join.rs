//! Kept scores joined with later liquidations: how often what a model claims has happened, by range.

use std::collections::HashMap;

use super::liquidations::Liquidations;
use crate::Observation;
use assay_domain::{
    Address, Claim, ClaimVerdict, Claims, EtherPrices, Population, Range, Rate,
    stats::{Interval, clustered},
};

const DAY: u64 = 86_400;
/// A range with fewer scores says nothing of a claim.
const ENOUGH: u64 = 50;

/// One population and horizon.
#[derive(Debug, Clone)]
pub struct Realised {
    pub population: String,
    pub horizon_days: u32,
    /// Scores of the population whose whole horizon is known, and those that wait for it.
    pub known: u64,
    pub waiting: u64,
    /// Scores of wallets whose outcome is hidden: these count in neither, nor in a range.
    pub hidden: u64,
    /// Scores of the population that are in no range because the condition of the claim was not met, and those of
    /// which it is not known: a daily price of ether is missing, or no rule decides the condition.
    pub other_regime: u64,
    pub undecided: u64,
    pub ranges: Vec<RealisedRange>,
}

/// One range.
#[derive(Debug, Clone)]
pub struct RealisedRange {
    pub range: Range,
    pub scores: u64,
    pub wallets: u64,
    /// Scores after which the wallet was liquidated within the horizon.
    pub liquidated: u64,
    pub rate: Option<f64>,
    /// Over wallets: the scores of one wallet are not independent.
    pub interval: Option<Interval>,
    pub claimed: Option<Rate>,
    /// Not shown with fewer than 50 scores; `None` without a claim.
    pub verdict: Option<ClaimVerdict>,
}

/// A table for each claim. A model that claims nothing has the wallets that owe, within 30 and 90 days.
pub(super) fn realised(
    scores: &[Observation],
    claims: &[Claim],
    known: &Liquidations,
    ether: &EtherPrices,
) -> Vec<Realised> {
    let own;
    let claims = if claims.is_empty() {
        own = [90, 30].map(unclaimed);
        &own[..]
    } else {
        claims
    };
    claims.iter().map(|claim| table(scores, claim, known, ether)).collect()
}

fn unclaimed(horizon_days: u32) -> Claim {
    let population = "wallets that owe at least $10".to_owned();
    let claims = Claims { outcome: "liquidated".to_owned(), horizon_days, population, rates: Vec::new() };
    Claim { population: Population::Owing { usd: 10.0 }, condition: None, claims }
}

fn table(scores: &[Observation], claim: &Claim, known: &Liquidations, ether: &EtherPrices) -> Realised {
    let belongs =
        |found: &&Observation| claim.population == Population::Words || claim.population.contains(&found.standing);
    let horizon = u64::from(claim.claims.horizon_days) * DAY;
    let time = |found: &Observation| found.as_of..found.as_of.saturating_add(horizon);
    let (hidden, shown): (Vec<&Observation>, Vec<_>) =
        scores.iter().filter(belongs).partition(|found| found.is_outcome_hidden);
    // One who was liquidated early would count before the others of that day can.
    let (mut known_scores, waiting): (Vec<&Observation>, Vec<_>) =
        shown.into_iter().partition(|found| time(found).end <= known.until);
    let (mut other_regime, mut undecided) = (0, 0);
    if let Some(condition) = &claim.condition {
        known_scores.retain(|found| {
            let is_met = condition.is_met(ether, found.as_of, claim.claims.horizon_days);
            other_regime += u64::from(is_met == Some(false));
            undecided += u64::from(is_met.is_none());
            is_met == Some(true)
        });
    }
    let range = |range: Range| {
        // Liquidated and all scores of each wallet.
        let mut wallets = HashMap::<Address, (u64, u64)>::new();
        for found in known_scores.iter().filter(|found| found.score.range() == range) {
            let (liquidated, all) = wallets.entry(found.address).or_default();
            *liquidated += u64::from(known.has(found.address, &time(found)));
            *all += 1;
        }
        let sum = |of: fn(&(u64, u64)) -> u64| wallets.values().map(of).sum::<u64>();
        let (liquidated, scores) = (sum(|wallet| wallet.0), sum(|wallet| wallet.1));
        let rate = (scores > 0).then(|| liquidated as f64 / scores as f64);
        let interval = rate.map(|_| clustered(wallets.values().copied()));
        let claimed = claim.rate(range);
        let verdict = claimed.map(|claimed| match rate.zip(interval).filter(|_| scores >= ENOUGH) {
            Some((rate, interval)) => claimed.verdict(rate, interval),
            None => ClaimVerdict::NotShown,
        });
        RealisedRange { range, scores, wallets: wallets.len() as u64, liquidated, rate, interval, claimed, verdict }
    };
    Realised {
        population: claim.holds_for(),
        horizon_days: claim.claims.horizon_days,
        known: known_scores.len() as u64,
        waiting: waiting.len() as u64,
        hidden: hidden.len() as u64,
        other_regime,
        undecided,
        ranges: Range::ALL.map(range).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::{Condition, Score, Standing, features::Features};

    /// The standing of a wallet that owes 100 dollars.
    fn owing() -> Standing {
        let chain = assay_domain::features::ChainFeatures {
            chain_id: 1,
            coverage: assay_domain::Coverage::Complete,
            first_transaction: None,
            last_transaction: None,
            transactions: 1,
            transfers: None,
            counterparties: None,
            active_days: None,
            active_hours: None,
            median_gap: None,
            assets_usd: 0.0,
            supplied_usd: 200.0,
            borrowed_usd: 100.0,
        };
        Standing::of(&Features { chains: vec![chain], ..Features::default() })
    }

    #[test]
    fn only_a_score_whose_horizon_is_known_counts_and_only_in_its_population() {
        let wallet = |n: u64| Address::left_padding_from(&n.to_be_bytes());
        let score = |n: u64, day: u64, score: u32, standing: Standing| Observation {
            address: wallet(n),
            as_of: day * DAY,
            score: Score::new(score).unwrap(),
            standing,
            is_outcome_hidden: false,
        };
        let low = Rate { range: Range::Low, low: 0.0, estimate: 0.1, high: 0.2 };
        let claims = Claims {
            outcome: "liquidated".into(),
            horizon_days: 30,
            population: "those who owe".into(),
            rates: vec![low],
        };
        let claim = Claim { population: Population::Owing { usd: 10.0 }, condition: None, claims };
        // Sixty wallets on day 1: every second is liquidated on day 30, its last, and one more on day 31. Wallet 1 is
        // scored again on day 80, of which the index does not know the end. One owes nothing, and one owes in vaults.
        let mut scores: Vec<_> = (0..60).map(|n| score(n, 1, 500, owing())).collect();
        scores.extend([score(1, 80, 700, owing()), score(99, 1, 500, Standing::default())]);
        scores.push(Observation { is_outcome_hidden: true, ..score(98, 1, 500, owing()) });
        let liquidated = (0..30).map(|n| (wallet(2 * n), vec![31 * DAY - 1])).chain([(wallet(1), vec![31 * DAY])]);
        let known = Liquidations::given(liquidated.collect::<HashMap<_, _>>(), 100 * DAY);
        let ether = EtherPrices::default();
        let table = &realised(&scores, &[claim], &known, &ether)[0];
        assert_eq!((table.known, table.waiting, table.hidden, table.horizon_days), (60, 1, 1, 30));
        let low = &table.ranges[0];
        assert_eq!((low.scores, low.wallets, low.liquidated, low.rate), (60, 60, 30, Some(0.5)));
        assert_eq!(
            (low.verdict, table.ranges[1].scores, table.ranges[1].verdict),
            (Some(ClaimVerdict::Fails), 0, None)
        );
        // A model without claims is shown for wallets that owe.
        let tables = realised(&scores, &[], &known, &ether);
        let days: Vec<_> = tables.iter().map(|table| (table.horizon_days, table.known)).collect();
        assert_eq!(days, [(90, 60), (30, 60)]);
        assert!(tables.iter().all(|table| table.ranges[0].claimed.is_none()));
    }

    /// Sixty wallets on each of two days: ether falls after the second day, on which half of them are liquidated.
    #[test]
    fn a_claim_with_a_condition_counts_only_scores_that_meet_it() {
        let wallet = |n: u64| Address::left_padding_from(&n.to_be_bytes());
        let score = |n: u64, day: u64| Observation {
            address: wallet(n),
            as_of: day * DAY + 60,
            score: Score::new(500).unwrap(),
            standing: owing(),
            is_outcome_hidden: false,
        };
        let rate = |estimate: f64| Rate { range: Range::Low, low: estimate - 0.01, estimate, high: estimate + 0.01 };
        let claim = |falls: Option<bool>, estimate| {
            let (outcome, population) = ("liquidated".into(), "those who owe".into());
            let claims = Claims { outcome, horizon_days: 2, population, rates: vec![rate(estimate)] };
            let words = Condition::Words("in calm markets".to_owned());
            let condition = falls.map_or(words, |falls| Condition::Ether { percent: 30.0, falls });
            Claim { population: Population::Owing { usd: 10.0 }, condition: Some(condition), claims }
        };
        let scores: Vec<_> = (0..60).map(|n| score(n, 1)).chain((60..120).map(|n| score(n, 2))).collect();
        let liquidated = (60..90).map(|n| (wallet(n), vec![3 * DAY]));
        let known = Liquidations::given(liquidated.collect::<HashMap<_, _>>(), 100 * DAY);
        let mut ether = EtherPrices::default();
        [(1, 100.0), (2, 95.0), (3, 90.0)].into_iter().for_each(|(day, usd)| ether.add(day * DAY, usd));
        let claims = [claim(Some(false), 0.0), claim(Some(true), 0.5), claim(None, 0.25)];
        let tables = |ether: &EtherPrices| realised(&scores, &claims, &known, ether);
        let counts = |tables: &[Realised]| {
            let of = |table: &Realised| (table.known, table.other_regime, table.undecided, table.ranges[0].liquidated);
            tables.iter().map(of).collect::<Vec<_>>()
        };
        // The price of day 4 is missing.
        assert_eq!(counts(&tables(&ether)), [(60, 0, 60, 0), (0, 60, 60, 0), (0, 0, 120, 0)]);
        ether.add(4 * DAY, 60.0);
        let found = tables(&ether);
        assert_eq!(counts(&found), [(60, 60, 0, 0), (60, 60, 0, 30), (0, 0, 120, 0)]);
        assert_eq!(found[1].ranges[0].rate, Some(0.5));
        assert_eq!(found[2].ranges[0].verdict, Some(ClaimVerdict::NotShown));
    }
}
