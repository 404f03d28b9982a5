//! A configured market with its protocol.

use alloy::rpc::types::Log;

use crate::{
    aave, comet,
    config::MarketConfig,
    ctoken, maker, morpho,
    protocol::{LendingProtocol, Signature},
};
use assay_domain::{B256, Protocol};

/// One market of a chain.
#[derive(Debug, Clone)]
pub struct Market {
    pub config: MarketConfig,
    pub(crate) protocol: &'static dyn LendingProtocol,
}

impl Market {
    pub fn new(config: MarketConfig) -> Self {
        let protocol: &'static dyn LendingProtocol = match config.protocol {
            Protocol::LenderAV2 => &aave::V2,
            Protocol::LenderAV3 => &aave::V3,
            Protocol::LenderBV2 => &ctoken::CompoundV2,
            Protocol::LenderBV3 => &comet::Comet,
            Protocol::MorphoBlue => &morpho::MorphoBlue,
            Protocol::MakerVaults => &maker::MakerVaults,
        };
        Self { config, protocol }
    }

    /// Whether `log` is one of the market's own logs and names `wallet`. A query over several protocols also returns
    /// logs that mean something only in another one.
    pub(crate) fn is_own(&self, log: &Log, wallet: B256) -> bool {
        let topics = log.topics();
        let names = |s: &Signature| topics.first() == Some(&s.topic0) && topics.get(s.wallet_at) == Some(&wallet);
        log.address() == self.config.address && self.protocol.signatures().iter().any(names)
    }
}

#[cfg(test)]
impl Market {
    /// A market at an address made of `byte`.
    pub(crate) fn sample(protocol: Protocol, byte: u8) -> Self {
        let address = assay_domain::Address::repeat_byte(byte);
        let (market, feeds_score, dialect, chainlog) = (None, None, None, None);
        Self::new(MarketConfig { protocol, market, address, from_block: 0, feeds_score, dialect, chainlog })
    }
}
