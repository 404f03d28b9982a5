//! The wire format of CoinGecko's token prices: `{root}/simple/token_price/{platform}?contract_addresses=…`.

use serde_json::Value;
use url::Url;

use super::stated::StatedPrice;
use assay_domain::Address;

pub(super) fn url(root: &Url, platform: &str, tokens: &[Address]) -> Url {
    let mut url = root.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(["simple", "token_price", platform]);
    }
    let tokens = tokens.iter().map(|token| format!("{token:#x}")).collect::<Vec<_>>().join(",");
    let asked =
        [("contract_addresses", tokens.as_str()), ("vs_currencies", "usd"), ("include_last_updated_at", "true")];
    url.query_pairs_mut().extend_pairs(asked);
    url
}

/// The prices in a response; `None` for an error, which has a `status`. A token that cannot be read is left out, like
/// one without a price.
pub(super) fn prices(body: &Value) -> Option<Vec<StatedPrice>> {
    let tokens = body
        .as_object()
        .filter(|tokens| !["status", "error", "error_code"].iter().any(|key| tokens.contains_key(*key)))?;
    let read = |(token, entry): (&String, &Value)| {
        let token = token.to_ascii_lowercase().parse().ok()?;
        Some(StatedPrice { token, dollars: entry.get("usd")?.as_f64()?, time: entry.get("last_updated_at")?.as_u64()? })
    };
    Some(tokens.iter().filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use assay_domain::address;

    const USDC: Address = address!("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");

    #[test]
    fn a_request_names_platform_and_tokens() {
        let url = url(&Url::parse("https://gecko.example/api/v3").unwrap(), "polygon-pos", &[USDC, Address::ZERO]);
        assert_eq!(url.path(), "/api/v3/simple/token_price/polygon-pos");
        let pairs: Vec<_> = url.query_pairs().map(|(name, value)| format!("{name}={value}")).collect();
        let tokens = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48,0x0000000000000000000000000000000000000000";
        assert_eq!(
            pairs,
            [&format!("contract_addresses={tokens}"), "vs_currencies=usd", "include_last_updated_at=true"]
        );
    }

    #[test]
    fn an_answer_is_read_and_what_cannot_be_is_left_out() {
        let body = json!({
            "0xA0B86991c6218b36c1d19d4a2e9eb0ce3606eb48": { "usd": 1.0, "last_updated_at": 1_700_000_000 },
            "0x0000000000000000000000000000000000000001": { "usd": "NaN", "last_updated_at": 1 },
            "0x0000000000000000000000000000000000000002": { "usd": 1.0 },
            "0x0000000000000000000000000000000000000003": {},
            "usdc": { "usd": 1.0, "last_updated_at": 1 },
        });
        assert_eq!(prices(&body).unwrap(), [StatedPrice { token: USDC, dollars: 1.0, time: 1_700_000_000 }]);
        assert_eq!(prices(&json!({})), Some(vec![]));
        for body in [json!([]), json!({ "status": { "error_code": 10_002 } }), json!({ "error": "coin not found" })] {
            assert_eq!(prices(&body), None, "{body}");
        }
    }
}
