//! One pass over the blocks of a read: counts events in chain order, and saves settled history at checkpoints.

mod count;
mod follow;
mod opinion;
mod whole;

use std::{collections::HashSet, time::Instant};

use futures::{StreamExt, stream};
use tokio::sync::watch;

use crate::{
    figures::{hints::Hint, record::Unexplained},
    history::{
        events::{Asked, Extract, FoundLogs, extract},
        ledger::{Ledger, MarketLedger},
        plan::Plan,
        reader::Reader,
        settled::{self, SettledHistory},
    },
    limits,
};
use assay_domain::B256;
use assay_evm::{
    Block, Fault, Span,
    logs::{Ceiling, Chunk, Stop},
};
use assay_store::Batch;

pub(crate) struct Pass<'a> {
    reader: &'a Reader,
    plan: Plan,
    head: Block,
    /// The last settled block; `None` while the chain is shorter than its finality.
    settled_to: Option<Block>,
    pub ledger: Ledger,
    /// The saved records, one entry per market.
    records: Vec<Option<SettledHistory>>,
    /// The markets whose history the position contradicted.
    doubted: Vec<usize>,
    /// First block not yet read.
    at: u64,
    /// The first block, if this reads a whole history and nothing of it is known yet.
    whole_from: Option<u64>,
    /// The first block for which no second source was asked which parts the wallet used; `None` if there is none to
    /// ask, or none of the markets needs it.
    unconfirmed_from: Option<u64>,
    /// The first block of this pass.
    begun_at: u64,
    /// Whether no log has been found so far.
    is_empty: bool,
    /// The logs that name parts of positions, by block and log index.
    naming: HashSet<(Option<B256>, Option<u64>)>,
    /// Who gave the logs, in chain order.
    asked: Vec<Asked>,
    saved: SavedHistory,
}

/// The last checkpoint.
struct SavedHistory {
    when: Instant,
    ranges_since: u32,
    /// Whether all settled history is saved.
    all: bool,
}

impl<'a> Pass<'a> {
    pub(crate) fn new(
        reader: &'a Reader,
        plan: Plan,
        records: Vec<Option<SettledHistory>>,
        doubted: &[usize],
        head: Block,
        settled_to: Option<Block>,
    ) -> Self {
        let blank = !plan.is_tail && records.iter().flatten().all(SettledHistory::is_blank);
        let markets = &reader.markets;
        let ledger = Ledger::new(markets, &records).planned(markets, &plan.hints).following(markets);
        let doubted = doubted.to_vec();
        let at = ledger.start();
        let has_others = reader.client.other_endpoints().is_some();
        let unconfirmed_from = has_others.then(|| ledger.unconfirmed_from(markets)).flatten();
        let saved = SavedHistory { when: Instant::now(), ranges_since: 0, all: false };
        let (whole_from, is_empty, naming, asked) = (blank.then_some(at), true, HashSet::new(), Vec::new());
        Self {
            reader,
            plan,
            head,
            settled_to,
            ledger,
            records,
            doubted,
            at,
            whole_from,
            unconfirmed_from,
            begun_at: at,
            is_empty,
            naming,
            asked,
            saved,
        }
    }
}

