//! How far the market index of a chain is, and what is left of it.

use crate::config::{IndexMode, Reading};
use assay_chain::config::ChainConfig;
use assay_domain::Protocol;
use assay_evm::client::Block;
use assay_index::{Index, IndexError};

/// A sentence; `None` if there is nothing to index.
pub(super) fn words(chain: &ChainConfig, reading: &Reading, head: Block) -> Option<String> {
    let first = chain.markets.iter().map(|market| market.from_block).min()?;
    let settled = head.number.checked_sub(chain.finality)?;
    if reading.index == IndexMode::Off {
        return None;
    }
    let through = match through(chain, reading) {
        Ok(through) => through,
        Err(error) => return Some(format!("its market index cannot be read: {error}")),
    };
    let next = through.map_or(first, |through| through.saturating_add(1));
    let so_far = through.map_or("is empty".into(), |through| format!("goes through block {through}"));
    if next > settled {
        return Some(format!("its market index {so_far} and has all final blocks"));
    }
    let blocks = settled.saturating_sub(next).saturating_add(1);
    let queries = queries(chain, blocks, reading.log_range);
    let time = match u64::from(reading.index_per_second) {
        0 => String::new(),
        rate => format!(", {} minutes at reading.index_per_second", queries.div_ceil(rate).div_ceil(60)),
    };
    let range = reading.log_range;
    Some(format!("its market index {so_far}; {blocks} more take about {queries} log queries of {range} blocks{time}"))
}

/// The log queries for `blocks` of the markets of `chain`, at `range` blocks each.
pub(super) fn queries(chain: &ChainConfig, blocks: u64, range: u64) -> u64 {
    // Transfers between wallets and cTokens are two more queries.
    let with_ctokens = chain.markets.iter().any(|market| market.protocol == Protocol::LenderBV2);
    blocks.div_ceil(range.max(1)).saturating_mul(if with_ctokens { 3 } else { 1 })
}

/// The last block that the folder has of the chain.
fn through(chain: &ChainConfig, reading: &Reading) -> Result<Option<u64>, IndexError> {
    if !reading.index_path.is_dir() {
        return Ok(None);
    }
    let progress = Index::open(&reading.index_path)?.progress(chain.id)?;
    Ok(progress.and_then(|progress| progress.through()).map(|through| through.number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::B256;

    #[test]
    fn what_is_left_is_said_in_queries_and_minutes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("assay.toml");
        let market = "0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2";
        let toml = format!(
            "[store]\npath = {:?}\n[[chains]]\nid = 99\nname = \"Own\"\nrpc = [\"http://b.example\"]\nfinality = 10\n\
             native = {{ symbol = \"ETH\" }}\n[[chains.markets]]\nprotocol = \"lenderA_v3\"\naddress = \
             \"{market}\"\nfrom_block = 101\n",
            folder.path().join("assay.redb")
        );
        std::fs::write(&file, toml).unwrap();
        let config = crate::config::load(Some(&file)).unwrap();
        let said = |reading: &Reading, number: u64| {
            words(&config.chains[0], reading, Block { number, hash: B256::ZERO, time: 0 })
        };
        assert_eq!(
            said(&config.reading, 30_000_110).unwrap(),
            "its market index is empty; 30000000 more take about 3000 log queries of 10000 blocks, 10 minutes at \
             reading.index_per_second"
        );
        assert_eq!(said(&config.reading, 5), None);
        assert!(said(&config.reading, 110).unwrap().contains("has all final blocks"));
        let off = Reading { index: IndexMode::Off, ..config.reading.clone() };
        assert_eq!(said(&off, 30_000_110), None);
    }
}
