//! `assay check-config`: what was understood, without a secret in it, and with `--live` what the chains say to it.

use std::fmt::Write;

use futures::future::join_all;

use super::{ConfigFile, Failure, print};
use crate::{access::x402::Terms, config::Config};
use assay_chain::config::ChainConfig;
use assay_domain::Secret;
use assay_store::config::Backend;

pub fn run(file: &ConfigFile, live: bool) -> Result<(), Failure> {
    let config = file.load().map_err(|failure| Failure::no(failure.message))?;
    print(summary(&config).trim_end())?;
    if !live {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::cannot)?;
    let found = runtime.block_on(join_all(config.chains.iter().map(|chain| {
        // A reader of the progress that has gone ends nothing.
        crate::verify::verify(chain, &config, |words| {
            drop(print(format!("chain {} {}: {words}", chain.id, chain.name)))
        })
    })));
    let found: Vec<_> = found.into_iter().flatten().map(|finding| format!("  {finding}")).collect();
    if found.is_empty() {
        return print("The chains agree with it.");
    }
    Err(Failure::no(format!("the chains disagree in {} point(s):\n{}", found.len(), found.join("\n"))))
}

fn summary(config: &Config) -> String {
    let mut text = String::new();
    let mut line = |words: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{words}");
    };
    line(format!("listen    {}", config.listen));
    if config.sandbox {
        line("sandbox   production paths answer from the sandbox generator".into());
    }
    line(format!("models    {}", config.models.shelf.display()));
    line(match config.store.backend {
        Backend::Embedded => format!("store     embedded, {}", config.store.path.display()),
        Backend::Redis => format!("store     redis, {}", config.store.url.as_ref().map_or("no url", hosts)),
    });
    if config.access.keys.is_empty() {
        line("keys      none in the file; only minted keys will be let in (`assay key mint`)".into());
    }
    for key in &config.access.keys {
        let scopes = key.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ");
        let units = key.units.map_or("unmetered".into(), |units| format!("{units} units"));
        let rate = match key.rate.unwrap_or(config.access.default_rate) {
            0 => "without a rate".into(),
            rate => format!("{rate} a minute"),
        };
        line(format!("key       {} ({scopes}; {units}; {rate})", key.name));
    }
    if config.chains.is_empty() {
        line("chains    none; production scores and reports will answer 502".into());
    }
    for chain in &config.chains {
        let rpc = chain.rpc.iter().map(host).collect::<Vec<_>>().join(", ");
        line(format!("chain     {} {} through {rpc}", chain.id, chain.name));
        line(format!("            {}", origin(chain)));
        let tokens = chain.tokens.iter().map(|token| token.symbol.as_str()).collect::<Vec<_>>().join(", ");
        if !tokens.is_empty() {
            line(format!("            tokens {tokens}"));
        }
        for market in &chain.markets {
            let name = market.market.as_deref().unwrap_or("its one market");
            line(format!(
                "            {} {name} at {} from block {}",
                market.protocol.as_str(),
                market.address,
                market.from_block
            ));
        }
    }
    if let (Some(agents), Some(reputation)) = (&config.agents, &config.reputation) {
        let (credit, sybil) = (&reputation.credit_model, &reputation.sybil_model);
        line(format!(
            "reputation to {} on chain {}, by credit {credit} and sybil {sybil}",
            agents.reputation_registry, agents.chain
        ));
    }
    if let Some(terms) = Terms::new(&config.access.x402).filter(|_| config.access.x402.enabled) {
        let by = if config.access.x402.is_local() {
            "the account of [reputation]".into()
        } else {
            host(&config.access.x402.facilitator)
        };
        let (price, pay_to, asset, network) = (terms.price(), terms.pay_to, terms.domain.asset, terms.network);
        line(format!("x402      {price} for a submission, to {pay_to} in {asset} on {network}, settled by {by}"));
    }
    line("The configuration is good.".into());
    text
}

/// Where the chain's settings come from.
fn origin(chain: &ChainConfig) -> String {
    let (shipped, all) = (
        &chain.shipped,
        ["name", "rpc", "explorer", "finality", "multicall", "sequencer", "native", "tokens", "markets", "slugs"],
    );
    if shipped.is_empty() {
        return "from the file alone".into();
    }
    // What is known of a chain is known whole; an explorer never is.
    let optional = [("explorer", chain.explorer.is_some()), ("sequencer", chain.sequencer.is_some())];
    let is_written = |key: &&str| !shipped.contains(key) && !optional.contains(&(*key, false));
    let written: Vec<_> = all.into_iter().filter(is_written).collect();
    format!("from the file: {}; shipped with assay: {}", written.join(", "), shipped.join(", "))
}

/// The host alone: a URL may carry a key.
fn host(url: &Secret) -> String {
    let parsed = url::Url::parse(url.expose()).ok();
    parsed
        .and_then(|url| {
            Some(url.host_str()?.to_owned() + &url.port().map(|port| format!(":{port}")).unwrap_or_default())
        })
        .unwrap_or_default()
}

/// The hosts of a store, of which there may be several, without who we are to them.
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
        let toml = "[[access.keys]]\nname = \"dev\"\nkey = \"s3cret-key\"\nscopes = [\"read\"]\n[[chains]]\nid = 1\nname = \"Ethereum\"\n\
                    rpc = [\"https://rpc.example:8545/v2/s3cret\"]\nexplorer = \"https://s3cret.example\"\nfinality = 64\nnative = { symbol = \"ETH\" }\n\
                    [agents]\nchain = 1\nidentity_registry = \"0x00000000000000000000000000000000000000a1\"\n\
                    reputation_registry = \"0x00000000000000000000000000000000000000a2\"\n\
                    [reputation]\nsigner = \"0x0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"\n\
                    [ipfs]\napi = \"https://s3cret.example\"\ngateway = \"https://s3cret.example\"\n\
                    [access.x402]\nenabled = true\npay_to = \"0x00000000000000000000000000000000000000aa\"\nasset = \"0x00000000000000000000000000000000000000bb\"\n\
                    facilitator = \"https://pay.example/s3cret\"\n";
        file.write_all(toml.as_bytes()).unwrap();
        let text = summary(&crate::config::load(Some(file.path())).unwrap());
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
    fn what_is_shipped_is_told_from_what_is_written() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let toml = "[[chains]]\nid = 10\nrpc = [\"http://a.example\"]\nmarkets = []\n[[chains]]\nid = 5\nname = \"Own\"\nrpc = [\"http://b.example\"]\n\
                    finality = 1\nnative = { symbol = \"ETH\" }\n";
        file.write_all(toml.as_bytes()).unwrap();
        let text = summary(&crate::config::load(Some(file.path())).unwrap());
        for part in [
            "from the file: rpc, markets; shipped with assay: name, finality, multicall, sequencer, native, tokens, slugs\n",
            "from the file alone",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
