//! The account and its chain at one moment.

use serde_json::{Value, json};

use super::{Market, Sender, SenderError};
use assay_domain::{B256, U256};
use assay_evm::{
    client::{Block, hex, pinned, quantity},
    fault::Fault,
};

/// A block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    pub block: u64,
    pub hash: B256,
}

impl From<Block> for At {
    fn from(block: Block) -> Self {
        Self { block: block.number, hash: block.hash }
    }
}

/// What is true after one block, read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    pub head: At,
    /// The newest block with enough confirmations.
    pub settled: At,
    /// Nonces used up by `head`.
    pub used: u64,
    /// Nonces used up by `settled`.
    pub settled_used: u64,
    /// The first nonce that no transaction known to the node has, mined or waiting.
    pub next: u64,
    pub market: Market,
}

impl Sender {
    /// The newest block with enough confirmations.
    ///
    /// # Errors
    /// [`SenderError::Chain`].
    pub async fn settled(&self) -> Result<At, SenderError> {
        Ok(self.ends().await?.1.into())
    }

    /// The newest block, and the newest with enough confirmations.
    async fn ends(&self) -> Result<(Block, Block), Fault> {
        let head = self.client.head().await?;
        let deep = head.number.saturating_sub(self.confirmations);
        if deep == head.number {
            return Ok((head, head));
        }
        Ok((head, self.client.block(deep).await?.ok_or(Fault::UnknownBlock)?))
    }

    /// # Errors
    /// [`SenderError::Chain`].
    pub async fn view(&self) -> Result<View, SenderError> {
        let (head, settled) = self.ends().await?;
        let account = self.address();
        let count = |block: Value| ("eth_getTransactionCount", json!([account, block]));
        let asks = vec![
            count(pinned(head.hash)),
            count(pinned(settled.hash)),
            count(json!("pending")),
            ("eth_feeHistory", json!([hex(5), "latest", [50.0]])),
        ];
        let mut answers = self.client.batch(asks).await?.into_iter();
        let mut next = || answers.next().unwrap_or_else(|| Err(Fault::Malformed("an answer is missing".into())));
        let (used, settled_used, waiting, fees) = (quantity(next()?)?, quantity(next()?)?, quantity(next()?)?, next()?);
        let market = market(&fees).ok_or_else(|| Fault::Malformed("eth_feeHistory".into()))?;
        Ok(View { head: head.into(), settled: settled.into(), used, settled_used, next: waiting.max(used), market })
    }
}

/// The base fee of the next block, which stands last, and the median of the tips.
fn market(fees: &Value) -> Option<Market> {
    let wei = |value: &Value| {
        serde_json::from_value::<U256>(value.clone()).ok().map(|fee| u64::try_from(fee).unwrap_or(u64::MAX))
    };
    let base = wei(fees["baseFeePerGas"].as_array()?.last()?)?;
    let mut tips: Vec<u64> =
        fees["reward"].as_array().into_iter().flatten().filter_map(|block| wei(block.as_array()?.first()?)).collect();
    tips.sort_unstable();
    Some(Market { base, tip: tips.get(tips.len() / 2).copied().unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_market_is_the_next_base_fee_and_the_median_tip() {
        let fees = json!({ "baseFeePerGas": ["0x1", "0x2", "0x3"], "reward": [["0x9"], ["0x1"], ["0x5"]] });
        assert_eq!(market(&fees), Some(Market { base: 3, tip: 5 }));
        assert_eq!(market(&json!({ "baseFeePerGas": ["0x3"], "reward": null })), Some(Market { base: 3, tip: 0 }));
        assert_eq!(market(&json!({ "baseFeePerGas": [] })), None);
        assert_eq!(market(&json!(null)), None);
    }
}
