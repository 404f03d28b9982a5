//! A process killed during appends has appended whole segments.

use std::{
    env,
    io::{BufRead, BufReader, Write as _, stdout},
    path::PathBuf,
    process::{Command, Stdio},
};

use tempfile::TempDir;

use super::*;

/// The index folder; set only in the process that is killed.
const VICTIM: &str = "ASSAY_TEST_INDEX";
const KILLS: u64 = 20;
const BLOCKS: u64 = 10;
/// With this many wallets, a segment is written directly as a table.
const MANY: u64 = 60_000;

/// The segment that begins at `from`: a different wallet per block, one wallet in all blocks, and in some segments many
/// more.
fn nth(from: u64) -> Segment {
    let through = from + BLOCKS - 1;
    let each = (from..=through).map(|block| WalletEntries {
        wallet: wallet(block % 97),
        market: (block % 3) as usize,
        entries: borrowed(block, block as i64),
    });
    let all = (from..=through).flat_map(|block| borrowed(block, -(block as i64))).collect();
    let all = [WalletEntries { wallet: wallet(1_000), market: 0, entries: all }];
    let many = if from / BLOCKS % 16 == 12 { MANY } else { 0 };
    let many = (0..many).map(|number| WalletEntries {
        wallet: wallet(2_000 + number),
        market: 1,
        entries: borrowed(from, i64::MAX - number as i64),
    });
    segment(from, through, each.chain(all).chain(many).collect())
}

#[test]
fn a_killed_process_has_appended_whole_segments() {
    if let Some(folder) = env::var_os(VICTIM) {
        return append_until_killed(&PathBuf::from(folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let mut undisturbed = Undisturbed::begun();
    for round in 0..KILLS {
        let mut victim = Command::new(env::current_exe().unwrap())
            .args(["tests::crash::a_killed_process_has_appended_whole_segments", "--exact", "--nocapture"])
            .env(VICTIM, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut acknowledged = 0;
        // Kill after this many segments, whatever the process is doing.
        let mut left = 3 + round * 7 % 19;
        for line in BufReader::new(victim.stdout.take().unwrap()).lines() {
            let Some(number) = line.unwrap().strip_prefix("through ").map(|number| number.parse::<u64>().unwrap())
            else {
                continue;
            };
            acknowledged = number;
            left -= u64::from(left > 0);
            if left == 0 {
                victim.kill().unwrap();
            }
        }
        victim.wait().unwrap();

        let index = opened(folder.path());
        let found = progress(&index);
        assert!(found.next() > acknowledged, "{found:?}");
        // Appending first removes what a truncation left.
        index.append(CHAIN, nth(found.next())).unwrap();
        undisturbed.assert_equals(&index, round);
    }
}

/// An index built without a kill, which grows from one comparison to the next.
struct Undisturbed {
    index: Index,
    _folder: TempDir,
}

impl Undisturbed {
    fn begun() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { index: begun(folder.path()), _folder: folder }
    }

    fn assert_equals(&mut self, index: &Index, round: u64) {
        let found = progress(index);
        if progress(&self.index).next() > found.next() {
            // The other index was truncated to a lower block.
            *self = Self::begun();
        }
        while progress(&self.index).next() < found.next() {
            self.index.append(CHAIN, nth(progress(&self.index).next())).unwrap();
        }
        let same = progress(&self.index);
        assert_eq!((found.through(), found.entries, found.events), (same.through(), same.entries, same.events));
        assert!(everything(index) == everything(&self.index), "round {round}");
    }
}

fn append_until_killed(folder: &Path) {
    let index = begun(folder);
    for round in 0_u64.. {
        let from = progress(&index).next();
        // From time to time, remove the last segments and append them again.
        if round % 8 == 7 {
            let to = from - 1 - 2 * BLOCKS;
            writeln!(stdout(), "through {to}").unwrap();
            index.truncate(CHAIN, to).unwrap();
        } else {
            index.append(CHAIN, nth(from)).unwrap();
        }
        writeln!(stdout(), "through {}", progress(&index).next() - 1).unwrap();
    }
}
