//! The logs of liquidations of a wallet in a few blocks of one market: a history counts them, and keeps their times.

use alloy::rpc::types::Log;

use crate::{
    history::reader::Reader,
    market::{Market, hides_liquidations},
    protocols::{EventKind, Evidence},
};
use assay_domain::{Address, B256};
use assay_evm::{
    Client, Fault, Span,
    logs::{LogQuery, in_order, in_parts},
};

/// A liquidation in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiquidationLog {
    pub block: u64,
    pub block_hash: B256,
    pub transaction: B256,
}

impl Reader {
    /// The liquidations of `wallet` in `span` of the market at `market`, in chain order; `None` if no such market is
    /// configured, or if its logs do not name wallets. The requests wait until no other request is waiting.
    ///
    /// # Errors
    /// [`Fault`] of the logs.
    pub async fn liquidations(
        &self,
        market: Address,
        wallet: Address,
        span: Span,
    ) -> Result<Option<Vec<LiquidationLog>>, Fault> {
        let market = self.markets.iter().find(|known| known.config.address == market);
        let Some(market) = market.filter(|market| !hides_liquidations(market.config.protocol)) else { return Ok(None) };
        market.liquidations(&self.client.behind(), wallet, (span, self.logs.range)).await.map(Some)
    }
}

impl Market {
    /// The liquidations of `wallet` in `span`, in chain order.
    async fn liquidations(
        &self,
        client: &Client,
        wallet: Address,
        (span, log_range): (Span, u64),
    ) -> Result<Vec<LiquidationLog>, Fault> {
        let mut logs = Vec::new();
        for query in self.queries(wallet) {
            let parts = in_parts(span, log_range, |part| client.believed_logs(&query, part)).await?;
            logs.extend(parts.into_iter().flatten());
        }
        in_order(&mut logs);
        let own: Vec<&Log> = logs.iter().filter(|log| self.is_own(log, wallet.into_word())).collect();
        let evidence = Evidence { own, ..Evidence::default() };
        let events = self.protocol.events(&evidence, wallet.into_word()).into_iter();
        let mut found: Vec<(Option<u64>, &Log)> =
            events.filter(|(kind, _)| *kind == EventKind::Liquidation).map(|(_, log)| (log.log_index, log)).collect();
        found.sort_by_key(|(index, log)| (log.block_number, *index));
        let whole = found.into_iter().filter_map(|(_, log)| {
            let (block, block_hash) = (log.block_number?, log.block_hash?);
            Some(LiquidationLog { block, block_hash, transaction: log.transaction_hash? })
        });
        Ok(whole.collect())
    }

    /// One query for each topic in which the market's logs name a wallet.
    fn queries(&self, wallet: Address) -> Vec<LogQuery> {
        let signatures = self.protocol.profile().signatures;
        let query = |topic: usize| {
            let mut query = LogQuery { addresses: vec![self.config.address], ..LogQuery::default() };
            let named = signatures.iter().filter(|signature| signature.wallet_at == topic);
            query.topics[0].extend(named.map(|signature| signature.topic0));
            query.topics.get_mut(topic)?.push(wallet.into_word());
            (!query.topics[0].is_empty()).then_some(query)
        };
        (1..=3).filter_map(query).collect()
    }
}
