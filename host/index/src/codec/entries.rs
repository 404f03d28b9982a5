//! The entries of a wallet in one market and one segment, in block order. A typical event takes 5 bytes and an amount 4
//! to 14.
//!
//! An entry begins with a tag. The two lowest bits give the kind of entry. The third bit marks a new block; the
//! difference from the last block then follows. The other bits depend on the kind:
//!
//! | entry | bits 3 to 7 | then |
//! |---|---|---|
//! | event | kind (3), form of the time (2) | the time |
//! | move | side (2), at a fixed rate, negative, same asset | asset, amount |
//! | incomplete | bit 6: negative | amount |

use alloy::primitives::I256;
use assay_lending::{Asset, Entry, EventKind, Move, Side, What};

use super::{
    assets::AssetTable,
    bytes::{Bytes, put_magnitude, put_number},
};

const EVENT: u8 = 0;
const MOVED: u8 = 1;
const INCOMPLETE: u8 = 2;
const NEW_BLOCK: u8 = 1 << 2;
const FIXED_RATE: u8 = 1 << 5;
const NEGATIVE: u8 = 1 << 6;
const SAME_ASSET: u8 = 1 << 7;

/// Forms of a time: the same, a difference, four bytes, eight bytes.
const TIME: [u8; 4] = [0, 1 << 6, 2 << 6, 3 << 6];
/// A larger difference takes as many bytes as the time itself.
const LATER: u64 = 1 << 21;

const KINDS: [EventKind; 5] =
    [EventKind::Supply, EventKind::Withdraw, EventKind::Borrow, EventKind::Repay, EventKind::Liquidation];
const SIDES: [Side; 4] = [Side::Supply, Side::Debt, Side::Base, Side::Collateral];

/// The values of the previous entries, which the next one does not repeat.
struct Context {
    block: u64,
    time: Option<u64>,
    asset: Option<Asset>,
}

/// Encodes `entries`, which are in block order. The first block is in the key and is not encoded.
pub(crate) fn encode(entries: &[Entry], assets: &mut AssetTable) -> Vec<u8> {
    let mut to = Vec::with_capacity(entries.len() * 12);
    let mut known = Context { block: entries.first().map_or(0, |entry| entry.block), time: None, asset: None };
    for entry in entries {
        let later = entry.block.saturating_sub(known.block);
        let start = to.len();
        to.push(0);
        if later > 0 {
            put_number(&mut to, later);
            known.block = entry.block;
        }
        let tag = match entry.what {
            What::Event { kind, time } => put_event(&mut to, &mut known, kind, time),
            What::Moved(moved) => put_move(&mut to, &mut known, assets, &moved),
            What::Incomplete { owned } => INCOMPLETE | put_amount(&mut to, owned),
        };
        if let Some(at) = to.get_mut(start) {
            *at = tag | if later > 0 { NEW_BLOCK } else { 0 };
        }
    }
    to
}

fn put_event(to: &mut Vec<u8>, known: &mut Context, kind: EventKind, time: u64) -> u8 {
    let [same, later, short, long] = TIME;
    let form = match (known.time.and_then(|before| time.checked_sub(before)), u32::try_from(time)) {
        (Some(0), _) => same,
        (Some(by), _) if by < LATER => {
            put_number(to, by);
            later
        }
        (_, Ok(time)) => {
            to.extend(time.to_be_bytes());
            short
        }
        _ => {
            to.extend(time.to_be_bytes());
            long
        }
    };
    known.time = Some(time);
    let kind = match kind {
        EventKind::Supply => 0,
        EventKind::Withdraw => 1,
        EventKind::Borrow => 2,
        EventKind::Repay => 3,
        EventKind::Liquidation => 4,
    };
    EVENT | kind << 3 | form
}

fn put_move(to: &mut Vec<u8>, known: &mut Context, assets: &mut AssetTable, moved: &Move) -> u8 {
    let same = known.asset == Some(moved.asset);
    if !same {
        put_number(to, assets.number(moved.asset));
        known.asset = Some(moved.asset);
    }
    let side = match moved.side {
        Side::Supply => 0,
        Side::Debt => 1,
        Side::Base => 2,
        Side::Collateral => 3,
    };
    let fixed = if moved.fixed_rate { FIXED_RATE } else { 0 };
    MOVED | side << 3 | fixed | put_amount(to, moved.amount) | if same { SAME_ASSET } else { 0 }
}

/// Returns the bit of the sign.
fn put_amount(to: &mut Vec<u8>, amount: I256) -> u8 {
    put_magnitude(to, amount.unsigned_abs());
    if amount.is_negative() { NEGATIVE } else { 0 }
}

/// Decodes the entries in `bytes`, the first of which is in block `first`. Returns `None` if the bytes are damaged.
pub(crate) fn decode(bytes: &[u8], first: u64, assets: &AssetTable) -> Option<Vec<Entry>> {
    let mut from = Bytes(bytes);
    let mut known = Context { block: first, time: None, asset: None };
    let mut entries = Vec::with_capacity(bytes.len() / 8);
    while let Some(tag) = from.byte() {
        if tag & NEW_BLOCK != 0 {
            known.block = known.block.checked_add(from.number()?)?;
        }
        let what = match tag & 3 {
            EVENT => {
                let kind = *KINDS.get(usize::from(tag >> 3 & 7))?;
                let time = time(&mut from, tag & TIME[3], known.time)?;
                known.time = Some(time);
                What::Event { kind, time }
            }
            MOVED => {
                let same = tag & SAME_ASSET != 0;
                let asset = if same { known.asset? } else { assets.asset(from.number()?)? };
                known.asset = Some(asset);
                let side = *SIDES.get(usize::from(tag >> 3 & 3))?;
                let amount = from.signed(tag & NEGATIVE != 0)?;
                What::Moved(Move { side, asset, amount, fixed_rate: tag & FIXED_RATE != 0 })
            }
            INCOMPLETE => What::Incomplete { owned: from.signed(tag & NEGATIVE != 0)? },
            _ => return None,
        };
        entries.push(Entry { block: known.block, what });
    }
    Some(entries)
}

fn time(from: &mut Bytes<'_>, form: u8, before: Option<u64>) -> Option<u64> {
    let [same, later, short, _] = TIME;
    match form {
        form if form == same => before,
        form if form == later => before?.checked_add(from.number()?),
        form if form == short => from.take().map(u32::from_be_bytes).map(u64::from),
        _ => from.take().map(u64::from_be_bytes),
    }
}
