//! Changes that no log shows, added to what the logs of some blocks show. Old state is asked for the blocks in which the
//! logs may not show everything, and in a history that its position once contradicted for every block with a log.

use alloy::primitives::I256;

use super::Pass;
use crate::{
    events::{Event, Extract, Moved},
    ledger::Followed,
    market::Market,
    progress::{Side, Unexplained},
    protocol::{EventKind, Obstacle, Quest, Unlogged},
    sums::Move,
};
use assay_evm::{Fault, Span};

/// Blocks of one span that are looked up where the history is not followed.
const MOST_INCOMPLETE: usize = 100;

/// What old state adds to the logs of one market.
type Changes = Vec<(u64, Option<EventKind>, Move)>;

/// What was found of one market.
enum Outcome {
    Followed(Changes, Followed),
    Looked(Changes),
    Unexplained(Unexplained),
}

impl Pass<'_> {
    /// Adds to `found`, which the logs through block `through` show, what they do not show.
    ///
    /// # Errors
    /// [`Fault`] where old state cannot be read now. The ledger then remains as it was.
    pub(super) async fn follow(&mut self, found: &mut Extract, through: u64) -> Result<(), Fault> {
        let mut outcomes = Vec::new();
        for (index, (market, entry)) in self.reader.markets.iter().zip(&self.ledger.entries).enumerate() {
            let span = Span { from: entry.next.max(self.at), to: through };
            let logged = || -> Vec<_> {
                let own = |moved: &&Moved| moved.market == index && moved.amount.side == Side::Base;
                found.moves.iter().filter(own).map(|moved| (moved.block, moved.amount)).collect()
            };
            let places = (index, span.from)..=(index, through.max(span.from));
            let blocks: Vec<_> = found.incomplete.range(places).map(|(place, owned)| (place.1, *owned)).collect();
            match entry.followed.filter(|_| span.from <= span.to) {
                Some(followed) => outcomes.push((index, self.steps(market, &logged(), span, followed).await?)),
                None if blocks.is_empty() || blocks.len() > MOST_INCOMPLETE => {}
                None => outcomes.push((index, self.look(market, entry.base(), &logged(), &blocks).await?)),
            }
        }
        for (index, outcome) in outcomes {
            self.add(found, index, outcome);
        }
        Ok(())
    }

    fn add(&mut self, found: &mut Extract, index: usize, outcome: Outcome) {
        let Some(entry) = self.ledger.entries.get_mut(index) else { return };
        let changes = match outcome {
            Outcome::Followed(changes, followed) => {
                (entry.followed, entry.unexplained) = (Some(followed), None);
                changes
            }
            Outcome::Looked(changes) => changes,
            Outcome::Unexplained(reason) => {
                (entry.followed, entry.unexplained) = (None, Some(reason));
                return;
            }
        };
        for (block, kind, amount) in changes {
            found.events.extend(kind.map(|kind| Event { market: index, kind, block, time: None }));
            found.moves.push(Moved { market: index, block, amount });
        }
        found.events.sort_by_key(|event| event.block);
        found.moves.sort_by_key(|moved| moved.block);
    }

    /// The changes in `span`: first in its settled blocks, then in the others, so that what is saved ends between them.
    async fn steps(
        &self,
        market: &Market,
        logged: &[(u64, Move)],
        span: Span,
        mut followed: Followed,
    ) -> Result<Outcome, Fault> {
        let mut changes = Vec::new();
        let settled_to = self.settled_to.map(|block| block.number);
        for part in parts(span, settled_to) {
            match self.unlogged(market, logged, part, Some(followed.latest)).await {
                Ok(unlogged) => {
                    changes.extend(unlogged.changes);
                    followed.latest = unlogged.after;
                    if settled_to.is_some_and(|to| part.to <= to) {
                        followed.settled = unlogged.after;
                    }
                }
                Err(Obstacle::Unread(fault)) => return Err(fault),
                Err(Obstacle::Lasting(reason)) => return Ok(Outcome::Unexplained(reason)),
            }
        }
        Ok(Outcome::Followed(changes, followed))
    }

    /// The changes in each of `blocks`. Where old state does not tell, something is missing if all amounts, of which
    /// those before are `base`, are less than the wallet owned at least: it owed the rest and repaid it.
    async fn look(
        &self,
        market: &Market,
        base: I256,
        logged: &[(u64, Move)],
        blocks: &[(u64, I256)],
    ) -> Result<Outcome, Fault> {
        let mut changes: Changes = Vec::new();
        for (block, owned) in blocks {
            match self.unlogged(market, logged, Span { from: *block, to: *block }, None).await {
                Ok(unlogged) => changes.extend(unlogged.changes),
                Err(Obstacle::Unread(fault)) => return Err(fault),
                Err(Obstacle::Lasting(reason)) => {
                    let amounts = logged.iter().filter(|(at, _)| at <= block).map(|(_, moved)| moved.amount);
                    if amounts.fold(base, I256::saturating_add) < *owned {
                        return Ok(Outcome::Unexplained(reason));
                    }
                }
            }
        }
        Ok(Outcome::Looked(changes))
    }

    async fn unlogged(
        &self,
        market: &Market,
        logged: &[(u64, Move)],
        span: Span,
        before: Option<I256>,
    ) -> Result<Unlogged, Obstacle> {
        let quest = Quest {
            client: &self.reader.client,
            market: market.config.address,
            wallet: self.plan.wallet,
            span,
            before,
            logged: logged.iter().filter(|(block, _)| span.contains(*block)).copied().collect(),
        };
        market.protocol.unlogged(quest).await
    }
}

/// The settled part of `span` and the other one, where there is one.
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
