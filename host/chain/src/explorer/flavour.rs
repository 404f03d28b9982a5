//! How the chain is named in a URL: two of the APIs serve many chains from one address, each with a parameter of its
//! own, and an instance serves one.

use url::Url;

use assay_domain::ChainId;

/// Where one address serves many chains.
const MANY_CHAINS: &str = "/v2/api";

/// `url` for `chain`. A parameter that the operator wrote stands.
pub(super) fn of_chain(mut url: Url, chain: ChainId) -> Url {
    let named = url.query_pairs().any(|(name, _)| names_chain(&name));
    if !named && url.path().trim_end_matches('/') == MANY_CHAINS {
        let blockscout = url.host_str().is_some_and(|host| host.contains("blockscout"));
        url.query_pairs_mut().append_pair(if blockscout { "chain_id" } else { "chainid" }, &chain.to_string());
    }
    url
}

/// Whether a parameter of this name tells the chain.
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
