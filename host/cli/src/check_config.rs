//! `assay check-config`: prints the configuration without secrets, and with `--live` checks the contracts on chain.

use std::fmt::Write as _;

use assay_chain::config::ChainConfig;
use assay_domain::Secret;
use assay_store::config::Backend;
use futures::future::join_all;

use super::{ConfigFile, Failure, print};
use assay::config::{Config, KeyConfig, here};
use assay_payment::config::X402;
use assay_payment::{Item, Terms};

pub fn run(file: &ConfigFile, live: bool) -> Result<(), Failure> {
    let config = file.load().map_err(|failure| Failure::no(failure.message))?;
    print(summary(&config).trim_end())?;
    // A configuration may be for another machine, so this is no failure.
    for problem in here::missing(&config) {
        print(format_args!("warning: on this machine, {problem}"))?;
    }
    print("The configuration is good.")?;
    if !live {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::cannot)?;
    let found = runtime.block_on(join_all(config.chains.iter().map(|chain| {
        // A closed standard output ends nothing.
        assay::verify::verify(chain, &config, None, |words| {
            drop(print(format!("chain {} {}: {words}", chain.id, chain.name)));
        })
    })));
    let found: Vec<_> = found.into_iter().flatten().map(|finding| format!("  {finding}")).collect();
    let node = runtime.block_on(assay::verify::ipfs(&config));
    let chains = match found.len() {
        0 => None,
        points => Some(format!("the chains disagree in {points} point(s):\n{}", found.join("\n"))),
    };
    let problems: Vec<_> = chains.into_iter().chain(node).collect();
    if problems.is_empty() {
        return print("The chains agree with it.");
    }
    Err(Failure::no(problems.join("\n")))
}

fn summary(config: &Config) -> String {
    let mut lines = vec![format!("listen    {}", config.listen)];
    if config.sandbox {
        lines.push("sandbox   production paths answer from the sandbox generator".into());
    }
    lines.push(format!("models    {}", config.models.shelf.display()));
    lines.push(match config.store.backend {
        Backend::Embedded => format!("store     embedded, {}", config.store.path.display()),
        Backend::Redis => format!("store     redis, {}", config.store.url.as_ref().map_or("no url", hosts)),
    });
    if config.access.keys.is_empty() {
        lines.push("keys      none in the file; only keys in the store are valid (`assay key mint --store`)".into());
    }
    lines.extend(config.access.keys.iter().map(|key| key_line(key, config.access.default_rate)));
    if config.chains.is_empty() {
        lines.push("chains    none; production scores and reports will answer 502".into());
    }
    lines.extend(config.chains.iter().flat_map(chain_lines));
    if let (Some(agents), Some(reputation)) = (&config.agents, &config.reputation) {
        let (credit, sybil) = (&reputation.credit_model, &reputation.sybil_model);
        let (registry, chain) = (agents.reputation_registry, agents.chain);
        lines.push(format!("reputation to {registry} on chain {chain}, by credit {credit} and sybil {sybil}"));
    }
    lines.extend(x402_line(&config.access.x402, config.attestation.is_some()));
    lines.join("\n")
}

fn key_line(key: &KeyConfig, default_rate: u32) -> String {
    let scopes = key.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ");
    let units = key.units.map_or("unmetered".into(), |units| format!("{units} units"));
    let rate = match key.rate.unwrap_or(default_rate) {
        0 => "without a rate".into(),
        rate => format!("{rate} a minute"),
    };
    format!("key       {} ({scopes}; {units}; {rate})", key.name)
}

fn chain_lines(chain: &ChainConfig) -> Vec<String> {
    let rpc = chain.rpc.iter().map(host).collect::<Vec<_>>().join(", ");
    let mut lines =
        vec![format!("chain     {} {} through {rpc}", chain.id, chain.name), format!("            {}", origin(chain))];
    let tokens = chain.tokens.iter().map(|token| token.symbol.as_str()).collect::<Vec<_>>().join(", ");
    if !tokens.is_empty() {
        lines.push(format!("            tokens {tokens}"));
    }
    for market in &chain.markets {
        let (protocol, name) = (market.protocol.as_str(), market.market.as_deref().unwrap_or("its one market"));
        lines.push(format!("            {protocol} {name} at {} from block {}", market.address, market.from_block));
    }
    lines
}

