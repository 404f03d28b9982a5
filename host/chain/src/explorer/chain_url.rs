//! The chain's parameter in an explorer's URL: two APIs serve many chains at one address, each with its own parameter
//! name; other explorers serve one chain.

use url::Url;

use assay_domain::ChainId;

/// The path of the APIs that serve many chains.
const MANY_CHAINS: &str = "/v2/api";

/// `url` for `chain`. A parameter that is configured is not changed.
pub(super) fn of_chain(mut url: Url, chain: ChainId) -> Url {
    let named = url.query_pairs().any(|(name, _)| names_chain(&name));
    if !named && url.path().trim_end_matches('/') == MANY_CHAINS {
        let blockscout = url.host_str().is_some_and(|host| host.contains("blockscout"));
        url.query_pairs_mut().append_pair(if blockscout { "chain_id" } else { "chainid" }, &chain.to_string());
    }
    url
}

/// Whether a parameter of this name names the chain.
pub(super) fn names_chain(parameter: &str) -> bool {
    parameter == "chainid" || parameter == "chain_id"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_named_where_one_address_serves_many() {
        for (written, meant) in [
            ("https://api.etherscan.io/v2/api?apikey=k", "https://api.etherscan.io/v2/api?apikey=k&chainid=10"),
            ("https://api.blockscout.com/v2/api?apikey=k", "https://api.blockscout.com/v2/api?apikey=k&chain_id=10"),
            ("https://optimism.blockscout.com/api", "https://optimism.blockscout.com/api"),
            ("http://127.0.0.1:80/v2/api?chain_id=7", "http://127.0.0.1:80/v2/api?chain_id=7"),
        ] {
            assert_eq!(of_chain(Url::parse(written).unwrap(), 10), Url::parse(meant).unwrap());
        }
    }
}
