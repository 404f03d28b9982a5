//! The devnet at the height of a real chain, with names, and servers that read it through endpoints.

use std::{fmt::Write, path::Path};

use alloy::primitives::Address;
use assay_domain::ChainId;
use assay_tests::{
    devnet::{Chain, Devnet},
    proxy::distant::{Distant, Manner, Meter, Node},
    service::{KEY, Service, plugins},
};

use super::names::Names;
use crate::Failure;

/// Height that the chain seems to have.
const HEIGHT: u64 = 25_000_000;
/// Answers live for a millisecond, so that every request reads the chain.
pub const SHORT_LIVES: &str = "\n[scoring]\ncache_ms = 1\nincomplete_cache_ms = 1\n";
/// The wallets of first reads, which also have names.
pub const STRANGERS: [&str; 12] = [
    "collector",
    "leaver",
    "liquidated",
    "liquidated-twin",
    "farmer",
    "sponsor",
    "delegator",
    "holder",
    "dormant",
    "helper",
    "both-chains",
    "ordinary-one",
];

pub struct World {
    pub devnet: Devnet,
    pub names: Names,
    /// Block n of the node is shown as block n * `spread`.
    pub spread: u64,
}

/// A chain of a server: its id, and the URLs of its endpoints.
pub type Seen = (ChainId, Vec<String>);

impl World {
    pub async fn start() -> Result<Self, Failure> {
        let devnet = Devnet::start(|_| {}).await?;
        let names = Names::deploy(&devnet.ethereum).await?;
        for label in STRANGERS {
            names.give(&devnet.ethereum, label, devnet.wallet(label).address).await?;
        }
        let (head, _) = devnet.ethereum.head().await?;
        Ok(Self { devnet, names, spread: HEIGHT.div_ceil(head) })
    }

    pub fn chain(&self) -> &Chain {
        &self.devnet.ethereum
    }

    pub fn wallet(&self, name: &str) -> Address {
        self.devnet.wallet(name).address
    }

    pub fn node(&self) -> Node {
        Node::new(self.chain().url())
    }

    /// An endpoint of `node`; `change` says how it differs from it.
    pub async fn endpoint(&self, node: Node, meter: &Meter, change: impl FnOnce(&mut Manner)) -> Distant {
        let mut manner = Manner::spread(self.spread);
        change(&mut manner);
        Distant::start(node, manner, meter).await
    }

    /// A server on `chains`, each of which is the same node, with `more` at the end of its configuration.
    pub fn serve(&self, chains: &[Seen], more: &str) -> Result<Service, Failure> {
        let toml = self.devnet.config_toml("127.0.0.1:0", &plugins(), Path::new("{dir}/assay.redb"), KEY);
        let mut sections = toml.split("\n[[chains]]\n");
        let mut config = sections.next().unwrap_or_default().to_owned();
        let (_, contracts) = sections
            .next()
            .and_then(|section| section.split_once("\nfinality"))
            .ok_or("the devnet's configuration has no chain with a finality")?;
        let block = self.chain().market.pool_block;
        let contracts =
            contracts.replace(&format!("from_block = {block}"), &format!("from_block = {}", block * self.spread));
        for (id, urls) in chains {
            let _ = write!(config, "\n[[chains]]\nid = {id}\nname = \"Chain {id}\"\nrpc = {urls:?}");
            let _ = write!(config, "\nfinality{contracts}");
        }
        let registry = self.names.registry;
        let _ = writeln!(
            config,
            "\n[names]\nregistries = \
             [{{ provider = \"ens\", chain = 1, registry = \"{registry}\", reverse = \"addr.reverse\" }}]"
        );
        Ok(Service::start(&format!("{config}{more}")))
    }
}

/// The path of a wallet's score.
pub fn path(wallet: Address) -> String {
    format!("/api/v2/score/address/{wallet}")
}
