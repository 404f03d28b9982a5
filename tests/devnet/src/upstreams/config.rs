//! The configuration of a server that uses all parts.

use std::fmt::Write;
use std::path::Path;

use super::main_chains::{ATTESTER, BASE_REVERSE};
use super::other_chains::Other;
use super::{Upstreams, submitter, till};
use crate::devnet::BASE;
use crate::devnet::actors::{address as wallet, private_key};

impl Upstreams {
    /// As [`crate::devnet::Devnet::config_toml`], with every section that the API uses.
    pub fn config_toml(&self, listen: &str, shelf: &Path, store: &Path, key: &str) -> String {
        let mut toml = self.devnet.config_toml(listen, shelf, store, key);
        toml.push_str("[reading]\ndiscovery = \"logs\"\n");
        self.lender(&mut toml);
        for other in &self.others {
            other.write_toml(&mut toml);
        }
        self.people(&mut toml);
        self.submissions(&mut toml);
        self.statements(&mut toml);
        toml
    }

    /// Compound v2 on chain 1.
    fn lender(&self, toml: &mut String) {
        // The list of markets belongs to the last chain above it.
        let market = format!(
            "[[chains.markets]]\nprotocol = \"lenderB_v2\"\nmarket = \"cUSDC\"\naddress = \"{}\"\nfrom_block = 1\n",
            self.ethereum.ctoken
        );
        if let Some(at) = toml.match_indices("\n[[chains]]\n").nth(1).map(|(at, _)| at) {
            toml.insert_str(at, &market);
        }
    }

    fn people(&self, toml: &mut String) {
        let (ens, names) = (self.ethereum.ens.registry, self.base.names.registry);
        let _ = writeln!(
            toml,
            "[names]\nregistries = [\n\
             {{ provider = \"ens\", chain = 1, registry = \"{ens}\", reverse = \"addr.reverse\" }},\n\
             {{ provider = \"basename\", chain = {BASE}, registry = \"{names}\", under = \"base.eth\", \
             reverse = \"{BASE_REVERSE}\" }},\n]"
        );
        let (eas, index, attester) = (self.base.eas.service, self.base.index, wallet(ATTESTER));
        toml.push_str("[identity]\nsources = [\n");
        for (kind, schema, data) in
            [("verified-account", self.base.account, "flag"), ("verified-country", self.base.country, "country")]
        {
            let _ = writeln!(
                toml,
                "{{ provider = \"coinbase\", kind = \"{kind}\", chain = {BASE}, eas = \"{eas}\", index = \"{index}\", \
                 lookup = \"attestation-uid\", schema = \"{schema}\", attester = \"{attester}\", data = \"{data}\" }},"
            );
        }
        toml.push_str("]\n");
    }

    /// Statements for the EAS contract on chain 8453, and models that anyone with the key may download.
    fn statements(&self, toml: &mut String) {
        let (signer, eas) = (private_key("attester of scores"), self.base.eas.service);
        let _ = writeln!(
            toml,
            "[attestation]\nsigner = \"{signer}\"\nchain = {BASE}\ncontract = \"{eas}\"\ncontract_version = \"1.4.0\""
        );
        *toml = toml.replacen("[models]\n", "[models]\npublic = true\n", 1);
    }

    fn submissions(&self, toml: &mut String) {
        let ipfs = &self.ipfs.url;
        toml.push_str(&self.base.agents.toml(BASE, 10_000));
        let _ = writeln!(toml, "[ipfs]\napi = \"{ipfs}\"\ngateway = \"{ipfs}\"");
        let _ = writeln!(toml, "[outbound]\nallow = [\"{}\"]", ipfs.trim_start_matches("http://"));
        let signer = submitter().to_bytes();
        let _ = writeln!(toml, "[reputation]\nsigner = \"{signer}\"\nconfirmations = 1\npoll_ms = 250");
        let _ = writeln!(toml, "[access.x402]\nenabled = true\npay_to = \"{}\"\nnetwork = \"base\"", till());
    }
}

impl Other {
    fn write_toml(&self, toml: &mut String) {
        let (id, name, url, (symbol, currency, _)) = (self.id, &self.name, self.url(), self.currency);
        let _ = writeln!(
            toml,
            "[[chains]]\nid = {id}\nname = \"{name}\"\nrpc = [\"{url}\"]\nfinality = 4\nmax_head_age = 0\nmulticall = \
             \"none\"\nsequencer = \"none\""
        );
        let wrapped = self.lent.wrapped.map(|wrapped| format!(", wrapped = \"{wrapped}\"")).unwrap_or_default();
        let _ = writeln!(
            toml,
            "native = {{ symbol = \"{symbol}\", name = \"{currency}\", feed = \"{}\"{wrapped} }}\ntokens = [",
            self.native_feed
        );
        if let Some((address, feed)) = self.lent.dollar {
            let _ = writeln!(
                toml,
                "{{ address = \"{address}\", symbol = \"USDC\", decimals = 6, name = \"USD Coin\", feed = \"{feed}\" }}"
            );
        }
        toml.push_str("]\npair_factories = []\n");
        if self.lent.markets.is_empty() {
            toml.push_str("markets = []\n");
        }
        for (protocol, market, address) in &self.lent.markets {
            let _ = writeln!(
                toml,
                "[[chains.markets]]\nprotocol = \"{protocol}\"\nmarket = \"{market}\"\naddress = \
                 \"{address}\"\nfrom_block = 1"
            );
        }
    }
}
