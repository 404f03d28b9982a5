//! Kept scores joined with later liquidations: how often what a model claims has happened, by range.

use std::collections::HashSet;

use super::liquidations::Liquidations;
use crate::rollout::records::ObservedScore;
use assay_domain::{
    Address, Claim, Claims, Population, Range, Rate,
    stats::{Interval, wilson},
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
    /// Wilson's, as if each wallet counted once: the scores of one wallet are not independent.
    pub interval: Option<Interval>,
    pub claimed: Option<Rate>,
    /// Whether both intervals have a rate in common; `None` with fewer than 50 scores or without a claim.
    pub agrees: Option<bool>,
}

/// A table for each claim. A model that claims nothing has the wallets that owe, within 30 and 90 days.
pub fn realised(scores: &[ObservedScore], claims: &[Claim], known: &Liquidations) -> Vec<Realised> {
    let own;
    let claims = if claims.is_empty() {
        own = [90, 30].map(unclaimed);
        &own[..]
    } else {
        claims
    };
    claims.iter().map(|claim| table(scores, claim, known)).collect()
}

fn unclaimed(horizon_days: u32) -> Claim {
    let population = "wallets that owe at least $10".to_owned();
    let claims = Claims { outcome: "liquidated".to_owned(), horizon_days, population, rates: Vec::new() };
    Claim { population: Population::Owing { usd: 10.0 }, claims }
}

fn table(scores: &[ObservedScore], claim: &Claim, known: &Liquidations) -> Realised {
    let belongs =
        |found: &&ObservedScore| claim.population == Population::Words || claim.population.contains(&found.standing);
    let horizon = u64::from(claim.claims.horizon_days) * DAY;
    let time = |found: &ObservedScore| found.as_of..found.as_of.saturating_add(horizon);
    // One who was liquidated early would count before the others of that day can.
    let (known_scores, waiting): (Vec<&ObservedScore>, Vec<_>) =
        scores.iter().filter(belongs).partition(|found| time(found).end <= known.until);
    let range = |range: Range| {
        let own: Vec<_> = known_scores.iter().filter(|found| found.score.range() == range).collect();
        let wallets = own.iter().map(|found| found.address).collect::<HashSet<Address>>().len() as u64;
        let liquidated = own.iter().filter(|found| known.has(found.address, &time(found))).count() as u64;
        let (scores, claimed) = (own.len() as u64, claim.rate(range));
        let rate = (scores > 0).then(|| liquidated as f64 / scores as f64);
        let interval = rate.map(|rate| wilson((rate * wallets as f64).round() as u64, wallets));
        let agrees = interval.zip(claimed).filter(|_| scores >= ENOUGH);
        let agrees = agrees.map(|(found, claimed)| found.low <= claimed.high && claimed.low <= found.high);
        RealisedRange { range, scores, wallets, liquidated, rate, interval, claimed, agrees }
    };
    Realised {
        population: claim.claims.population.clone(),
        horizon_days: claim.claims.horizon_days,
        known: known_scores.len() as u64,
        waiting: waiting.len() as u64,
        ranges: Range::ALL.map(range).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::{Digest, ModelPin, Score, Standing, features::Features};
    use std::collections::HashMap;

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
        let score = |n: u64, day: u64, score: u32, standing: Standing| ObservedScore {
            model: ModelPin { version: "1.3".parse().unwrap(), digest: Digest([3; 32]) },
            address: wallet(n),
            as_of: day * DAY,
            score: Score::new(score).unwrap(),
            standing,
        };
        let low = Rate { range: Range::Low, low: 0.0, estimate: 0.1, high: 0.2 };
        let claims = Claims {
            outcome: "liquidated".into(),
            horizon_days: 30,
            population: "those who owe".into(),
            rates: vec![low],
        };
        let claim = Claim { population: Population::Owing { usd: 10.0 }, claims };
        // Sixty wallets on day 1: every second is liquidated on day 30, its last, and one more on day 31. Wallet 1 is scored
        // again on day 80, of which the index does not know the end. One owes nothing.
        let mut scores: Vec<_> = (0..60).map(|n| score(n, 1, 500, owing())).collect();
        scores.extend([score(1, 80, 700, owing()), score(99, 1, 500, Standing::default())]);
        let liquidated = (0..30).map(|n| (wallet(2 * n), vec![31 * DAY - 1])).chain([(wallet(1), vec![31 * DAY])]);
        let known = Liquidations::given(liquidated.collect::<HashMap<_, _>>(), 100 * DAY);
        let table = &realised(&scores, &[claim], &known)[0];
        assert_eq!((table.known, table.waiting, table.horizon_days), (60, 1, 30));
        let low = &table.ranges[0];
        assert_eq!((low.scores, low.wallets, low.liquidated, low.rate), (60, 60, 30, Some(0.5)));
        assert_eq!((low.agrees, table.ranges[1].scores, table.ranges[1].agrees), (Some(false), 0, None));
        // A model that claims nothing is shown for those who owe.
        let tables = realised(&scores, &[], &known);
        let days: Vec<_> = tables.iter().map(|table| (table.horizon_days, table.known)).collect();
        assert_eq!(days, [(90, 60), (30, 60)]);
        assert!(tables.iter().all(|table| table.ranges[0].claimed.is_none()));
    }
}
