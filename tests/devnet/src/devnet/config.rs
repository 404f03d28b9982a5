//! The server's configuration for this devnet.

use std::fmt::Write;
use std::path::Path;

use super::{Chain, Devnet, ETHEREUM};

/// Depth of final blocks: small, because the devnet's chains are short.
const FINALITY: u64 = 16;

impl Devnet {
    /// An `assay.toml` with the embedded store and one key with every scope. `listen` may have port 0.
    pub fn config_toml(&self, listen: &str, shelf: &Path, store: &Path, key: &str) -> String {
        toml(&self.chains(), listen, shelf, store, key)
    }
}

/// The same for any chains.
pub fn toml(chains: &[&Chain], listen: &str, shelf: &Path, store: &Path, key: &str) -> String {
    let mut toml = format!("listen = {}\n", text(listen));
    let (shelf, store) = (text(&shelf.to_string_lossy()), text(&store.to_string_lossy()));
    let _ = write!(toml, "\n[models]\nshelf = {shelf}\n\n[store]\nbackend = \"embedded\"\npath = {store}\n");
    let scopes = r#"["read", "submit", "admin"]"#;
    // Tests and benchmarks send requests without a limit.
    let _ = write!(toml, "\n[access]\ndefault_rate = 0\naddress_rate = 0\n");
    let _ = write!(toml, "\n[[access.keys]]\nname = \"dev\"\nkey = {}\nscopes = {scopes}\n", text(key));
    for chain in chains {
        chain.write_toml(&mut toml);
    }
    toml
}

impl Chain {
    fn write_toml(&self, toml: &mut String) {
        let market = &self.market;
        let _ =
            write!(toml, "\n[[chains]]\nid = {}\nname = {}\nrpc = [{}]\n", self.id, text(self.name), text(self.url()));
        // The shipped uptime feed of chain 8453 does not exist on the devnet, whose chains mine only on request.
        let _ = writeln!(
            toml,
            "finality = {FINALITY}\nmax_head_age = 0\nmulticall = \"{}\"\nsequencer = \"none\"",
            market.multicall
        );
        let _ = writeln!(
            toml,
            "native = {{ symbol = \"ETH\", name = \"Ether\", feed = \"{}\" }}\ntokens = [",
            market.native_feed
        );
        for token in &market.tokens {
            let (address, symbol, decimals) = (token.address, text(token.asset.symbol), token.asset.decimals);
            let name = text(token.asset.name);
            // The market's oracle prices its reserves; other tokens have a feed.
            let feed = token
                .feed
                .filter(|_| !token.asset.reserve)
                .map(|feed| format!(", feed = \"{feed}\""))
                .unwrap_or_default();
            let exposure = match token.asset.symbol {
                "USDC" | "DAI" => ", exposure = \"stablecoin\"",
                "WETH" => ", exposure = \"native\"",
                "WBTC" => ", exposure = \"bitcoin\"",
                _ => "",
            };
            let _ = writeln!(
                toml,
                "  {{ address = \"{address}\", symbol = {symbol}, decimals = {decimals}, \
                 name = {name}{feed}{exposure} }},"
            );
        }
        // The shipped factories of pools do not exist on the devnet.
        let _ = writeln!(toml, "]\npair_factories = []\n\n[[chains.markets]]\nprotocol = \"lenderA_v3\"");
        if self.id == ETHEREUM {
            // As on the real chains: several markets on chain 1, one on the other.
            let _ = writeln!(toml, "market = \"Core\"");
        }
        let _ = writeln!(toml, "address = \"{}\"\nfrom_block = {}", market.pool, market.pool_block);
    }
}

/// A TOML basic string. It has all escapes of JSON.
fn text(value: &str) -> String {
    serde_json::Value::from(value).to_string()
}
