//! Events of positions whose logs contain a number and name no wallet. Only the index of all wallets finds them. They
//! are not stored: each read counts them again, through the last block of the index.

use futures::future::join_all;

use crate::{
    figures::{
        hints::number,
        indexed::{Entry, What},
    },
    history::{begin::part_of, ledger::MarketHistory, reader::Reader, tally::EventTally},
    limits,
    market::Market,
};
use assay_domain::{Address, EventCounts};

impl Reader {
    /// The events of the numbered positions that `wallet` held in `market`, where it has this `history`, through the
    /// last block of the index. `None` if it held none, or if the index does not have all of them through the same
    /// block.
    pub(crate) async fn numbered(
        &self,
        wallet: Address,
        market: &Market,
        history: &MarketHistory,
    ) -> Option<EventTally> {
        let numbers = market.protocol.numbers()?;
        let has_parts = history.sums.as_ref().is_some_and(|sums| !sums.markets().is_empty());
        let index = self.index.as_ref().filter(|_| has_parts)?;
        let own = index.history(wallet, 0).await?;
        let had = numbers.had(&part_of(&own, market, &history.hints)?.entries);
        if had.is_empty() || had.len() > limits::POSITIONS {
            return None;
        }
        let read = had.into_iter().map(|(id, spans)| {
            let found = index.history(number(id), own.through);
            async move { Some((spans, found.await?)) }
        });
        let mut tally = EventTally::of(EventCounts { liquidation: None, ..EventCounts::ZERO });
        for found in join_all(read).await {
            let (spans, found) = found.filter(|(_, found)| (found.through, found.hash) == (own.through, own.hash))?;
            for Entry { block, what } in &part_of(&found, market, &history.hints)?.entries {
                if let What::Event { kind, time } = what
                    && spans.iter().any(|span| span.contains(block))
                {
                    tally.add(*kind, Some(*time));
                }
            }
        }
        Some(tally)
    }
}
