//! The index on a real disk.

mod crash;
mod damage;
pub(crate) mod full;
mod model;
mod opening;
mod segments;
mod size;

use std::{collections::BTreeMap, path::Path, time::Duration};

use alloy::primitives::{Bytes, I256};
use assay_domain::{Address, B256, Protocol};
use assay_lending::{Entry, EventKind, Move, Side, What};

use crate::{Check, Checkpoint, Index, IndexError, IndexProgress, IndexedMarket, Segment, WalletEntries};

const CHAIN: u64 = 1;

fn markets() -> Vec<IndexedMarket> {
    let market =
        |byte: u8, from| IndexedMarket { protocol: Protocol::LenderAV3, address: Address::repeat_byte(byte), from };
    vec![market(1, 100), market(2, 150), market(3, 100)]
}

fn asked() -> Bytes {
    Bytes::from_static(b"markets, signatures, hints")
}

/// Opens the index in `folder`. Another test's child process inherits the lock until it executes its program.
fn unlocked(folder: &Path) -> Result<Index, IndexError> {
    loop {
        match Index::open(folder) {
            Err(IndexError::Locked { .. }) => std::thread::sleep(Duration::from_millis(5)),
            opened => return opened,
        }
    }
}

fn opened(folder: &Path) -> Index {
    unlocked(folder).unwrap()
}

fn begun(folder: &Path) -> Index {
    let index = opened(folder);
    index.begin(CHAIN, &markets(), &asked()).unwrap();
    index
}

fn wallet(number: u64) -> Address {
    // Spread over all addresses, like real wallets.
    Address::from_slice(&alloy::primitives::keccak256(number.to_be_bytes())[12..])
}

fn checkpoint(number: u64) -> Checkpoint {
    Checkpoint { number, hash: B256::from(alloy::primitives::U256::from(number)) }
}

/// A borrowing with its amount.
fn borrowed(block: u64, amount: i64) -> Vec<Entry> {
    let moved = Move {
        side: Side::Debt,
        asset: Address::repeat_byte(0xee).into(),
        amount: I256::try_from(amount).unwrap(),
        fixed_rate: false,
    };
    let time = 1_600_000_000 + block;
    vec![
        Entry { block, what: What::Event { kind: EventKind::Borrow, time } },
        Entry { block, what: What::Moved(moved) },
    ]
}

fn segment(from: u64, through: u64, wallets: Vec<WalletEntries>) -> Segment {
    Segment { from, through: checkpoint(through), wallets, check: Check::None }
}

fn progress(index: &Index) -> IndexProgress {
    index.progress(CHAIN).unwrap().unwrap()
}

/// All entries of the index, by market and wallet.
fn everything(index: &Index) -> BTreeMap<(usize, Address), Vec<Entry>> {
    let all = index.everything(CHAIN).unwrap().map(Result::unwrap);
    all.map(|item| ((item.market, item.wallet), item.entries)).collect()
}
