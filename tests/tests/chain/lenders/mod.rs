//! The lenders that the devnet does not have, each on a small chain of its own.

mod aave_v2;
mod comet;

use std::fmt::Write;
use std::path::Path;

use alloy::primitives::{Address, U256};
use assay::domain::{ChainSnapshot, PoolHistory, Position};
use assay_tests::devnet::{Error, actors, feed};
use assay_tests::lenders::Small;

const CHAIN: u64 = 1;

/// What one chain's configuration names.
#[derive(Default)]
struct Setup {
    native_feed: Address,
    wrapped: Option<Address>,
    /// Address, decimals and feed.
    tokens: Vec<(Address, u8, Address)>,
    /// Protocol, name and address.
    markets: Vec<(&'static str, &'static str, Address)>,
}

impl Setup {
    fn toml(&self, rpc: &str, store: &Path) -> String {
        let mut toml =
            format!("listen = \"127.0.0.1:0\"\n[models]\nshelf = \"plugins\"\n[store]\nbackend = \"embedded\"\npath = {store:?}\n");
        let _ = writeln!(toml, "[[chains]]\nid = {CHAIN}\nname = \"Ethereum\"\nrpc = [\"{rpc}\"]\nfinality = 16");
        let wrapped = self.wrapped.map(|wrapped| format!(", wrapped = \"{wrapped}\"")).unwrap_or_default();
        let _ = writeln!(toml, "native = {{ symbol = \"ETH\", feed = \"{}\"{wrapped} }}\ntokens = [", self.native_feed);
        for (address, decimals, feed) in &self.tokens {
            let _ = writeln!(toml, "  {{ address = \"{address}\", symbol = \"T\", decimals = {decimals}, feed = \"{feed}\" }},");
        }
        let _ = writeln!(toml, "]");
        for (protocol, market, address) in &self.markets {
            let _ = writeln!(
                toml,
                "[[chains.markets]]\nprotocol = \"{protocol}\"\nmarket = \"{market}\"\naddress = \"{address}\"\nfrom_block = 1"
            );
        }
        toml
    }
}

/// A Chainlink feed that says `dollars`.
fn price_feed(chain: &mut Small, dollars: f64) -> Address {
    let feed = chain.create(feed::creation_code(), "a price feed");
    let set = feed::Feed::setCall { answer: feed::answer(dollars), updatedAt: U256::ZERO };
    chain.queue(actors::address(actors::DEPLOYER), feed, &set);
    feed
}

fn pool(read: &ChainSnapshot, market: Address) -> &PoolHistory {
    read.pools.iter().find(|pool| pool.market_address == market).unwrap()
}

fn position(read: &ChainSnapshot, market: Address) -> Option<&Position> {
    read.positions.iter().find(|position| position.market_address == market)
}

type Done = Result<(), Error>;
