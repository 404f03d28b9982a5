//! The markets of the contract, by the logs of their creation, and a wallet's shares in each of them, by the contract's
//! storage. They show a market that the wallet uses even if the endpoint leaves out the only log that names it.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use alloy::{
    primitives::{Bytes, U256, keccak256},
    sol,
    sol_types::SolEvent,
};

use crate::{asset::Asset, figures::record::Side, limits};
use assay_domain::{Address, B256};
use assay_evm::{
    Call, Client, Fault, Span,
    logs::{LogQuery, in_parts},
    returned,
};

sol! {
    struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }
    event CreateMarket(bytes32 indexed id, MarketParams marketParams);
    function extSloads(bytes32[] slots) external view returns (bytes32[] words);
}

/// The slot of the mapping of positions, by market and wallet.
const POSITIONS: u64 = 2;

/// The ids of all markets. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Listed(Arc<[B256]>);

impl Listed {
    /// The markets that `contract` created in `span`. `None` if the endpoint answers only for short ranges, or if there
    /// are too many markets.
    ///
    /// # Errors
    /// [`Fault`] if the endpoint does not answer now.
    pub(super) async fn look_up(client: &Client, contract: Address, span: Span) -> Result<Option<Self>, Fault> {
        let most = u64::from(limits::LIST_QUERIES);
        if span.width() / client.log_ceiling() > most {
            return Ok(None);
        }
        let query = LogQuery {
            addresses: vec![contract],
            topics: [vec![CreateMarket::SIGNATURE_HASH], Vec::new(), Vec::new(), Vec::new()],
        };
        let (asked, query) = (AtomicU32::new(0), &query);
        let is_much = || asked.load(Ordering::Relaxed) > limits::LIST_QUERIES;
        let ask = |span| {
            asked.fetch_add(1, Ordering::Relaxed);
            let is_much = is_much();
            async move {
                match is_much {
                    true => Err(Fault::Malformed("too many ranges".into())),
                    false => client.believed_logs(query, span).await,
                }
            }
        };
        let logs = match in_parts(span, span.width().div_ceil(most), ask).await {
            Ok(logs) => logs.concat(),
            Err(_) if is_much() => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let mut ids: Vec<B256> = logs.iter().filter_map(|log| log.topics().get(1).copied()).collect();
        ids.sort_unstable();
        ids.dedup();
        Ok((ids.len() <= limits::LISTED_PARTS).then(|| Self(ids.into())))
    }

    /// The calls for the shares of `wallet` in all markets.
    pub(super) fn calls(&self, contract: Address, wallet: Address) -> Vec<Call> {
        let slots = |ids: &[B256]| ids.iter().flat_map(|id| slots(*id, wallet)).collect();
        self.parts().map(|ids| Call::new(contract, &extSloadsCall { slots: slots(ids) })).collect()
    }

    /// What the wallet has in the answers to [`calls`](Self::calls); `None` if one is missing.
    pub(super) fn held(&self, answers: &[Option<Bytes>]) -> Option<Vec<(Side, Asset)>> {
        let mut found = Vec::new();
        for (place, ids) in self.parts().enumerate() {
            let words = returned::<extSloadsCall>(answers.get(place))?;
            if words.len() != ids.len().saturating_mul(2) {
                return None;
            }
            for (id, words) in ids.iter().zip(words.chunks(2)) {
                let [supply, rest] = *words else { return None };
                let (collateral, borrow) = rest.split_at(16);
                let is_some = |bytes: &[u8]| bytes.iter().any(|byte| *byte != 0);
                let held = [
                    (Side::Supply, Asset::Shares(*id), !supply.is_zero()),
                    (Side::Debt, Asset::Shares(*id), is_some(borrow)),
                    (Side::Collateral, Asset::Market(*id), is_some(collateral)),
                ];
                found.extend(held.into_iter().filter(|(.., is)| *is).map(|(side, asset, _)| (side, asset)));
            }
        }
        Some(found)
    }

    fn parts(&self) -> impl Iterator<Item = &[B256]> {
        self.0.chunks(limits::LISTED_PARTS_PER_CALL)
    }
}

/// The two slots of the position of `wallet` in a market: shares of deposits; then, from the end, shares of debts, and
/// collateral.
fn slots(id: B256, wallet: Address) -> [B256; 2] {
    let of = |key: B256, slot: B256| keccak256([key.as_slice(), slot.as_slice()].concat());
    let first = of(wallet.into_word(), of(id, B256::from(U256::from(POSITIONS))));
    [first, B256::from(U256::from_be_bytes(first.0).wrapping_add(U256::ONE))]
}

#[cfg(test)]
mod tests {
    use alloy::sol_types::SolValue;

    use super::*;

    const IDS: [B256; 3] = [B256::repeat_byte(1), B256::repeat_byte(2), B256::repeat_byte(3)];

    #[test]
    fn a_part_is_held_if_its_slot_is_not_empty() {
        let listed = Listed(IDS.into());
        let word = |bytes: [u8; 2]| {
            let mut word = B256::ZERO;
            (word.0[0], word.0[31]) = (bytes[0], bytes[1]);
            word
        };
        let words = vec![word([0, 1]), word([0, 0]), word([0, 0]), word([0, 7]), word([0, 0]), word([9, 0])];
        let held = listed.held(&[Some(words.abi_encode().into())]).unwrap();
        let expected = [
            (Side::Supply, Asset::Shares(IDS[0])),
            (Side::Debt, Asset::Shares(IDS[1])),
            (Side::Collateral, Asset::Market(IDS[2])),
        ];
        assert_eq!(held, expected);
        assert!(listed.held(&[None]).is_none());
        assert!(listed.held(&[Some(vec![B256::ZERO; 5].abi_encode().into())]).is_none(), "too few");
    }
}
