//! What is better for a lender never scores lower: 100,000 pairs of wallets that differ in one thing, in any state of
//! coverage, and one dollar or day at a time.

use crate::wallets::{AS_OF, DAY, Draw, Owes as _, PLAIN, drawn, failed, free, market, total};
use credit_1_4::{
    score,
    types::{Coverage, EventKind, Features, LendingEvent, MarketFeatures},
};

/// Pairs of each of the ten changes.
const PAIRS: usize = 10_000;
/// Points that a dollar or a day may move.
const MOST: u32 = 25;

fn scored(features: &Features) -> Option<u32> {
    score(features).ok().map(|verdict| verdict.score)
}

/// Draws wallets until `PAIRS` of them have a score before and after `change`, which returns whether it applies. A
/// wallet without a score compares with nothing.
fn pairs(seed: u64, mut change: impl FnMut(&mut Draw, &mut Features) -> bool, holds: impl Fn(u32, u32) -> bool) {
    let mut draw = Draw(seed);
    let (mut found, mut violations) = (0, Vec::new());
    while found < PAIRS {
        let before = drawn(&mut draw);
        let mut after = before.clone();
        if !change(&mut draw, &mut after) {
            continue;
        }
        let Some((one, other)) = scored(&before).zip(scored(&after)) else { continue };
        found += 1;
        if !holds(one, other) {
            violations.push((one, other, before, after));
        }
    }
    assert!(violations.is_empty(), "{} of {PAIRS} pairs, the first: {:#?}", violations.len(), violations[0]);
}

fn never_raises(before: u32, after: u32) -> bool {
    after <= before
}

fn never_lowers(before: u32, after: u32) -> bool {
    after >= before
}

fn one<'a>(draw: &mut Draw, features: &'a mut Features) -> &'a mut MarketFeatures {
    let at = draw.below(features.markets.len());
    &mut features.markets[at]
}

/// Adds to the debt of the chain what a market's debt gained.
fn of_chain(features: &mut Features, chain_id: u64, owed: f64, supplied: f64) {
    for chain in features.chains.iter_mut().filter(|chain| chain.chain_id == chain_id) {
        (chain.borrowed_usd, chain.supplied_usd) = (chain.borrowed_usd + owed, chain.supplied_usd + supplied);
    }
}

#[test]
fn repaying_everything_never_lowers() {
    let repay = |_: &mut Draw, features: &mut Features| {
        for market in features.markets.iter_mut().filter(|market| market.borrowed_usd > 0.0) {
            market.borrowed_usd = 0.0;
            market.repay = market.repay.map(|count| count + 1);
            let event = LendingEvent { time: AS_OF, kind: EventKind::Repay, usd: None, class: None };
            market.events.insert(0, event);
            if let Some(position) = &mut market.position {
                (position.health_factor, position.utilisation) = (None, Some(0.0));
                position.debt.clear();
            }
        }
        features.chains.iter_mut().for_each(|chain| chain.borrowed_usd = 0.0);
        true
    };
    pairs(1, repay, never_lowers);
}

#[test]
fn a_doubled_debt_never_raises() {
    let double = |draw: &mut Draw, features: &mut Features| {
        let market = one(draw, features);
        let (owed, chain_id) = (market.borrowed_usd, market.chain_id);
        market.borrowed_usd *= 2.0;
        if let Some(position) = &mut market.position {
            position.health_factor = position.health_factor.map(|factor| factor / 2.0);
            position.utilisation = position.utilisation.map(|share| share * 2.0);
            position.debt.iter_mut().for_each(|debt| debt.usd *= 2.0);
        }
        of_chain(features, chain_id, owed, 0.0);
        owed > 0.0
    };
    pairs(2, double, never_raises);
}

#[test]
fn a_second_risky_loan_never_raises() {
    let add = |draw: &mut Draw, features: &mut Features| {
        let (usd, factor) = (draw.log(1.0, 1e8), draw.log(0.7, 1.25));
        let mut risky = market("any lender").owes(usd, factor, 0.8, PLAIN);
        (risky.chain_id, risky.first_event) = (draw.of(&[1, 10]), Some(AS_OF));
        of_chain(features, risky.chain_id, risky.borrowed_usd, risky.supplied_usd);
        features.markets.push(risky);
        true
    };
    pairs(3, add, never_raises);
}

#[test]
fn a_liquidation_more_never_raises() {
    let liquidate = |draw: &mut Draw, features: &mut Features| {
        let days = draw.log(0.01, 3_000.0);
        let market = one(draw, features);
        let is_undated = market.liquidation > Some(0) && market.last_liquidation.is_none();
        market.liquidation = Some(market.liquidation.unwrap_or(0) + 1);
        // A liquidation without a date has a stated age; the date of another is not its date.
        if !is_undated {
            market.last_liquidation = market.last_liquidation.max(Some(AS_OF - (days * DAY as f64) as u64));
        }
        true
    };
    pairs(4, liquidate, never_raises);
}

#[test]
fn an_older_liquidation_never_lowers() {
    let age = |draw: &mut Draw, features: &mut Features| {
        let days = draw.log(0.01, 1_000.0);
        let market = one(draw, features);
        market.last_liquidation = market.last_liquidation.map(|at| at - (days * DAY as f64) as u64);
        market.last_liquidation.is_some()
    };
    pairs(5, age, never_lowers);
}

