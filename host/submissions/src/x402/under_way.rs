//! Transfers in progress, and which payers may start another within the limit of gas that may be lost.

use std::collections::HashMap;

use super::{Refused, X402, budget::Left, records::PaymentRecord, verify::signature_refused};
use assay_domain::{Address, U256};
use assay_outbox::{
    payment::{Asset, PaymentError},
    sender::SenderError,
};
use assay_store::StoreError;

/// The gas limit of a transfer. A transfer signed by a key takes about 90,000; the wallet contract of a client may use
/// any amount.
pub(super) const MOST_GAS: u64 = 500_000;
/// Gas that one reverted transfer of an account without code is expected to cost at most.
const ACCOUNT_GAS: u64 = 100_000;

/// Whether a payer may have a transaction now.
pub(super) enum Turn {
    /// With at most this much gas.
    Now(u64),
    Later,
    Never(Refused),
}

/// The transfers with a transaction whose outcome is not final.
#[derive(Default)]
pub(super) struct UnderWay {
    /// The sum and the number of each payer's transfers.
    promised: HashMap<Address, (U256, u64)>,
    /// Transfers of payers that have not paid here before.
    unproven: u64,
    /// Payers with a contract's transfer.
    contracts: Vec<Address>,
}

fn chain(error: PaymentError) -> SenderError {
    SenderError::Chain(error.to_string())
}

fn store(error: StoreError) -> SenderError {
    SenderError::Chain(error.to_string())
}

impl UnderWay {
    pub(super) fn new<'a>(records: impl IntoIterator<Item = &'a PaymentRecord>) -> Self {
        let mut all = Self::default();
        records.into_iter().for_each(|record| all.add(record));
        all
    }

    pub(super) fn add(&mut self, record: &PaymentRecord) {
        let (sum, count) = self.promised.entry(record.id.from).or_default();
        (*sum, *count) = (sum.saturating_add(record.authorization.value), count.saturating_add(1));
        if record.by_contract {
            self.contracts.push(record.id.from);
        } else {
            self.unproven += u64::from(record.unproven);
        }
    }

    /// Whether the payer may have a transaction now, within what may be lost. A contract gets one at a time, and so
    /// does an account until it has paid here.
    pub(super) async fn admission(
        &self,
        x402: &X402,
        asset: &Asset,
        record: &mut PaymentRecord,
    ) -> Result<Turn, SenderError> {
        let (payer, value) = (record.id.from, record.authorization.value);
        let left = x402.gas_left(payer).await.map_err(store)?;
        if left.payer == 0 {
            return Ok(Turn::Never(Refused::out_of_gas(payer)));
        }
        if self.contracts.contains(&payer) {
            return Ok(Turn::Later);
        }
        let (promised, under_way) = self.promised.get(&payer).copied().unwrap_or_default();
        // A payer that signs for more than its balance must not cost us gas for reverted transfers.
        if under_way > 0 {
            let standing = asset.authorization_state(&record.authorization).await.map_err(chain)?;
            if standing.balance < promised.saturating_add(value) {
                return Ok(Turn::Later);
            }
        }
        record.by_contract = asset.has_code(payer).await.map_err(chain)?;
        if record.by_contract {
            return Ok(self.of_contract(x402, record, left));
        }
        record.unproven = !x402.has_paid(&record.id).await.map_err(store)?;
        let fits = |left: u64, under_way: u64| match under_way {
            0 => left > 0,
            _ => ACCOUNT_GAS.saturating_mul(under_way.saturating_add(1)) <= left,
        };
        let may = match record.unproven {
            true => under_way == 0 && fits(left.hour, self.unproven),
            false => fits(left.payer, under_way),
        };
        Ok(if may { Turn::Now(MOST_GAS) } else { Turn::Later })
    }

    /// Only a contract decides freely whether a transfer succeeds.
    fn of_contract(&self, x402: &X402, record: &PaymentRecord, left: Left) -> Turn {
        let payer = record.id.from;
        if !x402.inner.contract_signatures {
            return Turn::Never(signature_refused(payer));
        }
        let under_way = MOST_GAS.saturating_mul(self.contracts.len() as u64);
        let room = left.contracts.saturating_sub(under_way).min(left.payer).min(MOST_GAS);
        match (room, under_way) {
            (1.., _) => Turn::Now(room),
            (0, 0) => Turn::Never(Refused::out_of_gas(payer)),
            _ => Turn::Later,
        }
    }
}
