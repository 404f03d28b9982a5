//! Finds changes that no log shows, and missing logs: compares the position in old state with the logs, in each block
//! with a log and between them. A history that is not followed from its beginning, because the endpoint keeps no old
//! state, is compared only in blocks in which the logs may not show everything.

use alloy::primitives::I256;

use super::Pass;
use crate::{
    figures::{
        record::{Side, StatePosition, Unexplained},
        sums::Move,
    },
    history::{
        events::{Event, Extract, Moved},
        ledger::Followed,
    },
    limits,
    market::Market,
    protocols::{EventKind, Obstacle, Quest, Unlogged},
};
use assay_evm::{Fault, Span};

/// The result for one market.
enum FollowOutcome {
    Followed(Unlogged, Followed),
    Looked(Unlogged),
    Unexplained(Unexplained),
}

/// A wallet's events and amounts in the logs of some blocks of one market.
struct LoggedMarket<'a> {
    market: &'a Market,
    amounts: Vec<(u64, Move)>,
    events: Vec<(u64, EventKind)>,
}

impl<'a> LoggedMarket<'a> {
    fn of(index: usize, market: &'a Market, found: &Extract) -> Self {
        let own = |moved: &&Moved| moved.market == index && moved.amount.side == Side::Base;
        let amounts = found.moves.iter().filter(own).map(|moved| (moved.block, moved.amount)).collect();
        let events = found.events.iter().filter(|event| event.market == index);
        Self { market, amounts, events: events.map(|event| (event.block, event.kind)).collect() }
    }
}

