//! The wire format of DefiLlama's coin prices: `{root}/prices/current/{chain}:{token},…`.

use serde_json::Value;
use url::Url;

use super::stated::StatedPrice;
use crate::tolerances;
use assay_domain::Address;

pub(super) fn url(root: &Url, slug: &str, tokens: &[Address]) -> Url {
    let coins = tokens.iter().map(|token| format!("{slug}:{token:#x}")).collect::<Vec<_>>().join(",");
    let mut url = root.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(["prices", "current", &coins]);
    }
    // Maximum age of a price; the default is six hours.
    url.query_pairs_mut().append_pair("searchWidth", "1h");
    url
}

/// The prices in a response; `None` for an error. A coin that cannot be read is left out, like one without a price.
pub(super) fn prices(body: &Value, slug: &str) -> Option<Vec<StatedPrice>> {
    let coins = body.get("coins")?.as_object()?.iter();
    let read = |(coin, entry): (&String, &Value)| {
        // The key may differ in case from the requested one.
        let (chain, token) = coin.split_once(':')?;
        let confident = entry.get("confidence")?.as_f64()? >= tolerances::LEAST_CONFIDENCE;
        let token =
            token.to_ascii_lowercase().parse().ok().filter(|_| confident && chain.eq_ignore_ascii_case(slug))?;
        Some(StatedPrice { token, dollars: entry.get("price")?.as_f64()?, time: entry.get("timestamp")?.as_u64()? })
    };
    Some(coins.filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use assay_domain::address;

    const USDC: Address = address!("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");

    #[test]
    fn a_request_names_chain_and_token() {
        let url = url(&Url::parse("https://coins.example/key/").unwrap(), "era", &[USDC, Address::ZERO]);
        assert_eq!(
            url.as_str(),
            "https://coins.example/key/prices/current/era:0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48,\
             era:0x0000000000000000000000000000000000000000?searchWidth=1h"
        );
    }

    #[test]
    fn an_answer_is_read_whatever_the_case_of_its_keys() {
        let one =
            json!({ "decimals": 6, "symbol": "USDC", "price": 1.001, "timestamp": 1_700_000_000, "confidence": 0.99 });
        for key in [
            "ethereum:0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
            "Ethereum:0XA0B86991C6218B36C1D19D4A2E9EB0CE3606EB48",
        ] {
            let found = prices(&json!({ "coins": { key: one } }), "ethereum").unwrap();
            assert_eq!(found, [StatedPrice { token: USDC, dollars: 1.001, time: 1_700_000_000 }], "{key}");
        }
        assert_eq!(prices(&json!({ "coins": {} }), "ethereum"), Some(vec![]));
    }

    #[test]
    fn what_cannot_be_read_or_trusted_is_left_out() {
        let good = json!({ "price": 1.0, "timestamp": 1, "confidence": 0.9 });
        let found = |key: &str, entry: Value| prices(&json!({ "coins": { key: entry } }), "ethereum").unwrap().len();
        let key = "ethereum:0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
        assert_eq!(found(key, good.clone()), 1);
        assert_eq!(found("base:0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", good.clone()), 0);
        assert_eq!(found("ethereum:usdc", good), 0);
        for entry in [
            json!({ "price": 1.0, "timestamp": 1, "confidence": 0.89 }),
            json!({ "price": 1.0, "timestamp": 1 }),
            json!({ "price": "NaN", "timestamp": 1, "confidence": 1 }),
            json!({ "price": null, "timestamp": 1, "confidence": 1 }),
            json!({ "price": 1.0, "timestamp": "now", "confidence": 1 }),
            json!({ "price": 1.0, "confidence": 1 }),
            json!(1),
        ] {
            assert_eq!(found(key, entry.clone()), 0, "{entry}");
        }
        for body in [json!([]), json!({}), json!({ "coins": [] }), json!({ "message": "no" })] {
            assert_eq!(prices(&body, "ethereum"), None, "{body}");
        }
    }
}
