//! Wallets read and scored for work that no request waits for.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, stream};

use super::{Answering, Scoring, ScoringError, score::active, several::TOGETHER};
use assay_domain::{Address, B256, ChainId, Claimed, ReadBlock, Snapshot, Time, features::Features};
use assay_rollout::{Inputs, ScoreId, Scored, cards::Cards};
use assay_store::StoreError;

/// Blocks as their chains have them now.
#[derive(Debug, Clone, Default)]
pub struct Canonical {
    /// Blocks that are not in their chain any more.
    pub orphaned: HashSet<B256>,
    /// The chains that answered.
    pub answered: HashSet<ChainId>,
}

impl Scoring {
    /// The snapshot of each wallet, read after its moment, in the order given. They share requests, and are read at one
    /// block of each chain.
    pub async fn snapshots(&self, wallets: &[(Address, Time)]) -> Vec<Arc<Snapshot>> {
        let together = if wallets.len() > 1 { self.together() } else { self.clone() };
        let read = |(wallet, since): (Address, Time)| {
            let chains = together.chains.clone();
            async move {
                let known = chains.snapshot(wallet).await.snapshot;
                if known.as_of >= since { known } else { chains.current_snapshot(wallet).await.snapshot }
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
            let Some(client) = self.chains.client(chain) else { continue };
            let numbers: Vec<u64> = blocks.iter().map(|block| block.number).collect();
            let Ok(there) = client.behind().blocks(&numbers).await else { continue };
            found.answered.insert(chain);
            let other = blocks.iter().zip(there).filter(|(block, there)| there.is_none_or(|at| at.hash != block.hash));
            found.orphaned.extend(other.map(|(block, _)| block.hash));
        }
        found
    }
}
