//! The feedback document, with everything that does not fit on the chain. Its bytes depend on the record alone and
//! follow RFC 8785: fields in the order of their names, no spaces, whole numbers.
//!
//! ERC-8004 asks for one value: the fields at the top are of the first tag, and `feedback` has all tags.

use alloy::primitives::keccak256;
use serde::Serialize;

use super::records::{Coverages, DocumentRecord, FeedbackRecord, ScoresRecord, SubmissionRecord};
use assay_chain::cid;
use assay_domain::{Address, ModelPin, Tag, Time};

// The fields of each struct stand in the order of their names.

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    agent_id: u64,
    agent_registry: String,
    client_address: String,
    created_at: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    endpoint: &'a str,
    feedback: Vec<Entry<'a>>,
    subject: Subject,
    submission_id: String,
    tag1: Tag,
    tag2: &'a str,
    value: u32,
    value_decimals: u8,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model_sha256: Option<String>,
    tag1: Tag,
    tag2: &'a str,
    value: u32,
    value_decimals: u8,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Subject {
    address: String,
    coverage: Coverage,
    read_at: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Coverage {
    chains: &'static str,
    credit_events: &'static str,
    identity: &'static str,
}

/// The feedback of each tag of `record`.
pub fn feedback(record: &SubmissionRecord, scores: &ScoresRecord) -> Vec<FeedbackRecord> {
    let entry = |tag: &Tag| {
        let (value, version) = match tag {
            Tag::CreditScore => (scores.credit_score, scores.credit_model.version.to_string()),
            Tag::SybilRisk => (scores.sybil_score.into(), scores.sybil_model.version.to_string()),
            Tag::IdentityCount => (scores.identity_count, scores.identity_scheme.clone()),
        };
        FeedbackRecord { tag: *tag, value, version, slot: None, landed: None, lost: Vec::new() }
    };
    record.tags.iter().map(entry).collect()
}

/// The document about `scores`, with its CID and hash.
///
/// # Errors
/// Why there is none: the submission has no tags.
pub fn document(record: &SubmissionRecord, scores: &ScoresRecord, endpoint: &str) -> Result<DocumentRecord, String> {
    let feedback = feedback(record, scores);
    let first = feedback.first().ok_or("a submission without tags")?;
    let document = Document {
        agent_id: record.agent_id,
        agent_registry: account(record.chain, record.identity_registry),
        client_address: account(record.chain, record.client),
        created_at: moment(record.created_at),
        endpoint,
        feedback: feedback.iter().map(|one| entry(one, scores)).collect(),
        subject: subject(record, scores),
        submission_id: record.id.to_string(),
        tag1: first.tag,
        tag2: &first.version,
        value: first.value,
        value_decimals: 0,
    };
    let text = serde_json::to_string(&document).map_err(|error| error.to_string())?;
    Ok(DocumentRecord { cid: cid(text.as_bytes()), hash: keccak256(&text), text })
}

fn entry<'a>(feedback: &'a FeedbackRecord, scores: &ScoresRecord) -> Entry<'a> {
    let model_sha256 = match feedback.tag {
        Tag::CreditScore => Some(sha256(&scores.credit_model)),
        Tag::SybilRisk => Some(sha256(&scores.sybil_model)),
        Tag::IdentityCount => None,
    };
    let FeedbackRecord { tag, value, version, .. } = feedback;
    Entry { model_sha256, tag1: *tag, tag2: version, value: *value, value_decimals: 0 }
}

fn subject(record: &SubmissionRecord, scores: &ScoresRecord) -> Subject {
    let Coverages { chains, credit_events, identity } = scores.coverage;
    Subject {
        address: record.address.to_checksum(None),
        coverage: Coverage {
            chains: chains.as_str(),
            credit_events: credit_events.as_str(),
            identity: identity.as_str(),
        },
        read_at: moment(scores.read_at),
    }
}

/// A contract or account by CAIP-10.
fn account(chain: u64, address: Address) -> String {
    format!("eip155:{chain}:{}", address.to_checksum(None))
}

fn moment(time: Time) -> String {
    time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn sha256(pin: &ModelPin) -> String {
    pin.digest.to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::reputation::sample;

    /// `value` as RFC 8785 writes it, where all text is ASCII and all numbers are whole.
    fn canonical(value: &Value) -> String {
        match value {
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_by_key(|(name, _)| name.as_str());
                let fields: Vec<_> =
                    fields.into_iter().map(|(name, value)| format!("\"{name}\":{}", canonical(value))).collect();
                format!("{{{}}}", fields.join(","))
            }
            Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
            other => other.to_string(),
        }
    }

    #[test]
    fn a_document_has_what_erc_8004_asks_for_and_every_tag() {
        let (record, scores) = (sample::pending(), sample::scores());
        let made = document(&record, &scores, "https://assay.example").unwrap();
        let body: Value = serde_json::from_str(&made.text).unwrap();
        assert_eq!(body["agentRegistry"], "eip155:8453:0x00000000000000000000000000000000000000A1");
        assert_eq!(body["clientAddress"], "eip155:8453:0x00000000000000000000000000000000000000C1");
        assert_eq!((&body["agentId"], &body["value"], &body["valueDecimals"]), (&7.into(), &812.into(), &0.into()));
        assert_eq!(body["createdAt"], "2026-01-15T10:30:00Z");
        let tags: Vec<_> = body["feedback"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["tag1"].clone(), one["value"].clone()))
            .collect();
        assert_eq!(
            tags,
            [("creditScore".into(), 812.into()), ("sybilRisk".into(), 9.into()), ("identityCount".into(), 2.into())]
        );
        assert_eq!(body["subject"]["coverage"]["creditEvents"], "partial");
        assert_eq!(made.text, canonical(&body));
        assert_eq!((made.hash, made.cid), (keccak256(&made.text), cid(made.text.as_bytes())));
    }

    #[test]
    fn the_same_record_makes_the_same_bytes_and_another_submission_others() {
        let (record, scores) = (sample::pending(), sample::scores());
        assert_eq!(document(&record, &scores, "").unwrap(), document(&record, &scores, "").unwrap());
        let other = SubmissionRecord { id: uuid::Uuid::new_v4(), ..record.clone() };
        assert_ne!(document(&record, &scores, "").unwrap().cid, document(&other, &scores, "").unwrap().cid);
        assert!(document(&SubmissionRecord { tags: vec![], ..record }, &scores, "").is_err());
    }
}
