//! A disk that takes no more: a limit of the system on the size of files, which a process can set for itself.

use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::*;

/// Set only in the process whose files are limited: the folder of its index.
const LIMITED: &str = "ASSAY_TEST_INDEX_LIMITED";
const NAME: &str = "tests::full::a_full_disk_is_said_and_nothing_is_half_written";

#[test]
fn a_full_disk_is_said_and_nothing_is_half_written() {
    if let Some(folder) = env::var_os(LIMITED) {
        return fill(&PathBuf::from(folder));
    }
    let folder = tempfile::tempdir().unwrap();
    // The signal of the limit is ignored, so that a write fails as it does on a full disk.
    let child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(env::current_exe().unwrap())
        .args([NAME, "--exact", "--nocapture"])
        .env(LIMITED, folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{}\n{said}", String::from_utf8_lossy(&child.stdout));
}

/// Sets the limit; `None` lifts it.
fn limit(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum }).unwrap();
}

/// A segment of about `size` megabytes.
fn large(from: u64, size: u64) -> Segment {
    let item = |number| WalletEntries {
        wallet: wallet(from * 1_000_000 + number),
        market: 0,
        entries: borrowed(from, i64::MAX - number as i64),
    };
    segment(from, from + 9, (0..size * 12_000).map(item).collect())
}

fn fill(folder: &Path) {
    let index = begun(folder);
    let mut appended = vec![large(100, 2), large(110, 1)];
    for segment in &appended {
        index.append(CHAIN, segment.clone()).unwrap();
    }
    let known = wallet(100_000_000);
    let before = index.history(CHAIN, known).unwrap();

    // The journal takes no more.
    limit(Some(1 << 20));
    for _ in 0..3 {
        let error = index.append(CHAIN, large(120, 1)).unwrap_err();
        assert!(matches!(error, IndexError::Unwritable { .. } | IndexError::Unusable { .. }), "{error:?}");
        assert!(error.to_string().contains("space left"), "{error}");
        println!("{error}");
        assert_eq!(index.history(CHAIN, known).unwrap(), before, "answers go on");
    }
    limit(None);
    appended.push(large(120, 1));
    index.append(CHAIN, large(120, 1)).unwrap();

    // Tables take no more: the journal does, until they must be written.
    limit(Some(96 << 20));
    index.append(CHAIN, large(130, 6)).unwrap();
    limit(Some(1 << 20));
    let mut next = 140;
    appended.push(large(130, 6));
    assert!((0..20).any(|_| index.append(CHAIN, large(next, 1)).is_err()), "no write failed");
    limit(None);
    while next < 180 {
        index.append(CHAIN, large(next, 1)).unwrap();
        appended.push(large(next, 1));
        next += 10;
    }
    let entries = |segment: &Segment| segment.wallets.iter().map(|wallet| wallet.entries.len() as u64).sum::<u64>();
    assert_eq!(progress(&index).entries, appended.iter().map(entries).sum::<u64>());
    drop(index);
    let index = opened(folder);
    let expected: BTreeMap<_, _> = appended
        .into_iter()
        .flat_map(|segment| segment.wallets)
        .map(|wallet| ((wallet.market, wallet.wallet), wallet.entries))
        .collect();
    assert!(everything(&index) == expected);
}
