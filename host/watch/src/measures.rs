//! From a snapshot to the readings of a trigger: a value only if its own inputs were read.

use std::sync::Arc;

use crate::{
    market::MarketName,
    reading::{Liquidated, Reading, Readings, Sample},
    trigger::{Measure, Trigger, coverage_rank, range_rank},
};
use assay_domain::{
    ChainSnapshot, Claimed, Coverage, EventKind, Part, PoolHistory, Snapshot, features::Features, time_from_unix,
};
use assay_http::values::Usd;
use assay_rollout::Scored;
use assay_score::Answering;

/// Unread parts that a reason names.
const MOST_NAMED: usize = 3;

/// The score of a snapshot, for the triggers that need one.
pub(crate) enum ScoreReading {
    Scored {
        answering: Answering,
        scored: Arc<Scored>,
        features: Arc<Features>,
        claimed: Claimed,
    },
    /// There is none, although the wallet was read.
    Nothing(String),
    Unread(String),
}

/// The readings of `trigger`. `score` is by its model.
pub(crate) fn readings(trigger: &Trigger, snapshot: &Snapshot, score: Option<&ScoreReading>) -> Readings {
    let whole = |reading| Readings::from([(String::new(), reading)]);
    match trigger.measure {
        Measure::HealthFactor | Measure::Liquidation => of_markets(trigger, snapshot),
        Measure::DebtUsd if trigger.market.is_some() => of_markets(trigger, snapshot),
        Measure::DebtUsd => whole(total_debt(snapshot)),
        Measure::Coverage => {
            let rank = coverage_rank(snapshot.score_coverage());
            whole(Reading::Read(sample(Some(rank), snapshot, snapshot.origins().blocks)))
        }
        Measure::Score | Measure::Range | Measure::Probability => whole(scored(trigger, snapshot, score)),
    }
}

/// The readings if nothing of the wallet could be read.
pub(crate) fn unread(trigger: &Trigger, known: impl Iterator<Item = String>, why: &str) -> Readings {
    let mut names: Vec<String> = known.collect();
    if names.is_empty() {
        names.push(trigger.market.map(|market| market.to_string()).unwrap_or_default());
    }
    names.into_iter().map(|name| (name, Reading::Unread(why.to_owned()))).collect()
}

fn sample(value: Option<f64>, snapshot: &Snapshot, blocks: Vec<assay_domain::ReadBlock>) -> Sample {
    Sample { value, at: snapshot.as_of, blocks, version: None, score: None, liquidations: Vec::new() }
}

fn of_markets(trigger: &Trigger, snapshot: &Snapshot) -> Readings {
    let chains = snapshot.chains.iter().flat_map(|chain| chain.pools.iter().map(move |pool| (chain, pool)));
    let mut found: Readings = chains
        .filter(|(_, pool)| trigger.market.is_none_or(|market| MarketName::of(pool) == market))
        .filter(|(_, pool)| trigger.measure != Measure::HealthFactor || pool.protocol.has_details())
        .map(|(chain, pool)| (MarketName::of(pool).to_string(), of_market(trigger.measure, snapshot, chain, pool)))
        .collect();
    if let Some(market) = trigger.market {
        let gone = || Reading::Unread("the market is not among those of this server any more".to_owned());
        found.entry(market.to_string()).or_insert_with(gone);
    }
    found
}

fn of_market(measure: Measure, snapshot: &Snapshot, chain: &ChainSnapshot, pool: &PoolHistory) -> Reading {
    let blocks = chain.origin.block.into_iter().collect();
    if measure == Measure::Liquidation {
        return liquidations(snapshot, chain, pool, blocks);
    }
    if let Some(why) = unread_position(chain, pool) {
        return Reading::Unread(why);
    }
    if measure == Measure::DebtUsd {
        return Reading::Read(sample(Some(debt(chain, pool)), snapshot, blocks));
    }
    match &pool.position {
        Some(position) if position.coverage != Coverage::Failed => {
            let factor = position.health_factor.filter(|factor| factor.is_finite());
            Reading::Read(sample(factor, snapshot, blocks))
        }
        _ => Reading::Unread(on(chain, pool, "the position was not read")),
    }
}

/// Why the position of a market, or the prices of it, were not read.
fn unread_position(chain: &ChainSnapshot, pool: &PoolHistory) -> Option<String> {
    let own = Part::Position(pool.protocol, pool.market_address);
    let mut parts = chain.unread.iter();
    let lacks = parts.find(|unread| matches!(unread.part, Part::Chain | Part::Head) || unread.part == own);
    let lacks = lacks.map(|unread| unread.on(chain.chain_id));
    let is_read = matches!(chain.coverage, Coverage::Partial | Coverage::Complete);
    lacks.or_else(|| (!is_read).then(|| on(chain, pool, "the chain was not read")))
}

