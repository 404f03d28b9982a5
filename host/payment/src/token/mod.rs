//! Payments by signature in an ERC-3009 asset: the state of an authorization, the call that uses it, its outcome, and
//! the client of a facilitator. It stores nothing.

mod abi;
mod authorization;
mod facilitator;

use alloy::{
    primitives::Bytes,
    sol_types::{Revert, SolCall, SolError},
};
use serde_json::json;

use abi::Asset::{
    DOMAIN_SEPARATORCall, authorizationStateCall, balanceOfCall, decimalsCall, isValidSignatureCall,
    transferWithAuthorization_0Call, transferWithAuthorization_1Call,
};
use assay_domain::{Address, Authorization, B256, SigningDomain, U256};
use assay_evm::{
    call::{Call, returned},
    client::{Block, Client},
    fault::Fault,
};
use assay_outbox::sender::FeeMarket;

pub use authorization::AuthorizationUse;
pub use facilitator::{Facilitator, FacilitatorError, Settlement};

/// An ERC-3009 asset. Cheap to clone.
#[derive(Clone)]
pub struct Asset {
    client: Client,
    contract: Address,
    confirmations: u64,
}

/// The state of an authorization after the newest block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthorizationState {
    /// Number of that block.
    pub block: u64,
    /// The payer's balance.
    pub balance: U256,
    /// The nonce is used or cancelled.
    pub used: bool,
}

/// The state that decides whether the transfer of an authorization succeeds, after the newest block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Unix time of that block, in seconds.
    pub time: u64,
    /// The payer's balance.
    pub balance: U256,
    /// The nonce is used or cancelled.
    pub used: bool,
    /// The payer has code, its own or delegated (EIP-7702).
    pub has_code: bool,
}

/// The state of a payer after the newest block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayerState {
    /// Number of that block.
    pub block: u64,
    pub balance: U256,
    /// For each nonce whether it is used or cancelled.
    pub used: Vec<bool>,
}

/// Why the asset could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PaymentError {
    #[error("the chain of the payment: {0}")]
    Chain(String),
    #[error("no asset that takes payments by signature answers at access.x402.asset")]
    NoAsset,
}

impl From<Fault> for PaymentError {
    fn from(fault: Fault) -> Self {
        Self::Chain(fault.to_string())
    }
}

impl Asset {
    /// The asset at `contract`. A payment counts as settled with `confirmations` blocks on top.
    pub fn new(client: Client, contract: Address, confirmations: u64) -> Self {
        Self { client, contract, confirmations }
    }

    pub fn contract(&self) -> Address {
        self.contract
    }

    /// The call that uses `authorization`: the form with a split signature for accounts with a key (`by_key`), the form
    /// with signature bytes for contracts.
    pub fn call(&self, authorization: &Authorization, signature: &Bytes, by_key: bool) -> Bytes {
        let Authorization { from, to, value, valid_after, valid_before, nonce } = *authorization;
        let (after, before) = (valid_after, valid_before);
        let split = signature
            .get(..32)
            .zip(signature.get(32..64))
            .zip(signature.get(64))
            .filter(|_| by_key && signature.len() == 65);
        match split {
            Some(((r, s), last)) => {
                let (v, r, s) = (27 + last % 27, B256::from_slice(r), B256::from_slice(s));
                transferWithAuthorization_0Call {
                    from,
                    to,
                    value,
                    validAfter: after,
                    validBefore: before,
                    nonce,
                    v,
                    r,
                    s,
                }
                .abi_encode()
            }
            None => {
                let signature = signature.clone();
                transferWithAuthorization_1Call {
                    from,
                    to,
                    value,
                    validAfter: after,
                    validBefore: before,
                    nonce,
                    signature,
                }
                .abi_encode()
            }
        }
        .into()
    }

    /// The state of `authorization` after the newest block.
    ///
    /// # Errors
    /// [`PaymentError`].
    pub async fn authorization_state(&self, authorization: &Authorization) -> Result<AuthorizationState, PaymentError> {
        let Authorization { from, nonce, .. } = *authorization;
        let PayerState { block, balance, used } = self.payer_state(from, &[nonce]).await?;
        Ok(AuthorizationState { block, balance, used: used.first().copied().unwrap_or_default() })
    }

    /// The state that decides whether the transfer of `authorization` succeeds.
    ///
    /// # Errors
    /// [`PaymentError`].
    pub async fn standing(&self, authorization: &Authorization) -> Result<Standing, PaymentError> {
        let Authorization { from, nonce, .. } = *authorization;
        let head = self.client.head().await?;
        let PayerState { balance, used, .. } = self.payer_state_at(head, from, &[nonce]).await?;
        let has_code = self.has_code(from).await?;
        Ok(Standing { time: head.time, balance, used: used.first().copied().unwrap_or_default(), has_code })
    }

    /// The price of a unit of gas in the next block, in wei.
    ///
    /// # Errors
    /// [`PaymentError`].
    pub async fn gas_price(&self) -> Result<u64, PaymentError> {
        Ok(FeeMarket::read(&self.client).await?.price())
    }

    /// The state of `payer` after the newest block, with the use of `nonces`.
    ///
    /// # Errors
    /// [`PaymentError`].
    pub async fn payer_state(&self, payer: Address, nonces: &[B256]) -> Result<PayerState, PaymentError> {
        let head = self.client.head().await?;
        self.payer_state_at(head, payer, nonces).await
    }

