//! A killed process loses no write that was answered.

use std::{
    env,
    io::{BufRead, BufReader, Write, stdout},
    path::PathBuf,
    process::{Command, Stdio},
};

use super::*;
use crate::Batch;

/// Set only in the process that is killed: the path of its store.
const VICTIM: &str = "ASSAY_TEST_CRASH_STORE";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_has_kept_what_was_acknowledged() {
    if let Some(path) = env::var_os(VICTIM) {
        return write_until_killed(PathBuf::from(path)).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("assay.redb");
    let mut last = 0;
    for round in 0..4 {
        let mut victim = Command::new(env::current_exe().unwrap())
            .args(["tests::crash::a_killed_process_has_kept_what_was_acknowledged", "--exact", "--nocapture"])
            .env(VICTIM, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut acknowledged = 0;
        for line in BufReader::new(victim.stdout.take().unwrap()).lines() {
            let Some(written) = line.unwrap().strip_prefix("written ").map(|number| number.parse::<u64>().unwrap())
            else {
                continue;
            };
            acknowledged = written;
            if written == last + 50 * (round + 1) {
                victim.kill().unwrap();
            }
        }
        victim.wait().unwrap();
        assert!(acknowledged > last);
        last = acknowledged;

        let store = reopened(&path).await.unwrap();
        for number in 1..=acknowledged {
            let kept = store.get_many(&[super::number(&number.to_string()), super::number("last")]).await.unwrap();
            assert_eq!(kept[0], Some(number));
            assert!(kept[1].unwrap() >= acknowledged);
        }
    }
}

async fn write_until_killed(path: PathBuf) {
    let store = reopened(&path).await.unwrap();
    let mut written = store.get(&number("last")).await.unwrap().unwrap_or(0);
    loop {
        written += 1;
        let batch =
            Batch::new().put(&number(&written.to_string()), &written).unwrap().put(&number("last"), &written).unwrap();
        assert!(store.commit(batch).await.unwrap());
        writeln!(stdout(), "written {written}").unwrap();
    }
}
