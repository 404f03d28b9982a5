//! An account at the head as a node reports it, in one batch with the blocks by which stored progress is checked.

use std::{collections::BTreeMap, sync::Arc};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use moka::future::Cache;
use serde_json::{Value, json};

use crate::limits;
use assay_domain::Address;
use assay_evm::{
    client::{Anchors, Ask, Block, Client, pinned, quantity},
    fault::Fault,
};

/// The answers to the batch. The first reader that awaits them sends it.
pub(crate) type Answers = Shared<BoxFuture<'static, Result<Arc<Answered>, Fault>>>;

/// The account of a wallet and the blocks that the chain has, each unless its question failed.
#[derive(Debug)]
pub(crate) struct Answered {
    pub account: Result<Account, Fault>,
    pub blocks: Result<BTreeMap<u64, Block>, Fault>,
}

impl Answered {
    pub(crate) fn whole(&self) -> Result<(Account, BTreeMap<u64, Block>), Fault> {
        Ok((self.account.clone()?, self.blocks.clone()?))
    }
}

/// The account of a wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account {
    pub nonce: u64,
    pub has_code: bool,
    is_contract: bool,
}

/// Reads accounts of one chain.
#[derive(Clone)]
pub(crate) struct Accounts {
    client: Client,
    /// The nonces with which accounts that had sent transactions had no code.
    plain: Cache<Address, u64>,
}

impl Accounts {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, plain: Cache::builder().max_capacity(limits::PLAIN_ACCOUNTS).build() }
    }

    /// Asks for the account of `wallet` after `head`, and for the blocks at the numbers of `anchors`.
    pub(crate) fn ask(&self, wallet: Address, head: Block, anchors: Anchors) -> Answers {
        let this = self.clone();
        async move { this.answered(wallet, head, anchors).await.map(Arc::new) }.boxed().shared()
    }

    async fn answered(&self, wallet: Address, head: Block, anchors: Anchors) -> Result<Answered, Fault> {
        let plain = self.plain.get(&wallet).await;
        let [nonce, code] = asks(wallet, head);
        let standing = self.client.standing(head, anchors);
        let asks = [Some(nonce), plain.is_none().then(|| code.clone())].into_iter().flatten().chain(standing.asks());
        let mut answers = self.client.shared_batch(asks.collect()).await?.into_iter();
        let mut next = || answers.next().unwrap_or(Ok(Value::Null));
        let nonce = next().and_then(quantity);
        let code = match (&nonce, plain) {
            (_, None) => next(),
            // Code comes to an account that has sent transactions by an authorization only, which counts as one.
            (Ok(nonce), Some(plain)) if *nonce == plain => Ok(json!("0x")),
            (Ok(_), Some(_)) => {
                self.client.shared_batch(vec![code]).await?.into_iter().next().unwrap_or(Ok(Value::Null))
            }
            (Err(fault), Some(_)) => Err(fault.clone()),
        };
        let account = nonce.and_then(|nonce| Account::of(nonce, &code?));
        if let Ok(Account { nonce, has_code: false, .. }) = account
            && nonce > 0
        {
            self.plain.insert(wallet, nonce).await;
        }
        Ok(Answered { account, blocks: standing.blocks(answers.collect()).await })
    }
}

/// The nonce and the code of `wallet` after `head`.
fn asks(wallet: Address, head: Block) -> [Ask; 2] {
    ["eth_getTransactionCount", "eth_getCode"].map(|method| (method, json!([wallet, pinned(head.hash)])))
}

impl Account {
    fn of(nonce: u64, code: &Value) -> Result<Self, Fault> {
        let code = code.as_str().ok_or_else(|| Fault::Malformed("code that is no text".into()))?;
        Ok(Self { nonce, has_code: code.len() > 2, is_contract: is_contract(code) })
    }

    /// The number of transactions sent; `None` if there are none. The nonce of a contract counts none.
    pub(crate) fn sent(&self) -> Option<u64> {
        (self.nonce > 0 && !self.is_contract).then_some(self.nonce)
    }
}

/// An account whose code only delegates (EIP-7702) still sends transactions.
fn is_contract(code: &str) -> bool {
    code.len() > 2 && !code.starts_with("0xef0100")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delegated_accounts_are_no_contracts() {
        assert!(is_contract("0x6001"));
        assert!(!is_contract("0x"));
        assert!(!is_contract(&format!("0xef0100{}", "11".repeat(20))));
    }
}
