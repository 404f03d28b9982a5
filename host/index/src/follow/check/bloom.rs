//! The blooms in block headers. A bloom with a contract and a signature means that the block may have such a log; one
//! without them proves that it has none.

use std::collections::{HashMap, HashSet};

use alloy::{
    primitives::{Bloom, BloomInput},
    rpc::types::Log,
};
use serde::Deserialize;

use crate::follow::indexer::Indexer;
use assay_domain::{Address, B256};
use assay_evm::{Fault, Span, client::ask_block};
use assay_lending::{Mark, Scan};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BloomHeader {
    hash: B256,
    logs_bloom: Option<Bloom>,
}

impl Indexer {
    /// Whether `logs` may lack some of `span`, by the blooms of its blocks; `None` if the headers have no blooms.
    pub(super) async fn lacks(&self, scan: &Scan, span: Span, logs: &[Log]) -> Result<Option<bool>, Fault> {
        let blocks: Vec<u64> = (span.from..=span.to).collect();
        let marks = scan.marks();
        let (mut lacks, mut blooms) = (false, false);
        for part in blocks.chunks(100) {
            self.budget.spend(1).await;
            let answers = self.client.batch(part.iter().map(|number| ask_block(*number)).collect()).await?;
            for (number, answer) in part.iter().zip(answers) {
                let header: Option<BloomHeader> =
                    serde_json::from_value(answer?).map_err(|error| Fault::unreadable(&error))?;
                let header = header.ok_or_else(|| Fault::Malformed(format!("no block {number}")))?;
                let of_block = |log: &&Log| log.block_number == Some(*number);
                let logs: Vec<&Log> = logs.iter().filter(of_block).collect();
                if logs.iter().any(|log| log.block_hash != Some(header.hash)) {
                    return Err(Fault::Malformed(format!("logs of another block {number}")));
                }
                let bloom = header.logs_bloom.filter(|bloom| !bloom.is_zero() || logs.is_empty());
                blooms |= bloom.is_some();
                lacks |= bloom.is_some_and(|bloom| may_lack(&bloom, marks, &logs));
            }
        }
        Ok(blooms.then_some(lacks))
    }
}

/// Whether the block of `bloom` may have a log of one of `marks` of which there is none in `logs`.
fn may_lack(bloom: &Bloom, marks: &HashSet<Mark>, logs: &[&Log]) -> bool {
    let has = |bytes: &[u8]| bloom.contains_input(BloomInput::Raw(bytes));
    // A contract has many marks, and a factory thousands of contracts: each is hashed once.
    let mut emits = HashMap::<Address, bool>::new();
    let mut may_have = |mark: &&Mark| {
        *emits.entry(mark.contract).or_insert_with(|| has(mark.contract.as_slice()))
            && has(mark.topic0.as_slice())
            && mark.peer.is_none_or(|peer| has(peer.as_slice()))
    };
    marks.iter().filter(|mark| may_have(mark)).any(|mark| !logs.iter().any(|log| mark.is_of(log)))
}

#[cfg(test)]
mod tests {
    use alloy::primitives::{Address, LogData};

    use super::*;

    fn log(contract: u8, topics: &[u8]) -> Log {
        let topics = topics.iter().map(|byte| B256::repeat_byte(*byte)).collect();
        let data = LogData::new_unchecked(topics, Default::default());
        Log { inner: alloy::primitives::Log { address: Address::repeat_byte(contract), data }, ..Log::default() }
    }

    fn mark(contract: u8, topic0: u8, peer: Option<u8>) -> Mark {
        let (contract, topic0) = (Address::repeat_byte(contract), B256::repeat_byte(topic0));
        Mark { contract, topic0, peer: peer.map(B256::repeat_byte) }
    }

    #[test]
    fn a_bloom_tells_of_logs_that_an_answer_lacks() {
        let logs = [log(1, &[10, 7]), log(2, &[11, 8, 9])];
        let bloom: Bloom = logs.iter().map(|log| &log.inner).collect();
        let marks = HashSet::from([mark(1, 10, None), mark(2, 11, Some(9)), mark(3, 10, None), mark(2, 11, Some(5))]);
        let all: Vec<&Log> = logs.iter().collect();
        assert!(!may_lack(&bloom, &marks, &all));
        assert!(may_lack(&bloom, &marks, &all[..1]) && may_lack(&bloom, &marks, &all[1..]));
        assert!(!may_lack(&Bloom::ZERO, &marks, &[]));
    }
}
