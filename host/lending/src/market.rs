//! A configured market with its protocol.

use alloy::{primitives::keccak256, rpc::types::Log};

use crate::{
    config::MarketConfig,
    protocols::{LendingProtocol, Profile, Signature, aave, comet, ctoken, euler, fluid, maker, morpho},
};
use assay_domain::{B256, Protocol, features::Features};

fn implementation(protocol: Protocol) -> &'static dyn LendingProtocol {
    match protocol {
        Protocol::LenderAV2 => &aave::V2,
        Protocol::LenderAV3 => &aave::V3,
        Protocol::LenderBV2 => &ctoken::CompoundV2,
        Protocol::LenderBV3 => &comet::Comet,
        Protocol::MorphoBlue => &morpho::MorphoBlue,
        Protocol::MakerVaults => &maker::MakerVaults,
        Protocol::Fluid => &fluid::Fluid,
        Protocol::EulerV2 => &euler::EulerV2,
    }
}

/// Whether the logs of `protocol` do not name the wallet that is liquidated, but its vault, or nothing.
pub fn hides_liquidations(protocol: Protocol) -> bool {
    let implementation = implementation(protocol);
    implementation.aliases().is_some() || implementation.profile().no_events.liquidation.is_none()
}

/// Whether part of the debt in `features` is in vaults. No log names the wallet that is liquidated, so an index of all
/// wallets does not have its liquidations there.
pub fn owes_in_vaults(features: &Features) -> bool {
    let protocol = |name: &str| Protocol::ALL.into_iter().find(|protocol| protocol.as_str() == name);
    let mut owed = features.markets.iter().filter(|market| market.borrowed_usd > 0.0);
    owed.any(|market| protocol(&market.protocol).is_some_and(hides_liquidations))
}

/// One market of a chain.
#[derive(Debug, Clone)]
pub struct Market {
    pub config: MarketConfig,
    pub(crate) protocol: &'static dyn LendingProtocol,
}

impl Market {
    pub fn new(config: MarketConfig) -> Self {
        let protocol = implementation(config.protocol);
        Self { config, protocol }
    }

    /// A digest of how its histories are read: which logs, from which block on, and what they mean.
    pub(crate) fn read_as(&self) -> B256 {
        let MarketConfig { protocol, from_block, dialect, chainlog, lending_factory, evc, .. } = &self.config;
        let Profile { reading, signatures, .. } = self.protocol.profile();
        // Keys that a market lacks are left out, so that its digest does not change when a key is introduced.
        let more = lending_factory.or(*evc).map(|contract| format!(" {contract:?}")).unwrap_or_default();
        keccak256(format!("{reading} {protocol:?} {from_block} {dialect:?} {chainlog:?} {signatures:?}{more}"))
    }

    /// Whether each change of a position in the market has a log.
    pub(crate) fn logs_everything(&self) -> bool {
        self.protocol.partial_logs().is_none()
    }

    /// Whether `log` is one of the market's own logs and names `wallet`. A query over several protocols also returns
    /// logs that mean something only in another one.
    pub(crate) fn is_own(&self, log: &Log, wallet: B256) -> bool {
        let topics = log.topics();
        let names = |s: &Signature| topics.first() == Some(&s.topic0) && topics.get(s.wallet_at) == Some(&wallet);
        log.address() == self.config.address && self.protocol.profile().signatures.iter().any(names)
    }
}

#[cfg(test)]
impl Market {
    /// A market at an address made of `byte`.
    pub(crate) fn sample(protocol: Protocol, byte: u8) -> Self {
        let address = assay_domain::Address::repeat_byte(byte);
        let (market, feeds_score, dialect, from_block) = (None, None, None, 0);
        let (chainlog, lending_factory, evc) = (None, None, None);
        Self::new(MarketConfig {
            protocol,
            market,
            address,
            from_block,
            feeds_score,
            dialect,
            chainlog,
            lending_factory,
            evc,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        figures::{
            hints::{Hint, Naming, TRANSFER},
            record::Side,
        },
        history::scan::asked,
    };
    use assay_domain::Address;

    #[test]
    fn digests_of_stored_histories_stay() {
        let digests = Protocol::ALL.map(|protocol| {
            let market = Market::sample(protocol, 1);
            let hints = [
                Hint { contract: Address::ZERO.into(), topic0: TRANSFER, naming: Naming::At(2), explained_by: &[] },
                Hint {
                    contract: Address::ZERO.into(),
                    topic0: TRANSFER,
                    naming: Naming::Balance { topic: 1, side: Side::Supply, asset: Address::ZERO },
                    explained_by: &[],
                },
            ];
            let both = [market.read_as(), asked(&market, &hints)];
            both.map(|digest| digest.to_string().get(..10).unwrap_or_default().to_owned())
        });
        let known = [
            ["0x63bcf9ad", "0xd63a6326"],
            ["0xaf19a74f", "0x88450a8d"],
            ["0x1d2a4dc2", "0x75294e23"],
            ["0x202c5529", "0x094eb194"],
            ["0x07733416", "0x227864d4"],
            ["0x0eff5303", "0x195d4503"],
            ["0x599bbc4a", "0x89f1e977"],
            ["0xb5b052f8", "0x43d11afd"],
        ];
        // A changed digest makes every server read all histories, and build its index, once more.
        assert_eq!(digests, known);
    }

    #[test]
    fn only_debt_in_vaults_is_not_found_by_wallet() {
        let market = |protocol: &str, borrowed_usd: f64| {
            let market = serde_json::json!({ "chain_id": 1, "protocol": protocol, "market": null,
                "coverage": "complete", "feeds_score": true, "supplied_usd": 500.0, "borrowed_usd": borrowed_usd });
            serde_json::from_value(market).unwrap()
        };
        let owes = |markets| owes_in_vaults(&Features { markets, ..Features::default() });
        for vaults in ["maker_vaults", "fluid"] {
            assert!(owes(vec![market("lenderA_v3", 0.0), market(vaults, 0.5)]), "{vaults}");
        }
        assert!(!owes(vec![market("lenderA_v3", 90.0), market("maker_vaults", 0.0), market("another", 9.0)]));
    }
}
