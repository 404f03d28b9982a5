//! One row of a list. Numbers are decimal texts by the documentation, and numbers with some; names and symbols are left
//! where they are, for anybody can write them.

use serde::Deserialize;
use serde_json::Value;

use super::List;
use assay_domain::{Address, B256, U256};

/// One transaction or transfer of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub list: List,
    pub block: u64,
    /// Unix seconds.
    pub time: u64,
    pub hash: B256,
    pub from: Address,
    /// `None` where a transaction creates a contract.
    pub to: Option<Address>,
    /// Of a transfer.
    pub contract: Option<Address>,
    pub value: U256,
    /// Of a non-fungible token.
    pub token: Option<U256>,
    /// Of a transfer's log, which some tell.
    pub index: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
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

impl Row {
    /// `None` where it is no row of such a list.
    pub(super) fn read(list: List, written: Value) -> Option<Self> {
        let written: Written = serde_json::from_value(written).ok()?;
        // An empty text stands for no address.
        let address = |text: &Option<String>| match text.as_deref() {
            None | Some("") => Some(None),
            Some(text) => text.parse::<Address>().ok().map(Some),
        };
        let (to, contract) = (address(&written.to)?, address(&written.contract_address)?);
        if list != List::Transactions && (contract.is_none() || to.is_none()) {
            return None;
        }
        let value = [&written.value, &written.token_value].into_iter().find_map(number::<U256>);
        Some(Self {
            list,
            block: number(&written.block_number)?,
            time: number(&written.time_stamp)?,
            hash: written.hash,
            from: written.from,
            to,
            contract: contract.filter(|_| list != List::Transactions),
            value: value.unwrap_or_default(),
            token: number(&written.token_id),
            index: number(&written.log_index),
        })
    }

    /// What makes it one row and no other. Two like transfers in one transaction are told apart only where the log is
    /// named.
    pub(super) fn identity(&self) -> impl Ord + use<> {
        match (self.list, self.index) {
            (List::Transactions, _) => (self.hash, None, None),
            // A log of many ERC-1155 tokens makes a row of each.
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

/// A number written as one, or as decimal text.
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
        json!({ "blockNumber": "7", "timeStamp": "1700000000", "hash": B256::repeat_byte(1), "from": Address::repeat_byte(2),
            "to": Address::repeat_byte(3), "value": "5", "contractAddress": "" })
    }

    #[test]
    fn numbers_are_read_as_texts_and_as_numbers() {
        let row = Row::read(List::Transactions, written()).unwrap();
        let mut as_numbers = written();
        (as_numbers["blockNumber"], as_numbers["timeStamp"], as_numbers["value"]) =
            (json!(7), json!(1_700_000_000), json!(5));
        assert_eq!(Row::read(List::Transactions, as_numbers), Some(row.clone()));
        assert_eq!((row.block, row.time, row.value, row.contract), (7, 1_700_000_000, U256::from(5), None));
        for bad in ["0x7", "-7", "", "7.5"] {
            let mut row = written();
            row["blockNumber"] = json!(bad);
            assert_eq!(Row::read(List::Transactions, row), None, "{bad}");
        }
        assert_eq!(Row::read(List::Transfers, written()), None, "a transfer is of a contract");
    }

    #[test]
    fn a_creation_has_nobody_it_goes_to() {
        let mut creation = written();
        (creation["to"], creation["contractAddress"]) = (json!(""), json!(Address::repeat_byte(9)));
        assert_eq!(Row::read(List::Transactions, creation).unwrap().to, None);
    }
}
