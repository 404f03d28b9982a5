//! The scripted IPFS node and registries of submissions in the sandbox. Nothing leaves the process: each step takes a
//! while and succeeds, unless a scenario fails the submission.

use std::time::Duration;

use alloy::primitives::{Bytes, keccak256};
use chrono::Utc;
use futures::{FutureExt, future::BoxFuture};

use super::{Mocks, Sandbox};
use assay_agents::Agents;
use assay_domain::{Address, B256, Coverage, Unread, address};
use assay_outbox::{
    gas::GasBook,
    nonce::{LandedRecord, SignedRecord},
    sender::SenderError,
};
use assay_payment::records::PaymentRecord;
use assay_registry::{MockSubject, Phase};
use assay_reputation::{
    Client, Effects, Event, NoAppraisal, Reputation, Settings, SubmissionFactory, by_registry,
    feedback::{Registries, Subject, registry_reason},
    ipfs::IpfsError,
    not_done,
    records::{Coverages, DocumentRecord, FeedbackRecord, ScoresRecord, Start, SubmissionRecord},
};
use assay_score::{IDENTITY_SCHEME, ScoringError, attestation::Stated};
use assay_store::{Lease, Lost, Store};

/// Chain and registries of production submissions.
const REGISTRIES: Registries = Registries {
    chain: 8453,
    identity: address!("0x8004A169FB4a3325136EB29fA0ceB6D2e539a432"),
    reputation: address!("0x8004BAa17C55a88189AE136b182e5fdA19dE9b63"),
};
/// Unix time of block 0 of that chain, and seconds between two blocks.
const GENESIS: (i64, i64) = (1_686_789_347, 2);
/// Approximate gas of one feedback on that chain.
const GAS: u64 = 190_000;
/// The chain that is not read when scoring fails.
const UNREAD_CHAIN: u64 = 10;

/// Time of scoring, and of an upload.
const STEP: Duration = Duration::from_secs(1);
/// Time from a transaction to its confirmation.
const CONFIRMATION: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(250);
/// How long a submission tries, as on a production server by default.
const GIVE_UP_AFTER: Duration = Duration::from_secs(3_600);
const LIFETIME: Duration = Duration::from_secs(24 * 3_600);

/// Submissions about this address fail, so that a client can test a failure.
const FAILING: Address = address!("0x0000000000000000000000000000000000000005");
const FAILURE: &str = "The registry refused the feedback, as it always does for 0x…05 in the sandbox";

/// The submissions of a sandbox server.
pub fn submissions(store: Store, mocks: Mocks, agents: Agents) -> Reputation {
    let settings = Settings {
        poll: POLL,
        coverage_wait: Duration::ZERO,
        give_up_after: GIVE_UP_AFTER,
        endpoint: String::new(),
        usual_seconds: 5,
        lifetime: Some(LIFETIME),
    };
    let gas = GasBook::new(&Default::default(), store.clone(), None);
    Reputation::new(settings, store, gas, Scripted { mocks, agents }, None)
}

/// Makes the submissions that payments buy in a sandbox.
pub fn factory(store: Store) -> SubmissionFactory {
    SubmissionFactory::new(store, client())
}

fn client() -> Client {
    Client { registries: REGISTRIES, account: Address::from_word(keccak256("the account of the sandbox")) }
}

struct Scripted {
    mocks: Mocks,
    agents: Agents,
}

impl Effects for Scripted {
    fn client(&self) -> Client {
        client()
    }

    fn most_transactions(&self) -> usize {
        usize::MAX
    }

    fn subject(&self, agent_id: u64) -> BoxFuture<'_, Result<Subject, SenderError>> {
        async move { Ok(self.agents.get(agent_id).await.map_or(Subject::Missing, |agent| Subject::Other(agent.owner))) }
            .boxed()
    }

    fn appraise<'a>(
        &'a self,
        record: &'a SubmissionRecord,
    ) -> BoxFuture<'a, Result<(ScoresRecord, Option<Stated>), NoAppraisal>> {
        async move {
            tokio::time::sleep(STEP).await;
            let sandbox = self.mocks.now();
            match self.fails(record) {
                Some(Phase::Scoring) => Err(NoAppraisal::Unread(Unread::chain().on(UNREAD_CHAIN))),
                _ => Ok((
                    sandbox.submitted(record.address).map_err(|error| NoAppraisal::NotYet(error.to_string()))?,
                    None,
                )),
            }
        }
        .boxed()
    }

    fn publish<'a>(
        &'a self,
        record: &'a SubmissionRecord,
        _: Vec<&'a DocumentRecord>,
    ) -> BoxFuture<'a, Result<Event, String>> {
        async move {
            tokio::time::sleep(STEP).await;
            if self.fails(record) == Some(Phase::Uploading) {
                // As if it had tried for that long.
                return Ok(Event::Refused(not_done(GIVE_UP_AFTER, Some(&IpfsError::no_node().to_string()))));
            }
            Ok(Event::Placed(Start { block: head(), given: 0, owner: None }))
        }
        .boxed()
    }

    fn land<'a>(
        &'a self,
        reputation: &'a Reputation,
        lease: &'a Lease,
        records: Vec<SubmissionRecord>,
        _: Vec<PaymentRecord>,
    ) -> BoxFuture<'a, Result<(), Lost>> {
        async move {
            for record in records {
                reputation.advance_all(lease, &record, self.steps(&record)).await?;
            }
            Ok(())
        }
        .boxed()
    }
}

