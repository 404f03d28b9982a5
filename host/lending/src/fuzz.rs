//! Logs as each protocol reads them, for fuzz targets.

use alloy::rpc::types::Log;

use crate::{
    aave, comet, ctoken,
    events::Evidence,
    hints::{Hint, Naming, TRANSFER},
};
use assay_domain::{Address, B256};

/// How many events and amounts the protocols find in `logs`, for each wallet that these name.
pub fn count(logs: &[Log]) -> usize {
    let all: Vec<&Log> = logs.iter().collect();
    let mut wallets: Vec<B256> = logs.iter().flat_map(|log| log.topics().iter().skip(1).copied()).take(8).collect();
    wallets.dedup();
    let asset = logs.first().map_or(Address::ZERO, |log| log.address());
    let listed = [Hint { contract: asset, topic0: TRANSFER, naming: Naming::Holder(asset), explained_by: &[] }];
    let found = |wallet: B256| {
        let evidence = Evidence { own: all.clone(), hints: all.clone(), receipts: all.clone(), listed: &listed };
        let aave = aave::events(&evidence, wallet).len() + aave::moves(&evidence, wallet).len();
        let comet = comet::events(&all, wallet).len() + comet::moves(&all, wallet).len();
        aave + comet + ctoken::events(&all, wallet).len()
    };
    wallets.into_iter().map(found).sum()
}
