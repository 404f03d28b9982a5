//! `[access.x402]`: payment by call, for clients without a key.

use serde::Deserialize;
use url::Url;

use super::Config;
use assay_domain::Secret;
use assay_domain::{Address, ChainId, SigningDomain, address};

/// What the first version of the protocol calls a network, and its chain id.
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
    /// Whom to pay.
    pub pay_to: Option<Address>,
    /// The contract paid with; USDC where it is known on the network.
    pub asset: Option<Address>,
    /// As the protocol calls it: `base`, or `eip155:8453`.
    pub network: String,
    /// URL of a facilitator, or `local` to settle from here.
    pub facilitator: Secret,
    /// Of a submission, in the asset's smallest unit.
    pub price: u64,
    /// Of the asset.
    pub decimals: u8,
    /// The asset's EIP-712 domain; that of USDC on the network where absent.
    pub domain_name: Option<String>,
    pub domain_version: String,
    /// What the API is reached by from outside; the request's `Host` where absent.
    pub base_url: Option<Url>,
    /// How long a payer's signature is to hold, in seconds.
    pub valid_seconds: u64,
    /// Longest wait for a payment to arrive before the payer is asked to come again, in milliseconds.
    pub settle_ms: u64,
    /// Longest wait for one answer of the facilitator, in milliseconds.
    pub facilitator_timeout_ms: u64,
}

impl X402 {
    /// The network by both of its names.
    pub fn network(&self) -> Option<(&'static str, ChainId)> {
        let id = self.network.strip_prefix("eip155:").and_then(|id| id.parse::<ChainId>().ok());
        NETWORKS.into_iter().find(|(name, chain)| *name == self.network || Some(*chain) == id)
    }

    /// The asset with its EIP-712 domain; `None` where neither is known.
    pub fn domain(&self) -> Option<SigningDomain> {
        let (_, chain) = self.network()?;
        let known = ASSETS.into_iter().find(|(id, ..)| *id == chain);
        let asset = self.asset.or(known.map(|(_, asset, _)| asset))?;
        let name = self.domain_name.clone().or_else(|| known.map(|(_, _, name)| name.to_owned()))?;
        Some(SigningDomain { name, version: self.domain_version.clone(), chain, asset })
    }

    /// Payments are settled by this server's own account.
    pub fn is_local(&self) -> bool {
        self.facilitator.expose() == "local"
    }

    /// What is wrong with it, by key.
    pub(super) fn problems(&self, config: &Config) -> Vec<(&'static str, String)> {
        let mut found: Vec<(&'static str, String)> = Vec::new();
        if !self.enabled {
            return found;
        }
        let mut problem = |key, what: &str| found.push((key, what.to_owned()));
        if self.pay_to.is_none_or(|pay_to| pay_to.is_zero()) {
            problem("pay_to", "missing; name the account that is to be paid");
        }
        match (self.network(), self.domain()) {
            (None, _) => {
                let known: Vec<_> = NETWORKS.iter().map(|(name, _)| *name).collect();
                problem(
                    "network",
                    &format!("not a network of x402: {}, or the same as eip155:<chain id>", known.join(", ")),
                );
            }
            (Some((name, _)), None) => {
                let what = format!("missing; no asset is known on {name}, so that asset and domain_name are needed");
                problem(if self.asset.is_none() { "asset" } else { "domain_name" }, &what);
            }
            (Some(_), Some(domain)) => {
                if domain.asset.is_zero() || Some(domain.asset) == self.pay_to {
                    problem("asset", "the zero address, or the same as pay_to");
                }
                let agents = config.agents.as_ref().map(|agents| agents.chain);
                if self.is_local() && agents.is_some_and(|chain| chain != domain.chain) {
                    problem(
                        "facilitator",
                        "local, on another chain than agents.chain: the account of [reputation] settles on its own chain alone; name the URL of a facilitator",
                    );
                }
            }
        }
        if !self.is_local()
            && !Url::parse(self.facilitator.expose()).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
        {
            problem("facilitator", "neither \"local\" nor an http or https URL");
        }
        if config.reputation.is_none() {
            problem("enabled", "set without [reputation]; submissions are what is paid for");
        }
        if self.base_url.as_ref().is_some_and(|url| !matches!(url.scheme(), "http" | "https") || url.query().is_some())
        {
            problem("base_url", "not an http or https URL without a query");
        }
        if self.price == 0 {
            problem("price", "0; must be at least 1 of the asset's smallest unit");
        }
        if self.decimals > 36 {
            problem("decimals", "above 36");
        }
        if !(30..=86_400).contains(&self.valid_seconds) {
            problem("valid_seconds", "must be 30 to 86400");
        }
        if self.settle_ms == 0 || self.settle_ms >= config.http.request_timeout_ms {
            problem("settle_ms", "must be at least 1 and below http.request_timeout_ms");
        }
        if !(100..=60_000).contains(&self.facilitator_timeout_ms) {
            problem("facilitator_timeout_ms", "must be 100 to 60000");
        }
        found
    }
}