impl Pass<'_> {
    pub(crate) async fn run(
        &mut self,
        first: Option<Chunk<FoundLogs>>,
        view: &watch::Sender<Ledger>,
    ) -> Result<(), Fault> {
        let mut width = u64::MAX;
        if let Some(chunk) = first {
            match self.take(chunk).await? {
                Some(narrow) => width = narrow,
                None => _ = view.send_replace(self.ledger.clone()),
            }
        }
        while self.at <= self.head.number {
            let rest = Span { from: self.at, to: self.head.number };
            let spans = rest.pieces(width.min(self.reader.client.log_ceiling())).take(limits::RANGES_AT_ONE_WIDTH);
            let (reader, plan) = (self.reader, self.plan.clone());
            // Unless one of these says otherwise: a dense range ends, and a limit may be gone.
            width = width.saturating_mul(2);
            let mut chunks =
                stream::iter(spans).map(|span| reader.chunk(&plan, span)).buffered(reader.logs.concurrency);
            while let Some(chunk) = chunks.next().await {
                let narrow = self.take(chunk).await?;
                view.send_replace(self.ledger.clone());
                if let Some(narrow) = narrow {
                    width = narrow;
                    break;
                }
            }
        }
        self.ask_another_endpoint(self.head.number).await?;
        // Also if there was no new block to read. A market that begins above the head was not read.
        let head = self.head.number;
        let begun = |entry: &&mut MarketLedger| !entry.left_out && entry.next <= head.saturating_add(1);
        for entry in self.ledger.entries.iter_mut().filter(begun) {
            entry.through = Some(head);
        }
        Ok(())
    }

    /// Counts the next chunk. Returns a width if the following chunks must be narrower.
    async fn take(&mut self, chunk: Chunk<FoundLogs>) -> Result<Option<u64>, Fault> {
        if let Some(through) = chunk.through {
            let mut found: FoundLogs = chunk.found.into_iter().collect();
            if self.whole_from.is_some() || self.unconfirmed_from.is_some() {
                found.asked.drain(..).for_each(|part| opinion::note(&mut self.asked, part));
            }
            self.is_empty &= found.logs.is_empty();
            if found.is_unscoped {
                self.lack_logs_of_any();
            }
            let naming = found.logs.iter().filter(|log| self.names_parts(log));
            let naming: Vec<_> = naming.map(|log| (log.block_hash, log.log_index)).collect();
            self.naming.extend(naming);
            let found = self.whole(found).await?;
            self.follow_and_count(found, through).await?;
            self.at = through.saturating_add(1);
            for entry in &mut self.ledger.entries {
                if through >= entry.next {
                    entry.through = entry.through.max(Some(through));
                }
            }
            self.saved.ranges_since += 1;
            let all = self.settled_to.is_some_and(|settled_to| through >= settled_to.number);
            if all {
                self.ask_another_endpoint(through).await?;
            }
            if all
                || self.saved.ranges_since >= limits::CHECKPOINT_RANGES
                || self.saved.when.elapsed() >= limits::CHECKPOINT_TIME
            {
                self.save().await;
            }
        }
        match chunk.stop {
            None => Ok(None),
            Some(Stop::Ceiling(Ceiling { width, .. }) | Stop::Narrow(width)) => Ok(Some(width)),
            Some(Stop::Gap(fault)) => Err(fault),
        }
    }

    /// Compares and counts the events through block `through`. After a fault the ledger is unchanged: if the
    /// compared state were saved ahead of the counted events, the next read would miss them.
    async fn follow_and_count(&mut self, mut found: Extract, through: u64) -> Result<(), Fault> {
        let before: Vec<_> = self.ledger.entries.iter().map(|entry| (entry.followed, entry.unexplained)).collect();
        self.follow(&mut found, through).await?;
        let counted = self.count(found).await;
        if counted.is_err() {
            for (entry, before) in self.ledger.entries.iter_mut().zip(before) {
                (entry.followed, entry.unexplained) = before;
            }
        }
        counted
    }

    fn extract(&self, found: &mut FoundLogs) -> Extract {
        let markets = &self.reader.markets;
        extract(markets, &self.plan, found, &self.ledger.before(markets))
    }

    /// Records that logs of any contract were not read, in the markets that need them.
    fn lack_logs_of_any(&mut self) {
        for (entry, hints) in self.ledger.entries.iter_mut().zip(self.plan.hints.iter()) {
            if hints.iter().flatten().any(Hint::is_of_any) {
                entry.unexplained = Some(Unexplained::Unscoped);
            }
        }
    }

    /// Saves settled history.
    pub(crate) async fn save(&mut self) {
        let (Some(settled_to), Some(through)) = (self.settled_to, self.at.checked_sub(1)) else { return };
        let through = through.min(settled_to.number);
        let advanced: Vec<_> =
            self.ledger.entries.iter().enumerate().filter(|(_, entry)| entry.next <= through).collect();
        if advanced.is_empty() || self.saved.all {
            return;
        }
        let block =
            if through == settled_to.number { Ok(Some(settled_to)) } else { self.reader.client.block(through).await };
        let Ok(Some(block)) = block else {
            // The next checkpoint or the next read saves it.
            tracing::warn!(
                chain = self.reader.chain,
                block = through,
                "block cannot be read; lending progress is not saved now"
            );
            return;
        };
        let mut batch = Ok(Batch::new());
        for (index, entry) in advanced {
            let (Some(market), Some(record)) = (self.reader.markets.get(index), self.records.get_mut(index)) else {
                continue;
            };
            let settled = SettledHistory {
                tally: entry.settled,
                sums: entry.settled_sums.clone(),
                past: entry.settled_past.clone(),
                through: block.number,
                hash: block.hash,
                shown: entry.followed.map(|followed| followed.settled),
                unexplained: entry.unexplained,
                confirmed: entry.confirmed.map(|to| to.min(block.number)),
                of_accounts: self
                    .plan
                    .hints
                    .get(index)
                    .is_some_and(|hints| hints.iter().any(|of| Hint::are_of_accounts(of))),
            };
            batch = batch.and_then(|batch| settled::put(batch, self.reader.chain, market, self.plan.wallet, &settled));
            *record = Some(settled);
        }
        self.saved = SavedHistory { when: Instant::now(), ranges_since: 0, all: through == settled_to.number };
        self.reader.save(self.plan.wallet, &self.records, batch).await;
    }
}
