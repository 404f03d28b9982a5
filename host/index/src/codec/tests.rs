use alloy::primitives::I256;
use assay_domain::{Address, B256};
use assay_lending::{Asset, Entry, EventKind, Move, Side, What};
use proptest::prelude::*;

use super::*;

#[test]
fn a_usual_event_with_its_amount_takes_few_bytes() {
    let (time, asset) = (1_700_000_000, Address::repeat_byte(7).into());
    let amount = I256::try_from(1_234_567_890_123_456_789_i64).unwrap();
    let entries = [
        Entry { block: 18_000_000, what: What::Event { kind: EventKind::Borrow, time } },
        Entry { block: 18_000_000, what: What::Moved(Move { side: Side::Debt, asset, amount, fixed_rate: false }) },
    ];
    assert_eq!(encode(&entries, &mut AssetTable::default()).len(), 5 + 11);
}

#[test]
fn damaged_bytes_are_no_entries() {
    let mut assets = AssetTable::default();
    let moved = Move { side: Side::Base, asset: Address::ZERO.into(), amount: I256::MIN, fixed_rate: true };
    let bytes = encode(&[Entry { block: 5, what: What::Moved(moved) }], &mut assets);
    assert_eq!(decode(&bytes, 5, &assets).unwrap().len(), 1);
    assert_eq!(decode(&bytes, 5, &AssetTable::default()), None, "an asset without a number");
    assert_eq!(decode(&bytes[..bytes.len() - 1], 5, &assets), None, "cut off");
    assert_eq!(decode(&[3], 5, &assets), None, "an unknown tag");
    assert_eq!(decode(&[4, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2, 2, 0], 0, &assets), None, "a long number");
    assert_eq!(decode(&[2, 33], 0, &assets), None, "a long amount");
}

fn what_of(byte: u8) -> Asset {
    match byte % 3 {
        0 => Address::repeat_byte(byte).into(),
        1 => Asset::Market(B256::repeat_byte(byte)),
        _ => Asset::Shares(B256::repeat_byte(byte)),
    }
}

fn what() -> impl Strategy<Value = What> {
    let kinds = [EventKind::Supply, EventKind::Withdraw, EventKind::Borrow, EventKind::Repay, EventKind::Liquidation];
    let sides = [Side::Supply, Side::Debt, Side::Base, Side::Collateral];
    let time = prop_oneof![Just(0), 1_600_000_000..1_600_000_100_u64, any::<u64>(), Just(u64::MAX)];
    let amount = prop_oneof![
        any::<[u8; 32]>().prop_map(I256::from_be_bytes),
        any::<i64>().prop_map(|small| I256::try_from(small).unwrap()),
        Just(I256::MIN),
        Just(I256::MAX),
        Just(I256::ZERO)
    ];
    let moved = (proptest::sample::select(sides.to_vec()), 0..200_u8, amount.clone(), any::<bool>()).prop_map(
        |(side, asset, amount, fixed_rate)| What::Moved(Move { side, asset: what_of(asset), amount, fixed_rate }),
    );
    prop_oneof![
        (proptest::sample::select(kinds.to_vec()), time).prop_map(|(kind, time)| What::Event { kind, time }),
        moved,
        amount.prop_map(|owned| What::Incomplete { owned }),
    ]
}

proptest! {
    #[test]
    fn entries_come_back(
        first in 0..MOST_BLOCK,
        items in prop::collection::vec(
            (prop_oneof![Just(0_u64), 0..10_000_u64, any::<u32>().prop_map(u64::from)], what()),
            1..60,
        ),
    ) {
        let mut block = first;
        let entries: Vec<Entry> = items.into_iter().enumerate().map(|(place, (later, what))| {
            block += if place == 0 { 0 } else { later };
            Entry { block, what }
        }).collect();
        let mut assets = AssetTable::new(vec![Address::repeat_byte(3).into()]);
        let bytes = encode(&entries, &mut assets);
        prop_assert_eq!(decode(&bytes, first, &assets), Some(entries.clone()));
        prop_assert_eq!(decode(&bytes, first, &AssetTable::new(assets.list().to_vec())), Some(entries));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), first in any::<u64>()) {
        let assets = AssetTable::new((0..100).map(|byte| Address::repeat_byte(byte).into()).collect());
        let _ = decode(&bytes, first, &assets);
        let _ = EntryKey::read(&bytes);
    }

    #[test]
    fn keys_come_back_in_the_order_of_wallets_markets_and_blocks(
        a in (any::<[u8; 20]>(), any::<u16>(), 0..=MOST_BLOCK),
        b in (any::<[u8; 20]>(), any::<u16>(), 0..=MOST_BLOCK),
    ) {
        let key = |(wallet, market, block): ([u8; 20], u16, u64)| EntryKey { wallet: wallet.into(), market, block };
        let (a, b) = (key(a), key(b));
        prop_assert_eq!(EntryKey::read(&a.bytes()), Some(a));
        prop_assert_eq!(a.bytes().cmp(&b.bytes()), a.cmp(&b));
        prop_assert!(a.bytes() <= EntryKey::after(a.wallet));
    }
}
