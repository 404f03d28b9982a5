//! The terms of the contract, before it is known which markets a wallet used.

use alloy::{primitives::Bytes, sol};
use futures::FutureExt;

use super::position::UsedMarkets;
use crate::{
    figures::balance::Balance,
    protocols::{FoundParts, Held, LendingTerms, Parts, Used},
};
use assay_domain::{Address, B256};
use assay_evm::{Block, Call, Client, Fault, returned};

sol! {
    function owner() external view returns (address owner);
    function feeRecipient() external view returns (address recipient);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MorphoTerms {
    contract: Address,
    /// Receives shares as fees, for which no log names the owner.
    recipient: Address,
}

impl MorphoTerms {
    /// Looks up `contracts` together. `None` for a contract that does not answer like Morpho Blue.
    pub(super) async fn look_up(client: &Client, contracts: &[Address], at: B256) -> Result<Vec<Option<Self>>, Fault> {
        let both =
            |contract: &Address| [Call::new(*contract, &ownerCall {}), Call::new(*contract, &feeRecipientCall {})];
        let answers = client.calls(&contracts.iter().flat_map(both).collect::<Vec<_>>(), at).await?;
        let found = |(contract, answers): (&Address, &[Option<Bytes>])| {
            returned::<ownerCall>(answers.first())?;
            Some(Self { contract: *contract, recipient: returned::<feeRecipientCall>(answers.get(1))? })
        };
        Ok(contracts.iter().zip(answers.chunks(2)).map(found).collect())
    }
}

impl LendingTerms for MorphoTerms {
    fn calls(&self, _: Address) -> Vec<Call> {
        Vec::new()
    }

    /// The position of a wallet without any market.
    fn held(&self, _: &[Option<Bytes>], _: Option<f64>) -> Option<Held> {
        Some(Held::default())
    }

    fn balances(&self, _: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        Some(Vec::new())
    }

    /// None: a wallet that left a market has no trace there.
    fn traces(&self, _: Address) -> Vec<Call> {
        Vec::new()
    }

    fn ever_held(&self, _: &[Option<Bytes>]) -> bool {
        false
    }

    fn parts<'a>(&'a self, client: &'a Client, wallet: Address, used: Used<'_>, at: Block) -> Option<FoundParts<'a>> {
        let (Self { contract, recipient }, ids) = (*self, used.sums.markets());
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
