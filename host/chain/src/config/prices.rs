//! `[prices]`: the external price APIs behind feeds and oracles.

use serde::Deserialize;
use url::Url;

use super::Slugs;
use assay_domain::Secret;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Root URL of a price API; none where absent. [`PriceApi`] says which kinds there are.
    pub api: Option<Secret>,
    /// A second one, for what the first has no price for.
    pub fallback: Option<Secret>,
    /// How long one read of a price is shared by all requests, in milliseconds.
    pub refresh_ms: u64,
}

/// The wire formats of external price APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceApi {
    Defillama,
    Coingecko,
}

impl PriceApi {
    /// The kind of the API at `root`; `None` where that is no http or https URL. All roots of CoinGecko end in
    /// `/api/v3`, and so do those of its mirrors; everything else is DefiLlama's.
    pub fn of(root: &Secret) -> Option<Self> {
        let url = Url::parse(root.expose()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        Some(if url.path().trim_end_matches('/').ends_with("/api/v3") { Self::Coingecko } else { Self::Defillama })
    }

    /// What an API of this kind calls the chain.
    pub fn slug(self, slugs: &Slugs) -> Option<&str> {
        match self {
            Self::Defillama => slugs.defillama.as_deref(),
            Self::Coingecko => slugs.coingecko.as_deref(),
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Defillama => "defillama",
            Self::Coingecko => "coingecko",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_root_tells_the_kind() {
        for (root, kind) in [
            ("https://coins.llama.fi", Some(PriceApi::Defillama)),
            ("https://pro-api.llama.fi/key/coins", Some(PriceApi::Defillama)),
            ("https://api.coingecko.com/api/v3", Some(PriceApi::Coingecko)),
            ("https://pro-api.coingecko.com/api/v3/?x_cg_pro_api_key=k", Some(PriceApi::Coingecko)),
            ("http://127.0.0.1:9000/mirror/api/v3", Some(PriceApi::Coingecko)),
            ("ftp://coins.llama.fi", None),
            ("coins.llama.fi", None),
        ] {
            assert_eq!(PriceApi::of(&Secret::new(root)), kind, "{root}");
        }
    }
}
