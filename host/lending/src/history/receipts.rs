//! The logs of a span of blocks, with the receipts that hints point to and those that decide an event's kind. Each
//! receipt is read once for all markets. It is valid only if it belongs to that transaction and block and contains the
//! logs that pointed to it. A span without its receipts counts as not read.

use std::collections::{BTreeMap, HashMap};

use alloy::rpc::types::Log;
use futures::{StreamExt, TryStreamExt, future::try_join_all, stream};
use serde_json::Value;

use crate::{
    figures::hints::Hint,
    history::{
        events::{Asked, FoundLogs},
        plan::Plan,
        reader::Reader,
    },
    limits,
    market::Market,
    pauses,
};
use assay_domain::B256;
use assay_evm::{
    Fault, Span,
    client::WitnessedLogs,
    logs::{Chunk, Receipt, Stop, chunk},
};

/// A transaction whose receipt is needed, and the logs that point to it.
pub(crate) struct WantedReceipt {
    pub transaction: B256,
    hints: Vec<Log>,
}

impl Reader {
    /// The logs of `span`, in parts if it is dense.
    pub(crate) async fn chunk(&self, plan: &Plan, span: Span) -> Chunk<FoundLogs> {
        let chunk = chunk(span, self.logs.range, |span| self.fetch_patiently(plan, span)).await;
        if let Some(Stop::Ceiling(ceiling)) = chunk.stop {
            self.client.lower_log_ceiling(ceiling);
        }
        chunk
    }

    /// Like [`fetch`](Self::fetch), but tries again after a failure that a pause may resolve: all endpoints are
    /// resting, for example after another read's request timed out, or they answer other requests and are busy, not
    /// down. A slow machine leaves no gap.
    async fn fetch_patiently(&self, plan: &Plan, span: Span) -> Result<FoundLogs, Fault> {
        let mut pause = pauses::BUSY;
        loop {
            let answered = self.client.answered();
            let fault = match self.fetch(plan, span).await {
                Err(fault) if fault.is_no_answer() && pause <= pauses::LONGEST_BUSY => fault,
                result => return result,
            };
            // A lighter query may be answered in time.
            let is_lighter_next = matches!(fault, Fault::TimedOut(_)) && span.width() > 1;
            let wait = match self.client.rest() {
                Some(rest) if rest <= pauses::LONGEST_BUSY => rest.max(pause),
                None if !is_lighter_next && self.client.answered() > answered => pause,
                _ => return Err(fault),
            };
            tokio::time::sleep(wait).await;
            pause *= 2;
        }
    }

    async fn fetch(&self, plan: &Plan, span: Span) -> Result<FoundLogs, Fault> {
        metrics::counter!("assay_log_ranges_total", "chain" => self.chain.to_string()).increment(1);
        let asked = plan.queries.iter().map(async |query| match self.client.witnessed_logs(query, span).await {
            Err(Fault::Unscoped) if query.addresses.is_empty() => Ok((Vec::new(), None)),
            answer => answer.map(|WitnessedLogs { logs, witness }| (logs, Some(witness))),
        });
        let (logs, witnesses): (Vec<_>, Vec<_>) = try_join_all(asked).await?.into_iter().unzip();
        let is_unscoped = witnesses.contains(&None);
        let asked = Asked { span, witnesses };
        let logs = self.compared(plan, &asked, logs.concat()).await?;
        let receipts = self.receipts(plan, &logs).await?;
        Ok(FoundLogs { logs, receipts, is_unscoped, asked: vec![asked], ..FoundLogs::default() })
    }

    /// The logs of markets with hints in the transactions that `logs`, all of a span, point to.
    ///
    /// # Errors
    /// [`Fault`], including for a missing or invalid receipt.
    pub(crate) async fn receipts(&self, plan: &Plan, logs: &[Log]) -> Result<Vec<Log>, Fault> {
        let wanted = wanted(&self.markets, plan, logs)?;
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        if too_many(&wanted) {
            return Err(Fault::TooDense { suggested: None });
        }
        metrics::counter!("assay_receipts_total", "chain" => self.chain.to_string()).increment(wanted.len() as u64);
        let mut wanted = wanted.into_iter();
        let parts = std::iter::from_fn(|| {
            Some(wanted.by_ref().take(Receipt::AT_ONCE).collect::<Vec<_>>()).filter(|part| !part.is_empty())
        });
        let read = stream::iter(parts).map(|part| self.some_receipts(plan, part)).buffered(limits::RECEIPT_REQUESTS);
        Ok(read.try_collect::<Vec<_>>().await?.concat())
    }

    async fn some_receipts(&self, plan: &Plan, part: Vec<WantedReceipt>) -> Result<Vec<Log>, Fault> {
        let answers = self.client.batch(part.iter().map(|wanted| Receipt::ask(wanted.transaction)).collect()).await?;
        let mut found = Vec::new();
        for (wanted, answer) in part.into_iter().zip(answers) {
            let mut logs = checked(&wanted, answer?)?;
            logs.retain(|log| plan.reads_in_receipts(&self.markets, log));
            found.append(&mut logs);
        }
        Ok(found)
    }
}

