//! The feedback documents, with everything that does not fit on the chain. Their bytes follow RFC 8785.
//!
//! ERC-8004 asks for one value, so each tag has its own document. `feedback` has all tags of the submission,
//! `settlement` the payment that bought it, and `stated` of the credit score its signed statement and the evidence, by
//! which anyone computes the score again; these fields are beyond ERC-8004.

use alloy::primitives::keccak256;
use serde::Serialize;

use assay_score::attestation::Stated;

use super::records::{Coverages, DocumentRecord, FeedbackRecord, ScoresRecord, SubmissionRecord};
use crate::ipfs::cid;
use assay_domain::{Address, B256, ModelPin, Tag, Time};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FeedbackDocument<'a> {
    agent_id: u64,
    agent_registry: &'a str,
    client_address: &'a str,
    created_at: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    endpoint: &'a str,
    feedback: &'a [DocumentEntry<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    settlement: Option<&'a SettledPayment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stated: Option<&'a Stated>,
    subject: &'a DocumentSubject,
    submission_id: &'a str,
    tag1: Tag,
    tag2: &'a str,
    value: u32,
    value_decimals: u8,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentEntry<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model_sha256: Option<String>,
    tag1: Tag,
    tag2: &'a str,
    value: u32,
    value_decimals: u8,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SettledPayment {
    payer: String,
    transaction: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentSubject {
    address: String,
    coverage: CoverageText,
    read_at: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CoverageText {
    chains: &'static str,
    credit_events: &'static str,
    identity: &'static str,
}

/// The payment that bought a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settlement {
    pub chain: u64,
    pub payer: Address,
    /// The transaction that moved the money.
    pub transaction: B256,
}

/// The content of a document in addition to the scores.
#[derive(Debug, Default)]
pub(super) struct Beside<'a> {
    pub settlement: Option<Settlement>,
    /// Of the credit score.
    pub stated: Option<Stated>,
    /// Empty if none is configured.
    pub endpoint: &'a str,
}

/// The feedback of each tag of `record`, with its document.
///
/// # Errors
/// Why there is none: the submission has no tags.
pub(super) fn feedback(
    record: &SubmissionRecord,
    scores: &ScoresRecord,
    Beside { settlement, stated, endpoint }: &Beside<'_>,
) -> Result<Vec<FeedbackRecord>, String> {
    let mut feedback: Vec<_> = record.tags.iter().map(|tag| valued(*tag, scores)).collect();
    if feedback.is_empty() {
        return Err("a submission without tags".to_owned());
    }
    let settlement = settlement.as_ref().map(|&Settlement { chain, payer, transaction }| SettledPayment {
        payer: account(chain, payer),
        transaction: transaction.to_string(),
    });
    let (registry, client) = (account(record.chain, record.identity_registry), account(record.chain, record.client));
    let (created_at, id, subject) = (moment(record.created_at), record.id.to_string(), subject(record, scores));
    let documents: Vec<_> = {
        let entries: Vec<_> = feedback.iter().map(|one| entry(one, scores)).collect();
        let document = |one: &FeedbackRecord| {
            written(&FeedbackDocument {
                agent_id: record.agent_id,
                agent_registry: &registry,
                client_address: &client,
                created_at: &created_at,
                endpoint,
                feedback: &entries,
                settlement: settlement.as_ref(),
                stated: stated.as_ref().filter(|_| one.tag == Tag::CreditScore),
                subject: &subject,
                submission_id: &id,
                tag1: one.tag,
                tag2: &one.version,
                value: one.value,
                value_decimals: 0,
            })
        };
        feedback.iter().map(document).collect::<Result<_, _>>()?
    };
    for (one, document) in feedback.iter_mut().zip(documents) {
        one.document = Some(document);
    }
    Ok(feedback)
}

/// The value of a tag, without a document.
fn valued(tag: Tag, scores: &ScoresRecord) -> FeedbackRecord {
    let (value, version) = match tag {
        Tag::CreditScore => (scores.credit_score, scores.credit_model.version.to_string()),
        Tag::SybilRisk => (scores.sybil_score.into(), scores.sybil_model.version.to_string()),
        Tag::IdentityCount => (scores.identity_count, scores.identity_scheme.clone()),
    };
    FeedbackRecord { tag, value, version, document: None, slot: None, landed: None, lost: Vec::new() }
}

