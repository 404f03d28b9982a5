//! Adds events and amounts from logs or from an index to the ledger.

use super::Pass;
use crate::{
    figures::record::Unexplained,
    history::{
        events::{Event, Extract},
        past::paired,
        settled::SettledHistory,
        tally::untimed,
    },
};
use assay_evm::Fault;

impl Pass<'_> {
    /// The records after adding `found`, from logs through the settled block `through`, instead of a chunk.
    /// `is_confirmed` if these logs, from the first block on, have a second source.
    pub(crate) async fn counted(
        mut self,
        found: Extract,
        (through, is_confirmed): (u64, bool),
    ) -> Result<Vec<Option<SettledHistory>>, Fault> {
        self.follow_and_count(found, through).await?;
        self.at = through.saturating_add(1);
        let entries = self.ledger.entries.iter_mut();
        entries.filter(|entry| is_confirmed && !entry.left_out).for_each(|entry| entry.confirmed = Some(through));
        self.save().await;
        Ok(self.records)
    }

    /// Adds the new events and amounts, with the times of their blocks.
    pub(super) async fn count(&mut self, found: Extract) -> Result<(), Fault> {
        for (index, block) in self.lacking(&found) {
            let Some(entry) = self.ledger.entries.get_mut(index).filter(|entry| block >= entry.next) else { continue };
            entry.unexplained = Some(Unexplained::LogsMissing);
        }
        let mut events = found.events;
        let settled_to = self.settled_to.map(|block| block.number);
        let is_settled = |event: &Event| settled_to.is_some_and(|to| event.block <= to);
        let entries = &self.ledger.entries;
        events.retain(|event| entries.get(event.market).is_some_and(|entry| event.block >= entry.next));
        let mut blocks = untimed(events.iter().filter(|event| is_settled(event)));
        blocks.extend(untimed(events.iter().filter(|event| !is_settled(event))));
        self.date(&mut events, blocks.into_iter().collect()).await?;
        for (event, moved) in events.iter().zip(paired(&events, &found.moves)) {
            let Some(entry) = self.ledger.entries.get_mut(event.market) else { continue };
            let (tally, past) = if is_settled(event) {
                (&mut entry.settled, entry.settled_past.as_mut())
            } else {
                (&mut entry.tail, Some(&mut entry.tail_past))
            };
            tally.add(event.kind, event.time);
            if let Some(past) = past {
                past.add(event.kind, event.time, moved);
            }
        }
        for moved in &found.moves {
            let Some(entry) = self.ledger.entries.get_mut(moved.market).filter(|entry| moved.block >= entry.next)
            else {
                continue;
            };
            let settled = settled_to.is_some_and(|to| moved.block <= to);
            let sums = if settled { entry.settled_sums.as_mut() } else { Some(&mut entry.tail_sums) };
            if let Some(sums) = sums {
                sums.add(&moved.amount);
            }
        }
        Ok(())
    }

    /// Sets the times of the events in these blocks.
    async fn date(&self, events: &mut [Event], blocks: Vec<u64>) -> Result<(), Fault> {
        if blocks.is_empty() {
            return Ok(());
        }
        let found = self.reader.client.blocks(&blocks).await?;
        for (number, block) in blocks.iter().zip(found) {
            let block = block.ok_or_else(|| Fault::Malformed(format!("no block {number}, which has logs")))?;
            for event in events.iter_mut().filter(|event| event.block == *number) {
                event.time = Some(block.time);
            }
        }
        Ok(())
    }
}
