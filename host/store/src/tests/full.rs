//! A full disk. The test runs in a separate process, on a tmpfs of 4 MB that only this process sees. That needs
//! `unshare` and the right to mount: root, or user namespaces. Otherwise it limits the size of its files, which fails
//! writes with another error.

use std::{env, fs, io::Write as _, path::PathBuf, process::Command};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::*;
use crate::StoreError;

/// Set only in the process with the small disk: its folder, and whether a tmpfs is mounted there.
const FOLDER: &str = "ASSAY_TEST_STORE_FULL";
const MOUNTED: &str = "ASSAY_TEST_STORE_MOUNTED";
const NAME: &str = "tests::full::writes_resume_when_a_full_disk_has_space_again";
/// Set in longer runs.
const ROUNDS: &str = "ASSAY_TEST_ROUNDS";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_resume_when_a_full_disk_has_space_again() {
    if let Some(folder) = env::var_os(FOLDER) {
        return fill(Disk { folder: PathBuf::from(folder), mounted: env::var_os(MOUNTED).is_some() }).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let mount =
        "mount -t tmpfs -o size=4m none \"$ASSAY_TEST_STORE_FULL\" || exit 77; export ASSAY_TEST_STORE_MOUNTED=1";
    let limit = "trap '' XFSZ";
    let ways: [(&[&str], &str); 3] = [
        (&["unshare", "--mount"], mount),
        (&["unshare", "--mount", "--map-root-user"], mount),
        // Ignores the signal of the limit, to make a write fail as on a full disk.
        (&[], limit),
    ];
    for (before, setting) in ways {
        let script = format!("{setting}; exec \"$0\" \"$@\"");
        let words: Vec<_> = before.iter().copied().chain(["sh", "-c", &script]).collect();
        let Ok(child) = Command::new(words[0])
            .args(&words[1..])
            .arg(env::current_exe().unwrap())
            .args([NAME, "--exact", "--nocapture"])
            .env(FOLDER, folder.path())
            .output()
        else {
            continue;
        };
        let said = format!("{}\n{}", String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
        if setting == mount && !said.contains("small disk") {
            continue;
        }
        assert!(child.status.success(), "{said}");
        println!("{said}");
        return;
    }
    panic!("no way to limit a disk");
}

struct Disk {
    folder: PathBuf,
    mounted: bool,
}

impl Disk {
    /// Leaves `left` bytes.
    fn fill(&self, left: u64) {
        if !self.mounted {
            let size = fs::metadata(self.folder.join("assay.redb")).map_or(0, |file| file.len());
            return limit(Some(size.saturating_sub(4096).max(left)));
        }
        let mut ballast = fs::File::create(self.ballast()).unwrap();
        while ballast.write_all(&[1; 4096]).is_ok() {}
        let size = ballast.metadata().unwrap().len();
        ballast.set_len(size.saturating_sub(left)).unwrap();
    }

    fn clear(&self) {
        if self.mounted { fs::remove_file(self.ballast()).unwrap() } else { limit(None) }
    }

    fn ballast(&self) -> PathBuf {
        self.folder.join("ballast")
    }
}

fn limit(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum }).unwrap();
}

async fn fill(disk: Disk) {
    println!("small disk: {}", if disk.mounted { "a tmpfs" } else { "a limit on the size of files" });
    let path = disk.folder.join("assay.redb");
    let store = Store::open(&at(&path)).await.unwrap();
    let rounds: u64 = env::var(ROUNDS).map_or(3, |rounds| rounds.parse().unwrap());
    // Answered writes, and writes that may have succeeded.
    let (mut written, mut unknown) = (Vec::new(), Vec::new());
    let mut next = 0;
    for round in 0..rounds {
        disk.fill(round % 5 * 16_384);
        let (mut answered, mut refused, mut unanswered) = (0, 0, 0);
        while refused < 20 {
            next += 1;
            match put(&store, next).await {
                Ok(()) => {
                    answered += 1;
                    written.push(next);
                }
                Err(StoreError::Unwritable { reason }) => {
                    assert!(!reason.is_empty());
                    refused += 1;
                    assert_eq!(store.get(&large(next)).await.unwrap(), None, "a refused write is there");
                }
                Err(StoreError::Unanswered { .. }) => {
                    unanswered += 1;
                    unknown.push(next);
                }
                Err(error) => panic!("{error}"),
            }
            everything(&store, &written).await;
        }
        assert!(store.fault().is_some());
        disk.clear();
        let mut asked = 0;
        next += 1;
        while let Err(error) = put(&store, next).await {
            assert!(matches!(error, StoreError::Unwritable { .. } | StoreError::Unanswered { .. }), "{error}");
            asked += 1;
            tokio::task::yield_now().await;
        }
        written.push(next);
        assert_eq!(store.fault(), None);
        everything(&store, &written).await;
        println!("| {} | {answered} | {unanswered} | {refused} | {asked} | {} |", round + 1, written.len());
        // Makes room on the small disk.
        if written.len() > 12 {
            for old in written.drain(..10) {
                store.remove(&large(old)).await.unwrap();
            }
        }
    }
    drop(store);
    let store = Store::open(&at(&path)).await.unwrap();
    everything(&store, &written).await;
    for number in unknown {
        let found = store.get(&large(number)).await.unwrap();
        assert!(found.is_none_or(|found| found == sample(number)), "{number} is half there");
    }
}

fn large(number: u64) -> Key<Sample> {
    SPREAD.key(number)
}

fn sample(number: u64) -> Sample {
    Sample { name: number.to_string(), parts: vec!["x".repeat(1000); 60], limit: Some(number) }
}

async fn put(store: &Store, number: u64) -> Result<(), StoreError> {
    store.put(&large(number), &sample(number)).await
}

async fn everything(store: &Store, written: &[u64]) {
    let keys: Vec<_> = written.iter().map(|number| large(*number)).collect();
    for (found, number) in store.get_many(&keys).await.unwrap().into_iter().zip(written) {
        assert!(found == Some(sample(*number)), "{number}");
    }
}
