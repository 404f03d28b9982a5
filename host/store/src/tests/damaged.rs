//! Damage anywhere in the file, of a closed store and of a killed one: either the store is refused and left unchanged,
//! or every record is as it was written.

use std::{env, fs};

use super::*;
use crate::OpenError;

/// Number of damages for each store, set in longer runs.
const DAMAGES: &str = "ASSAY_TEST_DAMAGES";

/// Pseudo-random numbers, the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

#[derive(Debug, Clone, Copy)]
enum Damage {
    /// One bit.
    Bit,
    /// 64 bytes.
    Bytes,
    /// A page of zeros.
    Zeros,
    /// A page with the bytes of another page.
    Other,
    /// The end is missing.
    Cut,
}

const KINDS: [Damage; 5] = [Damage::Bit, Damage::Bytes, Damage::Zeros, Damage::Other, Damage::Cut];

impl Damage {
    fn at(self, page: usize, bytes: &mut Vec<u8>, dice: &mut Dice) {
        let pages = bytes.len() / 4096;
        let start = page * 4096;
        match self {
            Self::Bit => bytes[start + dice.below(4096)] ^= 1 << dice.below(8),
            Self::Bytes => {
                let from = start + dice.below(4096 - 64);
                bytes[from..from + 64].iter_mut().for_each(|byte| *byte ^= 0x5a);
            }
            Self::Zeros => bytes[start..start + 4096].fill(0),
            Self::Other => {
                let other = dice.below(pages) * 4096;
                bytes.copy_within(other..other + 4096, start);
            }
            Self::Cut => bytes.truncate(start + dice.below(4096)),
        }
    }
}

#[tokio::test]
async fn damage_is_refused_and_left_as_it_is_or_harms_no_record() {
    let Fixture { store, folder, .. } = Fixture::new().await;
    let mut expected = Vec::new();
    for round in 0..40_u64 {
        let batch = (0..20).fold(crate::Batch::new(), |batch, i| {
            batch.put(&SPREAD.key(format_args!("{}", (round * 20 + i) % 500)), &sample(round * 20 + i)).unwrap()
        });
        store.commit(batch).await.unwrap();
    }
    for i in 0..500_u64 {
        expected.push(store.get(&SPREAD.key(i)).await.unwrap());
    }
    let path = folder.path().join("assay.redb");
    let last = folder.path().join("assay.redb.last");
    // The state after a kill: the system has every write.
    let killed = (fs::read(&path).unwrap(), fs::read(&last).unwrap());
    drop(store);
    let closed = (fs::read(&path).unwrap(), fs::read(&last).unwrap());
    let damages = env::var(DAMAGES).map_or(10, |count| count.parse().unwrap());
    for (name, (whole, acknowledged)) in [("closed", closed), ("killed", killed)] {
        let mut dice = Dice(7);
        let used: Vec<_> = (0..whole.len() / 4096).filter(|page| whole[page * 4096..][..4096] != [0; 4096]).collect();
        for number in 0..damages {
            let kind = KINDS[number % KINDS.len()];
            // The first page has the header, which matters most.
            let page = if number % 7 == 0 { 0 } else { used[dice.below(used.len())] };
            let mut bytes = whole.clone();
            kind.at(page, &mut bytes, &mut dice);
            let case = format!("{name}, {kind:?} in page {page}");
            fs::write(&path, &bytes).unwrap();
            fs::write(&last, &acknowledged).unwrap();
            let said = match reopened(&path).await {
                Err(error) => {
                    assert!(matches!(error, OpenError::Damaged { .. }), "{case}: {error}");
                    assert!(fs::read(&path).unwrap() == bytes, "{case}: refused and changed");
                    "refused, unchanged".to_owned()
                }
                Ok(store) => {
                    let keys: Vec<_> = (0..500_u64).map(|i| SPREAD.key(i)).collect();
                    let found = store.get_many(&keys).await.unwrap_or_else(|error| panic!("{case}: {error}"));
                    let other = found.iter().zip(&expected).filter(|(found, expected)| found != expected).count();
                    assert!(other == 0, "{case}: {other} other records");
                    store.put(&SPREAD.key("new"), &sample(1)).await.unwrap_or_else(|error| panic!("{case}: {error}"));
                    "every record as written".to_owned()
                }
            };
            println!("| {} | {name} | {kind:?} | {page} | {said} |", number + 1);
        }
    }
}

#[tokio::test]
async fn damage_to_the_last_write_of_a_killed_store_is_refused_until_the_operator_gives_it_up() {
    let Fixture { store, folder, .. } = Fixture::new().await;
    let (path, last) = (folder.path().join("assay.redb"), folder.path().join("assay.redb.last"));
    store.put(&SPREAD.key("first"), &sample(1)).await.unwrap();
    let before = fs::read(&path).unwrap();
    store.put(&SPREAD.key("last"), &sample(2)).await.unwrap();
    let (mut bytes, acknowledged) = (fs::read(&path).unwrap(), fs::read(&last).unwrap());
    drop(store);
    // The pages that the last write changed, without the header.
    let changed: Vec<usize> = (1..bytes.len() / 4096)
        .filter(|page| before.get(page * 4096..(page + 1) * 4096) != Some(&bytes[page * 4096..][..4096]))
        .collect();
    for page in changed {
        bytes[page * 4096..][..4096].fill(0x5a);
    }
    fs::write(&path, &bytes).unwrap();
    fs::write(&last, acknowledged).unwrap();
    let refused = reopened(&path).await.map(drop).unwrap_err();
    assert!(matches!(refused, OpenError::Damaged { .. }), "{refused}");
    assert!(refused.to_string().contains("assay.redb.last"), "{refused}");
    assert!(fs::read(&path).unwrap() == bytes, "refused and changed");

    fs::remove_file(&last).unwrap();
    let store = reopened(&path).await.unwrap();
    assert_eq!(store.get(&SPREAD.key("first")).await.unwrap(), Some(sample(1)));
    assert_eq!(store.get(&SPREAD.key("last")).await.unwrap(), None);
}

fn sample(number: u64) -> Sample {
    Sample { name: number.to_string(), parts: vec!["x".repeat(200)], limit: Some(number) }
}
