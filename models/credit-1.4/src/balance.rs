//! The debt that a wallet carried in one market, from its events.

use crate::{
    loan::money,
    table::{MOST_CARRIED, UNPRICED},
    types::{Coverage, EventKind, LendingEvent, MarketFeatures},
};

const DAY: f64 = 86_400.0;

/// The dollars carried times days in one market, each moment at most `MOST_CARRIED` dollars. A loan in an asset without
/// dollars in its event counts as `UNPRICED`. If events were not read beside counts that were, the days since the first
/// event stand in.
pub fn dollar_days(market: &MarketFeatures, as_of: u64) -> f64 {
    let has = |events: Option<u64>| events.is_some_and(|count| count > 0);
    let days = |from: u64, to: u64| to.saturating_sub(from) as f64 / DAY;
    match (market.coverage, market.events_coverage) {
        (Coverage::Complete, Coverage::Failed) if has(market.borrow) || has(market.repay) => {
            market.first_event.map_or(0.0, |first| MOST_CARRIED * days(first, as_of))
        }
        (Coverage::Failed, _) | (_, Coverage::Failed) => 0.0,
        _ => {
            let (mut balance, mut sum) = (Balance::default(), 0.0);
            for (at, event) in market.events.iter().enumerate().rev() {
                balance.take(event);
                // Newest first: the event before it in the list ends the time at this balance.
                let until = at.checked_sub(1).and_then(|next| market.events.get(next)).map_or(as_of, |next| next.time);
                sum += balance.carried() * days(event.time, until.min(as_of));
            }
            sum
        }
    }
}

/// The debt that the listed events leave.
#[derive(Default)]
struct Balance {
    usd: f64,
    is_unpriced: bool,
}

impl Balance {
    fn take(&mut self, event: &LendingEvent) {
        match (event.kind, event.usd) {
            (EventKind::Borrow, Some(usd)) => self.usd += money(usd),
            (EventKind::Borrow, None) => self.is_unpriced = true,
            (EventKind::Repay | EventKind::Liquidation, Some(usd)) => self.usd = (self.usd - money(usd)).max(0.0),
            (EventKind::Repay | EventKind::Liquidation, None) => self.is_unpriced = false,
            (EventKind::Supply | EventKind::Withdraw, _) => {}
        }
    }

    fn carried(&self) -> f64 {
        (self.usd + if self.is_unpriced { UNPRICED } else { 0.0 }).min(MOST_CARRIED)
    }
}
