//! The server's configuration for a small chain.

use std::fmt::Write;
use std::path::Path;

use alloy::primitives::{Address, U256};

use super::Small;
use crate::devnet::{actors, feed};

/// The id of every small chain.
pub const CHAIN: u64 = 1;

/// The contracts in the chain's configuration.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    pub native_feed: Address,
    pub wrapped: Option<Address>,
    /// Address, decimals and feed.
    pub tokens: Vec<(Address, u8, Address)>,
    /// Factories of pools of two tokens.
    pub pair_factories: Vec<Address>,
    /// Protocol, name and address.
    pub markets: Vec<(&'static str, &'static str, Address)>,
    /// Of the market of `maker_vaults`.
    pub chainlog: Option<Address>,
    /// Of the market of `fluid`.
    pub lending_factory: Option<Address>,
    /// Of the market of `euler_v2`.
    pub evc: Option<Address>,
}

impl Setup {
    /// An `assay.toml` with the embedded store, a free port and one key with every scope.
    pub fn toml(&self, rpc: &str, shelf: &Path, store: &Path, key: &str) -> String {
        let mut toml = format!(
            "listen = \"127.0.0.1:0\"\n[models]\nshelf = {shelf:?}\n[store]\nbackend = \"embedded\"\npath = {store:?}\n"
        );
        let _ = writeln!(
            toml,
            "[[access.keys]]\nname = \"test\"\nkey = \"{key}\"\nscopes = [\"read\", \"submit\", \"admin\"]"
        );
        let _ = writeln!(
            toml,
            "[[chains]]\nid = {CHAIN}\nname = \"Ethereum\"\nrpc = [\"{rpc}\"]\nfinality = 16\nmax_head_age = 0"
        );
        let wrapped = self.wrapped.map(|wrapped| format!(", wrapped = \"{wrapped}\"")).unwrap_or_default();
        let _ = writeln!(toml, "native = {{ symbol = \"ETH\", feed = \"{}\"{wrapped} }}\ntokens = [", self.native_feed);
        for (address, decimals, feed) in &self.tokens {
            let _ = writeln!(
                toml,
                "  {{ address = \"{address}\", symbol = \"T\", decimals = {decimals}, feed = \"{feed}\" }},"
            );
        }
        let factories = self.pair_factories.iter().map(|factory| format!("\"{factory}\"")).collect::<Vec<_>>();
        let _ = writeln!(toml, "]\npair_factories = [{}]", factories.join(", "));
        for (protocol, market, address) in &self.markets {
            let _ = writeln!(toml, "[[chains.markets]]\nprotocol = \"{protocol}\"\nmarket = \"{market}\"");
            let _ = writeln!(toml, "address = \"{address}\"\nfrom_block = 1");
            if let Some(chainlog) = self.chainlog.filter(|_| *protocol == "maker_vaults") {
                let _ = writeln!(toml, "chainlog = \"{chainlog}\"");
            }
            if let Some(factory) = self.lending_factory.filter(|_| *protocol == "fluid") {
                let _ = writeln!(toml, "lending_factory = \"{factory}\"");
            }
            if let Some(evc) = self.evc.filter(|_| *protocol == "euler_v2") {
                let _ = writeln!(toml, "evc = \"{evc}\"");
            }
        }
        toml
    }
}

/// Queues a Chainlink feed with the price `dollars`, and returns its future address.
pub fn price_feed(chain: &mut Small, dollars: f64) -> Address {
    let feed = chain.create(feed::creation_code(), "a price feed");
    let set = feed::Feed::setCall { answer: feed::answer(dollars), updatedAt: U256::ZERO };
    chain.queue(actors::address(actors::DEPLOYER), feed, &set);
    feed
}
