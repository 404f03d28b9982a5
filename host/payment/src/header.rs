//! The payment headers of requests and responses: JSON in base 64.

use alloy::primitives::Bytes;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::Value;

use super::{Payment, Version};
use assay_agents::base64;
use assay_domain::{Address, Authorization, B256, U256};

/// Longest header, in bytes. A payment has about 700; the signature of a contract may double that.
pub const LONGEST: usize = 16 << 10;
/// Longest signature, in bytes.
const LONGEST_SIGNATURE: usize = 4 << 10;

/// The header value is not a payment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(String);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    x402_version: u64,
    /// In the first version.
    scheme: Option<String>,
    network: Option<String>,
    /// In the second version.
    accepted: Option<Accepted>,
    payload: SignedPayload,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Accepted {
    scheme: String,
    network: String,
    asset: String,
    pay_to: String,
    #[serde(deserialize_with = "number")]
    amount: U256,
}

#[derive(Deserialize)]
struct SignedPayload {
    signature: Bytes,
    authorization: SignedFields,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignedFields {
    from: Address,
    to: Address,
    #[serde(deserialize_with = "number")]
    value: U256,
    #[serde(deserialize_with = "number")]
    valid_after: U256,
    #[serde(deserialize_with = "number")]
    valid_before: U256,
    nonce: B256,
}

/// The payment in the header of `version`.
///
/// # Errors
/// [`Malformed`] names the problem.
pub(super) fn decode(version: Version, text: &str) -> Result<Payment, Malformed> {
    let wrong = |what: String| Malformed(format!("The header {} {what}", version.request_header()));
    if text.len() > LONGEST {
        return Err(wrong(format!("is longer than {LONGEST} letters")));
    }
    let json = base64(text.as_bytes()).ok_or_else(|| wrong("is not base 64".into()))?;
    let payload: Value = serde_json::from_slice(&json).map_err(|_| wrong("is not JSON in base 64".into()))?;
    // The message of serde names the problem; the value itself comes from the client.
    let read: Envelope =
        Deserialize::deserialize(&payload).map_err(|error| wrong(format!("is not a payment: {error}")))?;
    if read.payload.signature.len() > LONGEST_SIGNATURE {
        return Err(wrong(format!("has a signature longer than {LONGEST_SIGNATURE} bytes")));
    }
    let SignedFields { from, to, value, valid_after, valid_before, nonce } = read.payload.authorization;
    let (scheme, network, offered) = match (version, read.accepted) {
        (Version::One, _) => {
            let missing = |name: &str| wrong(format!("is not a payment: missing field `{name}`"));
            (read.scheme.ok_or_else(|| missing("scheme"))?, read.network.ok_or_else(|| missing("network"))?, None)
        }
        (Version::Two, Some(accepted)) => {
            (accepted.scheme, accepted.network, Some((accepted.asset, accepted.pay_to, accepted.amount)))
        }
        (Version::Two, None) => return Err(wrong("is not a payment: missing field `accepted`".into())),
    };
    Ok(Payment {
        version,
        said_version: read.x402_version,
        scheme,
        network,
        offered,
        authorization: Authorization { from, to, value, valid_after, valid_before, nonce },
        signature: read.payload.signature,
        payload,
        network_address: None,
    })
}

/// `value` as JSON in base 64.
pub(super) fn encode(value: &impl Serialize) -> String {
    // Serialisation cannot fail: every key is a text.
    STANDARD.encode(serde_json::to_vec(value).unwrap_or_default())
}

/// A whole number, as decimal text by the specification or as a JSON number.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<U256, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let parsed = match &value {
        Value::String(text) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
            U256::from_str_radix(text, 10).ok()
        }
        Value::Number(number) => number.as_u64().map(U256::from),
        _ => None,
    };
    parsed.ok_or_else(|| D::Error::custom("a number is not decimal digits of at most 256 bits"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn payment() -> Value {
        json!({
            "x402Version": 1, "scheme": "exact", "network": "base",
            "payload": {
                "signature": "0x0102",
                "authorization": {
                    "from": "0x00000000000000000000000000000000000000Aa",
                    "to": "0x00000000000000000000000000000000000000Bb",
                    "value": "100000", "validAfter": "0", "validBefore": 1_900_000_000_u64,
                    "nonce": "0x0000000000000000000000000000000000000000000000000000000000000007"
                }
            }
        })
    }

    #[test]
    fn what_is_written_is_read() {
        for length in 0..70 {
            let value = json!("~?>".repeat(length).chars().take(length).collect::<String>());
            let text = encode(&value);
            assert_eq!(text.len() % 4, 0);
            assert_eq!(base64(text.as_bytes()).unwrap(), serde_json::to_vec(&value).unwrap());
        }
        let read = decode(Version::One, &encode(&payment())).unwrap();
        assert_eq!((read.scheme.as_str(), read.network.as_str(), read.said_version), ("exact", "base", 1));
        assert_eq!(
            (read.authorization.value, read.authorization.valid_before),
            (U256::from(100_000), U256::from(1_900_000_000_u64))
        );
        assert_eq!(read.signature, Bytes::from_static(&[1, 2]));
    }

    #[test]
    fn what_is_no_payment_is_named() {
        let mut bare = payment();
        bare["payload"]["authorization"]["value"] = json!("1e5");
        let mut lacking = payment();
        lacking["payload"]["authorization"].as_object_mut().unwrap().remove("nonce");
        for (text, why) in [
            ("Free".to_owned(), "not JSON in base 64"),
            ("%%%".to_owned(), "not base 64"),
            (encode(&json!([1])), "not a payment"),
            (encode(&bare), "decimal digits"),
            (encode(&lacking), "nonce"),
            ("A".repeat(LONGEST + 1), "longer than"),
        ] {
            let error = decode(Version::One, &text).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("X-PAYMENT"), "{error}");
        }
        let error = decode(Version::Two, &encode(&payment())).unwrap_err().to_string();
        assert!(error.contains("accepted") && error.contains("PAYMENT-SIGNATURE"), "{error}");
    }
}
