//! `[access.x402]`: payment by call, for clients without a key.

use std::time::Duration;

use assay_domain::{
    Address, ChainId, Secret, SigningDomain, address,
    settings::{self, Problems, is_web},
};
use serde::Deserialize;
use url::Url;

/// Networks: the name in the first version of the protocol, and the chain id.
const NETWORKS: [(&str, ChainId); 14] = [
    ("abstract", 2_741),
    ("abstract-testnet", 11_124),
    ("avalanche", 43_114),
    ("avalanche-fuji", 43_113),
    ("base", 8_453),
    ("base-sepolia", 84_532),
    ("celo", 42_220),
    ("iotex", 4_689),
    ("peaq", 3_338),
    ("polygon", 137),
    ("polygon-amoy", 80_002),
    ("sei", 1_329),
    ("sei-testnet", 1_328),
    ("story", 1_514),
];

/// USDC by Circle, on Base and on its test network, with the name in its EIP-712 domain.
const ASSETS: [(ChainId, Address, &str); 2] = [
    (8_453, address!("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"), "USD Coin"),
    (84_532, address!("0x036CbD53842c5426634e7929541eC2318f3dCF7e"), "USDC"),
];

/// Payment by call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct X402 {
    pub enabled: bool,
    /// The account that is paid.
    pub pay_to: Option<Address>,
    /// The token of payments; USDC if it is known on the network.
    pub asset: Option<Address>,
    /// The protocol's name of the network, such as `base` or `eip155:8453`.
    pub network: String,
    /// URL of a facilitator, or `local`: this server settles payments itself.
    pub facilitator: Secret,
    /// Price of a submission, in the asset's smallest unit.
    pub price: u64,
    /// Price of a statement, in the same unit; that of a submission if absent.
    pub statement_price: Option<u64>,
    /// Price of a watch for 30 days, in the same unit; none is sold if absent.
    pub watch_price: Option<u64>,
    /// Decimals of the asset.
    pub decimals: u8,
    /// Name in the asset's EIP-712 domain; that of USDC on the network if absent.
    pub domain_name: Option<String>,
    pub domain_version: String,
    /// Whether responses have the terms of version 2 of the protocol. Clients of both versions prefer them.
    pub offer_v2: bool,
    /// Public URL of the API; the request's `Host` if absent.
    pub base_url: Option<Url>,
    /// Lifetime of a payer's signature.
    #[serde(rename = "valid_seconds", deserialize_with = "settings::seconds")]
    pub valid: Duration,
    /// Maximum wait for a payment to arrive; after it, the payer has to repeat the request.
    #[serde(rename = "settle_ms", deserialize_with = "settings::millis")]
    pub settle: Duration,
    /// Whether contracts may pay if this server settles. They decide by code whether a transfer succeeds.
    pub contract_signatures: bool,
    /// Timeout of one request to the facilitator.
    #[serde(rename = "facilitator_timeout_ms", deserialize_with = "settings::millis")]
    pub facilitator_timeout: Duration,
}

impl X402 {
    /// The network: its name and its chain id.
    pub fn network(&self) -> Option<(&'static str, ChainId)> {
        let id = self.network.strip_prefix("eip155:").and_then(|id| id.parse::<ChainId>().ok());
        NETWORKS.into_iter().find(|(name, chain)| *name == self.network || Some(*chain) == id)
    }

    /// The asset with its EIP-712 domain; `None` if one of them is unknown.
    pub fn domain(&self) -> Option<SigningDomain> {
        let (_, chain) = self.network()?;
        let known = ASSETS.into_iter().find(|(id, ..)| *id == chain);
        let asset = self.asset.or(known.map(|(_, asset, _)| asset))?;
        let name = self.domain_name.clone().or_else(|| known.map(|(_, _, name)| name.to_owned()))?;
        Some(SigningDomain { name, version: self.domain_version.clone(), chain, asset })
    }

    /// Whether this server's own account settles payments.
    pub fn is_local(&self) -> bool {
        self.facilitator.expose() == "local"
    }

    /// Without payment by call, nothing is checked.
    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        if !self.enabled {
            return found;
        }
        let no_payee = self.pay_to.is_none_or(|pay_to| pay_to.is_zero());
        found.add_if(no_payee, "pay_to", "missing; set the account that receives payments");
        self.asset_problems(&mut found);
        let facilitated = self.is_local() || is_web(&self.facilitator);
        found.add_if(!facilitated, "facilitator", "neither \"local\" nor an http or https URL");
        let bad_url = |url: &Url| !matches!(url.scheme(), "http" | "https") || url.query().is_some();
        let wrong = self.base_url.as_ref().is_some_and(bad_url);
        found.add_if(wrong, "base_url", "not an http or https URL without a query");
        found.add_if(self.price == 0, "price", "0; must be at least 1 of the asset's smallest unit");
        let none = self.statement_price == Some(0);
        found.add_if(none, "statement_price", "0; must be at least 1 of the asset's smallest unit");
        let none = self.watch_price == Some(0);
        found.add_if(none, "watch_price", "0; must be at least 1 of the asset's smallest unit");
        found.add_if(self.decimals > 36, "decimals", "above 36");
        let wrong = !(30..=86_400).contains(&self.valid.as_secs());
        found.add_if(wrong, "valid_seconds", "must be 30 to 86400");
        let wrong = !(100..=60_000).contains(&self.facilitator_timeout.as_millis());
        found.add_if(wrong, "facilitator_timeout_ms", "must be 100 to 60000");
        found
    }

    fn asset_problems(&self, found: &mut Problems) {
        let Some((name, _)) = self.network() else {
            let known = NETWORKS.map(|(name, _)| name).join(", ");
            return found.add("network", format!("not a network of x402: {known}, or the same as eip155:<chain id>"));
        };
        let Some(domain) = self.domain() else {
            let key = if self.asset.is_none() { "asset" } else { "domain_name" };
            let what = format!("missing; no asset is known on {name}, so set asset and domain_name");
            return found.add(key, what);
        };
        let wrong = domain.asset.is_zero() || Some(domain.asset) == self.pay_to;
        found.add_if(wrong, "asset", "the zero address, or the same as pay_to");
    }
}
