//! Payments in the sandbox, where no money moves: a payment that meets the terms is settled at once by a transaction
//! that no chain has, and a scenario refuses one with the texts of production.

use std::{sync::Arc, time::Duration};

use alloy::primitives::keccak256;
use tokio::sync::{Notify, watch};

use super::{
    Fulfilment, Payment, Refused, X402, X402State,
    terms::{Item, Terms},
};
use crate::config;
use assay_domain::{Address, PaymentRefusal, U256, address};
use assay_outbox::gas::{GasBook, Spent};
use assay_store::{Lease, Lost, Store};
use assay_tasks::Spawner;

/// The recipient in the terms if the configuration names none.
const NOBODY: Address = address!("0x000000000000000000000000000000000000dEaD");
/// How long the lease of a lost worker delays its successor on another host.
const LEASE: Duration = Duration::from_secs(8);
/// How long to wait while another worker holds the lease, and after a failure of the store.
const RETRY: Duration = Duration::from_secs(1);
/// Time between two reads of the open payments, which another host may have claimed.
const POLL: Duration = Duration::from_millis(250);

impl X402 {
    /// The terms of the configuration, without a chain: [`X402::start_mock`] settles what is claimed.
    pub fn mock(config: &config::X402, store: &Store, goods: impl Fulfilment) -> Option<Self> {
        let paid = config::X402 { pay_to: config.pay_to.or(Some(NOBODY)), ..config.clone() };
        let inner = X402State {
            terms: Terms::new(&paid)?,
            store: store.clone(),
            asset: None,
            facilitator: None,
            base_url: config.base_url.clone(),
            goods: Box::new(goods),
            gas: GasBook::new(&Default::default(), store.clone(), None),
            contract_signatures: false,
            settle_timeout: config.settle,
            claimed: Notify::new(),
            changed: watch::Sender::new(()),
        };
        Some(Self { inner: Arc::new(inner) })
    }

    /// Starts the worker that settles every claimed payment.
    pub fn start_mock(&self, tasks: &Spawner) {
        tasks.keep("mock-payments", self.clone(), |this, stopping| async move {
            let lead = this.inner.store.lead("x402/mock", LEASE, RETRY, "mock payments", |lease| {
                let this = this.clone();
                async move { this.settle_all(&lease).await }
            });
            stopping.run_until_cancelled(lead).await;
        });
    }

    async fn settle_all(&self, lease: &Lease) -> Lost {
        loop {
            let open = match self.open_payments().await {
                Ok(open) => open,
                Err(error) => return error.into(),
            };
            for mut record in open {
                record.settled(keccak256(format!("the payment {:?} in a sandbox", record.id)));
                match self.save(lease, &mut record, Spent::default()).await {
                    Ok(true) => {}
                    Ok(false) => return Lost::Lease,
                    Err(error) => return error.into(),
                }
            }
            // After a timeout or a claim, the next read decides.
            let _ = tokio::time::timeout(POLL, self.inner.claimed.notified()).await;
        }
    }

    /// The refusal of `payment` for this reason, with the text of production.
    pub fn scripted(&self, why: PaymentRefusal, payment: &Payment) -> Refused {
        let (terms, from) = (self.terms(), payment.authorization.from);
        match why {
            PaymentRefusal::Network => Refused::network(&terms.network_in(payment.version)),
            PaymentRefusal::Recipient => Refused::recipient(terms.pay_to),
            PaymentRefusal::Value => Refused::value(terms, terms.amount(Item::Submission), payment.version),
            PaymentRefusal::NotYetValid => Refused::not_yet_valid(),
            PaymentRefusal::Expired => Refused::expired(),
            PaymentRefusal::Signature => Refused::signature(terms, from, false),
            PaymentRefusal::InsufficientFunds => Refused::funds(terms, payment, U256::ZERO),
            PaymentRefusal::NonceUsed => Refused::used(),
            PaymentRefusal::TransactionReverted => Refused { tried: true, ..Refused::reverted_on_chain() },
            PaymentRefusal::SettlementFailed => Refused { tried: true, ..Refused::not_landed() },
        }
    }
}
