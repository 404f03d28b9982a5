use alloy::primitives::{Address, LogData};

use super::*;

fn log(transaction: u8, index: u64, word: u8) -> Log {
    let data = LogData::new_unchecked(vec![B256::repeat_byte(word)], Default::default());
    Log {
        inner: alloy::primitives::Log { address: Address::ZERO, data },
        block_hash: Some(B256::ZERO),
        transaction_hash: Some(B256::repeat_byte(transaction)),
        log_index: Some(index),
        ..Log::default()
    }
}

#[test]
fn transactions_differ_that_one_answer_lacks_or_has_otherwise() {
    let one = vec![log(1, 0, 5), log(2, 1, 5), log(3, 2, 5), log(3, 2, 5)];
    let other = vec![log(3, 2, 5), log(1, 0, 6), log(4, 3, 5)];
    let found: Vec<_> = differing(&[one.clone(), other]).unwrap().into_iter().collect();
    assert_eq!(found, [1, 2, 4].map(B256::repeat_byte));
    assert!(differing(&[one.clone(), one]).unwrap().is_empty());
    let nowhere = Log { transaction_hash: None, ..log(1, 0, 5) };
    assert!(differing(&[vec![nowhere], Vec::new()]).is_err());
}
