//! The effects of a submission outside the store.

use futures::{
    FutureExt,
    future::{BoxFuture, try_join_all},
};

use super::{
    Appraiser, Event, NoAppraisal, Reputation,
    on_chain::Look,
    records::{DocumentRecord, ScoresRecord, Start, SubmissionRecord},
};
use crate::{
    feedback::{FeedbackRegistry, Registries, Subject},
    ipfs::{Ipfs, IpfsError},
};
use assay_domain::Address;
use assay_outbox::{gas::GasBook, nonce::Outbox, sender::SenderError};
use assay_payment::{Local, records::PaymentRecord};
use assay_score::attestation::Stated;
use assay_store::{Lease, Lost};

/// The account that gives feedback, and the registries that it gives it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    pub registries: Registries,
    pub account: Address,
}

impl Client {
    pub fn of(registry: &FeedbackRegistry) -> Self {
        Self { registries: registry.registries(), account: registry.account() }
    }
}

/// Everything outside of the store: the scores, IPFS, and the registries of a chain.
pub trait Effects: Send + Sync {
    fn client(&self) -> Client;

    /// Transactions that may be in progress at once.
    fn most_transactions(&self) -> usize;

    /// The agent in the identity registry.
    fn subject(&self, agent_id: u64) -> BoxFuture<'_, Result<Subject, SenderError>>;

    /// The scores of a submission, and, if statements are configured, that of the credit score.
    fn appraise<'a>(
        &'a self,
        record: &'a SubmissionRecord,
    ) -> BoxFuture<'a, Result<(ScoresRecord, Option<Stated>), NoAppraisal>>;

    /// Publishes the documents of a submission on IPFS, and finds where its transactions start.
    fn publish<'a>(
        &'a self,
        record: &'a SubmissionRecord,
        documents: Vec<&'a DocumentRecord>,
    ) -> BoxFuture<'a, Result<Event, String>>;

    /// Takes the next step of each published submission and of each payment, oldest first.
    fn land<'a>(
        &'a self,
        reputation: &'a Reputation,
        lease: &'a Lease,
        records: Vec<SubmissionRecord>,
        payments: Vec<PaymentRecord>,
    ) -> BoxFuture<'a, Result<(), Lost>>;
}

/// A chain, read and written by the account of `[reputation]`, and an IPFS node.
pub struct OnChain {
    pub appraiser: Appraiser,
    pub ipfs: Ipfs,
    pub registry: FeedbackRegistry,
    pub outbox: Outbox,
    pub gas: GasBook,
    /// The payments that the same account settles; `None` if this server settles none.
    pub payments: Option<Local>,
}

impl Effects for OnChain {
    fn client(&self) -> Client {
        Client::of(&self.registry)
    }

    fn most_transactions(&self) -> usize {
        self.outbox.rules().most
    }

    fn subject(&self, agent_id: u64) -> BoxFuture<'_, Result<Subject, SenderError>> {
        self.registry.subject(agent_id).boxed()
    }

    fn appraise<'a>(
        &'a self,
        record: &'a SubmissionRecord,
    ) -> BoxFuture<'a, Result<(ScoresRecord, Option<Stated>), NoAppraisal>> {
        self.appraiser.appraise(record.address).boxed()
    }

    fn publish<'a>(
        &'a self,
        record: &'a SubmissionRecord,
        documents: Vec<&'a DocumentRecord>,
    ) -> BoxFuture<'a, Result<Event, String>> {
        async move {
            let uploads = documents.into_iter().map(|one| self.ipfs.place(one.text.as_bytes(), &one.cid));
            match try_join_all(uploads).await {
                Ok(_) => {}
                Err(error @ IpfsError::TooLarge(_)) => return Ok(Event::Refused(error.to_string())),
                Err(error) => return Err(error.to_string()),
            }
            let settled = self.outbox.sender().settled().await.map_err(|error| error.to_string())?;
            let given = self.registry.count(record.agent_id, settled).await.map_err(|error| error.to_string())?;
            let owner = self.registry.owner_of(record.agent_id).await.map_err(|error| error.to_string())?;
            Ok(Event::Placed(Start { block: settled.number, given, owner }))
        }
        .boxed()
    }

    fn land<'a>(
        &'a self,
        reputation: &'a Reputation,
        lease: &'a Lease,
        records: Vec<SubmissionRecord>,
        payments: Vec<PaymentRecord>,
    ) -> BoxFuture<'a, Result<(), Lost>> {
        Look::run(self, reputation, lease, records, payments).boxed()
    }
}
