//! `[[chains.markets]]`: the lending markets of a chain.

use assay_domain::{Address, Protocol, settings::Problems};
use serde::Deserialize;

/// One lending market. For `lenderB_v2` a market is one cToken; for `morpho_blue`, the contract with all its markets;
/// for `maker_vaults`, the Vat; for `fluid`, the vault factory; for `euler_v2`, the factory with all its vaults.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarketConfig {
    pub protocol: Protocol,
    /// `None` if the protocol has one market on the chain.
    pub market: Option<String>,
    pub address: Address,
    /// First block that can contain an event of this market.
    pub from_block: u64,
    /// Whether it counts in the score; the protocol's default if absent.
    #[serde(default)]
    pub feeds_score: Option<bool>,
    /// For `lenderB_v2`; detected by calls if absent.
    #[serde(default)]
    pub dialect: Option<Dialect>,
    /// For `maker_vaults`: the ChainLog, which lists the addresses of the other contracts.
    #[serde(default)]
    pub chainlog: Option<Address>,
    /// For `fluid`: the lending factory, which lists the tokens of deposits.
    #[serde(default)]
    pub lending_factory: Option<Address>,
    /// For `euler_v2`: the vault connector, which calls the vaults for accounts.
    #[serde(default)]
    pub evc: Option<Address>,
}

impl MarketConfig {
    pub fn feeds_score(&self) -> bool {
        self.feeds_score.unwrap_or(self.protocol.feeds_score())
    }

    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        let foreign = self.dialect.is_some() && self.protocol != Protocol::LenderBV2;
        found.add_if(foreign, "dialect", "only markets of lenderB_v2 have dialects; remove it");
        let is_maker = self.protocol == Protocol::MakerVaults;
        found.add_if(is_maker && self.chainlog.is_none(), "chainlog", "a market of maker_vaults needs its ChainLog");
        found.add_if(!is_maker && self.chainlog.is_some(), "chainlog", "only maker_vaults has a ChainLog; remove it");
        let (is_fluid, factory) = (self.protocol == Protocol::Fluid, self.lending_factory.is_some());
        found.add_if(is_fluid && !factory, "lending_factory", "a market of fluid needs its lending factory");
        found.add_if(!is_fluid && factory, "lending_factory", "only fluid has a lending factory; remove it");
        let is_euler = self.protocol == Protocol::EulerV2;
        found.add_if(is_euler && self.evc.is_none(), "evc", "a market of euler_v2 needs its vault connector");
        found.add_if(!is_euler && self.evc.is_some(), "evc", "only euler_v2 has a vault connector; remove it");
        found
    }
}

/// The protocol whose names for rewards a fork of Compound v2 uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// `DistributedBorrowerComp`, `compBorrowerIndex`.
    Compound,
    /// `DistributedBorrowerVenus`, `venusBorrowerIndex`.
    Venus,
    /// `DistributedBorrowerReward` with the kind of reward first, `rewardBorrowerIndex`.
    Benqi,
    /// `DisbursedBorrowerRewards` of the Comptroller's reward distributor.
    Moonwell,
}
