//! A full disk, simulated by the system's limit on file size, which a process can set for itself.

use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::*;

/// The index folder; set only in the process with limited files.
const LIMITED: &str = "ASSAY_TEST_INDEX_LIMITED";
const NAME: &str = "tests::full::a_full_disk_is_said_and_nothing_is_half_written";

#[test]
fn a_full_disk_is_said_and_nothing_is_half_written() {
    match limited() {
        Some(folder) => fill(&folder),
        None => run_limited(NAME),
    }
}

/// The index folder, in a process with limited files.
pub(crate) fn limited() -> Option<PathBuf> {
    env::var_os(LIMITED).map(PathBuf::from)
}

/// Runs the test `name` in a process of its own, which can [`limit`] the size of files.
pub(crate) fn run_limited(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    // Ignoring the limit's signal makes a write fail as on a full disk.
    let child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(LIMITED, folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let (said, failed) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success() && said.contains("1 passed"), "{said}\n{failed}");
}

/// Sets the limit, or lifts it with `None`.
pub(crate) fn limit(bytes: Option<u64>) {
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

    // The journal cannot grow.
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

    // Tables cannot grow. The journal can, until tables must be written.
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

/// The folder of the small disk; set only in the process that sees the disk.
const SMALL: &str = "ASSAY_TEST_INDEX_SMALL";
const ON_A_SMALL_DISK: &str = "tests::full::writes_resume_when_a_full_disk_has_space_again";
/// Number of rounds, for a longer run.
const ROUNDS: &str = "ASSAY_TEST_ROUNDS";

/// Uses a tmpfs that only a child process sees. This needs `unshare` and the right to mount: root, or user namespaces.
/// Without them, only the limit on file size above is tested.
#[test]
fn writes_resume_when_a_full_disk_has_space_again() {
    if let Some(folder) = env::var_os(SMALL) {
        return fill_disk(&PathBuf::from(folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let script = format!("mount -t tmpfs -o size=48m none \"${SMALL}\" || exit 77; exec \"$0\" \"$@\"");
    for rights in [&["--mount"][..], &["--mount", "--map-root-user"]] {
        let child = Command::new("unshare")
            .args(rights)
            .args(["sh", "-c", &script])
            .arg(env::current_exe().unwrap())
            .args([ON_A_SMALL_DISK, "--exact", "--nocapture"])
            .env(SMALL, folder.path())
            .output();
        let Ok(child) = child else { continue };
        let said = format!("{}\n{}", String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
        if said.contains("small disk") {
            assert!(child.status.success(), "{said}");
            println!("{said}");
            return;
        }
    }
    println!("no tmpfs can be mounted here: the limit on the size of files stands for a full disk");
}

fn fill_disk(folder: &Path) {
    use std::io::Write as _;

    println!("small disk: a tmpfs");
    let (ballast, folder) = (folder.join("ballast"), folder.join("index"));
    let index = begun(&folder);
    let (mut next, mut appended) = (100, Vec::new());
    let rounds: u64 = env::var(ROUNDS).map_or(3, |rounds| rounds.parse().unwrap());
    for round in 0..rounds {
        let mut file = std::fs::File::create(&ballast).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
        let size = file.metadata().unwrap().len();
        file.set_len(size.saturating_sub(round % 4 * 200_000)).unwrap();
        // A removed file keeps its space while it is open.
        drop(file);
        let (mut taken, mut refused) = (0, 0);
        while refused < 5 {
            match index.append(CHAIN, small(next)) {
                Ok(()) => {
                    appended.push(next);
                    taken += 1;
                    next += 10;
                }
                // The failed write was kept.
                Err(IndexError::NotNext { next: from, .. }) if from == next + 10 => {
                    appended.push(next);
                    next += 10;
                }
                Err(error) => {
                    assert!(
                        matches!(error, IndexError::Unwritable { .. } | IndexError::Unusable { .. }),
                        "round {round}: {error:?}"
                    );
                    refused += 1;
                }
            }
            all_there(&index, &appended, true);
        }
        std::fs::remove_file(&ballast).unwrap();
        // The last write may have been kept, according to the progress.
        let mut asked = 0;
        loop {
            asked += 1;
            match index.append(CHAIN, small(next)) {
                Ok(()) => break,
                Err(IndexError::NotNext { next: from, .. }) if from == next + 10 => break,
                Err(error) => assert!(asked < 100, "round {round}: {error}"),
            }
        }
        appended.push(next);
        next += 10;
        all_there(&index, &appended, false);
        assert_eq!(index.on_disk().set_aside, 0);
        println!("| {} | {taken} | {refused} | {asked} | {} |", round + 1, appended.len());
    }
    drop(index);
    all_there(&opened(&folder), &appended, false);
}

/// A segment of some kilobytes.
fn small(from: u64) -> Segment {
    let item = |number| WalletEntries {
        wallet: wallet(from * 1_000 + number),
        market: 0,
        entries: borrowed(from, i64::MAX - number as i64),
    };
    segment(from, from + 9, (0..400).map(item).collect())
}

/// Asserts that each history is the one that was appended. If `full`, the folder may also be unusable.
fn all_there(index: &Index, appended: &[u64], full: bool) {
    for from in appended {
        match index.history(CHAIN, wallet(from * 1_000)) {
            Ok(history) => assert_eq!(history.unwrap().entries[0], borrowed(*from, i64::MAX), "{from}"),
            Err(IndexError::Unusable { .. }) if full => {}
            Err(error) => panic!("{error}"),
        }
    }
}
