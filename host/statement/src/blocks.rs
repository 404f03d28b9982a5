//! The root over the blocks of a score. The tree is OpenZeppelin's standard Merkle tree over
//! `(uint256 chainId, uint256 number, bytes32 hash)`, so a contract can check one block with `MerkleProof`.

use alloy::{
    primitives::{U256, keccak256},
    sol_types::SolValue,
};
use assay_domain::{B256, ReadBlock};

/// The root; zero without blocks.
pub fn root(blocks: &[ReadBlock]) -> B256 {
    let mut leaves: Vec<B256> = blocks.iter().map(leaf).collect();
    leaves.sort_unstable();
    // The leaves fill the end of the array from the back; each parent comes before its children.
    let inner = leaves.len().saturating_sub(1);
    let mut tree: Vec<B256> = std::iter::repeat_n(B256::ZERO, inner).chain(leaves.into_iter().rev()).collect();
    for parent in (0..inner).rev() {
        let child = |side: usize| tree.get(2 * parent + side).copied().unwrap_or_default();
        let pair = pair(child(1), child(2));
        if let Some(node) = tree.get_mut(parent) {
            *node = pair;
        }
    }
    tree.first().copied().unwrap_or_default()
}

fn leaf(block: &ReadBlock) -> B256 {
    let values = (U256::from(block.chain_id), U256::from(block.number), block.hash);
    keccak256(keccak256(values.abi_encode()))
}

fn pair(one: B256, other: B256) -> B256 {
    keccak256([one.min(other), one.max(other)].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(chain_id: u64) -> ReadBlock {
        ReadBlock { chain_id, number: 100 + chain_id, hash: keccak256(chain_id.to_be_bytes()) }
    }

    #[test]
    fn the_root_does_not_depend_on_the_order_and_sees_every_part_of_a_block() {
        assert_eq!(root(&[]), B256::ZERO);
        assert_eq!(root(&[block(1)]), leaf(&block(1)));
        let blocks: Vec<_> = (1..6).map(block).collect();
        let expected = root(&blocks);
        assert_eq!(root(&blocks.iter().rev().copied().collect::<Vec<_>>()), expected);
        for at in 0..blocks.len() {
            for change in [
                |block: &mut ReadBlock| block.chain_id ^= 1 << 40,
                |block: &mut ReadBlock| block.number ^= 1,
                |block: &mut ReadBlock| block.hash.0[31] ^= 1,
            ] {
                let mut changed = blocks.clone();
                change(&mut changed[at]);
                assert_ne!(root(&changed), expected);
            }
        }
        assert_ne!(root(&blocks[1..]), expected);
    }
}
