//! Damage anywhere in the file, of a store that was closed and of one that was killed: it is refused and left as it is,
//! or every record is as it was written.

use std::{env, fs};

use super::*;
use crate::OpenError;

/// A longer run sets it: damages of each store.
const DAMAGES: &str = "ASSAY_TEST_DAMAGES";

/// Numbers that look random, the same in each run.
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
    /// A page that has the bytes of another.
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
    // As a kill leaves it: the system has every write.
    let killed = fs::read(&path).unwrap();
    drop(store);
    let closed = fs::read(&path).unwrap();
    let damages = env::var(DAMAGES).map_or(10, |count| count.parse().unwrap());
    for (name, whole) in [("closed", closed), ("killed", killed)] {
        let mut dice = Dice(7);
        let used: Vec<_> = (0..whole.len() / 4096).filter(|page| whole[page * 4096..][..4096] != [0; 4096]).collect();
        for number in 0..damages {
            let kind = KINDS[number % KINDS.len()];
            // The first page has the header, which says the most.
            let page = if number % 7 == 0 { 0 } else { used[dice.below(used.len())] };
            let mut bytes = whole.clone();
            kind.at(page, &mut bytes, &mut dice);
            let case = format!("{name}, {kind:?} in page {page}");
            fs::write(&path, &bytes).unwrap();
            let said = match Store::open(&at(&path)).await {
                Err(error) => {
                    assert!(matches!(error, OpenError::Damaged { .. }), "{case}: {error}");
                    assert!(fs::read(&path).unwrap() == bytes, "{case}: refused and changed");
                    "refused, unchanged".to_owned()
                }
                Ok(store) => {
                    let keys: Vec<_> = (0..500_u64).map(|i| SPREAD.key(i)).collect();
                    let found = store.get_many(&keys).await.unwrap_or_else(|error| panic!("{case}: {error}"));
                    let other = found.iter().zip(&expected).filter(|(found, expected)| found != expected).count();
                    // Only the last write of a killed store can be undone, and the log says so.
                    assert!(other == 0 || (name == "killed" && other == 20), "{case}: {other} other records");
                    store.put(&SPREAD.key("new"), &sample(1)).await.unwrap_or_else(|error| panic!("{case}: {error}"));
                    if other == 0 { "every record as written".to_owned() } else { "last write undone".to_owned() }
                }
            };
            println!("| {} | {name} | {kind:?} | {page} | {said} |", number + 1);
        }
    }
}

fn sample(number: u64) -> Sample {
    Sample { name: number.to_string(), parts: vec!["x".repeat(200)], limit: Some(number) }
}
