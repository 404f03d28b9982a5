//! One row of a table, and its text values.

use std::collections::HashMap;

use alloy::hex;
use assay_domain::Address;
use assay_lending::{Asset, Entry, EventKind, Side, What};
use parquet::data_type::ByteArray;

use crate::IndexedMarket;

/// An entry of a wallet in a market, given by its index in the chain's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryRow {
    pub wallet: Address,
    pub market: usize,
    pub entry: Entry,
}

/// The Parquet schema.
pub(super) const SCHEMA: &str = "message entry {
    required int64 chain_id (INTEGER(64,false));
    required binary protocol (STRING);
    required binary market (STRING);
    required binary wallet (STRING);
    required int64 block (INTEGER(64,false));
    required binary kind (STRING);
    optional int64 time (INTEGER(64,false));
    optional binary side (STRING);
    optional binary asset (STRING);
    optional binary amount (STRING);
    optional boolean fixed_rate;
}";

pub(super) const MOVED: &str = "moved";
pub(super) const INCOMPLETE: &str = "incomplete";

pub(super) fn kind(what: &What) -> &'static str {
    match what {
        What::Event { kind: EventKind::Supply, .. } => "supply",
        What::Event { kind: EventKind::Withdraw, .. } => "withdraw",
        What::Event { kind: EventKind::Borrow, .. } => "borrow",
        What::Event { kind: EventKind::Repay, .. } => "repay",
        What::Event { kind: EventKind::Liquidation, .. } => "liquidation",
        What::Moved(_) => MOVED,
        What::Incomplete { .. } => INCOMPLETE,
    }
}

pub(super) fn event(word: &str) -> Option<EventKind> {
    Some(match word {
        "supply" => EventKind::Supply,
        "withdraw" => EventKind::Withdraw,
        "borrow" => EventKind::Borrow,
        "repay" => EventKind::Repay,
        "liquidation" => EventKind::Liquidation,
        _ => return None,
    })
}

pub(super) fn side(side: Side) -> &'static str {
    match side {
        Side::Supply => "supply",
        Side::Debt => "debt",
        Side::Base => "base",
        Side::Collateral => "collateral",
    }
}

pub(super) fn side_of(word: &str) -> Option<Side> {
    [Side::Supply, Side::Debt, Side::Base, Side::Collateral].into_iter().find(|known| side(*known) == word)
}

/// Texts shared by many rows.
pub(super) struct Texts {
    markets: Vec<(ByteArray, ByteArray)>,
    assets: HashMap<Asset, ByteArray>,
    words: HashMap<&'static str, ByteArray>,
}

impl Texts {
    pub(super) fn new(markets: &[IndexedMarket]) -> Self {
        let market = |market: &IndexedMarket| (market.protocol.as_str().into(), address(market.address));
        Self { markets: markets.iter().map(market).collect(), assets: HashMap::new(), words: HashMap::new() }
    }

    /// Returns the protocol and the address of a market.
    pub(super) fn market(&self, index: usize) -> (ByteArray, ByteArray) {
        self.markets.get(index).cloned().unwrap_or_default()
    }

    /// Returns the text of an asset. There are few assets.
    pub(super) fn asset(&mut self, asset: Asset) -> ByteArray {
        self.assets.entry(asset).or_insert_with(|| asset.to_string().into_bytes().into()).clone()
    }

    pub(super) fn word(&mut self, word: &'static str) -> ByteArray {
        self.words.entry(word).or_insert_with(|| word.into()).clone()
    }
}

pub(super) fn address(address: Address) -> ByteArray {
    hex::encode_prefixed(address).into_bytes().into()
}
