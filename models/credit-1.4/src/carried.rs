//! Loans Carried: how much debt a wallet carried for how long, which limits its score.

use crate::{
    factor::{Part, rated},
    loan::money,
    seen::Seen,
    table::{CARRIED, HALF_DOLLAR_DAYS, MOST_CARRIED, NEW, UNPRICED},
    types::{Coverage, EventKind, Factor, LendingEvent, MarketFeatures},
};

const DAY: f64 = 86_400.0;

/// The points above 640 that a wallet keeps, from the share of a new one to 1.
pub fn kept(seen: &Seen) -> f64 {
    NEW + (1.0 - NEW) * seen.dollar_days / (seen.dollar_days + HALF_DOLLAR_DAYS)
}

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

pub fn explain(seen: &Seen, part: Part) -> Factor {
    rated("Loans Carried", 360.0 * (1.0 - kept(seen)), part, CARRIED, describe(seen))
}

fn describe(seen: &Seen) -> String {
    let months = (seen.dollar_days / MOST_CARRIED / 30.0) as u64;
    match months {
        _ if seen.dollar_days <= 0.0 => {
            "No loan of yours that lasted was found; a loan of $1,000 or more, carried for months, would help.".into()
        }
        0 => "You carried less than $1,000 for a month; a loan that lasts, well secured, would help.".into(),
        12.. => "You carried loans worth $1,000 for a year or longer; keep them well secured.".into(),
        1 => "You carried loans worth $1,000 for a month; time with a well secured loan would help.".into(),
        months => format!("You carried loans worth $1,000 for {months} months; more time would help."),
    }
}
