//! The terms of the contract, before it is known which markets a wallet used.

use alloy::{primitives::Bytes, sol};
use futures::{FutureExt, future::join_all};

use super::{listed::Listed, position::UsedMarkets};
use crate::{
    asset::Asset,
    config::MarketConfig,
    figures::{balance::Balance, record::Side},
    protocols::{FoundParts, Held, LendingTerms, Parts, Used},
};
use assay_domain::Address;
use assay_evm::{Block, Call, Client, Fault, Span, returned};

sol! {
    function owner() external view returns (address owner);
    function feeRecipient() external view returns (address recipient);
}

#[derive(Debug, Clone)]
pub(super) struct MorphoTerms {
    contract: Address,
    /// Receives shares as fees, for which no log names the owner.
    recipient: Address,
    /// All markets, if they are known.
    listed: Option<Listed>,
    /// Whether a later look-up may list them.
    is_unlisted_now: bool,
}

impl MorphoTerms {
    /// Looks up `markets` together. `None` for a contract that does not answer like Morpho Blue.
    pub(super) async fn look_up(
        client: &Client,
        markets: &[&MarketConfig],
        at: Block,
    ) -> Result<Vec<Option<Self>>, Fault> {
        let both = |market: &&MarketConfig| {
            [Call::new(market.address, &ownerCall {}), Call::new(market.address, &feeRecipientCall {})]
        };
        let asked = markets.iter().flat_map(both).collect::<Vec<_>>();
        let listed = markets.iter().map(async |market| {
            let span = Span { from: market.from_block, to: at.number };
            if span.from <= span.to { Listed::look_up(client, market.address, span).await } else { Ok(None) }
        });
        let (answers, listed) = tokio::join!(client.calls(&asked, at.hash), join_all(listed));
        let answers = answers?;
        let found = |market: &MarketConfig, answers: &[Option<Bytes>], listed: Result<Option<Listed>, Fault>| {
            returned::<ownerCall>(answers.first())?;
            let (contract, recipient) = (market.address, returned::<feeRecipientCall>(answers.get(1))?);
            let is_unlisted_now = listed.is_err();
            Some(Self { contract, recipient, listed: listed.ok().flatten(), is_unlisted_now })
        };
        let all = markets.iter().zip(answers.chunks(2)).zip(listed);
        Ok(all.map(|((market, answers), listed)| found(market, answers, listed)).collect())
    }
}

impl LendingTerms for MorphoTerms {
    /// The position of a wallet without any market.
    fn held(&self, _: &[Option<Bytes>], _: Option<f64>) -> Option<Held> {
        Some(Held::default())
    }

    fn balances(&self, _: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        Some(Vec::new())
    }

    /// The shares in every market. A wallet that left a market has no trace there.
    fn traces(&self, wallet: Address) -> Vec<Call> {
        self.listed.iter().flat_map(|listed| listed.calls(self.contract, wallet)).collect()
    }

    fn touched(&self, answers: &[Option<Bytes>], _: Address) -> Vec<(Side, Asset)> {
        self.listed.as_ref().and_then(|listed| listed.held(answers)).unwrap_or_default()
    }

    fn is_whole(&self) -> bool {
        !self.is_unlisted_now
    }

    fn lacks_parts(&self, answers: &[Option<Bytes>]) -> bool {
        self.listed.as_ref().is_none_or(|listed| listed.held(answers).is_none())
    }

    fn parts<'a>(&'a self, client: &'a Client, wallet: Address, used: Used<'_>, at: Block) -> Option<FoundParts<'a>> {
        let (contract, recipient, ids) = (self.contract, self.recipient, used.sums.markets());
        let read = async move {
            if wallet == recipient {
                return Ok(None);
            }
            let used = UsedMarkets::look_up(client, contract, wallet, ids, at).await?;
            Ok(used.map(|used| Box::new(used) as Box<dyn Parts>))
        };
        Some(read.boxed())
    }
}
