//! Payments in the sandbox, which accepts none: a scenario refuses each one with the texts of production.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::{Notify, watch};
use uuid::Uuid;

use super::{
    Payment, Refused, X402, X402State,
    records::PurchaseRecord,
    sold::Fulfilment,
    terms::{Item, Terms},
};
use crate::config;
use assay_domain::{Address, PaymentId, PaymentRefusal, U256, address};
use assay_outbox::gas::GasBook;
use assay_store::{Batch, Store, StoreError};

/// The recipient in the terms if the configuration names none.
const NOBODY: Address = address!("0x000000000000000000000000000000000000dEaD");

/// Nothing is for sale.
struct Nothing;

impl Fulfilment for Nothing {
    fn fulfil<'a>(
        &'a self,
        _: Batch,
        _: PaymentId,
        _: &'a PurchaseRecord,
    ) -> BoxFuture<'a, Result<(Batch, Option<Uuid>), StoreError>> {
        Box::pin(async { Err(StoreError::Failed { reason: "a sandbox server sells nothing".into() }) })
    }
}

impl X402 {
    /// The terms of the configuration, without a chain and without a worker. No payment is ever claimed.
    pub fn refusing(config: &config::X402, store: &Store) -> Option<Self> {
        let paid = config::X402 { pay_to: config.pay_to.or(Some(NOBODY)), ..config.clone() };
        let inner = X402State {
            terms: Terms::new(&paid)?,
            store: store.clone(),
            asset: None,
            facilitator: None,
            base_url: config.base_url.clone(),
            goods: Box::new(Nothing),
            gas: GasBook::new(&Default::default(), store.clone(), None),
            contract_signatures: false,
            settle_timeout: config.settle,
            claimed: Notify::new(),
            changed: watch::Sender::new(()),
        };
        Some(Self { inner: Arc::new(inner) })
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
