//! One wallet of a features file: its features, its id and its outcome. And its line of JSON.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use assay_domain::features::{AttestationFeature, ChainFeatures, Features, Holding, MarketFeatures};

/// The longest line, in bytes: sixty markets with all their events fit.
pub const MAX_LINE: usize = 4 << 20;
/// The longest id, in characters.
const MAX_ID: usize = 100;

/// One wallet. Its fields are those of the WIT record `features`, and `id`, `outcome` and `cluster`. Other columns are
/// carried along; one that is almost a known field is an error, so that a misspelt field is not taken for a missing
/// one.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The name of the wallet, for people. Models do not receive it.
    pub id: Option<String>,
    /// The outcome: true if it was bad, such as a default or a liquidation. Models do not receive it.
    pub outcome: Option<bool>,
    /// Records of the same cluster belong together, such as those of a wallet on several dates; the id if absent.
    pub cluster: Option<String>,
    pub features: Features,
    /// Every other column.
    pub other: Map<String, Value>,
}

/// Why a line or row is not a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BadLine {
    /// Counted from 1.
    pub line: u64,
    pub reason: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "outcome")]
    outcome: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "text")]
    cluster: Option<String>,
    as_of: u64,
    #[serde(default)]
    chains: Vec<ChainFeatures>,
    #[serde(default)]
    markets: Vec<MarketFeatures>,
    #[serde(default)]
    holdings: Vec<Holding>,
    #[serde(default)]
    identity: Vec<AttestationFeature>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// The fields that a column may be a misspelling of.
const FIELDS: [&str; 8] = ["id", "outcome", "cluster", "as_of", "chains", "markets", "holdings", "identity"];

/// True or false, also as 1 or 0 and as a float of these, which tables make of them.
fn outcome<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    let value = Value::deserialize(from)?;
    match &value {
        Value::Null => Ok(None),
        Value::Bool(bad) => Ok(Some(*bad)),
        value if value.as_f64() == Some(1.0) => Ok(Some(true)),
        value if value.as_f64() == Some(0.0) => Ok(Some(false)),
        value => Err(serde::de::Error::custom(format!("outcome is {value}, and must be true, false, 1 or 0"))),
    }
}

fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Value>::deserialize(from)?.map(|value| plain(&value)))
}

/// A value as text: of a text itself.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Writes floats with a whole value as whole numbers, as pandas makes of counts with gaps.
fn whole(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Array(values) => values.iter_mut().for_each(whole),
        Value::Object(fields) => fields.values_mut().for_each(whole),
        Value::Number(number) => {
            let float = number.as_f64().filter(|_| number.is_f64());
            if let Some(float) = float.filter(|float| float.fract() == 0.0 && (0.0..EXACT).contains(float)) {
                *value = Value::from(float as u64);
            }
        }
        _ => {}
    }
}

/// Whether a column may be a known one with another name.
pub(super) fn misspelt(name: &str) -> bool {
    FIELDS.iter().any(|field| almost(name, field))
}

/// Whether two names differ by one letter: one that is more, less or another, or two that are swapped.
fn almost(a: &str, b: &str) -> bool {
    let (a, b): (Vec<_>, Vec<_>) = (a.to_lowercase().chars().collect(), b.chars().collect());
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let rest = |text: &[char], skip: usize| text.get(same + skip..).unwrap_or_default().to_vec();
    let swapped = a.get(same) == b.get(same + 1) && a.get(same + 1) == b.get(same);
    a == b
        || rest(&a, 1) == rest(&b, 1)
        || rest(&a, 1) == rest(&b, 0)
        || rest(&a, 0) == rest(&b, 1)
        || swapped && rest(&a, 2) == rest(&b, 2)
}

impl Record {
    /// A record without other columns.
    pub fn new(id: Option<String>, outcome: Option<bool>, features: Features) -> Self {
        Self { id, outcome, cluster: None, features, other: Map::new() }
    }

