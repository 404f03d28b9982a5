//! How an authorization was used, from the asset's own events, whoever sent the transaction.

use alloy::{rpc::types::Log, sol_types::SolEvent};

use super::{
    Asset, PaymentError,
    abi::Asset::{AuthorizationCanceled, AuthorizationUsed, Transfer, authorizationStateCall},
};
use assay_domain::{Authorization, B256};
use assay_evm::{
    call::{Call, returned},
    client::Block,
    fault::Fault,
    logs::{LogQuery, Receipt},
    span::Span,
};

/// Widest span of blocks in one query.
const SPAN: u64 = 2_000;
/// Blocks below the start that are searched too: a reorganisation may put a use there. A nonce is used once, so no
/// other use can be found.
const BELOW: u64 = 256;

/// How an authorization was used, up to some block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorizationUse {
    Unused,
    /// This transaction made the authorized transfer, in this block.
    Paid {
        transaction: B256,
        block: u64,
    },
    /// The nonce was cancelled, or used by another authorization of the payer.
    Elsewhere,
    /// It was used, and the node's logs do not show how.
    Unknown,
}

impl Asset {
    /// How `authorization` was used, through block `to`. It was unused in block `from`, which a reorganisation may have
    /// replaced.
    ///
    /// # Errors
    /// [`PaymentError`].
    pub async fn authorization_use(
        &self,
        authorization: &Authorization,
        from: u64,
        to: Block,
    ) -> Result<AuthorizationUse, PaymentError> {
        let Authorization { from: authorizer, nonce, .. } = *authorization;
        let state = Call::new(self.contract, &authorizationStateCall { authorizer, nonce });
        let answers = self.client.calls(&[state], to.hash).await?;
        if !returned::<authorizationStateCall>(answers.first()).ok_or(PaymentError::NoAsset)? {
            return Ok(AuthorizationUse::Unused);
        }
        match self.first_use(authorization, from, to).await? {
            None => Ok(AuthorizationUse::Unknown),
            Some(log) if log.topic0() == Some(&AuthorizationCanceled::SIGNATURE_HASH) => {
                Ok(AuthorizationUse::Elsewhere)
            }
            Some(log) => self.use_in_receipt(authorization, &log).await,
        }
    }

    /// The first log of a use or a cancellation, through block `to`.
    async fn first_use(
        &self,
        authorization: &Authorization,
        from: u64,
        to: Block,
    ) -> Result<Option<Log>, PaymentError> {
        let Authorization { from: authorizer, nonce, .. } = *authorization;
        let query = LogQuery {
            addresses: vec![self.contract],
            topics: [
                vec![AuthorizationUsed::SIGNATURE_HASH, AuthorizationCanceled::SIGNATURE_HASH],
                vec![authorizer.into_word()],
                vec![nonce],
                vec![],
            ],
        };
        let mut next = from.saturating_add(1).saturating_sub(BELOW);
        let mut width = SPAN.min(self.client.log_ceiling()).max(1);
        while next <= to.number {
            let span = Span { from: next, to: to.number.min(next.saturating_add(width - 1)) };
            let logs = match self.client.believed_logs(&query, span).await {
                Err(fault) if fault.is_for_less() && width > 1 => {
                    width /= 2;
                    continue;
                }
                logs => logs?,
            };
            if let Some(log) = logs.into_iter().next() {
                return Ok(Some(log));
            }
            next = span.to.saturating_add(1);
        }
        Ok(None)
    }

    /// Whether the authorized transfer is the log directly after the log of the use. Contracts emit both in one call,
    /// so a transfer belongs to exactly one use, whatever else the transaction does.
    async fn use_in_receipt(
        &self,
        authorization: &Authorization,
        used: &Log,
    ) -> Result<AuthorizationUse, PaymentError> {
        let place = used.transaction_hash.zip(used.log_index).zip(used.block_number);
        let Some(((transaction, index), block)) = place else {
            return Ok(AuthorizationUse::Unknown);
        };
        let answer = self.client.batch(vec![Receipt::ask(transaction)]).await?.into_iter().next();
        let answer = answer.unwrap_or_else(|| Err(Fault::Malformed("no answer".into())))?;
        let Some(receipt) = Receipt::read(transaction, answer)?.filter(|receipt| receipt.holds(used)) else {
            return Ok(AuthorizationUse::Unknown);
        };
        let Some(next) = receipt.logs.iter().find(|log| log.log_index == Some(index + 1)) else {
            return Ok(AuthorizationUse::Elsewhere);
        };
        let transfer = Transfer::decode_log(&next.inner).ok().filter(|transfer| transfer.address == self.contract);
        let Authorization { from, to, value, .. } = *authorization;
        Ok(match transfer {
            Some(transfer) if (transfer.from, transfer.to, transfer.value) == (from, to, value) => {
                AuthorizationUse::Paid { transaction, block }
            }
            _ => AuthorizationUse::Elsewhere,
        })
    }
}
