//! Records for the unit tests of this module.

use std::time::Duration;

use super::records::{Coverages, ScoresRecord, Stage, SubmissionRecord};
use assay_access::records::Payer;
use assay_domain::{Address, Coverage, Digest, ModelPin, Tag, Time, time_from_unix};

pub fn now() -> Time {
    time_from_unix(1_768_473_000)
}

pub fn after(seconds: u64) -> Time {
    now() + Duration::from_secs(seconds)
}

pub fn pending() -> SubmissionRecord {
    SubmissionRecord {
        id: uuid::Uuid::from_u128(1),
        agent_id: 7,
        address: Address::with_last_byte(0xb1),
        tags: Tag::ALL.to_vec(),
        payer: Payer::Key { meter: "dev".into(), units: 10, limit: Some(100) },
        chain: 8453,
        identity_registry: Address::with_last_byte(0xa1),
        reputation_registry: Address::with_last_byte(0xa2),
        client: Address::with_last_byte(0xc1),
        created_at: now(),
        updated_at: now(),
        stage: Stage::Pending,
        attempts: 0,
        next_at: now(),
        ahead: 0,
        trouble: None,
        scores: None,
        document: None,
        start: None,
        feedback: Vec::new(),
        giving_up: None,
        error: None,
        charged: false,
    }
}

pub fn scores() -> ScoresRecord {
    let pin = |byte| ModelPin { version: "1.0".to_owned().try_into().unwrap(), digest: Digest([byte; 32]) };
    ScoresRecord {
        credit_score: 812,
        sybil_score: 9,
        identity_count: 2,
        credit_model: pin(1),
        sybil_model: pin(2),
        identity_scheme: "1.0".into(),
        read_at: now(),
        coverage: Coverages {
            chains: Coverage::Complete,
            credit_events: Coverage::Partial,
            identity: Coverage::Complete,
        },
    }
}
