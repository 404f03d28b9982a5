//! The size of the index. `ASSAY_INDEX_EVENTS=10000000 cargo test -p assay-index --release size -- --nocapture`
//! measures ten million events.

use std::{
    fs,
    time::{Duration, Instant},
};

use assay_lending::Asset;

use super::*;

/// Events per wallet.
const EVENTS: u64 = 20;
/// Events per segment during the first read of a chain.
const SEGMENT: u64 = 100_000;
const BLOCKS: u64 = 10_000;

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// An event with its amount and the change of the stored balance, as Aave logs it. Six of ten amounts have 18 decimals,
/// the others 6.
fn event(random: &mut Random, wallets: &[Address], from: u64) -> WalletEntries {
    let block = from + random.below(BLOCKS);
    let kinds = [EventKind::Supply, EventKind::Withdraw, EventKind::Borrow, EventKind::Repay];
    let place = random.below(4) as usize;
    let most = 10_u64.pow(if random.below(10) < 6 { 12 + random.below(8) as u32 } else { 6 + random.below(6) as u32 });
    let amount = I256::try_from(1 + random.below(most)).unwrap();
    let asset = Address::repeat_byte(random.below(30) as u8);
    let moved = Move {
        side: if place < 2 { Side::Supply } else { Side::Debt },
        asset: asset.into(),
        amount: if place.is_multiple_of(2) { amount } else { -amount },
        fixed_rate: false,
    };
    let stored = I256::try_from(1 + random.below(most)).unwrap();
    let scaled = Move { asset: Asset::Scaled(asset), amount: stored, ..moved };
    let event = What::Event { kind: kinds[place], time: 1_600_000_000 + block * 12 };
    let entries = [event, What::Moved(moved), What::Moved(scaled)].map(|what| Entry { block, what }).to_vec();
    let wallet = wallets[random.below(wallets.len() as u64) as usize];
    WalletEntries { wallet, market: random.below(3) as usize, entries }
}

/// The peak memory of this process, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1_024
}

#[test]
fn an_event_with_its_amount_takes_at_most_40_bytes() {
    let events = std::env::var("ASSAY_INDEX_EVENTS").map_or(200_000, |text| text.parse().unwrap());
    let wallets: Vec<_> = (0..events / EVENTS).map(wallet).collect();
    let folder = tempfile::tempdir().unwrap();
    let index = begun(folder.path());
    let (mut random, mut appending, mut next) = (Random(1), Duration::ZERO, 100);
    for _ in 0..events / SEGMENT {
        let items = (0..SEGMENT).map(|_| event(&mut random, &wallets, next)).collect();
        let segment = segment(next, next + BLOCKS - 1, items);
        let started = Instant::now();
        index.append(CHAIN, segment).unwrap();
        appending += started.elapsed();
        next += BLOCKS;
    }
    println!("appended: {:.2} µs an event", appending.as_secs_f64() * 1e6 / events as f64);
    println!("as it is: {:.1} bytes an event", index.status().unwrap().bytes as f64 / events as f64);
    let started = Instant::now();
    index.read(|database| database.compact(CHAIN)).unwrap();
    let status = index.status().unwrap();
    let bytes = status.chains[0].bytes as f64 / events as f64;
    println!("merged:   {bytes:.1} bytes an event, in {:.1} s", started.elapsed().as_secs_f64());
    assert_eq!(status.chains[0].progress.events, events);
    assert!(bytes <= 40.0, "{bytes} bytes an event");

    let mut times = Vec::new();
    for _ in 0..2_000 {
        let wallet = wallets[random.below(wallets.len() as u64) as usize];
        let started = Instant::now();
        let history = index.history(CHAIN, wallet).unwrap().unwrap();
        times.push(started.elapsed());
        assert!(history.entries.iter().map(Vec::len).sum::<usize>() <= events as usize);
    }
    times.sort_unstable();
    println!("history:  p50 {:?}, p99 {:?}", times[times.len() / 2], times[times.len() * 99 / 100]);
    let started = Instant::now();
    let found: usize = (0..3).map(|market| index.wallets(CHAIN, market).unwrap().count()).sum();
    println!("wallets:  {found} in {:.1} s, all three markets", started.elapsed().as_secs_f64());
    println!("memory:   {} MB at most", peak() >> 20);
}