fn x402_line(x402: &X402, statements: bool) -> Option<String> {
    let terms = Terms::new(x402).filter(|_| x402.enabled)?;
    let by = if x402.is_local() { "the account of [reputation]".into() } else { host(&x402.facilitator) };
    let mut prices = format!("{} for a submission", terms.price(Item::Submission));
    if statements {
        let _ = write!(prices, ", {} for a statement", terms.price(Item::Statement));
    }
    if terms.sells_watches() {
        let _ = write!(prices, ", {} for 30 days of a watch", terms.price(Item::Watch(1)));
    }
    let (pay_to, asset, network) = (terms.pay_to, terms.domain.asset, terms.network);
    Some(format!("x402      {prices}, to {pay_to} in {asset} on {network}, settled by {by}"))
}

/// The keys of the chain that are in the file, and those that come from the shipped data.
fn origin(chain: &ChainConfig) -> String {
    let (shipped, all) = (
        &chain.shipped,
        [
            "name",
            "rpc",
            "explorer",
            "finality",
            "max_head_age",
            "multicall",
            "sequencer",
            "native",
            "tokens",
            "pair_factories",
            "markets",
            "slugs",
        ],
    );
    if shipped.is_empty() {
        return "only from the file".into();
    }
    // The shipped data has every key of a chain, except an explorer and perhaps a sequencer.
    let optional = [("explorer", chain.explorer.is_some()), ("sequencer", chain.sequencer.is_some())];
    let is_in_file = |key: &&str| !shipped.contains(key) && !optional.contains(&(*key, false));
    let in_file: Vec<_> = all.into_iter().filter(is_in_file).collect();
    format!("from the file: {}; shipped with assay: {}", in_file.join(", "), shipped.join(", "))
}

/// Only the host of a URL: the rest may have a key.
fn host(url: &Secret) -> String {
    let parsed = url::Url::parse(url.expose()).ok();
    parsed
        .and_then(|url| {
            Some(url.host_str()?.to_owned() + &url.port().map(|port| format!(":{port}")).unwrap_or_default())
        })
        .unwrap_or_default()
}

/// The hosts in the URL of a store, without user and password.
fn hosts(url: &Secret) -> &str {
    let hosts = url.expose().split_once("://").map_or("", |(_, rest)| rest);
    let hosts = hosts.rsplit_once('@').map_or(hosts, |(_, hosts)| hosts);
    hosts.split_once('/').map_or(hosts, |(hosts, _)| hosts)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn nothing_secret_is_printed() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let toml = "[[access.keys]]\nname = \"dev\"\nkey = \"s3cret-key\"\nscopes = [\"read\"]\n[[chains]]\nid = \
                    1\nname = \"Ethereum\"\n\
                    rpc = [\"https://rpc.example:8545/v2/s3cret\"]\nexplorer = \"https://s3cret.example\"\nfinality = \
                    64\nnative = { symbol = \"ETH\" }\n\
                    [agents]\nchain = 1\nidentity_registry = \"0x00000000000000000000000000000000000000a1\"\n\
                    reputation_registry = \"0x00000000000000000000000000000000000000a2\"\n\
                    [reputation]\nsigner = \"0x0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"\n\
                    [ipfs]\napi = \"https://s3cret.example\"\ngateway = \"https://s3cret.example\"\n\
                    [access.x402]\nenabled = true\npay_to = \"0x00000000000000000000000000000000000000aa\"\nasset = \
                    \"0x00000000000000000000000000000000000000bb\"\n\
                    facilitator = \"https://pay.example/s3cret\"\n";
        file.write_all(toml.as_bytes()).unwrap();
        let text = summary(&assay::config::load(Some(file.path())).unwrap());
        for part in [
            "dev (read; unmetered; 6000 a minute)",
            "1 Ethereum through rpc.example:8545",
            "0.1 USD Coin for a submission",
            "settled by pay.example",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("s3cret") && !text.contains("0123456789abcdef"), "{text}");
    }

    #[test]
    fn shipped_keys_and_keys_of_the_file_are_listed_apart() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let toml = "[[chains]]\nid = 10\nrpc = [\"http://a.example\"]\nmarkets = []\n[[chains]]\nid = 5\nname = \
                    \"Own\"\nrpc = [\"http://b.example\"]\n\
                    finality = 1\nnative = { symbol = \"ETH\" }\n";
        file.write_all(toml.as_bytes()).unwrap();
        let text = summary(&assay::config::load(Some(file.path())).unwrap());
        for part in [
            "from the file: rpc, markets; shipped with assay: name, finality, max_head_age, genesis_accounts, \
             multicall, sequencer, native, tokens, pair_factories, slugs\n",
            "only from the file",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
