//! One read of a wallet's lending history: from the end of the last read to the head, over all markets together, after
//! checking that the chain still has the blocks of the records.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use tokio::sync::watch;

use crate::{
    figures::{
        hints::{AllHints, Hint, Hinted},
        indexed::Indexed,
    },
    history::{
        events::FoundLogs,
        ledger::{Ledger, ReadProgress},
        pass::Pass,
        plan::Plan,
        reader::Reader,
        settled::SettledHistory,
    },
    limits,
    market::Market,
};
use assay_domain::{Address, ChainId};
use assay_evm::{Block, Fault, Span, logs::Chunk};

/// Blocks of the chain by number, possibly from a batch with other requests.
pub type Blocks = BoxFuture<'static, Result<BTreeMap<u64, Block>, Fault>>;

/// The data at the start of a read.
pub(crate) struct HistoryStart {
    pub wallet: Address,
    /// One entry per market.
    pub records: Vec<Option<SettledHistory>>,
    /// The wallet's history in the index.
    pub indexed: Option<Indexed>,
    pub hints: Hinted,
    /// The markets whose history the position contradicted recently.
    pub doubted: Vec<usize>,
    /// Those of [`anchors`](Reader::anchors) among others.
    pub blocks: Blocks,
    pub head: Block,
}

/// Reads from the records to the head as far as possible, and publishes its progress in `view`.
pub(crate) async fn read(reader: &Reader, start: HistoryStart, view: &watch::Sender<Ledger>) -> ReadProgress {
    let HistoryStart { wallet, records, indexed, hints, doubted, blocks, head } = start;
    let hints = hints.await;
    let records = begin(reader, wallet, records, indexed, &hints, &doubted, head).await;
    let ledger = Ledger::new(&reader.markets, &records).planned(&reader.markets, &hints);
    let from = ledger.start();
    let lacking = lacking(reader, &records, &hints);
    let is_tail = lacking.is_empty()
        && records.iter().all(Option::is_some)
        && head.number.saturating_sub(from) < limits::TAIL_BLOCKS;
    let is_doubted = doubted.iter().any(|index| records.get(*index).is_some_and(Option::is_none));
    let whole = Plan { is_doubted, ..Plan::new(&reader.markets, hints.clone(), wallet) };
    let plan = if is_tail { Plan::tail(&reader.markets, hints, wallet) } else { whole.clone() };
    view.send_replace(ledger);
    if plan.queries.is_empty() {
        return ReadProgress::Done;
    }
    // The first span is fetched while the records are checked. It is seldom discarded.
    let first = Some(from).filter(|from| lacking.is_empty() && *from <= head.number);
    let (checked, first) =
        tokio::join!(check(reader, &records, lacking, blocks, head), fetch_first(reader, &plan, first, head));
    let (records, settled_to, plan, first) = match checked {
        Ok((stale, settled_to)) if stale.is_empty() => (records, settled_to, plan, first),
        // The read now begins elsewhere.
        Ok((stale, settled_to)) => (reader.forget(wallet, records, &stale).await, settled_to, whole, None),
        Err(fault) => {
            tracing::warn!(chain = reader.chain, %fault, "lending history cannot be continued");
            return ReadProgress::Stopped(fault.reason());
        }
    };
    let first = reader.whole_range(&plan, &records, &doubted, settled_to, first).await;
    run(reader.chain, Pass::new(reader, plan, records, &doubted, head, settled_to), first, view).await
}

/// `records`, continued by the index if possible.
async fn begin(
    reader: &Reader,
    wallet: Address,
    records: Vec<Option<SettledHistory>>,
    indexed: Option<Indexed>,
    hints: &AllHints,
    doubted: &[usize],
    head: Block,
) -> Vec<Option<SettledHistory>> {
    let Some(indexed) = indexed.filter(|indexed| indexed.through <= head.number) else { return records };
    match reader.begun(wallet, records.clone(), &indexed, hints, doubted).await {
        Ok(records) => records,
        Err(fault) => {
            tracing::warn!(chain = reader.chain, %fault, "a history in the index cannot be completed; it is read from \
                                                          the node");
            records
        }
    }
}

/// The first chunk from block `from`.
async fn fetch_first(reader: &Reader, plan: &Plan, from: Option<u64>, head: Block) -> Option<Chunk<FoundLogs>> {
    let span = Span { from: from?, to: head.number }.pieces(reader.client.log_ceiling()).next()?;
    Some(reader.chunk(plan, span).await)
}

async fn run(
    chain: ChainId,
    mut pass: Pass<'_>,
    first: Option<Chunk<FoundLogs>>,
    view: &watch::Sender<Ledger>,
) -> ReadProgress {
    let outcome = pass.run(first, view).await;
    if outcome.is_err() {
        pass.save().await;
    }
    view.send_replace(pass.ledger);
    match outcome {
        Ok(()) => ReadProgress::Done,
        Err(fault) => {
            tracing::warn!(chain, %fault, "lending history has a gap");
            ReadProgress::Stopped(fault.reason())
        }
    }
}

/// The records that cannot be continued, because they are `lacking` or end at a replaced block, and the block through
/// which this read settles history. `anchors` are the numbers of [`anchors`](Reader::anchors) with their blocks.
async fn check(
    reader: &Reader,
    records: &[Option<SettledHistory>],
    lacking: Vec<usize>,
    blocks: Blocks,
    head: Block,
) -> Result<(Vec<usize>, Option<Block>), Fault> {
    let blocks = blocks.await?;
    let block = |number: u64| blocks.get(&number).copied();
    let mut stale = lacking;
    for (index, record) in records.iter().enumerate() {
        let Some(record) = record.as_ref().filter(|_| !stale.contains(&index)) else { continue };
        if record.through > head.number {
            // An endpoint that is behind knows nothing about the blocks after its head.
            let newer = reader.client.newer_than(head).is_some_and(|newer| newer.number >= record.through);
            if newer || reader.client.is_behind(head).await? {
                return Err(Fault::UnknownBlock);
            }
            stale.push(index);
            continue;
        }
        // An endpoint that lacks a block below the head proves nothing about the chain.
        let current = block(record.through).ok_or_else(|| Fault::Malformed(format!("no block {}", record.through)))?;
        if current.hash != record.hash {
            stale.push(index);
        }
    }
    // Stale records are read again from their first block, and stored once their blocks are final.
    let settles = match head.number.checked_sub(reader.finality).filter(|_| !stale.is_empty()) {
        Some(deepest) => return Ok((stale, reader.client.block(deepest).await?)),
        None => reader.settles(records, head),
    };
    let settles = settles.map(|number| block(number).ok_or_else(|| Fault::Malformed(format!("no block {number}"))));
    Ok((stale, settles.transpose()?))
}

/// The records that lack amounts or single events. Their histories are read once more, because without amounts a
/// history cannot be compared with the position.
fn lacking(reader: &Reader, records: &[Option<SettledHistory>], hints: &AllHints) -> Vec<usize> {
    let markets = reader.markets.iter().zip(hints.iter());
    let lacks = |(record, (market, hints)): (&Option<SettledHistory>, (&Market, &Option<Vec<Hint>>))| {
        record.as_ref().is_some_and(|record| record.lacks_part(market, hints.as_deref()))
    };
    records.iter().zip(markets).enumerate().filter(|(_, of)| lacks(*of)).map(|(i, _)| i).collect()
}
