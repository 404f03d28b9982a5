//! An account at the head, as a node reports it.

use serde_json::{Value, json};

use assay_domain::Address;
use assay_evm::{
    client::{Answers, Ask, Block, block_from, pinned, quantity},
    fault::Fault,
};

/// Number of requests.
pub(crate) const ASKS: usize = 2;

/// The account of a wallet, and the blocks by which stored progress is checked.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub nonce: u64,
    pub has_code: bool,
    is_contract: bool,
    pub blocks: Vec<Block>,
}

/// Asks for the nonce and the code of `wallet` after `head`.
pub(crate) fn asks(wallet: Address, head: Block) -> [Ask; ASKS] {
    ["eth_getTransactionCount", "eth_getCode"].map(|method| (method, json!([wallet, pinned(head.hash)])))
}

impl Facts {
    /// From the answers to [`asks`], followed by those for blocks.
    pub(crate) async fn from(answers: Answers) -> Result<Self, Fault> {
        let answers = answers.await?;
        let mut answers = answers.iter().cloned();
        let nonce = quantity(answers.next().unwrap_or(Ok(Value::Null))?)?;
        let code = answers.next().unwrap_or(Ok(Value::Null))?;
        let code = code.as_str().ok_or_else(|| Fault::Malformed("code that is no text".into()))?;
        let blocks = answers.filter_map(|answer| answer.and_then(block_from).transpose()).collect::<Result<_, _>>()?;
        Ok(Self { nonce, has_code: code.len() > 2, is_contract: is_contract(code), blocks })
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