/// The logs in `answer`, which must be the receipt of `transaction`.
pub(crate) fn unhinted(transaction: B256, answer: Value) -> Result<Vec<Log>, Fault> {
    checked(&WantedReceipt { transaction, hints: Vec::new() }, answer)
}

/// Each transaction once, in order of hash.
pub(crate) fn wanted(markets: &[Market], plan: &Plan, logs: &[Log]) -> Result<Vec<WantedReceipt>, Fault> {
    let wallet = plan.wallet.into_word();
    let mut found = BTreeMap::<B256, Vec<Log>>::new();
    for (market, hints) in markets.iter().zip(plan.hints.iter()) {
        let hints = hints.as_deref().unwrap_or_default();
        if hints.is_empty() {
            continue;
        }
        let own = logs.iter().filter(|log| market.is_own(log, wallet));
        let hinting = logs.iter().filter(|log| hints.iter().any(|hint| hint.is(log, wallet)));
        for log in unexplained(market, hints, wallet, own, hinting) {
            let transaction =
                log.transaction_hash.ok_or_else(|| Fault::Malformed("a log without its transaction".into()))?;
            found.entry(transaction).or_default().push(log.clone());
        }
    }
    Ok(found.into_iter().map(|(transaction, hints)| WantedReceipt { transaction, hints }).collect())
}

/// The logs in `hinting`, which match the `hints` of `market`, that only their receipt explains; and the logs in `own`,
/// the market's logs that name the wallet, whose kind or whose log of a token only their receipt shows.
pub(crate) fn unexplained<'l>(
    market: &Market,
    hints: &[Hint],
    wallet: B256,
    own: impl Iterator<Item = &'l Log>,
    hinting: impl Iterator<Item = &'l Log>,
) -> Vec<&'l Log> {
    let (own, hinting) = (by_transaction(own), by_transaction(hinting));
    let lonely = market.protocol.lonely(&own, &hinting, hints, wallet);
    let mut alike = HashMap::new();
    let mut is_explained = |log: &Log| {
        let (own, hinting) = (beside(&own, log), beside(&hinting, log));
        hints.iter().enumerate().filter(|(_, hint)| hint.is(log, wallet)).any(|(index, hint)| {
            let explained = || market.protocol.is_explained(hint, log, wallet, own, hinting);
            match market.protocol.explained_alike(hint, log, wallet) {
                Some(class) => *alike.entry((place(log), log.address(), index, class)).or_insert_with(explained),
                None => explained(),
            }
        })
    };
    let mut pointing: Vec<&Log> = hinting.iter().copied().filter(|log| !is_explained(log)).collect();
    pointing.extend(market.protocol.partial_logs().iter().flat_map(|logs| logs.unsettled(&own, wallet)));
    pointing.extend(lonely);
    pointing
}

/// Whether to read the span in parts. A single block may have any number.
fn too_many(wanted: &[WantedReceipt]) -> bool {
    let block = |wanted: &WantedReceipt| wanted.hints.first().and_then(|hint| hint.block_number);
    wanted.len() > limits::RECEIPTS_PER_SPAN
        && wanted.windows(2).any(|pair| matches!(pair, [one, next] if block(one) != block(next)))
}

pub(crate) type LogPlace = (Option<B256>, Option<B256>);

/// The block and the transaction of a log.
pub(crate) fn place(log: &Log) -> LogPlace {
    (log.block_hash, log.transaction_hash)
}

/// The logs of `log`'s transaction among `logs`, which are in the order of [`by_transaction`].
fn beside<'a, 'l>(logs: &'a [&'l Log], log: &Log) -> &'a [&'l Log] {
    let place = place(log);
    let (_, rest) = logs.split_at(logs.partition_point(|other| self::place(other) < place));
    rest.split_at(rest.partition_point(|other| self::place(other) == place)).0
}

/// The logs grouped by transaction, in order and without duplicates.
fn by_transaction<'l>(logs: impl Iterator<Item = &'l Log>) -> Vec<&'l Log> {
    let mut logs: Vec<&Log> = logs.collect();
    logs.sort_by_key(|log| (place(log), log.log_index));
    logs.dedup_by_key(|log| (place(log), log.log_index));
    logs
}

/// The logs in `answer`, which must be the receipt of `wanted`.
fn checked(wanted: &WantedReceipt, answer: Value) -> Result<Vec<Log>, Fault> {
    let refused = |why: &str| Fault::Malformed(format!("receipt of {}: {why}", wanted.transaction));
    let receipt = Receipt::read(wanted.transaction, answer)?;
    let mut receipt = receipt.ok_or_else(|| refused("none, although it has logs"))?;
    for hint in &wanted.hints {
        if !receipt.holds(hint) {
            return Err(refused("of another block"));
        }
        if !receipt.logs.iter().any(|log| log.log_index == hint.log_index && log.inner == hint.inner) {
            return Err(refused("lacks a log of it"));
        }
    }
    // Many nodes return the time with a log, fewer with a receipt's log.
    let time = wanted.hints.iter().find_map(|hint| hint.block_timestamp);
    receipt.logs.iter_mut().for_each(|log| log.block_timestamp = log.block_timestamp.or(time));
    Ok(receipt.logs)
}

#[cfg(test)]
mod tests;