impl Scripted {
    /// The phase in which the submission fails.
    fn fails(&self, record: &SubmissionRecord) -> Option<Phase> {
        let sandbox = self.mocks.now();
        let subjects = [MockSubject::Agent(record.agent_id), MockSubject::Address(record.address)];
        subjects.into_iter().find_map(|subject| sandbox.condition(subject).ok()?.submission)
    }

    /// Why the registries refuse the feedback of this submission.
    fn refusal(&self, record: &SubmissionRecord) -> Option<Event> {
        match self.fails(record) {
            // The agent was burned after the submission was accepted.
            Some(Phase::Submitting) => Some(Event::Declined(by_registry(&registry_reason("ERC721NonexistentToken")))),
            _ => (record.address == FAILING).then(|| Event::Refused(FAILURE.to_owned())),
        }
    }

    /// The next steps of a submission whose documents are published.
    fn steps(&self, record: &SubmissionRecord) -> Vec<Event> {
        let (refusal, feedback) = (self.refusal(record), record.feedback.iter());
        if refusal.is_none() && feedback.clone().any(|feedback| feedback.slot.is_none()) {
            return feedback.map(|feedback| sent(record, feedback)).collect();
        }
        if (Utc::now() - record.updated_at).to_std().unwrap_or_default() < CONFIRMATION {
            return Vec::new();
        }
        match refusal {
            Some(refusal) => vec![refusal],
            None => feedback.zip(head()..).map(|(feedback, block)| landed(record, feedback, block)).collect(),
        }
    }
}

/// The hash of the transaction for a tag.
fn hash(record: &SubmissionRecord, feedback: &FeedbackRecord) -> B256 {
    keccak256(format!("{} {}", record.id, feedback.tag))
}

fn sent(record: &SubmissionRecord, feedback: &FeedbackRecord) -> Event {
    let (hash, raw, at) = (hash(record, feedback), Bytes::new(), Utc::now());
    let signed = SignedRecord { hash, raw, max_fee: 0, priority_fee: 0, at, cancels: false };
    Event::Signed { tag: feedback.tag, nonce: 0, signed }
}

fn landed(record: &SubmissionRecord, feedback: &FeedbackRecord, block: u64) -> Event {
    let hash = hash(record, feedback);
    let landed = LandedRecord { hash, block, gas_used: GAS + u64::from(hash.0[0]) * 16, cost: 0 };
    Event::Landed { tag: feedback.tag, landed }
}

/// The newest block of the chain.
fn head() -> u64 {
    u64::try_from((Utc::now().timestamp() - GENESIS.0) / GENESIS.1).unwrap_or_default()
}

impl Sandbox {
    /// Mock scores of a submission: the lower the credit score, the higher the sybil risk, and no attestations.
    fn submitted(&self, address: Address) -> Result<ScoresRecord, ScoringError> {
        let (generator, asked) = (self.generator()?, self.asked(address)?);
        let credit_score = self.assessed(&asked, generator.score(&address)?, false)?.0.get();
        Ok(ScoresRecord {
            credit_score,
            sybil_score: u8::try_from(1000_u32.saturating_sub(credit_score) / 7).unwrap_or(100),
            identity_count: 0,
            credit_model: generator.reference().into(),
            sybil_model: generator.reference().into(),
            identity_scheme: IDENTITY_SCHEME.to_owned(),
            read_at: Utc::now(),
            coverage: Coverages {
                chains: Coverage::Complete,
                credit_events: Coverage::Complete,
                identity: Coverage::Complete,
            },
        })
    }
}
