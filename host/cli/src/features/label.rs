//! The part of the index of markets in an export of the past: the debtors at the moment, and the outcomes after it.

use assay_chain::{Chains, PastBlock, Settings, config::ChainConfig};
use assay_domain::{Address, ChainId, Coverage, features::Features};
use assay_index::Index;

use super::past::{Label, Past};
use crate::Failure;
use assay_rollout::outcomes::liquidations;

/// The index, with the chains that have markets.
pub(super) struct Indexed {
    index: Index,
    chains: Vec<ChainId>,
}

impl Indexed {
    /// # Errors
    /// [`Failure`] if there is no index.
    pub async fn open(chains: &Chains, settings: &Settings) -> Result<Self, Failure> {
        let missing = || {
            Failure::cannot(
                "there is no index of markets, the source of populations and outcomes: run `assay serve` with \
                 reading.index = \"on\" until `assay index status` shows it as current, or import an index",
            )
        };
        let index = chains.indexed().await.ok_or_else(missing)?;
        let with_markets = settings.chains.iter().filter(|chain| !chain.markets.is_empty());
        Ok(Self { index, chains: with_markets.map(|chain| chain.id).collect() })
    }

    /// All wallets that owed in `market`, on the chain `on` if given, at its chain's block in `blocks`.
    pub fn borrowers(
        &self,
        settings: &Settings,
        market: Address,
        on: Option<ChainId>,
        blocks: &[PastBlock],
    ) -> Result<Vec<String>, Failure> {
        let has_it = |chain: &&ChainConfig| {
            on.is_none_or(|id| id == chain.id) && chain.markets.iter().any(|own| own.address == market)
        };
        let mut of = settings.chains.iter().filter(has_it).map(|chain| chain.id);
        let (Some(chain), None) = (of.next(), of.next()) else {
            return Err(Failure::cannot(format!(
                "--market {market} is not a market of exactly one configured chain; name it with --chain"
            )));
        };
        let past = blocks.iter().find(|past| past.chain == chain);
        let past = past.ok_or_else(|| Failure::cannot(format!("chain {chain} is not read at that moment")))?;
        let owing = self.index.owing(chain, market, past.block.number).map_err(Failure::cannot)?;
        owing.map(|owing| owing.map(|owing| owing.wallet.to_checksum(None)).map_err(Failure::cannot)).collect()
    }

    /// Checks that the index reaches beyond the time in which the outcome of `past` counts.
    ///
    /// # Errors
    /// [`Failure`] that names the first chain for which it does not.
    pub async fn reaches(&self, chains: &Chains, past: &Past, label: Label) -> Result<(), Failure> {
        let end = past.moment.saturating_add(label.within);
        for chain in &self.chains {
            let time = liquidations::through(&self.index, chains, *chain).await.map_err(Failure::cannot)?;
            if time.is_none_or(|time| time < end) {
                return Err(Failure::cannot(format!(
                    "the outcome is not known yet: the index of chain {chain} ends before the last day that counts; \
                     let `assay serve` read on, or choose an earlier --as-of or a shorter --within"
                )));
            }
        }
        Ok(())
    }

    /// Whether `wallet` was liquidated in time; `None` for a wallet that owed too little, whose debt was not read, or
    /// was in vaults.
    ///
    /// # Errors
    /// That the index cannot be read.
    pub fn outcome(
        &self,
        wallet: Address,
        features: &Features,
        moment: u64,
        label: Label,
    ) -> Result<Option<bool>, String> {
        let owed: f64 = features.markets.iter().map(|market| market.borrowed_usd).sum();
        let is_read = features.chains.iter().all(|chain| chain.coverage == Coverage::Complete);
        if !is_read || owed < label.min_debt {
            return Ok(None);
        }
        if liquidations::are_hidden(&self.index, &self.chains, wallet, features)? {
            eprintln!("{wallet}: no outcome, because part of its debt was in vaults, whose liquidations are not known");
            return Ok(None);
        }
        let in_time = moment..moment.saturating_add(label.within);
        let moments = liquidations::moments(&self.index, &self.chains, wallet)?;
        Ok(Some(moments.iter().any(|moment| in_time.contains(moment))))
    }
}
