//! Reads and writes numbers in JSON exactly, bit for bit. Numbers that JSON cannot represent are strings: `"inf"`,
//! `"-inf"` and `"NaN"`. Any number may be a string, as in the oldest records.

use std::fmt;

use serde::{
    Deserializer, Serializer,
    de::{Error, Visitor},
};

pub fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.is_finite() { serializer.serialize_f64(*number) } else { serializer.collect_str(number) }
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    deserializer.deserialize_any(Number)
}

struct Number;

impl Visitor<'_> for Number {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
        Ok(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<f64, E> {
        Ok(number as f64)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
        Ok(number as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        text.parse().map_err(|_| E::custom(format!("{text:?} is no number")))
    }
}

/// The same for a number that may be absent.
pub mod optional {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Exact(#[serde(with = "super")] f64);

    pub fn serialize<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        number.map(Exact).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        Ok(Option::<Exact>::deserialize(deserializer)?.map(|number| number.0))
    }
}

#[cfg(test)]
mod tests {
    use crate::features::{AttestationFeature, Holding};

    fn holding(usd: f64) -> Holding {
        Holding { class: crate::AssetClass::Token, usd, assets: 1 }
    }

    #[test]
    fn a_number_comes_back_to_the_bit() {
        let awkward = [
            0.1 + 0.2,
            1e300 / 3.0,
            f64::MIN_POSITIVE / 7.0,
            -0.0,
            123_456_789.123_456_78,
            f64::MAX,
            5e-324,
            1e22,
            9e15 + 1.0,
        ];
        let odd = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        for number in awkward.into_iter().chain(odd).chain((1..2_000).map(|n| f64::from(n).sqrt() * 1e5)) {
            let text = serde_json::to_string(&holding(number)).unwrap();
            let read: Holding = serde_json::from_str(&text).unwrap();
            assert_eq!(read.usd.to_bits(), number.to_bits(), "{text}");
            assert_eq!(text.contains("\"usd\":\""), !number.is_finite(), "{text}");
        }
    }

    #[test]
    fn records_with_texts_for_numbers_are_read() {
        let read: Holding =
            serde_json::from_str(r#"{"class":"token","usd":"0.30000000000000004","assets":1}"#).unwrap();
        assert_eq!(read, holding(0.1 + 0.2));
        assert!(serde_json::from_str::<Holding>(r#"{"class":"token","usd":"much","assets":1}"#).is_err());
        for (score, expected) in [
            (r#","score":"21.5""#, Some(21.5)),
            (r#","score":21.5"#, Some(21.5)),
            (r#","score":null"#, None),
            ("", None),
        ] {
            let read: AttestationFeature = serde_json::from_str(&format!(r#"{{"provider":"ens"{score}}}"#)).unwrap();
            assert_eq!(read.score, expected, "{score}");
        }
    }
}