    async fn payer_state_at(&self, head: Block, payer: Address, nonces: &[B256]) -> Result<PayerState, PaymentError> {
        let mut calls = vec![Call::new(self.contract, &balanceOfCall { account: payer })];
        let state = |nonce: &B256| authorizationStateCall { authorizer: payer, nonce: *nonce };
        calls.extend(nonces.iter().map(|nonce| Call::new(self.contract, &state(nonce))));
        let answers = self.client.calls(&calls, head.hash).await?;
        let balance = returned::<balanceOfCall>(answers.first()).ok_or(PaymentError::NoAsset)?;
        let used = (1..calls.len()).map(|at| returned::<authorizationStateCall>(answers.get(at)));
        let used = used.collect::<Option<Vec<bool>>>().ok_or(PaymentError::NoAsset)?;
        Ok(PayerState { block: head.number, balance, used })
    }

    /// Simulates `call` after the newest block; the inner error is the reason of a revert.
    ///
    /// # Errors
    /// [`PaymentError`].
    pub async fn simulate(&self, call: &Bytes) -> Result<Result<(), String>, PaymentError> {
        let head = self.client.head().await?;
        // If the payer is a contract, the asset calls it to check the signature.
        let answer = self.client.stranger_attempt(self.contract, call, head.hash).await?;
        Ok(answer.map(drop).map_err(|data| Revert::abi_decode(&data).map(|revert| revert.reason).unwrap_or_default()))
    }

    /// Whether the contract at `account` says that `signature` of `hash` is its own (ERC-1271).
    ///
    /// # Errors
    /// [`PaymentError`].
    pub async fn is_signed_by_contract(
        &self,
        account: Address,
        hash: B256,
        signature: &Bytes,
    ) -> Result<bool, PaymentError> {
        let head = self.client.head().await?;
        let call = isValidSignatureCall { hash, signature: signature.clone() };
        let answer = self.client.stranger_attempt(account, &call.abi_encode().into(), head.hash).await?;
        let magic = returned::<isValidSignatureCall>(Some(&answer.ok()));
        Ok(magic.is_some_and(|magic| magic.0 == isValidSignatureCall::SELECTOR))
    }

    /// Whether `account` has code, its own or delegated (EIP-7702).
    ///
    /// # Errors
    /// [`PaymentError`].
    pub async fn has_code(&self, account: Address) -> Result<bool, PaymentError> {
        let answer = self.client.batch(vec![("eth_getCode", json!([account, "latest"]))]).await?.into_iter().next();
        let code = answer.unwrap_or_else(|| Err(Fault::Malformed("no answer".into())))?;
        let code: Bytes = serde_json::from_value(code).map_err(|error| Fault::unreadable(&error))?;
        Ok(!code.is_empty())
    }

    /// The newest block with enough confirmations.
    ///
    /// # Errors
    /// [`PaymentError`].
    pub async fn settled(&self) -> Result<Block, PaymentError> {
        let head = self.client.head().await?;
        let deep = head.number.saturating_sub(self.confirmations);
        if deep == head.number {
            return Ok(head);
        }
        Ok(self.client.block(deep).await?.ok_or(Fault::UnknownBlock)?)
    }

    /// How the contract differs from `domain` and `decimals`, after the newest block; empty if it agrees.
    ///
    /// # Errors
    /// [`PaymentError`].
    pub async fn contradictions(&self, domain: &SigningDomain, decimals: u8) -> Result<Vec<String>, PaymentError> {
        Ok(contradictions(&self.client, domain, decimals, self.client.head().await?).await?)
    }
}

/// How the contract of `domain` differs from `domain` and `decimals`, in the state after `head`; empty if it agrees.
///
/// # Errors
/// [`Fault`] if the chain does not answer.
pub async fn contradictions(
    client: &Client,
    domain: &SigningDomain,
    decimals: u8,
    head: Block,
) -> Result<Vec<String>, Fault> {
    let nonce = authorizationStateCall { authorizer: Address::ZERO, nonce: B256::ZERO };
    let asset = domain.asset;
    let calls =
        [Call::new(asset, &DOMAIN_SEPARATORCall {}), Call::new(asset, &decimalsCall {}), Call::new(asset, &nonce)];
    let answers = client.calls(&calls, head.hash).await?;
    let mut found = Vec::new();
    if returned::<authorizationStateCall>(answers.get(2)).is_none() {
        found.push(
            "does not answer authorizationState(): it cannot be paid by signature (ERC-3009); correct \
             access.x402.asset"
                .into(),
        );
        return Ok(found);
    }
    match returned::<DOMAIN_SEPARATORCall>(answers.first()) {
        Some(separator) if separator == domain.separator() => {}
        Some(_) => found.push(format!(
            "signs by another EIP-712 domain than {:?} version {:?} on chain {}; correct access.x402.domain_name and \
             domain_version",
            domain.name, domain.version, domain.chain
        )),
        None => found.push("does not answer DOMAIN_SEPARATOR(), so its EIP-712 domain cannot be checked".into()),
    }
    match returned::<decimalsCall>(answers.get(1)) {
        Some(known) if known == decimals => {}
        Some(known) => found
            .push(format!("has {known} decimals, not {decimals}; correct access.x402.decimals and check the price")),
        None => found.push("does not answer decimals() like a token".into()),
    }
    Ok(found)
}