    /// Reads line number `line`; `None` if it is blank.
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
        let line = Line::read(text).map_err(|error| {
            // The parser counts lines within the text, which is one line.
            let reason = error.to_string().replacen(" at line 1 column ", " at column ", 1);
            bad(reason.chars().take(300).collect())
        })?;
        let Line { id, outcome, cluster, as_of, chains, markets, holdings, identity, other } = line;
        if let Some(name) = other.keys().find(|name| misspelt(name)) {
            return Err(bad(format!("unknown field `{name}`, which is almost a known one: rename or mend it")));
        }
        let features = Features { as_of, chains, markets, holdings, identity };
        Self { id, outcome, cluster, features, other }.checked().map(Some).map_err(bad)
    }

    /// Returns the record if its values are valid: every figure is finite.
    pub(super) fn checked(self) -> Result<Self, String> {
        if self.id.as_ref().is_some_and(|id| id.chars().count() > MAX_ID) {
            return Err(format!("its id is longer than {MAX_ID} characters"));
        }
        if !self.features.figures().all(f64::is_finite) {
            return Err("a figure of it is infinite or not a number".into());
        }
        Ok(self)
    }

    /// The record as a line with its line break.
    ///
    /// # Errors
    /// Which value is invalid.
    pub fn write(self) -> Result<String, String> {
        let Self { id, outcome, cluster, features, other } = self.checked()?;
        let Features { as_of, chains, markets, holdings, identity } = features;
        let line = Line { id, outcome, cluster, as_of, chains, markets, holdings, identity, other };
        serde_json::to_string(&line).map(|text| text + "\n").map_err(|error| error.to_string())
    }
}

impl Line {
    /// A second attempt takes floats with a whole value for counts.
    fn read(text: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(text).or_else(|error| {
            if !error.to_string().contains("invalid type: floating point") {
                return Err(error);
            }
            let mut value: Value = serde_json::from_slice(text)?;
            whole(&mut value);
            serde_json::from_value(value).map_err(|_| error)
        })
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
        let record = Record::new(Some("0xab".into()), Some(true), features);
        let text = record.clone().write().unwrap();
        assert_eq!(Record::read(1, text.as_bytes()), Ok(Some(record.clone())));
        assert_eq!(Record::read(1, b" \r\n"), Ok(None));
        let mut endless = record;
        endless.features.holdings[0].usd = f64::INFINITY;
        assert!(endless.write().is_err());
    }

    #[test]
    fn what_tables_and_other_programs_write_is_read() {
        let read = |text: &str| Record::read(1, text.as_bytes()).unwrap().unwrap();
        for (text, bad) in [("1", Some(true)), ("0.0", Some(false)), ("true", Some(true)), ("null", None)] {
            assert_eq!(read(&format!(r#"{{"as_of":1,"outcome":{text}}}"#)).outcome, bad, "{text}");
        }
        let wide = read(
            r#"{"as_of":7.0,"cluster":12,"rival":0.5,"chains":[{"chain_id":1.0,"coverage":"complete",
                "transactions":3.0,"assets_usd":1.5,"supplied_usd":0,"borrowed_usd":2.0}]}"#,
        );
        assert_eq!((wide.features.as_of, wide.features.chains[0].transactions), (7, 3));
        assert_eq!((wide.features.chains[0].assets_usd, wide.features.chains[0].borrowed_usd), (1.5, 2.0));
        assert_eq!((wide.cluster.as_deref(), &wide.other["rival"]), (Some("12"), &Value::from(0.5)));
        assert_eq!(Record::read(1, wide.clone().write().unwrap().as_bytes()), Ok(Some(wide)), "nothing is lost");
        let no = Record::read(1, br#"{"as_of":1,"outcome":2}"#).unwrap_err();
        assert!(no.reason.contains("must be true, false, 1 or 0"), "{}", no.reason);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let chain =
            r#"{"chain_id":1,"coverage":"complete","transactions":1,"assets_usd":1,"supplied_usd":0,"borrowed_usd":0"#;
        for (text, part) in [
            (r#"{"as_of":1,"outcom":true}"#.to_owned(), "unknown field `outcom`"),
            (r#"{"as_of":1,"Outocme":true}"#.to_owned(), "unknown field `Outocme`"),
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
