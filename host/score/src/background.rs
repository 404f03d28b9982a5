//! Wallets read and scored for work that no request waits for.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, stream};

use super::{Answering, Scoring, ScoringError, score::active, several::TOGETHER};
use assay_chain::LiquidationLog;
use assay_domain::{Address, B256, ChainId, Claimed, ReadBlock, Reasons, Snapshot, Time, features::Features};
use assay_rollout::{Inputs, ScoreId, Scored, cards::Cards};
use assay_store::StoreError;

/// Blocks as their chains have them now.
#[derive(Debug, Clone, Default)]
pub struct Canonical {
    /// Blocks that are not in their chain any more.
    pub orphaned: HashSet<B256>,
    /// Blocks of which that is not known: their chain did not answer, or has no block of their number now.
    pub unknown: HashSet<B256>,
}

/// A snapshot that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedSnapshot {
    pub wallet: Address,
    /// The moment after which it was read.
    pub since: Time,
    /// With the blocks of the first and the last transaction, from which a statement can be verified.
    pub exact: bool,
}

impl Scoring {
    /// The snapshot of each wallet, in the order given. They share requests, and are read at one block of each chain.
    pub async fn snapshots(&self, wallets: &[WantedSnapshot]) -> Vec<Arc<Snapshot>> {
        let together = if wallets.len() > 1 { self.together() } else { self.clone() };
        let read = |WantedSnapshot { wallet, since, exact }: WantedSnapshot| {
            let chains = together.chains.clone();
            async move {
                let known = chains.snapshot(wallet).await;
                let read = if known.snapshot.as_of >= since { known } else { chains.current_snapshot(wallet).await };
                if exact { chains.exactly(read).await.snapshot } else { read.snapshot }
            }
        };
        stream::iter(wallets.iter().copied().map(read)).buffered(TOGETHER).collect().await
    }

    /// The score of `snapshot` by `answering`, of which nothing is recorded, with the features behind it.
    ///
    /// # Errors
    /// As [`Scoring::score`].
    pub fn unrecorded(
        &self,
        answering: &Answering,
        snapshot: &Arc<Snapshot>,
    ) -> Result<(Arc<Scored>, Arc<Features>), ScoringError> {
        let snapshot = active(snapshot.clone())?;
        let features = Arc::new(assay_domain::features::features(&snapshot));
        let assessment = answering.model.score(&features)?;
        Ok((Arc::new(self.scored(answering, &snapshot, &features, assessment)), features))
    }

    /// The score with its words, if the model gives them.
    pub fn in_words(&self, answering: &Answering, scored: &Arc<Scored>, features: &Features) -> Arc<Scored> {
        match answering.model.explain(features, &scored.assessment) {
            Ok(assessment) => Arc::new(Scored { assessment, ..Scored::clone(scored) }),
            Err(_) => scored.clone(),
        }
    }

    /// The principal reasons of a score with words.
    pub async fn reasons(&self, cards: &Cards, scored: &Scored) -> Option<Reasons> {
        cards.reasons(&self.inner.registry, scored).await
    }

    /// The liquidations of `wallet` in these blocks of a market, both included, in chain order; `None` if they could
    /// not be read.
    pub async fn liquidations(
        &self,
        market: (ChainId, Address),
        wallet: Address,
        blocks: (u64, u64),
    ) -> Option<Vec<LiquidationLog>> {
        self.chains.liquidations(market, wallet, blocks).await
    }

    /// Records a score of [`unrecorded`](Self::unrecorded) for at least `lifetime`, and returns its id for `owner`.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn record(
        &self,
        (scored, features): (&Arc<Scored>, &Arc<Features>),
        (owner, by): (&str, &str),
        lifetime: Duration,
    ) -> Result<ScoreId, StoreError> {
        let inputs = Inputs { features: features.clone(), boost: None, asked_by: by.to_owned() };
        self.inner.rollout.keep(scored, inputs, owner, lifetime).await
    }

    /// The claims of the model of `scored` for the wallet.
    pub async fn claimed(&self, cards: &Cards, scored: &Scored) -> Claimed {
        cards.claimed(&self.inner.registry, scored).await
    }

    /// Compares `blocks` with their chains. The requests wait until no other request is waiting.
    pub async fn canonical(&self, blocks: impl IntoIterator<Item = &ReadBlock>) -> Canonical {
        let mut by_chain = BTreeMap::<ChainId, Vec<ReadBlock>>::new();
        for block in blocks {
            let known = by_chain.entry(block.chain_id).or_default();
            if !known.contains(block) {
                known.push(*block);
            }
        }
        let mut found = Canonical::default();
        for (chain, blocks) in by_chain {
            // Of a chain that is not configured any more nothing will be known.
            let Some(client) = self.chains.client(chain) else { continue };
            let numbers: Vec<u64> = blocks.iter().map(|block| block.number).collect();
            let Ok(there) = client.behind().blocks(&numbers).await else {
                found.unknown.extend(blocks.iter().map(|block| block.hash));
                continue;
            };
            for (block, there) in blocks.iter().zip(there) {
                match there {
                    Some(there) if there.hash == block.hash => {}
                    Some(_) => _ = found.orphaned.insert(block.hash),
                    // An endpoint that is behind has no such block yet, and neither has a chain that became shorter.
                    None => _ = found.unknown.insert(block.hash),
                }
            }
        }
        found
    }
}
