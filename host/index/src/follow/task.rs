//! The task of one chain's index: waits until it is worth its requests, opens the folder, and then reads in rounds to
//! the newest final block.

use std::{sync::Arc, time::Instant};

use tokio::time::{sleep, timeout};

use super::{
    indexer::{Indexer, Trouble},
    metrics::FollowReport,
    ranges::Ranges,
};
use crate::{Index, config::IndexMode, pauses};
use assay_evm::{Block, Fault, Span};
use assay_lending::{Scan, hints};

/// That part of the finality is enough.
const STEPS: u64 = 16;

impl Indexer {
    /// Does not end while there is something to read: a task of the chain runs it.
    pub async fn run(self: Arc<Self>) {
        if self.markets.is_empty() || self.mode == IndexMode::Off {
            return;
        }
        if !self.follows {
            return self.show().await;
        }
        if self.mode == IndexMode::Auto {
            self.useful().await;
        }
        let mut report = FollowReport::new(self.chain);
        let Some(index) = self.folder.index().await else { return report.goes_on(false) };
        let index = self.state.index.get_or_init(|| index);
        loop {
            let round = self.round(index, &mut report).await;
            report.goes_on(round.is_ok());
            if report.is_to_weigh()
                && let Ok(found) = self.with(index, |index, _| Ok(index.on_disk())).await
            {
                report.weighed(found);
            }
            let trouble = round.err().map(|trouble| trouble.to_string());
            self.state.set(|state| {
                if let Some(trouble) = trouble.as_ref().filter(|trouble| state.trouble.as_ref() != Some(trouble)) {
                    tracing::warn!(chain = self.chain, %trouble, "the market index does not go on now; answers do");
                }
                state.trouble.clone_from(&trouble);
            });
            sleep(if trouble.is_none() { pauses::ROUND } else { pauses::FAILURE }).await;
        }
    }

    /// Opens an index that exists, and reads no new blocks.
    async fn show(&self) {
        if !self.folder.exists() {
            return;
        }
        let Some(index) = self.folder.index().await else { return };
        let progress = self.with(&index, |index, chain| index.progress(chain)).await;
        let through = progress.ok().flatten().and_then(|progress| progress.through());
        self.state.index.get_or_init(|| index);
        self.state.set(|state| {
            state.through = through.map(|through| through.number);
            state.hash = through.map(|through| through.hash);
        });
    }

    /// Completes once an endpoint has refused a range, a second wallet was asked for, or if an earlier process has
    /// begun the index.
    async fn useful(&self) {
        if self.folder.exists()
            && let Some(index) = self.folder.index().await
            && self.with(&index, |index, chain| index.progress(chain)).await.is_ok_and(|found| found.is_some())
        {
            return;
        }
        while self.client.log_ceiling() == u64::MAX {
            if timeout(pauses::USEFUL_LOOK, self.state.wanted()).await.is_ok() {
                return;
            }
        }
    }

    async fn round(self: &Arc<Self>, index: &Index, report: &mut FollowReport) -> Result<(), Trouble> {
        let head = self.client.head().await?;
        let Some(settled) = head.number.checked_sub(self.finality) else { return Ok(()) };
        let Some((scan, listed)) = self.scan(head, report.since(), index).await? else { return Ok(()) };
        let mut agreed = self.agree(index, scan, listed).await?;
        let (through, next) = (agreed.progress.through(), agreed.progress.next());
        self.state.set(|state| {
            state.through = through.map(|through| through.number);
            state.hash = through.map(|through| through.hash);
            state.settled = Some(settled);
        });
        report.show(&agreed.progress, settled);
        let few = settled.saturating_sub(next).saturating_add(1) < self.finality / STEPS;
        if next > settled || (few && report.idle() < pauses::LATEST) {
            return Ok(());
        }
        Ranges::new(self, index, &mut agreed, settled, report).run().await
    }

    /// The reading of all markets that answer, and the final block through which it has every contract that they
    /// listed; `None` while none answers. One that the index has is waited for, and at the beginning every one for a
    /// while.
    async fn scan(&self, head: Block, since: Instant, index: &Index) -> Result<Option<(Scan, u64)>, Trouble> {
        let terms = self.terms.current(&self.client, &self.markets, head).await?;
        let known = self.with(index, |index, chain| index.progress(chain)).await?;
        let mut found = hints(&self.markets, Some(&terms)).to_vec();
        for ((market, terms), hints) in self.markets.iter().zip(terms.iter()).zip(&mut found) {
            let address = market.config.address;
            let is_known = known.as_ref().is_some_and(|known| known.market(address).is_some());
            if terms.is_none() && (is_known || (known.is_none() && since.elapsed() < pauses::MARKET_PATIENCE)) {
                return Err(Trouble::Market(address));
            }
            *hints = hints.take().filter(|_| terms.is_some());
        }
        if !found.iter().any(Option::is_some) {
            return Ok(None);
        }
        let scan = self.scoped(Scan::new(self.markets.clone(), found.into()), head).await?;
        Ok(Some((scan, terms.at().saturating_sub(self.finality))))
    }

    /// `scan`, without the logs of any contract if the endpoint answers no such query. Histories that need them do not
    /// begin with this index.
    async fn scoped(&self, scan: Scan, head: Block) -> Result<Scan, Trouble> {
        let Some(query) = scan.queries().iter().find(|query| query.addresses.is_empty()) else { return Ok(scan) };
        let ask = || async {
            self.budget.spend(1).await;
            match self.client.believed_logs(query, Span { from: head.number, to: head.number }).await {
                Err(Fault::Unscoped) => Ok(true),
                answer => answer.map(|_| false),
            }
        };
        let is_scoped = *self.is_scoped.get_or_try_init(ask).await?;
        Ok(if is_scoped { scan.of_known_contracts() } else { scan })
    }
}
