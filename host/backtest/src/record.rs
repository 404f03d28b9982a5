//! One wallet of a features file: its features, its id and its outcome. And its line of JSON.

use serde::{Deserialize, Serialize};

use assay_domain::features::{AttestationFeature, ChainFeatures, Features, Holding, MarketFeatures};

/// The longest line, in bytes: sixty markets with all their events fit.
pub const MAX_LINE: usize = 4 << 20;
/// The longest id, in characters.
const MAX_ID: usize = 100;

/// One wallet. Its fields are those of the WIT record `features`, and `id` and `outcome`. An unknown field is an error,
/// so that a misspelt field is not taken for a missing one.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The name of the wallet, for people. Models do not receive it.
    pub id: Option<String>,
    /// The outcome: true where it was bad, such as a default or a liquidation. Models do not receive it.
    pub outcome: Option<bool>,
    pub features: Features,
}

/// Why a line or row is not a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BadLine {
    /// Counted from 1.
    pub line: u64,
    pub reason: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<bool>,
    as_of: u64,
    #[serde(default)]
    chains: Vec<ChainFeatures>,
    #[serde(default)]
    markets: Vec<MarketFeatures>,
    #[serde(default)]
    holdings: Vec<Holding>,
    #[serde(default)]
    identity: Vec<AttestationFeature>,
}

impl Record {
    /// Reads line number `line`; `None` where it is blank.
    ///
    /// # Errors
    /// What is wrong, with its position in the line.
    pub fn read(line: u64, text: &[u8]) -> Result<Option<Self>, BadLine> {
        let bad = |reason: String| BadLine { line, reason };
        if text.len() > MAX_LINE {
            return Err(bad(format!("it is longer than {MAX_LINE} bytes")));
        }
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let Line { id, outcome, as_of, chains, markets, holdings, identity } =
            serde_json::from_slice(text).map_err(|error| {
                // The parser counts lines within the text, which is one line.
                let reason = error.to_string().replacen(" at line 1 column ", " at column ", 1);
                bad(reason.chars().take(300).collect())
            })?;
        let record = Self { id, outcome, features: Features { as_of, chains, markets, holdings, identity } };
        record.checked().map(Some).map_err(bad)
    }

    /// Returns the record if its values are valid: every figure is finite.
    pub(super) fn checked(self) -> Result<Self, String> {
        if self.id.as_ref().is_some_and(|id| id.chars().count() > MAX_ID) {
            return Err(format!("its id is longer than {MAX_ID} characters"));
        }
        let Features { chains, markets, holdings, identity, .. } = &self.features;
        let money = chains.iter().flat_map(|chain| [chain.assets_usd, chain.supplied_usd, chain.borrowed_usd]);
        let money = money.chain(markets.iter().flat_map(MarketFeatures::figures));
        let money = money.chain(holdings.iter().map(|holding| holding.usd));
        if !money.chain(identity.iter().filter_map(|one| one.score)).all(f64::is_finite) {
            return Err("a figure of it is infinite or not a number".into());
        }
        Ok(self)
    }

    /// The record as a line with its line break.
    ///
    /// # Errors
    /// Which value is invalid.
    pub fn write(self) -> Result<String, String> {
        let Self { id, outcome, features: Features { as_of, chains, markets, holdings, identity } } = self.checked()?;
        let line = Line { id, outcome, as_of, chains, markets, holdings, identity };
        serde_json::to_string(&line).map(|text| text + "\n").map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_written_is_read_again() {
        let features = Features {
            holdings: vec![Holding { class: assay_domain::AssetClass::Stablecoin, usd: 0.1, assets: 2 }],
            ..Features::default()
        };
        let record = Record { id: Some("0xab".into()), outcome: Some(true), features };
        let text = record.clone().write().unwrap();
        assert_eq!(Record::read(1, text.as_bytes()), Ok(Some(record.clone())));
        assert_eq!(Record::read(1, b" \r\n"), Ok(None));
        let mut endless = record;
        endless.features.holdings[0].usd = f64::INFINITY;
        assert!(endless.write().is_err());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let chain =
            r#"{"chain_id":1,"coverage":"complete","transactions":1,"assets_usd":1,"supplied_usd":0,"borrowed_usd":0"#;
        for (text, part) in [
            (r#"{"as_of":1,"outcom":true}"#.to_owned(), "unknown field `outcom`"),
            (format!(r#"{{"as_of":1,"chains":[{chain},"nonce":3}}]}}"#), "unknown field `nonce`"),
            (r#"{"as_of":-1}"#.into(), "invalid value: integer `-1`"),
            (r#"{"as_of":1,"as_of":2}"#.into(), "duplicate field `as_of`"),
            (
                r#"{"as_of":1,"holdings":[{"class":"native","usd":1e999,"assets":1}]}"#.into(),
                "number out of range at column",
            ),
            ("{".into(), "EOF"),
            ("\u{feff}{}".into(), "expected value"),
            (" ".repeat(MAX_LINE + 1), "longer than"),
            (format!(r#"{{"as_of":1,"id":"{}"}}"#, "x".repeat(101)), "id is longer"),
        ] {
            let bad = Record::read(7, text.as_bytes()).unwrap_err();
            assert_eq!(bad.line, 7);
            assert!(bad.reason.contains(part), "{part}: {}", bad.reason);
        }
    }
}
