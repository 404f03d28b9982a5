//! The logs of token transfers from and to an address, as rows like those of an explorer.
//!
//! Three queries find them, one for each topic that can name the address: ERC-20 and ERC-721 have the sender and the
//! receiver in the first two topics after the signature, ERC-1155 in the last two. A transfer with a fourth topic is of
//! the token with that id (ERC-721), one without is of an amount (ERC-20). Contracts older than the standards, which
//! index no addresses, are not found.

use alloy::{
    rpc::types::Log,
    sol,
    sol_types::{SolEvent, SolValue},
};

use crate::explorer::{ExplorerList, ExplorerRow};
use assay_domain::{Address, U256};
use assay_evm::logs::LogQuery;

sol! {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value);
    event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids,
        uint256[] values);
}

/// The queries for `wallet`.
pub(super) fn queries(wallet: Address) -> [LogQuery; 3] {
    let (one, single, batch) =
        (Transfer::SIGNATURE_HASH, TransferSingle::SIGNATURE_HASH, TransferBatch::SIGNATURE_HASH);
    let named = || vec![wallet.into_word()];
    let query = |topics| LogQuery { addresses: Vec::new(), topics };
    [
        query([vec![one], named(), vec![], vec![]]),
        query([vec![one, single, batch], vec![], named(), vec![]]),
        query([vec![single, batch], vec![], vec![], named()]),
    ]
}

/// The rows of `log`, one for each token; none for a log that only looks like a transfer.
pub(crate) fn rows(log: &Log) -> Vec<ExplorerRow> {
    let Some(block) = log.block_number else { return Vec::new() };
    let data = log.inner.data.data.as_ref();
    let row = |list, from, to, token, value| ExplorerRow {
        list,
        block,
        time: log.block_timestamp.unwrap_or(0),
        hash: log.transaction_hash.unwrap_or_default(),
        from: Address::from_word(from),
        to: Some(Address::from_word(to)),
        contract: Some(log.address()),
        value,
        token,
        index: log.log_index,
    };
    match *log.topics() {
        [Transfer::SIGNATURE_HASH, from, to] => {
            vec![row(ExplorerList::Transfers, from, to, None, U256::abi_decode(data).unwrap_or_default())]
        }
        [Transfer::SIGNATURE_HASH, from, to, id] => {
            vec![row(ExplorerList::Collectibles, from, to, Some(id.into()), U256::ONE)]
        }
        [TransferSingle::SIGNATURE_HASH, _, from, to] => {
            let moved = <(U256, U256)>::abi_decode_params(data).ok();
            moved.map(|(id, value)| row(ExplorerList::Multi, from, to, Some(id), value)).into_iter().collect()
        }
        [TransferBatch::SIGNATURE_HASH, _, from, to] => {
            let (ids, values) = <(Vec<U256>, Vec<U256>)>::abi_decode_params(data).unwrap_or_default();
            ids.into_iter().zip(values).map(|(id, value)| row(ExplorerList::Multi, from, to, Some(id), value)).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use alloy::primitives::{Log as Inner, LogData};

    use super::*;
    use assay_domain::B256;

    const FROM: Address = Address::repeat_byte(1);
    const TO: Address = Address::repeat_byte(2);

    fn read(data: LogData) -> Vec<(ExplorerList, Option<U256>, U256)> {
        let log =
            Log { inner: Inner { address: Address::repeat_byte(9), data }, block_number: Some(7), ..Log::default() };
        let rows = rows(&log);
        assert!(
            rows.iter().all(|row| (row.from, row.to, row.contract) == (FROM, Some(TO), Some(Address::repeat_byte(9))))
        );
        rows.into_iter().map(|row| (row.list, row.token, row.value)).collect()
    }

    #[test]
    fn a_fourth_topic_makes_an_amount_a_token() {
        let (three, one) = (U256::from(3), U256::ONE);
        let amount = Transfer { from: FROM, to: TO, value: three }.encode_log_data();
        assert_eq!(read(amount.clone()), [(ExplorerList::Transfers, None, three)]);
        let topics = [amount.topics(), &[B256::from(three)]].concat();
        assert_eq!(read(LogData::new_unchecked(topics, [].into())), [(ExplorerList::Collectibles, Some(three), one)]);
    }

    #[test]
    fn a_log_of_many_tokens_makes_a_row_of_each_and_nonsense_none() {
        let [a, b] = [5, 6].map(U256::from);
        let single = TransferSingle { operator: TO, from: FROM, to: TO, id: a, value: b }.encode_log_data();
        assert_eq!(read(single), [(ExplorerList::Multi, Some(a), b)]);
        let batch =
            TransferBatch { operator: TO, from: FROM, to: TO, ids: vec![a, b], values: vec![b, a] }.encode_log_data();
        assert_eq!(read(batch.clone()), [(ExplorerList::Multi, Some(a), b), (ExplorerList::Multi, Some(b), a)]);
        assert_eq!(read(LogData::new_unchecked(batch.topics().to_vec(), vec![1, 2, 3].into())), []);
        assert_eq!(read(LogData::new_unchecked(vec![Transfer::SIGNATURE_HASH], [].into())), []);
    }
}
