use futures::FutureExt;

use super::*;
use crate::{
    records::Stage,
    sample::{after, pending},
};
use assay_store::{Store, config};

async fn notices(places: usize) -> (Notices, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let config = config::Store::embedded(folder.path().join("assay.redb"));
    let store = Store::open(&config).await.unwrap();
    (Notices::new(store, Arc::default(), places), folder)
}

fn at(seconds: u64, stage: Stage) -> SubmissionRecord {
    SubmissionRecord { stage, updated_at: after(seconds), ..pending() }
}

#[tokio::test]
async fn a_place_is_free_again_when_its_client_leaves() {
    let (notices, _folder) = notices(1).await;
    let first = notices.wait(pending());
    assert!(first.is_some() && notices.wait(pending()).is_none());
    drop(first);
    assert!(notices.wait(pending()).is_some());
}

#[tokio::test]
async fn who_leaves_is_not_read_for() {
    let (notices, _folder) = notices(2).await;
    let (first, second) = (notices.wait(pending()), notices.wait(pending()));
    drop(first);
    assert_eq!(notices.waited_for(), [pending().id]);
    drop(second);
    assert_eq!(notices.waited_for(), [] as [Uuid; 0]);
}

#[tokio::test]
async fn all_who_wait_are_told_of_what_they_can_see() {
    let (notices, _folder) = notices(2).await;
    let mut waiting = [notices.wait(pending()).unwrap(), notices.wait(pending()).unwrap()];
    let tell = |record: SubmissionRecord| keep_newer(&notices.topics()[&record.id], &Arc::new(record));
    // A failed attempt does not show.
    tell(SubmissionRecord { attempts: 1, ..at(1, Stage::Pending) });
    for waiting in &mut waiting {
        assert!(waiting.next().now_or_never().is_none());
    }
    tell(at(2, Stage::Scoring));
    for waiting in &mut waiting {
        waiting.next().now_or_never().unwrap();
        assert_eq!(waiting.last().stage, Stage::Scoring);
    }
    // What another host read earlier is not news.
    tell(at(1, Stage::Pending));
    for waiting in &mut waiting {
        assert!(waiting.next().now_or_never().is_none());
    }
}

#[tokio::test]
async fn who_comes_with_an_older_state_is_told_at_once() {
    let (notices, _folder) = notices(2).await;
    let _first = notices.wait(at(5, Stage::Uploading)).unwrap();
    let mut second = notices.wait(pending()).unwrap();
    second.next().now_or_never().unwrap();
    assert_eq!(second.last().stage, Stage::Uploading);
}
