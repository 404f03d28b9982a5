//! DeFi Activity: how much the wallet uses lending markets, whatever came of it.

use super::factor;
use crate::{
    curve::{Curve, whole},
    seen::Seen,
    types::Factor,
    words::{count, dollars},
};

/// As much as the two before it: a lender wants a borrower who knows the tools, and judges how the debts went
/// elsewhere.
const POSSIBLE: u32 = 120;

/// Deposits, withdrawals, loans and repayments. The median wallet of a lending market has three, one in four over
/// fifteen, one in twenty over a hundred. A liquidation is none of these, so it can never earn a point.
const EVENTS: Curve = Curve(&[(1.0, 12.0), (5.0, 34.0), (20.0, 54.0), (100.0, 70.0)]);

/// Lending markets used. The second one shows a choice was made; beyond four, one more says little.
const MARKETS: Curve = Curve(&[(1.0, 8.0), (2.0, 18.0), (4.0, 25.0)]);

/// Dollars supplied now: at least a hundred to be more than a trial, ten thousand to be a stake.
const SUPPLIED: Curve = Curve(&[(100.0, 5.0), (1_000.0, 14.0), (10_000.0, 25.0)]);

pub fn judge(seen: &Seen) -> Factor {
    let points = whole(
        EVENTS.at(seen.events as f64) + MARKETS.at(f64::from(seen.markets_used)) + SUPPLIED.at(seen.supplied_usd),
    );
    let description = if seen.events == 0 {
        "You have not used a lending market that could be read; supplying to one would help.".into()
    } else {
        let help = match () {
            () if seen.events < 20 => "using them more would help",
            () if seen.supplied_usd < 1_000.0 => "keeping a deposit in one would help",
            () if seen.markets_used < 2 => "using another market would help",
            () => "there is little left to gain",
        };
        let times = count(seen.events, "time", "times");
        let markets = count(seen.markets_used.into(), "lending market", "lending markets");
        format!("You have used {markets} {times} and have {} supplied; {help}.", dollars(seen.supplied_usd))
    };
    factor("DeFi Activity", points, POSSIBLE, description)
}
