//! One row of a list. Numbers are decimal strings by the documentation, and JSON numbers with some explorers. Names and
//! symbols are not read: they are not trusted.

use serde::Deserialize;
use serde_json::Value;

use super::ExplorerList;
use assay_domain::{Address, B256, U256};

/// One transaction or transfer of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExplorerRow {
    pub list: ExplorerList,
    pub block: u64,
    /// Unix seconds.
    pub time: u64,
    pub hash: B256,
    pub from: Address,
    /// `None` if a transaction creates a contract.
    pub to: Option<Address>,
    /// The token contract of a transfer.
    pub contract: Option<Address>,
    pub value: U256,
    /// The id of a non-fungible token.
    pub token: Option<U256>,
    /// The index of a transfer's log, which some explorers give.
    pub index: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawRow {
    block_number: Value,
    time_stamp: Value,
    hash: B256,
    from: Address,
    #[serde(default)]
    to: Option<String>,
    #[serde(default)]
    contract_address: Option<String>,
    #[serde(default)]
    value: Value,
    #[serde(default)]
    token_value: Value,
    #[serde(default, rename = "tokenID")]
    token_id: Value,
    #[serde(default)]
    log_index: Value,
}

impl ExplorerRow {
    /// `None` if `row` is no row of this list.
    pub(super) fn read(list: ExplorerList, row: Value) -> Option<Self> {
        let row: RawRow = serde_json::from_value(row).ok()?;
        // An empty string means no address.
        let address = |text: &Option<String>| match text.as_deref() {
            None | Some("") => Some(None),
            Some(text) => text.parse::<Address>().ok().map(Some),
        };
        let (to, contract) = (address(&row.to)?, address(&row.contract_address)?);
        if list != ExplorerList::Transactions && (contract.is_none() || to.is_none()) {
            return None;
        }
        let value = [&row.value, &row.token_value].into_iter().find_map(number::<U256>);
        Some(Self {
            list,
            block: number(&row.block_number)?,
            time: number(&row.time_stamp)?,
            hash: row.hash,
            from: row.from,
            to,
            contract: contract.filter(|_| list != ExplorerList::Transactions),
            value: value.unwrap_or_default(),
            token: number(&row.token_id),
            index: number(&row.log_index),
        })
    }

    /// What identifies a row. Two equal transfers in one transaction differ only if the log index is known.
    pub(super) fn identity(&self) -> impl Ord + use<> {
        match (self.list, self.index) {
            (ExplorerList::Transactions, _) => (self.hash, None, None),
            // A log of several ERC-1155 tokens has one row for each.
            (_, Some(index)) => (
                self.hash,
                Some(index),
                self.token.map(|token| (Address::ZERO, Address::ZERO, Address::ZERO, token, U256::ZERO)),
            ),
            (_, None) => {
                let (contract, to) = (self.contract.unwrap_or_default(), self.to.unwrap_or_default());
                (self.hash, None, Some((contract, self.from, to, self.token.unwrap_or_default(), self.value)))
            }
        }
    }
}

/// A JSON number, or a decimal string.
fn number<T: std::str::FromStr>(value: &Value) -> Option<T> {
    match value {
        Value::String(text) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written() -> Value {
        json!({ "blockNumber": "7", "timeStamp": "1700000000", "hash": B256::repeat_byte(1),
            "from": Address::repeat_byte(2),
            "to": Address::repeat_byte(3), "value": "5", "contractAddress": "" })
    }

    #[test]
    fn numbers_are_read_as_texts_and_as_numbers() {
        let row = ExplorerRow::read(ExplorerList::Transactions, written()).unwrap();
        let mut as_numbers = written();
        (as_numbers["blockNumber"], as_numbers["timeStamp"], as_numbers["value"]) =
            (json!(7), json!(1_700_000_000), json!(5));
        assert_eq!(ExplorerRow::read(ExplorerList::Transactions, as_numbers), Some(row.clone()));
        assert_eq!((row.block, row.time, row.value, row.contract), (7, 1_700_000_000, U256::from(5), None));
        for bad in ["0x7", "-7", "", "7.5"] {
            let mut row = written();
            row["blockNumber"] = json!(bad);
            assert_eq!(ExplorerRow::read(ExplorerList::Transactions, row), None, "{bad}");
        }
        assert_eq!(ExplorerRow::read(ExplorerList::Transfers, written()), None, "a transfer is of a contract");
    }

    #[test]
    fn a_creation_has_nobody_it_goes_to() {
        let mut creation = written();
        (creation["to"], creation["contractAddress"]) = (json!(""), json!(Address::repeat_byte(9)));
        assert_eq!(ExplorerRow::read(ExplorerList::Transactions, creation).unwrap().to, None);
    }
}
