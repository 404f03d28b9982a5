//! Reads return what was appended.

use proptest::prelude::*;

use super::*;

type Everything = BTreeMap<(usize, Address), Vec<Entry>>;

/// The entries of some segments, by market and wallet.
fn expected(segments: &[Segment]) -> Everything {
    let mut all = Everything::new();
    for WalletEntries { wallet, market, entries } in segments.iter().flat_map(|segment| &segment.wallets) {
        all.entry((*market, *wallet)).or_default().extend(entries.iter().copied());
    }
    for entries in all.values_mut() {
        entries.sort_by_key(|entry| entry.block);
    }
    all.retain(|_, entries| !entries.is_empty());
    all
}

fn assert_equal(index: &Index, segments: &[Segment]) {
    let all = expected(segments);
    assert_eq!(everything(index), all);
    let progress = progress(index);
    let count = |pick: fn(&Entry) -> bool| all.values().flatten().filter(|entry| pick(entry)).count() as u64;
    assert_eq!(progress.entries, count(|_| true));
    assert_eq!(progress.events, count(|entry| matches!(entry.what, What::Event { .. })));
    assert_eq!(progress.through(), segments.last().map(|segment| segment.through));
    for number in 0..6 {
        let history = index.history(CHAIN, wallet(number)).unwrap().unwrap();
        assert_eq!(history.progress, progress);
        for (market, entries) in history.entries.iter().enumerate() {
            assert_eq!(*entries, all.get(&(market, wallet(number))).cloned().unwrap_or_default());
        }
    }
}

/// A wallet, a market, and borrowings with their distance from the segment's start.
type Item = (u64, usize, Vec<(u64, i64)>);

