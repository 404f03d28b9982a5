use futures::{FutureExt, future::join};

use super::*;

/// A queue whose endpoint has just refused a request.
async fn refused() -> Queue {
    let queue = Queue::new(None, Gauge::noop());
    let Ok(turn) = queue.turn(1, false).await else { panic!("one call is no batch") };
    assert!(turn.refused(Some(Duration::ZERO)) && queue.is_limited());
    queue
}

#[tokio::test]
async fn the_first_comes_first_and_some_go_ahead() {
    let queue = refused().await;
    let order = Mutex::new(Vec::new());
    let go = async |name, goes_ahead| {
        let turn = queue.turn(1, goes_ahead).await;
        order.lock().unwrap().push(name);
        turn.unwrap_or_else(|_| panic!("one call is no batch")).answered();
    };
    join(join(go("first", false), go("second", false)), go("ahead", true)).await;
    assert_eq!(*order.lock().unwrap(), ["ahead", "first", "second"]);
}

#[tokio::test]
async fn a_dropped_request_leaves_the_queue() {
    let queue = refused().await;
    let (mut dropped, mut ahead) = (Box::pin(queue.turn(1, false)), Box::pin(queue.turn(1, true)));
    assert!((&mut dropped).now_or_never().is_none() && (&mut ahead).now_or_never().is_none());
    let waiting = async {
        drop((dropped, ahead));
        queue.changed.notify_waiters();
    };
    let (turn, ()) = join(queue.turn(1, false), waiting).await;
    assert!(turn.is_ok());
    assert_eq!(queue.waiting_ahead.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_batch_above_the_bound_is_to_be_split() {
    let queue = Queue::new(Some(9), Gauge::noop());
    assert_eq!(queue.turn(4, false).await.err().map(|too_many| too_many.most), Some(3));
    assert!(queue.turn(3, false).await.is_ok());
}
