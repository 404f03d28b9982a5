//! What became of an authorization, by the asset's own events: whoever sent the transaction, and whatever they say of
//! it.

use alloy::{rpc::types::Log, sol_types::SolEvent};
use serde::Deserialize;
use serde_json::json;

use super::{
    Asset, PaymentError,
    abi::Asset::{AuthorizationCanceled, AuthorizationUsed, Transfer, authorizationStateCall},
};
use crate::sender::At;
use assay_domain::{Authorization, B256};
use assay_evm::{
    call::{Call, returned},
    fault::Fault,
    logs::LogQuery,
    span::Span,
};

/// Widest span of blocks asked for at once.
const SPAN: u64 = 2_000;

/// What became of an authorization by some block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It was not used.
    None,
    /// It brought what it says to whom it says, by this transaction.
    Paid(B256),
    /// Its nonce is gone for something else: cancelled, or used by another authorization of the payer.
    Elsewhere,
    /// It was used, and the node does not show how.
    Unclear,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Receipt {
    block_hash: Option<B256>,
    logs: Vec<Log>,
}

impl Asset {
    /// What became of `authorization` by block `to`; it was not used up to block `from`.
    ///
    /// # Errors
    /// [`PaymentError`] where it cannot be told.
    pub async fn used(&self, authorization: &Authorization, from: u64, to: At) -> Result<Use, PaymentError> {
        let Authorization { from: authorizer, nonce, .. } = *authorization;
        let answers = self
            .client
            .calls(&[Call::new(self.contract, &authorizationStateCall { authorizer, nonce })], to.hash)
            .await?;
        if !returned::<authorizationStateCall>(answers.first()).ok_or(PaymentError::NoAsset)? {
            return Ok(Use::None);
        }
        let query = LogQuery {
            addresses: vec![self.contract],
            topics: [
                vec![AuthorizationUsed::SIGNATURE_HASH, AuthorizationCanceled::SIGNATURE_HASH],
                vec![authorizer.into_word()],
                vec![nonce],
                vec![],
            ],
        };
        let mut next = from.saturating_add(1);
        let mut width = SPAN.min(self.client.log_ceiling()).max(1);
        while next <= to.block {
            let span = Span { from: next, to: to.block.min(next.saturating_add(width - 1)) };
            let logs = match self.client.believed_logs(&query, span).await {
                Err(Fault::TooWide { .. } | Fault::TooDense { .. } | Fault::TimedOut(_)) if width > 1 => {
                    width /= 2;
                    continue;
                }
                logs => logs?,
            };
            if let Some(log) = logs.first() {
                let cancelled = log.topic0() == Some(&AuthorizationCanceled::SIGNATURE_HASH);
                return if cancelled { Ok(Use::Elsewhere) } else { self.followed(authorization, log).await };
            }
            next = span.to.saturating_add(1);
        }
        Ok(Use::Unclear)
    }

    /// Whether the transfer that was authorised stands right behind its use: contracts write both in one call, so that
    /// a transfer stands for one use alone, whatever else a transaction does.
    async fn followed(&self, authorization: &Authorization, used: &Log) -> Result<Use, PaymentError> {
        let Some((transaction, index)) = used.transaction_hash.zip(used.log_index) else { return Ok(Use::Unclear) };
        let answer =
            self.client.batch(vec![("eth_getTransactionReceipt", json!([transaction]))]).await?.into_iter().next();
        let answer = answer.unwrap_or_else(|| Err(Fault::Malformed("no answer".into())))?;
        let receipt: Option<Receipt> = serde_json::from_value(answer).map_err(|error| Fault::unreadable(&error))?;
        let Some(receipt) = receipt.filter(|receipt| receipt.block_hash == used.block_hash) else {
            return Ok(Use::Unclear);
        };
        let Some(next) = receipt.logs.iter().find(|log| log.log_index == Some(index + 1)) else {
            return Ok(Use::Elsewhere);
        };
        let transfer = Transfer::decode_log(&next.inner).ok().filter(|transfer| transfer.address == self.contract);
        let Authorization { from, to, value, .. } = *authorization;
        Ok(match transfer {
            Some(transfer) if (transfer.from, transfer.to, transfer.value) == (from, to, value) => {
                Use::Paid(transaction)
            }
            _ => Use::Elsewhere,
        })
    }
}
