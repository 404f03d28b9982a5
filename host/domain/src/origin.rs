//! The origin of a snapshot: the block of each chain, and the parts that came from elsewhere.

use serde::{Deserialize, Serialize};

use crate::{B256, ChainId};

/// The block at which a chain was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadBlock {
    pub chain_id: ChainId,
    pub number: u64,
    pub hash: B256,
}

/// The origin of one chain's snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChainOrigin {
    /// The block at which the chain was read; `None` if it was not.
    pub block: Option<ReadBlock>,
    /// The block of its prices, which several reads within a minute share.
    pub priced_at: Option<ReadBlock>,
    /// The parts that came from another source than the chain.
    pub outside: Vec<(SourcedPart, Origin)>,
}

/// The origin of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origins {
    /// Each block once, by chain and number.
    pub blocks: Vec<ReadBlock>,
    pub sources: Vec<Source>,
}

/// The origin of a part of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub chain_id: ChainId,
    pub part: SourcedPart,
    pub from: Origin,
    /// The block number at which the chain was read; absent for other sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
}

impl Origins {
    /// The origins of chains.
    pub fn of<'a>(chains: impl IntoIterator<Item = &'a ChainOrigin>) -> Self {
        let mut found = Self::default();
        for ChainOrigin { block, priced_at, outside } in chains {
            let Some(read) = block else { continue };
            let priced = priced_at.unwrap_or(*read);
            found.blocks.extend([*read, priced]);
            for part in SourcedPart::ALL {
                let block = if part == SourcedPart::Prices { priced } else { *read };
                let source = |from, block| Source { chain_id: read.chain_id, part, from, block };
                found.sources.push(source(Origin::Chain, Some(block.number)));
                let others = outside.iter().filter(|(of, _)| *of == part);
                found.sources.extend(others.map(|(_, from)| source(*from, None)));
            }
        }
        found.blocks.sort_unstable_by_key(|block| (block.chain_id, block.number, block.hash));
        found.blocks.dedup();
        found
    }
}

/// A part of the features, by its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourcedPart {
    /// The transactions of the wallet, their dates and counterparties.
    Activity,
    /// The tokens that the wallet holds, in addition to the configured ones, with their amounts.
    Holdings,
    /// Prices in dollars.
    Prices,
    /// The histories and positions in lending markets.
    Markets,
    /// Attestations about the owner.
    Identity,
}

/// The source of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Contract calls and logs at the block of the chain, which anyone can repeat.
    Chain,
    /// A block explorer, whose list may change later.
    Explorer,
    /// An external price API, whose prices may change later.
    PriceApi,
}

impl SourcedPart {
    pub const ALL: [Self; 5] = [Self::Activity, Self::Holdings, Self::Prices, Self::Markets, Self::Identity];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Activity => "activity",
            Self::Holdings => "holdings",
            Self::Prices => "prices",
            Self::Markets => "markets",
            Self::Identity => "identity",
        }
    }
}

impl Origin {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Explorer => "explorer",
            Self::PriceApi => "price_api",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_names_its_source_and_each_block_is_there_once() {
        let block = |number| ReadBlock { chain_id: 1, number, hash: B256::repeat_byte(number as u8) };
        let read = |priced| ChainOrigin {
            block: Some(block(9)),
            priced_at: Some(block(priced)),
            outside: vec![(SourcedPart::Activity, Origin::Explorer)],
        };
        let origins = Origins::of([&read(9), &ChainOrigin::default()]);
        assert_eq!(origins.blocks, [block(9)]);
        let activity: Vec<_> = origins.sources.iter().filter(|source| source.part == SourcedPart::Activity).collect();
        assert_eq!(
            activity.iter().map(|source| (source.from, source.block)).collect::<Vec<_>>(),
            [(Origin::Chain, Some(9)), (Origin::Explorer, None)]
        );
        let origins = Origins::of([&read(7)]);
        assert_eq!(origins.blocks, [block(7), block(9)]);
        let prices = origins.sources.iter().find(|source| source.part == SourcedPart::Prices);
        assert_eq!(prices.unwrap().block, Some(7));
    }
}
