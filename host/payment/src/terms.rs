//! The items for sale, and the terms, in both versions of the protocol. There is no `outputSchema`: clients reject
//! `null` for a text, and some reject the field.

use serde_json::{Value, json};

use super::{Version, header};
use crate::{bodies::PaymentRequiredBody, config};
use assay_domain::{Address, SigningDomain, U256};

const MIME_TYPE: &str = "application/json";
/// The only scheme: the exact amount, by signature.
pub(crate) const SCHEME: &str = "exact";

/// An item that a payment can buy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    Submission,
    /// A signed statement of a score.
    Statement,
    /// A watch of a wallet for so many terms of 30 days.
    Watch(u32),
}

impl Item {
    fn description(self) -> &'static str {
        match self {
            Self::Submission => "Submission of an agent's reputation to the ERC-8004 Reputation Registry",
            Self::Statement => "Signed statement of a credit score, an off-chain EAS attestation",
            Self::Watch(_) => "Watch of a wallet, for each 30 days begun",
        }
    }
}

/// The terms of every payment.
#[derive(Debug, Clone)]
pub struct Terms {
    pub pay_to: Address,
    pub domain: SigningDomain,
    submission: U256,
    statement: U256,
    /// Of a watch for one term; absent if none is sold.
    watch: Option<U256>,
    /// The network, as the first version names it.
    pub network: &'static str,
    pub decimals: u8,
    pub valid_seconds: u64,
    /// Whether responses have the terms of the second version.
    offers_v2: bool,
}

/// A response with 402: the body of the first version, and the header of the second.
#[derive(Debug, Clone)]
pub struct Demand {
    pub body: PaymentRequiredBody,
    /// The value of `PAYMENT-REQUIRED`, if the second version is offered. Clients that find it ignore the body.
    pub required: Option<String>,
}

impl Terms {
    /// `None` when the configuration is incomplete.
    pub fn new(config: &config::X402) -> Option<Self> {
        let (network, _) = config.network()?;
        Some(Self {
            pay_to: config.pay_to?,
            domain: config.domain()?,
            submission: U256::from(config.price),
            statement: U256::from(config.statement_price.unwrap_or(config.price)),
            watch: config.watch_price.map(U256::from),
            network,
            decimals: config.decimals,
            valid_seconds: config.valid.as_secs(),
            offers_v2: config.offer_v2,
        })
    }

    /// The network as the second version names it.
    pub(crate) fn caip2(&self) -> String {
        format!("eip155:{}", self.domain.chain)
    }

    pub(crate) fn network_in(&self, version: Version) -> String {
        match version {
            Version::One => self.network.to_owned(),
            Version::Two => self.caip2(),
        }
    }

    /// Whether watches are for sale.
    pub fn sells_watches(&self) -> bool {
        self.watch.is_some()
    }

    /// The price of `item`, in the asset's smallest unit.
    pub fn amount(&self, item: Item) -> U256 {
        match item {
            Item::Submission => self.submission,
            Item::Statement => self.statement,
            Item::Watch(terms) => self.watch.unwrap_or_default().saturating_mul(U256::from(terms)),
        }
    }

    /// The price of `item` for people.
    pub fn price(&self, item: Item) -> String {
        self.words(self.amount(item))
    }

    /// An amount for people: `0.1 USD Coin`.
    pub fn words(&self, amount: U256) -> String {
        let scale = U256::from(10).pow(U256::from(self.decimals));
        let fraction = format!("{:0>width$}", (amount % scale).to_string(), width = usize::from(self.decimals));
        let fraction = fraction.trim_end_matches('0');
        let dot = if fraction.is_empty() || self.decimals == 0 { String::new() } else { format!(".{fraction}") };
        format!("{}{dot} {}", amount / scale, self.domain.name)
    }

    /// An entry of `accepts`; `resource` is the absolute URL that the payment is for.
    pub fn requirements(&self, item: Item, version: Version, resource: &str) -> Value {
        let (asset, pay_to) = (self.domain.asset.to_string(), self.pay_to.to_string());
        let amount = self.amount(item).to_string();
        let extra = json!({ "name": self.domain.name, "version": self.domain.version });
        let network = self.network_in(version);
        match version {
            Version::One => json!({
                "scheme": SCHEME, "network": network, "maxAmountRequired": amount, "asset": asset, "payTo": pay_to,
                "resource": resource, "description": item.description(), "mimeType": MIME_TYPE,
                "maxTimeoutSeconds": self.valid_seconds, "extra": extra
            }),
            Version::Two => json!({
                "scheme": SCHEME, "network": network, "amount": amount, "asset": asset, "payTo": pay_to,
                "maxTimeoutSeconds": self.valid_seconds, "extra": extra
            }),
        }
    }

    /// `error` is for machines, in the words of each version; `detail` is for people.
    pub fn demand(&self, item: Item, resource: &str, error: impl Fn(Version) -> String, detail: String) -> Demand {
        let required = json!({
            "x402Version": 2,
            "error": error(Version::Two),
            "resource": { "url": resource, "description": item.description(), "mimeType": MIME_TYPE },
            "accepts": [self.requirements(item, Version::Two, resource)],
            "extensions": {}
        });
        let accepts = vec![self.requirements(item, Version::One, resource)];
        Demand {
            body: PaymentRequiredBody { x402_version: 1, error: error(Version::One), accepts, detail },
            required: self.offers_v2.then(|| header::encode(&required)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_written_as_people_do() {
        let price = |amount: u64, decimals| {
            let domain =
                SigningDomain { name: "USD Coin".into(), version: "2".into(), chain: 8453, asset: Address::ZERO };
            let terms = Terms {
                pay_to: Address::ZERO,
                domain,
                submission: U256::ZERO,
                statement: U256::ZERO,
                watch: None,
                network: "base",
                decimals,
                valid_seconds: 300,
                offers_v2: true,
            };
            terms.words(U256::from(amount))
        };
        assert_eq!(price(100_000, 6), "0.1 USD Coin");
        assert_eq!(price(12_345_678, 6), "12.345678 USD Coin");
        assert_eq!(price(1, 6), "0.000001 USD Coin");
        assert_eq!(price(2_000_000, 6), "2 USD Coin");
        assert_eq!(price(7, 0), "7 USD Coin");
    }
}