#[test]
fn a_larger_health_factor_never_lowers() {
    let improve = |draw: &mut Draw, features: &mut Features| {
        let times = draw.log(1.0, 20.0);
        let Some(position) = &mut one(draw, features).position else { return false };
        position.health_factor = position.health_factor.map(|factor| factor * times);
        position.health_factor.is_some()
    };
    pairs(6, improve, never_lowers);
}

/// A market that could not be read, as the host writes it: no count, no date, no dollar.
fn unread(of: &MarketFeatures) -> MarketFeatures {
    MarketFeatures {
        chain_id: of.chain_id,
        coverage: Coverage::Failed,
        supply: None,
        withdraw: None,
        borrow: None,
        repay: None,
        liquidation: None,
        events_coverage: Coverage::Failed,
        position: of.position.as_ref().map(|_| failed()),
        ..market(&of.protocol)
    }
}

#[test]
fn an_unread_market_is_capped_and_never_above_the_same_market_read_clean() {
    let mut draw = Draw(7);
    for _ in 0..PAIRS {
        let mut clean = drawn(&mut draw);
        let at = draw.below(clean.markets.len());
        let of = clean.markets[at].clone();
        clean.markets[at] = MarketFeatures { chain_id: of.chain_id, position: Some(free()), ..market(&of.protocol) };
        total(&mut clean);
        let mut dark = clean.clone();
        dark.markets[at] = unread(&of);
        if let Some(dark) = scored(&dark) {
            assert!(dark <= 639 && scored(&clean).is_none_or(|clean| dark <= clean), "{dark} {clean:#?}");
        }
    }
}

/// What still stands in a failed part never helps.
#[test]
fn a_failed_call_never_raises() {
    let fail = |draw: &mut Draw, features: &mut Features| {
        let at = draw.below(features.markets.len());
        let (market, chain) = (&mut features.markets[at], draw.below(2));
        match draw.below(3) {
            0 => (market.coverage, market.events_coverage) = (Coverage::Failed, Coverage::Failed),
            1 => match &mut market.position {
                Some(position) => position.coverage = Coverage::Failed,
                None => return false,
            },
            _ => features.chains[chain].coverage = Coverage::Failed,
        }
        true
    };
    pairs(8, fail, |before, after| after <= before.min(639));
}

#[test]
fn a_history_that_is_still_being_read_never_raises() {
    let fail = |draw: &mut Draw, features: &mut Features| {
        let market = one(draw, features);
        let is_whole = market.coverage == Coverage::Complete;
        market.coverage = draw.of(&[Coverage::Partial, Coverage::Pending]);
        if draw.chance(0.5) {
            (market.events_coverage, market.events) = (Coverage::Failed, vec![]);
        }
        is_whole
    };
    pairs(9, fail, never_raises);
}

#[test]
fn a_market_that_does_not_feed_the_score_does_not_move_it() {
    let add = |draw: &mut Draw, features: &mut Features| {
        let mut other = drawn(draw).markets.remove(0);
        other.feeds_score = false;
        features.markets.push(other);
        true
    };
    pairs(10, add, |before, after| before == after);
}

/// One dollar of debt, of deposits or of a loan in the past, or one day.
#[test]
fn a_dollar_or_a_day_moves_at_most_25_points() {
    let mut draw = Draw(11);
    let (mut most, mut found) = (0, 0);
    while found < 2 * PAIRS {
        let before = drawn(&mut draw);
        let mut after = before.clone();
        let small = draw.chance(0.5);
        let at = draw.below(after.markets.len());
        let market = &mut after.markets[at];
        if small && market.position.as_ref().is_some_and(|position| position.health_factor.is_some()) {
            let (usd, factor) = (draw.log(0.1, 1_000.0), draw.log(0.7, 30.0));
            *market = market.clone().owes(usd, factor, 0.8, PLAIN);
            total(&mut after);
        }
        let before = after.clone();
        let market = &mut after.markets[at];
        let (owed, supplied, chain_id) = (market.borrowed_usd, market.supplied_usd, market.chain_id);
        let step = draw.below(4);
        let by_position = |times: f64, market: &mut MarketFeatures| {
            if let Some(position) = &mut market.position {
                position.health_factor = position.health_factor.map(|factor| factor * times);
            }
        };
        match step {
            0 => {
                market.borrowed_usd += 1.0;
                by_position(owed / (owed + 1.0), market);
                of_chain(&mut after, chain_id, 1.0, 0.0);
            }
            1 => {
                market.supplied_usd += 1.0;
                by_position((supplied + 1.0) / supplied.max(1e-9), market);
                of_chain(&mut after, chain_id, 0.0, 1.0);
            }
            2 => market.events.iter_mut().for_each(|event| event.usd = event.usd.map(|usd| usd + 1.0)),
            _ => after.as_of += DAY,
        }
        let Some((one, other)) = scored(&before).zip(scored(&after)) else { continue };
        found += 1;
        most = most.max(one.abs_diff(other));
        assert!(one.abs_diff(other) <= MOST, "{one} {other}, step {step}: {before:#?}\n{after:#?}");
    }
    println!("at most {most} points in {found} pairs");
}
