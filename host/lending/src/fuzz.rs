//! Runs all protocols' log readers on arbitrary logs, for fuzz targets.

use alloy::rpc::types::Log;

use crate::{
    figures::{
        hints::{Hint, Naming, TRANSFER},
        record::Side,
    },
    protocols::{Evidence, LendingProtocol, aave, comet, ctoken, euler, fluid, maker, morpho},
};
use assay_domain::{Address, B256};

/// The number of events and amounts that the protocols find in `logs`, for each wallet in their topics.
pub fn count(logs: &[Log]) -> usize {
    let all: Vec<&Log> = logs.iter().collect();
    let mut wallets: Vec<B256> = logs.iter().flat_map(|log| log.topics().iter().skip(1).copied()).take(8).collect();
    wallets.dedup();
    let asset = logs.first().map_or(Address::ZERO, |log| log.address());
    let topic0 = logs.first().and_then(|log| log.topic0().copied()).unwrap_or_default();
    let hint = |topic0, naming| Hint { contract: asset.into(), topic0, naming, explained_by: &[] };
    let balance = Naming::Balance { topic: 1, side: Side::Supply, asset };
    let listed = [hint(TRANSFER, Naming::Holder(asset)), hint(topic0, Naming::Holder(asset)), hint(topic0, balance)];
    let evidence = Evidence { own: all.clone(), hints: all.clone(), receipts: all, listed: &listed, before: None };
    let protocols: [&dyn LendingProtocol; 8] = [
        &aave::V2,
        &aave::V3,
        &comet::Comet,
        &ctoken::CompoundV2,
        &morpho::MorphoBlue,
        &maker::MakerVaults,
        &fluid::Fluid,
        &euler::EulerV2,
    ];
    let found = |protocol: &dyn LendingProtocol, wallet: B256| {
        let incomplete = protocol.partial_logs().map_or(0, |logs| logs.incomplete(&evidence, wallet).len());
        let unpaired = protocol.unpaired(&evidence, wallet).len();
        protocol.events(&evidence, wallet).len() + protocol.moves(&evidence, wallet).len() + incomplete + unpaired
    };
    wallets.into_iter().map(|wallet| protocols.iter().map(|protocol| found(*protocol, wallet)).sum::<usize>()).sum()
}
