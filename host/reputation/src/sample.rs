//! Records for the unit tests of this module.

use std::time::Duration;

use alloy::primitives::Bytes;
use futures::{FutureExt, future::BoxFuture};

use super::{
    Client, Effects, Event, NoAppraisal, Reputation, Settings, estimate,
    records::{Coverages, DocumentRecord, ScoresRecord, Stage, SubmissionRecord},
};
use crate::feedback::{Registries, Subject};
use assay_access::records::Payer;
use assay_domain::{
    Address, Authorization, B256, Coverage, Digest, ModelPin, PaymentId, Tag, Time, U256, time_from_unix,
};
use assay_outbox::{gas::GasBook, sender::SenderError};
use assay_payment::records::{PaymentRecord, PaymentState};
use assay_score::attestation::Stated;
use assay_store::{Lease, Lost, Store};

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
        payer: Payer::Key { meter: "dev".into(), units: 10, read: 1, limit: Some(100) },
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
        was_read: false,
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

/// A payment that has arrived and has not bought anything yet.
pub fn paid() -> PaymentRecord {
    let (from, nonce) = (Address::with_last_byte(0xe1), B256::repeat_byte(1));
    let authorization = Authorization {
        from,
        to: Address::with_last_byte(0xe2),
        value: U256::from(100_000),
        valid_after: U256::ZERO,
        valid_before: U256::from(u64::MAX),
        nonce,
    };
    PaymentRecord {
        id: PaymentId { chain: 8453, asset: Address::with_last_byte(0xa3), from, nonce },
        authorization,
        signature: Bytes::new(),
        request: B256::ZERO,
        purchase: None,
        claimed_at: now(),
        updated_at: now(),
        start: None,
        state: PaymentState::Settled { transaction: B256::repeat_byte(2), bought: None },
        slot: None,
        by_contract: false,
        network: None,
        waits: None,
        reverted: false,
        order: None,
        attempts: 0,
        next_at: now(),
        trouble: None,
    }
}

/// The service on a separate store, which ends with the folder. Nothing happens outside the store.
pub async fn reputation() -> (Reputation, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("assay.redb");
    let store = Store::open(&assay_store::config::Store::embedded(path)).await.unwrap();
    let settings = Settings {
        poll: Duration::from_secs(1),
        coverage_wait: Duration::ZERO,
        give_up_after: Duration::from_secs(3_600),
        endpoint: String::new(),
        usual_seconds: estimate::USUAL,
        lifetime: None,
    };
    let gas = GasBook::new(&Default::default(), store.clone(), None);
    (Reputation::new(settings, store, gas, Nothing, None), folder)
}

/// A stub: every agent has the same owner, and no work is ever done.
struct Nothing;

impl Effects for Nothing {
    fn client(&self) -> Client {
        let SubmissionRecord { chain, identity_registry, reputation_registry, client, .. } = pending();
        let registries = Registries { chain, identity: identity_registry, reputation: reputation_registry };
        Client { registries, account: client }
    }

    fn most_transactions(&self) -> usize {
        16
    }

    fn subject(&self, _: u64) -> BoxFuture<'_, Result<Subject, SenderError>> {
        async { Ok(Subject::Other(Address::with_last_byte(0xd1))) }.boxed()
    }

    fn appraise<'a>(
        &'a self,
        _: &'a SubmissionRecord,
    ) -> BoxFuture<'a, Result<(ScoresRecord, Option<Stated>), NoAppraisal>> {
        async { Err(NoAppraisal::NotYet("nothing is scored".to_owned())) }.boxed()
    }

    fn publish<'a>(
        &'a self,
        _: &'a SubmissionRecord,
        _: Vec<&'a DocumentRecord>,
    ) -> BoxFuture<'a, Result<Event, String>> {
        async { Err("nothing is published".to_owned()) }.boxed()
    }

    fn land<'a>(
        &'a self,
        _: &'a Reputation,
        _: &'a Lease,
        _: Vec<SubmissionRecord>,
        _: Vec<PaymentRecord>,
    ) -> BoxFuture<'a, Result<(), Lost>> {
        async { Ok(()) }.boxed()
    }
}
