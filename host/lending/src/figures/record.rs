//! The stored record of one address in one lending market.

use crate::asset::Asset;
use alloy::primitives::I256;
use assay_domain::{Address, B256, ChainId, EventCounts, EventKind, Time, U256};
use assay_store::{Family, Key};
use serde::{Deserialize, Serialize};

/// The key of the record of one address in one lending market.
pub fn lending(chain: ChainId, market: Address, address: Address) -> Key<LendingProgress> {
    Family::spread("lending/").key(format_args!("{chain}/{market:#x}/{address:#x}"))
}

/// The settled history of one address in one lending market, through `synced_to_block`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LendingProgress {
    pub counts: EventCounts,
    pub first_event_at: Option<Time>,
    pub last_event_at: Option<Time>,
    pub last_liquidation_at: Option<Time>,
    pub synced_to_block: u64,
    /// Hash of that block. A different hash there means that the chain was reorganised or replaced.
    pub synced_block_hash: B256,
    /// A digest of how the market was read. Absent in records older than this field; the history of a record without
    /// the current digest is read once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_as: Option<B256>,
    /// The sums of the amounts. Absent if they were not summed, and in records older than this field, whose `flows` had
    /// no scaled amounts; the history of such a record is read once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sums: Option<Vec<FlowRecord>>,
    /// Single events. Absent in records older than this field; the history of such a record is read once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<PastRecord>,
    /// The position in old state. Absent if the history is not compared with old state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<StatePosition>,
    /// Absent if old state explains the history, or was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unexplained: Option<Unexplained>,
    /// The block through which a second source was asked which parts of the position the wallet used. Absent if none
    /// was, and in records older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_to_block: Option<u64>,
    /// Whether all accounts of the wallet were read, in a protocol that gives it several.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_accounts: bool,
}

/// The newest events, and the amounts of all events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastRecord {
    /// In chain order.
    pub events: Vec<EventRecord>,
    pub amounts: Vec<AmountRecord>,
    /// UTC days with a liquidation, in days since 1970.
    pub days: Vec<u64>,
    /// The number of events without a time, and how many of them are liquidations.
    pub timeless: u64,
    pub timeless_liquidations: u64,
}

/// One event, with the asset and amount that it moved, if known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRecord {
    pub time: u64,
    pub kind: EventKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<(Side, Asset, U256)>,
}

/// The amounts of the events of one kind in one asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AmountRecord {
    pub kind: EventKind,
    pub side: Side,
    pub asset: Asset,
    pub amount: U256,
    pub events: u64,
}

/// A wallet's position in the state of a market after a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StatePosition {
    pub block: u64,
    /// The position without interest: a supply if positive, a debt if negative.
    pub principal: I256,
    /// A number that grows with each change of the position while the market pays rewards, and otherwise stays the
    /// same. Anybody can make it grow without a change.
    pub touched: u64,
}

/// What old state cannot explain about a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unexplained {
    /// The endpoint does not return old state.
    NoOldState,
    /// Old state shows changes that come with logs, and these logs were not read.
    LogsMissing,
    /// There are too many changes to compare.
    TooMany,
    /// The endpoint answers no log query over all contracts, and the market needs one.
    Unscoped,
    /// A change without a log was found, and the logs of its block cannot be checked.
    Unproven,
    /// Two changes of a debt that cancel each other would have left no trace. This is unlikely, and only reported.
    Untraced,
    /// Several changes of a debt in one block would look like one, or like none. This is unlikely, and only reported.
    Merged,
}

const UNTRACED: &str = "a debt that a transfer took over and another gave back would leave no trace in this market, \
                        and would not be counted";

const MERGED: &str = "a debt changed in a block without a log, at the request of another contract; several such \
                      changes in one block count as one, or as none if they cancel";

impl Unexplained {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoOldState => {
                "a change without a log is possible, and the endpoint keeps no old state that shows it; configure an \
                 archive endpoint"
            }
            Self::LogsMissing => "the endpoint leaves out logs; another endpoint may have them",
            Self::Unscoped => {
                "the endpoint answers no log query over all contracts, which shows the proxies that the wallet was \
                 given; configure another endpoint"
            }
            Self::TooMany => "changes without a log are possible, and there are too many changes to find them",
            Self::Unproven => {
                "a change without a log was found, and the endpoint cannot prove the logs of its block; configure an \
                 endpoint with eth_getBlockReceipts"
            }
            Self::Untraced => UNTRACED,
            Self::Merged => MERGED,
        }
    }

    /// Whether it means that a history is not complete.
    pub fn lowers(self) -> bool {
        !matches!(self, Self::Untraced | Self::Merged)
    }

    /// Whether this remark means that a history is not complete.
    pub fn is_lack(remark: &str) -> bool {
        remark != UNTRACED && remark != MERGED
    }
}

/// The part of a position that an amount belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Supplied, with interest.
    Supply,
    /// Borrowed.
    Debt,
    /// Supplied if positive, borrowed if negative.
    Base,
    /// Supplied, without interest.
    Collateral,
}

/// The sum of the moves of one asset, in its smallest unit. Numbers are signed decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRecord {
    pub side: Side,
    pub asset: Asset,
    pub net: I256,
    /// The highest and the lowest intermediate sum; `high` is never below zero, `low` never above.
    pub high: I256,
    pub low: I256,
    pub moves: u64,
    /// Whether some of it was debt at a fixed rate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed_rate: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_that_says_nothing_of_amounts_is_read() {
        let text = format!(
            concat!(
                r#"{{"counts":{},"first_event_at":null,"last_event_at":null,"last_liquidation_at":null,"#,
                r#""synced_to_block":9,"synced_block_hash":"{}"}}"#
            ),
            serde_json::to_string(&EventCounts::ZERO).unwrap(),
            B256::repeat_byte(3)
        );
        let old: LendingProgress = serde_json::from_str(&text).unwrap();
        assert_eq!((old.synced_to_block, &old.sums), (9, &None));
        assert_eq!(serde_json::to_string(&old).unwrap(), text);
    }
}
