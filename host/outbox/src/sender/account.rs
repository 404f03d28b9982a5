//! The state of the account and its chain at one block.

use serde_json::{Value, json};

use super::{FeeMarket, Sender, SenderError};
use assay_domain::U256;
use assay_evm::{
    client::{Ask, Block, Client, hex, pinned, quantity},
    fault::Fault,
};

/// The account and the fees, read in one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountView {
    pub head: Block,
    /// The newest block with enough confirmations.
    pub settled: Block,
    /// The account's nonce after `head`: lower ones are used.
    pub used_nonce: u64,
    /// The account's nonce after `settled`.
    pub settled_nonce: u64,
    /// The first nonce that no transaction of the node has, mined or pending.
    pub next_nonce: u64,
    pub market: FeeMarket,
}

impl Sender {
    /// The newest block with enough confirmations.
    ///
    /// # Errors
    /// [`SenderError::Chain`].
    pub async fn settled(&self) -> Result<Block, SenderError> {
        Ok(self.head_and_settled().await?.1)
    }

    /// The newest block, and the newest with enough confirmations.
    async fn head_and_settled(&self) -> Result<(Block, Block), Fault> {
        let head = self.client.head().await?;
        let deep = head.number.saturating_sub(self.confirmations);
        if deep == head.number {
            return Ok((head, head));
        }
        Ok((head, self.client.block(deep).await?.ok_or(Fault::UnknownBlock)?))
    }

    /// Reads the account at the newest block.
    ///
    /// # Errors
    /// [`SenderError::Chain`].
    pub async fn view(&self) -> Result<AccountView, SenderError> {
        let (head, settled) = self.head_and_settled().await?;
        let account = self.address();
        let count = |block: Value| ("eth_getTransactionCount", json!([account, block]));
        let asks = vec![count(pinned(head.hash)), count(pinned(settled.hash)), count(json!("pending")), ask_fees()];
        let mut answers = self.client.batch(asks).await?.into_iter();
        let mut next = || answers.next().unwrap_or_else(|| Err(Fault::Malformed("an answer is missing".into())));
        let (used_nonce, settled_nonce) = (quantity(next()?)?, quantity(next()?)?);
        let (pending, fees) = (quantity(next()?)?, next()?);
        let market = market(&fees)?;
        let next_nonce = pending.max(used_nonce);
        Ok(AccountView { head, settled, used_nonce, settled_nonce, next_nonce, market })
    }
}

impl FeeMarket {
    /// The fees of recent blocks.
    pub async fn read(client: &Client) -> Result<Self, Fault> {
        let answer = client.batch(vec![ask_fees()]).await?.into_iter().next();
        market(&answer.unwrap_or_else(|| Err(Fault::Malformed("an answer is missing".into())))?)
    }
}

fn ask_fees() -> Ask {
    ("eth_feeHistory", json!([hex(5), "latest", [50.0]]))
}

fn market(fees: &Value) -> Result<FeeMarket, Fault> {
    parsed(fees).ok_or_else(|| Fault::Malformed("eth_feeHistory".into()))
}

/// The base fee of the next block, which is the last one in the answer, and the median of the tips.
fn parsed(fees: &Value) -> Option<FeeMarket> {
    let wei = |value: &Value| {
        serde_json::from_value::<U256>(value.clone()).ok().map(|fee| u64::try_from(fee).unwrap_or(u64::MAX))
    };
    let base = wei(fees["baseFeePerGas"].as_array()?.last()?)?;
    let mut tips: Vec<u64> =
        fees["reward"].as_array().into_iter().flatten().filter_map(|block| wei(block.as_array()?.first()?)).collect();
    tips.sort_unstable();
    Some(FeeMarket { base, tip: tips.get(tips.len() / 2).copied().unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_market_is_the_next_base_fee_and_the_median_tip() {
        let fees = json!({ "baseFeePerGas": ["0x1", "0x2", "0x3"], "reward": [["0x9"], ["0x1"], ["0x5"]] });
        assert_eq!(parsed(&fees), Some(FeeMarket { base: 3, tip: 5 }));
        assert_eq!(parsed(&json!({ "baseFeePerGas": ["0x3"], "reward": null })), Some(FeeMarket { base: 3, tip: 0 }));
        assert_eq!(parsed(&json!({ "baseFeePerGas": [] })), None);
        assert_eq!(parsed(&json!(null)), None);
    }
}
