//! What the logs of a market say of one wallet: the form in which an index of all wallets keeps it. The ledger counts
//! entries as it counts what it extracts from the logs of one wallet.

use alloy::primitives::I256;

use crate::{
    events::{Event, Extract, Moved},
    protocol::EventKind,
    sums::Move,
};
use assay_evm::Fault;

/// What the logs of one block say of a wallet in one market.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub block: u64,
    pub what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Something happened to the position; `time` is that of the block, in Unix seconds.
    Event { kind: EventKind, time: u64 },
    /// An amount moved.
    Moved(Move),
    /// The logs may not show everything; the wallet owned at least this after them.
    Incomplete { owned: I256 },
}

impl Extract {
    /// What was extracted of one market, in the order of the chain.
    ///
    /// # Errors
    /// [`Fault`] where an event has no time.
    pub(super) fn entries(self) -> Result<Vec<Entry>, Fault> {
        let timeless = |event: &Event| Fault::Malformed(format!("no time of block {}, which has logs", event.block));
        let mut entries = Vec::with_capacity(self.events.len() + self.moves.len() + self.incomplete.len());
        for event in &self.events {
            let time = event.time.ok_or_else(|| timeless(event))?;
            entries.push(Entry { block: event.block, what: What::Event { kind: event.kind, time } });
        }
        let moves = self.moves.into_iter();
        entries.extend(moves.map(|moved| Entry { block: moved.block, what: What::Moved(moved.amount) }));
        let incomplete = self.incomplete.into_iter();
        entries.extend(incomplete.map(|((_, block), owned)| Entry { block, what: What::Incomplete { owned } }));
        // Events come first in their block, then amounts.
        entries.sort_by_key(|entry| entry.block);
        Ok(entries)
    }

    /// Adds the entries of the market at `index`.
    pub(super) fn add_entries(&mut self, index: usize, entries: &[Entry]) {
        for &Entry { block, what } in entries {
            match what {
                What::Event { kind, time } => {
                    self.events.push(Event { market: index, kind, block, time: Some(time) });
                }
                What::Moved(amount) => self.moves.push(Moved { market: index, block, amount }),
                What::Incomplete { owned } => _ = self.incomplete.insert((index, block), owned),
            }
        }
    }
}
