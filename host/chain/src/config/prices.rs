//! `[prices]`: the external price APIs, which are used if feeds and oracles have no price.

use std::time::Duration;

use assay_domain::{
    Secret,
    settings::{self, Problems},
};
use serde::Deserialize;
use url::Url;

use super::Slugs;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Root URL of a price API; [`PriceApi`] lists the kinds.
    pub api: Option<Secret>,
    /// Root URL of a second price API, for tokens that the first has no price for.
    pub fallback: Option<Secret>,
    /// Lifetime of a price; requests share it.
    #[serde(rename = "refresh_ms", deserialize_with = "settings::millis")]
    pub refresh: Duration,
}

impl Prices {
    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        for (key, root) in [("api", &self.api), ("fallback", &self.fallback)] {
            let wrong = root.as_ref().is_some_and(|root| PriceApi::of(root).is_none());
            found.add_if(wrong, key, "not an http or https URL");
        }
        let alone = self.fallback.is_some() && self.api.is_none();
        found.add_if(alone, "fallback", "set without prices.api, which it stands behind");
        found
    }
}

/// The wire formats of external price APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceApi {
    Defillama,
    Coingecko,
}

impl PriceApi {
    /// The kind of the API at `root`; `None` if that is not an http or https URL. Roots of CoinGecko and of its
    /// mirrors end in `/api/v3`; every other root is DefiLlama's.
    pub fn of(root: &Secret) -> Option<Self> {
        let url = Url::parse(root.expose()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        Some(if url.path().trim_end_matches('/').ends_with("/api/v3") { Self::Coingecko } else { Self::Defillama })
    }

    /// The chain's name at an API of this kind.
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
    fn the_path_of_the_root_shows_the_kind() {
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
