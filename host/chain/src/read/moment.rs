//! The last block of a chain before a moment in the past, found by the times of blocks.

use assay_domain::{B256, ChainId, ReadBlock};
use assay_evm::{
    client::{Block, Client},
    fault::Fault,
};

/// Blocks per request: a search over 400 million blocks takes seven requests.
const AT_ONCE: u64 = 20;

/// Why a chain has no block before a moment.
#[derive(Debug, thiserror::Error)]
pub enum MomentError {
    #[error("chain {chain} is not at that moment yet: its newest block is of {newest}, Unix seconds")]
    Ahead { chain: ChainId, newest: u64 },
    #[error("chain {chain} did not exist at that moment: its first block is of {first}, Unix seconds")]
    Before { chain: ChainId, first: u64 },
    #[error("no block of chain {chain} is named")]
    Unnamed { chain: ChainId },
    #[error(
        "chain {chain} has no block {number} of hash {hash}: it was reorganised, or the endpoint is of another chain"
    )]
    Gone { chain: ChainId, number: u64, hash: B256 },
    #[error("chain {chain} cannot be read: {fault}")]
    Unread { chain: ChainId, fault: Fault },
}

/// The last block of the chain of `client` whose time is before `moment`, in Unix seconds.
pub(super) async fn last_before(client: &Client, chain: ChainId, moment: u64) -> Result<Block, MomentError> {
    let unread = |fault| MomentError::Unread { chain, fault };
    let head = client.head().await.map_err(unread)?;
    if head.time < moment {
        return Err(MomentError::Ahead { chain, newest: head.time });
    }
    let first = looked_up(client, &[0]).await.map_err(unread)?;
    let Some(mut low) = first.first().copied().filter(|first| first.time < moment) else {
        return Err(MomentError::Before { chain, first: first.first().map_or(0, |first| first.time) });
    };
    // The last block before the moment is `low` or above it, and below `high`.
    let mut high = head;
    while high.number - low.number > 1 {
        let width = high.number - low.number;
        let numbers: Vec<u64> = match width <= AT_ONCE + 1 {
            true => (low.number + 1..high.number).collect(),
            false => (1..=AT_ONCE).map(|part| low.number + width / (AT_ONCE + 1) * part).collect(),
        };
        for block in looked_up(client, &numbers).await.map_err(unread)? {
            match block.time < moment {
                true => low = block,
                false => {
                    high = block;
                    break;
                }
            }
        }
    }
    Ok(low)
}

/// The block of this number and hash in the chain of `client`.
pub(super) async fn exactly(client: &Client, wanted: ReadBlock) -> Result<Block, MomentError> {
    let ReadBlock { chain_id: chain, number, hash } = wanted;
    let found = client.blocks(&[number]).await.map_err(|fault| MomentError::Unread { chain, fault })?;
    let found = found.into_iter().flatten().find(|block| (block.number, block.hash) == (number, hash));
    found.ok_or(MomentError::Gone { chain, number, hash })
}

/// Blocks that a chain with a newer one has, in the order of their numbers and times.
async fn looked_up(client: &Client, numbers: &[u64]) -> Result<Vec<Block>, Fault> {
    let blocks = client.blocks(numbers).await?.into_iter().zip(numbers);
    let there = |(block, number): (Option<Block>, &u64)| match block {
        Some(block) if block.number == *number => Ok(block),
        _ => Err(Fault::Malformed(format!("no block {number}, although the chain has later ones"))),
    };
    let blocks: Vec<Block> = blocks.map(there).collect::<Result<_, _>>()?;
    if blocks.is_sorted_by_key(|block| block.time) {
        Ok(blocks)
    } else {
        Err(Fault::Malformed("times of blocks that fall".into()))
    }
}