impl Pass<'_> {
    /// Adds to `found`, from the logs through block `through`, the changes that these logs do not show.
    ///
    /// # Errors
    /// [`Fault`] if old state cannot be read now. The ledger is then unchanged.
    pub(super) async fn follow(&mut self, found: &mut Extract, through: u64) -> Result<(), Fault> {
        let mut outcomes = Vec::new();
        for (index, (market, entry)) in self.reader.markets.iter().zip(&self.ledger.entries).enumerate() {
            if entry.next > through {
                continue;
            }
            let logged = LoggedMarket::of(index, market, found);
            let followed = match entry.followed {
                Some(followed) if !self.is_to_compare(index, followed, &logged, through) => continue,
                Some(followed) => Some(self.steps(&logged, followed, through).await?),
                None => None,
            };
            // Unless the history is doubted, the bounds of interest are enough if old state is unavailable.
            let is_doubted = self.doubted.contains(&index);
            let is_weak = |outcome: &FollowOutcome| {
                matches!(outcome, FollowOutcome::Unexplained(Unexplained::NoOldState | Unexplained::TooMany))
                    && !is_doubted
            };
            if let Some(outcome) = followed.filter(|outcome| !is_weak(outcome)) {
                outcomes.push((index, outcome));
                continue;
            }
            let places = (index, entry.next.max(self.at))..=(index, through);
            let blocks: Vec<_> = found.incomplete.range(places).map(|(place, owned)| (place.1, *owned)).collect();
            let blocks = Some(blocks).filter(|blocks| blocks.len() <= limits::INCOMPLETE_BLOCKS).unwrap_or_default();
            outcomes.push((index, self.look(entry.base(), &logged, &blocks).await?));
        }
        for (index, outcome) in outcomes {
            self.add(found, index, outcome);
        }
        Ok(())
    }

    /// Whether a followed history is compared with old state through this block: if it has logs, or at the end of a
    /// read if the wallet ever had a base position.
    fn is_to_compare(&self, index: usize, followed: Followed, logged: &LoggedMarket<'_>, through: u64) -> bool {
        let StatePosition { principal, touched, block } = followed.latest;
        let is_known = !principal.is_zero() || touched > 0 || self.doubted.contains(&index);
        through > block && (!logged.amounts.is_empty() || (is_known && through >= self.head.number))
    }

    fn add(&mut self, found: &mut Extract, index: usize, outcome: FollowOutcome) {
        let Some(entry) = self.ledger.entries.get_mut(index) else { return };
        let Unlogged { events, moves, .. } = match outcome {
            FollowOutcome::Followed(unlogged, followed) => {
                let known = entry.unexplained.filter(|known| !known.lowers());
                (entry.followed, entry.unexplained) = (Some(followed), known.or(unlogged.unsure));
                unlogged
            }
            FollowOutcome::Looked(unlogged) => {
                (entry.followed, entry.unexplained) = (None, entry.unexplained.or(unlogged.unsure));
                unlogged
            }
            FollowOutcome::Unexplained(reason) => {
                (entry.followed, entry.unexplained) = (None, Some(reason));
                return;
            }
        };
        // A change before the read, with no log in its block, counts from the read's beginning.
        let at = |block: u64| block.max(entry.next);
        let event = |(block, kind)| Event { market: index, kind, block: at(block), time: None };
        found.events.extend(events.into_iter().map(event));
        found.moves.extend(moves.into_iter().map(|(block, amount)| Moved { market: index, block: at(block), amount }));
        found.events.sort_by_key(|event| event.block);
        found.moves.sort_by_key(|moved| moved.block);
    }

    /// The changes after the blocks that were already compared: first in settled blocks, then in the others, because
    /// saved state ends between them.
    async fn steps(
        &self,
        logged: &LoggedMarket<'_>,
        mut followed: Followed,
        through: u64,
    ) -> Result<FollowOutcome, Fault> {
        let mut all = Unlogged::default();
        let settled_to = self.settled_to.map(|block| block.number);
        let span = Span { from: followed.latest.block.saturating_add(1), to: through };
        for part in parts(span, settled_to) {
            match self.unlogged(logged, part, Some(followed.latest)).await {
                Ok(unlogged) => {
                    followed.latest = unlogged.after;
                    if settled_to.is_some_and(|to| part.to <= to) {
                        followed.settled = unlogged.after;
                    }
                    all = all.then(unlogged);
                }
                Err(Obstacle::Unread(fault)) => return Err(fault),
                Err(Obstacle::Lasting(reason)) => return Ok(FollowOutcome::Unexplained(reason)),
            }
        }
        Ok(FollowOutcome::Followed(all, followed))
    }

    /// The changes in each of `blocks`. If old state is unavailable, something is missing if the sum of all amounts
    /// (`base` before these) is less than the least that the wallet owned: it owed the rest and repaid it.
    async fn look(
        &self,
        base: I256,
        logged: &LoggedMarket<'_>,
        blocks: &[(u64, I256)],
    ) -> Result<FollowOutcome, Fault> {
        let mut all = Unlogged::default();
        for (block, owned) in blocks {
            match self.unlogged(logged, Span { from: *block, to: *block }, None).await {
                Ok(unlogged) => all = all.then(unlogged),
                Err(Obstacle::Unread(fault)) => return Err(fault),
                Err(Obstacle::Lasting(reason)) => {
                    let amounts = logged.amounts.iter().filter(|(at, _)| at <= block).map(|(_, moved)| moved.amount);
                    if amounts.fold(base, I256::saturating_add) < *owned {
                        return Ok(FollowOutcome::Unexplained(reason));
                    }
                }
            }
        }
        Ok(FollowOutcome::Looked(all))
    }

    async fn unlogged(
        &self,
        logged: &LoggedMarket<'_>,
        span: Span,
        before: Option<StatePosition>,
    ) -> Result<Unlogged, Obstacle> {
        let LoggedMarket { market, amounts, events } = logged;
        let quest = Quest {
            client: &self.reader.client,
            market: market.config.address,
            wallet: self.plan.wallet,
            span,
            before,
            logged: amounts.iter().filter(|(block, _)| span.contains(*block)).copied().collect(),
            events: events.iter().filter(|(block, _)| span.contains(*block)).copied().collect(),
        };
        match market.protocol.partial_logs() {
            Some(logs) => logs.unlogged(quest).await,
            None => Ok(Unlogged { after: before.unwrap_or_default(), ..Unlogged::default() }),
        }
    }
}

/// The settled part of `span`, and the rest if there is one.
fn parts(span: Span, settled_to: Option<u64>) -> impl Iterator<Item = Span> {
    let settled = settled_to.filter(|to| *to >= span.from).map(|to| Span { to: to.min(span.to), ..span });
    let from = settled.map_or(span.from, |settled| settled.to.saturating_add(1));
    let rest = (from <= span.to).then_some(Span { from, ..span });
    settled.into_iter().chain(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settled_blocks_are_a_part_of_their_own() {
        let cut = |settled_to| parts(Span { from: 10, to: 20 }, settled_to).map(|p| (p.from, p.to)).collect::<Vec<_>>();
        assert_eq!(cut(None), [(10, 20)]);
        assert_eq!(cut(Some(9)), [(10, 20)]);
        assert_eq!(cut(Some(10)), [(10, 10), (11, 20)]);
        assert_eq!(cut(Some(15)), [(10, 15), (16, 20)]);
        assert_eq!(cut(Some(20)), [(10, 20)]);
        assert_eq!(cut(Some(30)), [(10, 20)]);
    }
}