fn on(chain: &ChainSnapshot, pool: &PoolHistory, why: &str) -> String {
    format!("{} {} on chain {}: {why}", pool.protocol.as_str(), pool.market_address, chain.chain_id)
}

fn debt(chain: &ChainSnapshot, pool: &PoolHistory) -> f64 {
    let of_market = |of: &(_, _)| *of == (pool.protocol, pool.market_address);
    let positions = chain.positions.iter().filter(|at| of_market(&(at.protocol, at.market_address)));
    positions.map(|position| Usd(position.borrowed_usd)).sum::<Usd>().0
}

/// Whether the position of every market was read.
pub(crate) fn are_positions_read(snapshot: &Snapshot) -> bool {
    let mut all = snapshot.chains.iter().flat_map(|chain| chain.pools.iter().map(move |pool| (chain, pool)));
    all.all(|(chain, pool)| unread_position(chain, pool).is_none())
}

fn total_debt(snapshot: &Snapshot) -> Reading {
    let mut total = 0.0;
    for chain in &snapshot.chains {
        for pool in &chain.pools {
            if let Some(why) = unread_position(chain, pool) {
                return Reading::Unread(why);
            }
            total += debt(chain, pool);
        }
    }
    Reading::Read(sample(Some(total), snapshot, snapshot.origins().blocks))
}

/// Counted only in a complete history: liquidations that are found while it is read are not new.
fn liquidations(
    snapshot: &Snapshot,
    chain: &ChainSnapshot,
    pool: &PoolHistory,
    blocks: Vec<assay_domain::ReadBlock>,
) -> Reading {
    if pool.coverage != Coverage::Complete {
        return Reading::Unread(on(chain, pool, "the lending history is not complete"));
    }
    let Some(count) = pool.counts.liquidation else {
        return Reading::Nothing(on(chain, pool, "liquidations are not collected"));
    };
    let events = pool.events.events.iter().filter(|event| event.kind == EventKind::Liquidation);
    let liquidations =
        events.map(|event| Liquidated { at: time_from_unix(event.time), usd: event.usd, log: None }).collect();
    Reading::Read(Sample { liquidations, ..sample(Some(count as f64), snapshot, blocks) })
}

fn scored(trigger: &Trigger, snapshot: &Snapshot, score: Option<&ScoreReading>) -> Reading {
    let (scored, claimed) = match score {
        None => return Reading::Unread("the wallet was not scored".to_owned()),
        Some(ScoreReading::Unread(why)) => return Reading::Unread(why.clone()),
        Some(ScoreReading::Nothing(why)) => return Reading::Nothing(why.clone()),
        Some(ScoreReading::Scored { scored, claimed, .. }) => (scored, claimed),
    };
    if scored.coverage.is_provisional() {
        return Reading::Unread(provisional(snapshot));
    }
    let points = scored.assessment.score;
    let value = match trigger.measure {
        Measure::Range => range_rank(points.range()),
        Measure::Probability => match claim(trigger, claimed) {
            Ok(rate) => rate,
            Err(why) => return Reading::Nothing(why),
        },
        _ => f64::from(points.get()),
    };
    Reading::Read(Sample {
        version: Some(scored.model.version.clone()),
        score: Some(points.get()),
        ..sample(Some(value), snapshot, scored.origins.blocks.clone())
    })
}

fn claim(trigger: &Trigger, claimed: &Claimed) -> Result<f64, String> {
    match claimed {
        Claimed::Nothing => Err("the model's card claims no rates".to_owned()),
        Claimed::Outside(why) => Err(why.clone()),
        Claimed::Rates(rates) => {
            let of_horizon = rates.iter().find(|(claim, _)| Some(claim.claims.horizon_days) == trigger.horizon_days);
            let days = trigger.horizon_days.unwrap_or_default();
            let none = || format!("the model's card claims no rate within {days} days");
            of_horizon.map(|(_, rate)| rate.estimate).ok_or_else(none)
        }
    }
}

/// Why the score of `snapshot` is provisional.
fn provisional(snapshot: &Snapshot) -> String {
    let mut parts = snapshot.unread().filter(|(_, unread)| unread.part.is_scored());
    let named: Vec<_> = parts.by_ref().take(MOST_NAMED).map(|(chain, unread)| unread.on(chain)).collect();
    let more = parts.count();
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("the score is provisional: {}{more}", named.join("; "))
}

#[cfg(test)]
mod tests;
