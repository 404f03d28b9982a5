//! The transactions in which two answers to the same log queries differ.

use std::collections::{BTreeMap, HashMap};

use alloy::rpc::types::Log;

use crate::fault::Fault;
use assay_domain::B256;

/// The transactions of logs that only one of two answers has, or that differ between them, each with its block.
///
/// # Errors
/// [`Fault`] if such a log names no transaction or no block.
pub fn differing(both: &[Vec<Log>; 2]) -> Result<BTreeMap<B256, u64>, Fault> {
    let [one, other] = both.each_ref().map(|logs| {
        let keyed = logs.iter().map(|log| ((log.block_hash, log.log_index), log));
        keyed.collect::<HashMap<_, _>>()
    });
    let is_same = |log: &Log, others: &HashMap<_, &Log>| {
        let other = others.get(&(log.block_hash, log.log_index));
        other.is_some_and(|other| other.inner == log.inner && other.transaction_hash == log.transaction_hash)
    };
    let mut found = BTreeMap::new();
    for (logs, others) in [(&one, &other), (&other, &one)] {
        for log in logs.values().filter(|log| !is_same(log, others)) {
            let place = log.transaction_hash.zip(log.block_number);
            let (hash, block) = place.ok_or_else(|| Fault::Malformed("a log without its transaction".into()))?;
            found.insert(hash, block);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use alloy::primitives::LogData;

    use super::*;
    use assay_domain::Address;

    fn log(transaction: u8, index: u64, word: u8) -> Log {
        let data = LogData::new_unchecked(vec![B256::repeat_byte(word)], Default::default());
        Log {
            inner: alloy::primitives::Log { address: Address::ZERO, data },
            block_hash: Some(B256::ZERO),
            block_number: Some(7),
            transaction_hash: Some(B256::repeat_byte(transaction)),
            log_index: Some(index),
            ..Log::default()
        }
    }

    #[test]
    fn transactions_differ_that_one_answer_lacks_or_has_otherwise() {
        let one = vec![log(1, 0, 5), log(2, 1, 5), log(3, 2, 5), log(3, 2, 5)];
        let other = vec![log(3, 2, 5), log(1, 0, 6), log(4, 3, 5)];
        let found: Vec<_> = differing(&[one.clone(), other]).unwrap().into_keys().collect();
        assert_eq!(found, [1, 2, 4].map(B256::repeat_byte));
        assert!(differing(&[one.clone(), one]).unwrap().is_empty());
        let nowhere = Log { transaction_hash: None, ..log(1, 0, 5) };
        assert!(differing(&[vec![nowhere], Vec::new()]).is_err());
    }
}
