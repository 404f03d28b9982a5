//! The order in which payments get a transaction, the place of each, and when a sale costs more gas than it brings.

use std::{collections::HashMap, time::Duration};

use super::{
    PayError, X402,
    records::{PaymentRecord, PurchaseRecord, Purchased, Waits},
};
use assay_domain::{Address, PaymentId};
use assay_outbox::gas::{Class, Ledger, NativePrice, Party, Usd};
use assay_store::StoreError;

/// Approximate gas of a transfer by signature, and of the feedback of one tag.
const TRANSFER_GAS: u64 = 90_000;
const FEEDBACK_GAS: u64 = 190_000;
/// The shortest `Retry-After` of a queued payment.
const SOON: Duration = Duration::from_secs(5);

/// `open` in the order of their turns: payers with a transaction first; then by what the network and the payer lost or
/// have at risk, least first; then one payment of each payer, the second of each, and so on; then the oldest.
pub fn in_turns(open: Vec<PaymentRecord>, ledger: &Ledger) -> Vec<PaymentRecord> {
    let mut of_payer = HashMap::<Address, usize>::new();
    let mut turns: Vec<_> = open
        .into_iter()
        .map(|record| {
            let turn = of_payer.entry(record.id.from).or_default();
            *turn += 1;
            let debt = |party: Option<Party>| party.map_or(Usd::ZERO, |party| ledger.debt(&party));
            let debts = (debt(record.network.map(Party::network)), debt(Some(Party::payer(record.id.from))));
            ((record.slot.is_none(), debts, *turn), record)
        })
        .collect();
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, record)| record).collect()
}

/// The parties whose losses decide about the order of `open`.
pub(super) fn parties(open: &[PaymentRecord]) -> impl Iterator<Item = Party> {
    let networks = open.iter().filter_map(|record| record.network.map(Party::network));
    open.iter().map(|record| Party::payer(record.id.from)).chain(networks)
}

impl X402 {
    /// The place of an open payment that waits for its turn, and its longest wait.
    pub(super) async fn queued(&self, id: &PaymentId, class: Class, most: Usd) -> Result<PayError, StoreError> {
        let open = self.open_payments().await?;
        let in_flight: Vec<_> = open.iter().filter(|record| record.slot.is_some()).map(|r| r.risk(most)).collect();
        let ledger = self.inner.gas.ledger(&in_flight, parties(&open)).await?;
        let waiting = in_turns(open, &ledger).into_iter().filter(PaymentRecord::is_in_turn);
        let place = waiting.take_while(|record| record.id != *id).count() + 1;
        Ok(PayError::Queued { place, wait: ledger.wait(class, place, most).max(SOON) })
    }

    /// The gas that the sale of `purchase` costs at `gas_price` wei, if it is more than the sale brings.
    pub(super) fn loss_of_sale(&self, purchase: &PurchaseRecord, gas_price: u64, native: NativePrice) -> Option<Waits> {
        let transfer = if self.is_local() { TRANSFER_GAS } else { 0 };
        let feedback = match &purchase.order {
            Purchased::Submission { tags, .. } => FEEDBACK_GAS.saturating_mul(tags.len() as u64),
            Purchased::Statement { .. } | Purchased::Watch { .. } => 0,
        };
        let gas = u128::from(transfer.saturating_add(feedback));
        let cost = native.usd(gas.saturating_mul(u128::from(gas_price)));
        let brings = Usd::of_token(self.terms().amount(purchase.item()), self.terms().decimals);
        (cost > brings).then_some(Waits::Price { cost, limit: brings })
    }

    /// Refuses a sale that costs more gas than it brings.
    ///
    /// # Errors
    /// [`PayError::Dear`].
    pub(super) async fn check_price(&self, purchase: &PurchaseRecord) -> Result<(), PayError> {
        let Some(asset) = &self.inner.asset else { return Ok(()) };
        let gas_price = asset.gas_price().await?;
        match self.loss_of_sale(purchase, gas_price, self.inner.gas.native_price().await) {
            Some(Waits::Price { cost, limit }) => Err(PayError::Dear { cost, limit }),
            _ => Ok(()),
        }
    }
}