/// A document with its CID and hash.
fn written(document: &FeedbackDocument<'_>) -> Result<DocumentRecord, String> {
    let text = serde_json_canonicalizer::to_string(document).map_err(|error| error.to_string())?;
    Ok(DocumentRecord { cid: cid(text.as_bytes()), hash: keccak256(&text), text })
}

fn entry<'a>(feedback: &'a FeedbackRecord, scores: &ScoresRecord) -> DocumentEntry<'a> {
    let model_sha256 = match feedback.tag {
        Tag::CreditScore => Some(sha256(&scores.credit_model)),
        Tag::SybilRisk => Some(sha256(&scores.sybil_model)),
        Tag::IdentityCount => None,
    };
    let FeedbackRecord { tag, value, version, .. } = feedback;
    DocumentEntry { model_sha256, tag1: *tag, tag2: version, value: *value, value_decimals: 0 }
}

fn subject(record: &SubmissionRecord, scores: &ScoresRecord) -> DocumentSubject {
    let Coverages { chains, credit_events, identity } = scores.coverage;
    DocumentSubject {
        address: record.address.to_checksum(None),
        coverage: CoverageText {
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
    use crate::sample;

    /// `value` in the form of RFC 8785, if all text is ASCII and all numbers are whole.
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

    fn documents(record: &SubmissionRecord, settlement: Option<Settlement>) -> Vec<DocumentRecord> {
        let feedback = feedback(
            record,
            &sample::scores(),
            &Beside { settlement, endpoint: "https://assay.example", ..Beside::default() },
        )
        .unwrap();
        feedback.into_iter().map(|one| one.document.unwrap()).collect()
    }

    #[test]
    fn each_tag_has_a_document_of_its_value_that_erc_8004_asks_for() {
        let record = sample::pending();
        let made = documents(&record, None);
        let expected = [("creditScore", 812), ("sybilRisk", 9), ("identityCount", 2)];
        assert_eq!(made.len(), expected.len());
        for (made, (tag, value)) in made.iter().zip(expected) {
            let body: Value = serde_json::from_str(&made.text).unwrap();
            assert_eq!(
                (&body["tag1"], &body["value"], &body["valueDecimals"]),
                (&tag.into(), &value.into(), &0.into())
            );
            assert_eq!(body["agentRegistry"], "eip155:8453:0x00000000000000000000000000000000000000A1");
            assert_eq!(body["clientAddress"], "eip155:8453:0x00000000000000000000000000000000000000C1");
            assert_eq!((&body["agentId"], &body["createdAt"]), (&7.into(), &"2026-01-15T10:30:00Z".into()));
            assert_eq!(body["submissionId"], record.id.to_string());
            let all = body["feedback"].as_array().unwrap().iter();
            let all: Vec<_> = all.map(|one| (one["tag1"].as_str().unwrap(), one["value"].as_u64().unwrap())).collect();
            assert_eq!(all, expected);
            assert_eq!(body["subject"]["coverage"]["creditEvents"], "partial");
            assert_eq!(body["settlement"], Value::Null);
            assert_eq!(made.text, canonical(&body));
            assert_eq!((made.hash, made.cid.as_str()), (keccak256(&made.text), cid(made.text.as_bytes()).as_str()));
        }
    }

    #[test]
    fn a_payment_is_named_in_every_document() {
        let settlement =
            Settlement { chain: 8453, payer: Address::with_last_byte(0xd1), transaction: B256::with_last_byte(0xe1) };
        for made in documents(&sample::pending(), Some(settlement)) {
            let body: Value = serde_json::from_str(&made.text).unwrap();
            assert_eq!(body["settlement"]["payer"], account(8453, settlement.payer));
            assert_eq!(body["settlement"]["transaction"], settlement.transaction.to_string());
            assert_eq!(made.text, canonical(&body));
        }
    }

    #[test]
    fn the_same_record_makes_the_same_bytes_and_another_submission_others() {
        let record = sample::pending();
        assert_eq!(documents(&record, None), documents(&record, None));
        let other = SubmissionRecord { id: uuid::Uuid::new_v4(), ..record.clone() };
        assert_ne!(documents(&record, None)[0].cid, documents(&other, None)[0].cid);
        assert!(feedback(&SubmissionRecord { tags: vec![], ..record }, &sample::scores(), &Beside::default()).is_err());
    }
}