/// Segments of up to 10 blocks. Few wallets, so several entries belong to the same one.
fn segments() -> impl Strategy<Value = Vec<Segment>> {
    let item = (0..6_u64, 0..3_usize, prop::collection::vec((0..10_u64, any::<i64>()), 0..4));
    prop::collection::vec((1..=10_u64, prop::collection::vec(item, 0..8)), 1..12).prop_map(|parts| {
        let mut next = 100;
        let blocks = |(length, items): (u64, Vec<Item>)| {
            let from = next;
            next += length;
            let wallets = items.into_iter().map(|(number, market, moves)| WalletEntries {
                wallet: wallet(number),
                market,
                entries: moves.iter().flat_map(|(at, amount)| borrowed(from + at % length, *amount)).collect(),
            });
            segment(from, from + length - 1, wallets.collect())
        };
        parts.into_iter().map(blocks).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_was_appended_is_read_after_truncation_and_reopening(segments in segments(), cut in 0..12_usize) {
        let folder = tempfile::tempdir().unwrap();
        let index = begun(folder.path());
        for segment in &segments {
            index.append(CHAIN, segment.clone()).unwrap();
        }
        assert_equal(&index, &segments);
        drop(index);
        let index = opened(folder.path());
        assert_equal(&index, &segments);

        let kept = &segments[..1 + cut % segments.len()];
        let last = kept.last().unwrap().through;
        // A block within the next segment truncates to the same checkpoint.
        prop_assert_eq!(index.truncate(CHAIN, last.number).unwrap(), Some(last));
        assert_equal(&index, kept);
        for segment in &segments[kept.len()..] {
            index.append(CHAIN, segment.clone()).unwrap();
        }
        assert_equal(&index, &segments);
        prop_assert_eq!(index.truncate(CHAIN, 99).unwrap(), None);
        prop_assert_eq!((progress(&index).next(), progress(&index).entries), (100, 0));
        prop_assert!(matches!(index.wallets(CHAIN, 0), Err(IndexError::Unknown(CHAIN))));
        prop_assert!(index.history(CHAIN, wallet(1)).unwrap().is_none());
    }
}

#[test]
fn only_the_next_blocks_are_appended() {
    let folder = tempfile::tempdir().unwrap();
    let index = opened(folder.path());
    let entries = |block| vec![WalletEntries { wallet: wallet(1), market: 1, entries: borrowed(block, 5) }];
    let first = segment(100, 109, entries(105));
    assert_eq!(index.append(CHAIN, first.clone()).unwrap_err(), IndexError::Unknown(CHAIN));
    assert_eq!(index.progress(CHAIN).unwrap(), None);
    index.begin(CHAIN, &markets(), &asked()).unwrap();
    assert_eq!(index.begin(CHAIN, &markets(), &asked()).unwrap(), progress(&index));
    let other = index.begin(CHAIN, &markets(), &Bytes::new()).unwrap_err();
    assert_eq!(other, IndexError::Otherwise { chain: CHAIN });

    let not_next = |next, got| IndexError::NotNext { chain: CHAIN, next, got };
    assert_eq!(index.append(CHAIN, segment(101, 109, Vec::new())).unwrap_err(), not_next(100, 101));
    index.append(CHAIN, first.clone()).unwrap();
    assert_eq!(index.append(CHAIN, segment(111, 119, Vec::new())).unwrap_err(), not_next(110, 111));
    assert_eq!(index.append(CHAIN, segment(105, 119, Vec::new())).unwrap_err(), not_next(110, 105));
    index.append(CHAIN, first).unwrap();
    assert_eq!(progress(&index).entries, 2, "the last segment again changes nothing");

    for (bad, word) in [
        (segment(110, 119, entries(120)), "block 120"),
        (segment(110, 119, entries(109)), "block 109"),
        (segment(110, 109, Vec::new()), "the last block is 109"),
        (segment(110, 1 << 40, Vec::new()), "1099511627776"),
        (
            segment(110, 119, vec![WalletEntries { wallet: wallet(1), market: 3, entries: borrowed(111, 1) }]),
            "market 3",
        ),
    ] {
        let error = index.append(CHAIN, bad).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    assert_eq!((progress(&index).entries, progress(&index).next()), (2, 110));
}

#[test]
fn chains_are_apart_and_one_is_forgotten_alone() {
    let folder = tempfile::tempdir().unwrap();
    let index = begun(folder.path());
    index.begin(10, &markets(), &asked()).unwrap();
    let entries = |amount| vec![WalletEntries { wallet: wallet(1), market: 0, entries: borrowed(105, amount) }];
    index.append(CHAIN, segment(100, 109, entries(1))).unwrap();
    index.append(10, segment(100, 119, entries(2))).unwrap();
    let status = index.status().unwrap();
    assert_eq!(
        status.chains.iter().map(|status| (status.chain, status.progress.next())).collect::<Vec<_>>(),
        [(1, 110), (10, 120)]
    );
    assert!(status.bytes > 0);

    index.forget(CHAIN).unwrap();
    assert_eq!(index.progress(CHAIN).unwrap(), None);
    assert_eq!(index.history(10, wallet(1)).unwrap().unwrap().entries[0], borrowed(105, 2));
    let begun = index.begin(CHAIN, &markets()[..1], &Bytes::new()).unwrap();
    assert_eq!((begun.next(), begun.entries), (100, 0));
    index.append(CHAIN, segment(100, 129, Vec::new())).unwrap();
    assert_eq!(index.history(CHAIN, wallet(1)).unwrap().unwrap().entries, [Vec::new()]);
    drop(index);
    let index = opened(folder.path());
    assert_eq!(index.history(CHAIN, wallet(1)).unwrap().unwrap().entries, [Vec::new()]);
    assert_eq!(index.history(10, wallet(1)).unwrap().unwrap().entries[0], borrowed(105, 2));
}

#[test]
fn a_stream_of_wallets_is_one_moment_and_says_where_the_chain_changed() {
    let folder = tempfile::tempdir().unwrap();
    let index = begun(folder.path());
    let all = |block: u64| {
        let item = |number| WalletEntries { wallet: wallet(number), market: 0, entries: borrowed(block, 7) };
        (0..6_000).map(item).collect::<Vec<_>>()
    };
    index.append(CHAIN, segment(100, 109, all(101))).unwrap();
    index.append(CHAIN, segment(110, 119, all(111))).unwrap();
    let mut stream = index.wallets(CHAIN, 0).unwrap();
    let first = stream.next().unwrap().unwrap();
    index.append(CHAIN, segment(120, 129, all(121))).unwrap();
    let rest: Vec<_> = stream.map(Result::unwrap).collect();
    assert_eq!(rest.len(), 5_999);
    assert!(first.wallet < rest[0].wallet && rest.is_sorted_by_key(|wallet| wallet.wallet));
    assert!(rest.iter().all(|wallet| wallet.entries.len() == 4), "what came later is left out");

    let mut stream = index.wallets(CHAIN, 0).unwrap();
    assert_eq!(stream.next().unwrap().unwrap().entries.len(), 6);
    index.truncate(CHAIN, 112).unwrap();
    let last = stream.last().unwrap();
    assert_eq!(last.unwrap_err(), IndexError::Changed { chain: CHAIN });
    assert_eq!(index.wallets(CHAIN, 0).unwrap().map(|wallet| wallet.unwrap().entries.len()).max(), Some(2));
}

#[test]
fn what_is_asked_later_is_added_to_blocks_that_were_read() {
    let folder = tempfile::tempdir().unwrap();
    let index = begun(folder.path());
    let item = |market, blocks: &[u64]| WalletEntries {
        wallet: wallet(1),
        market,
        entries: blocks.iter().flat_map(|block| borrowed(*block, *block as i64)).collect(),
    };
    index.append(CHAIN, segment(100, 109, vec![item(0, &[101, 108])])).unwrap();
    index.append(CHAIN, segment(110, 119, vec![item(0, &[115])])).unwrap();
    let more = [markets(), markets()[..1].to_vec()].concat();
    let widened = Bytes::from_static(b"more");
    let above = index.widen(CHAIN, &more, &widened, vec![item(0, &[120])]).unwrap_err();
    let fewer = index.widen(CHAIN, &more[1..], &widened, Vec::new()).unwrap_err();
    assert!([&above, &fewer].iter().all(|error| matches!(error, IndexError::Refused { .. })), "{above} {fewer}");

    let earlier = vec![item(3, &[104, 112]), item(0, &[101, 103, 119])];
    for _ in 0..2 {
        let progress = index.widen(CHAIN, &more, &widened, earlier.clone()).unwrap();
        assert_eq!((progress.entries, progress.events, &progress.asked), (16, 8, &widened));
    }
    let blocks = || {
        let history = index.history(CHAIN, wallet(1)).unwrap().unwrap();
        let blocks = |entries: &Vec<Entry>| entries.iter().step_by(2).map(|entry| entry.block).collect::<Vec<_>>();
        history.entries.iter().map(blocks).collect::<Vec<_>>()
    };
    assert_eq!(blocks(), [vec![101, 101, 103, 108, 115, 119], vec![], vec![], vec![104, 112]]);
    let streamed: Vec<_> = index.wallets(CHAIN, 0).unwrap().map(Result::unwrap).collect();
    assert_eq!(streamed[0].entries, index.history(CHAIN, wallet(1)).unwrap().unwrap().entries[0]);
    index.truncate(CHAIN, 112).unwrap();
    assert_eq!(blocks(), [vec![101, 101, 103, 108], vec![], vec![], vec![104]]);
    assert_eq!(progress(&index).entries, 10);
}
