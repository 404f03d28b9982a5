use futures::{FutureExt, future::join};

use super::*;

/// A queue whose endpoint has just refused a request, for longer than it takes to queue others.
async fn refused() -> RequestQueue {
    let queue = RequestQueue::new(None, Gauge::noop());
    let Ok(turn) = queue.turn(1, Rank::Usual).await else { panic!("one call is no batch") };
    assert!(turn.refused(Some(Duration::from_secs(1))) && queue.is_limited());
    queue
}

#[tokio::test]
async fn the_first_comes_first_and_some_go_ahead() {
    let queue = refused().await;
    let order = Mutex::new(Vec::new());
    let go = async |name, rank| {
        let turn = queue.turn(1, rank).await;
        order.lock().unwrap().push(name);
        turn.unwrap_or_else(|_| panic!("one call is no batch")).answered();
    };
    let usual = join(go("first", Rank::Usual), go("second", Rank::Usual));
    join(go("last", Rank::Last), join(usual, go("ahead", Rank::First))).await;
    assert_eq!(*order.lock().unwrap(), ["ahead", "first", "second", "last"]);
}

#[tokio::test]
async fn a_dropped_request_leaves_the_queue() {
    let queue = refused().await;
    let (mut dropped, mut ahead) = (Box::pin(queue.turn(1, Rank::Usual)), Box::pin(queue.turn(1, Rank::First)));
    assert!((&mut dropped).now_or_never().is_none() && (&mut ahead).now_or_never().is_none());
    let waiting = async {
        drop((dropped, ahead));
        queue.changed.notify_waiters();
    };
    let (turn, ()) = join(queue.turn(1, Rank::Usual), waiting).await;
    assert!(turn.is_ok());
    assert!(queue.lines.iter().all(|line| line.waiting.load(Ordering::SeqCst) == 0));
}

#[tokio::test]
async fn a_batch_above_the_bound_is_to_be_split() {
    let queue = RequestQueue::new(Some(9), Gauge::noop());
    assert_eq!(queue.turn(4, Rank::Usual).await.err().map(|too_many| too_many.most), Some(3));
    assert!(queue.turn(3, Rank::Usual).await.is_ok());
}
