//! Failures of a server: it stops, restarts, loses an answer, or is the wrong server.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{
    server::{config, on, until},
    *,
};
use crate::{Admission, Batch, OpenError, StoreError, Take};
use assay_process::redis::{DURABLE, FORGETFUL, Redis};

/// Forwards connections. After a given number of writes, it closes the connection once the server has answered a write,
/// before forwarding the answer.
#[derive(Clone)]
struct Breaker {
    left: Arc<Mutex<Option<u32>>>,
    port: u16,
}

impl Breaker {
    async fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let this = Self { left: Arc::default(), port: listener.local_addr().unwrap().port() };
        let breaker = this.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(breaker.clone().pass(client, server));
            }
        });
        this
    }

    /// Loses the answer after this many further answers.
    fn lose_after(&self, answers: u32) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(answers);
    }

    async fn pass(self, client: TcpStream, server: u16) {
        let (mut from, mut to) = client.into_split();
        let (mut answers, mut asks) = TcpStream::connect(("127.0.0.1", server)).await.unwrap().into_split();
        let asking = tokio::spawn(async move { tokio::io::copy(&mut from, &mut asks).await });
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = answers.read(&mut buffer).await {
            let lost = {
                let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
                let lost = *left == Some(0);
                *left = if lost { None } else { left.map(|left| left - 1) };
                lost
            };
            if lost || to.write_all(&buffer[..read]).await.is_err() {
                break;
            }
        }
        asking.abort();
    }
}

#[tokio::test]
async fn what_has_expired_is_gone_from_its_family_too() {
    let store = Store::open(&config()).await.unwrap();
    let key = LISTED.key("7/a");
    let page = Default::default();
    store.put_expiring(&key, &page, Duration::from_millis(1)).await.unwrap();
    store.put(&LISTED.key("8/a"), &page).await.unwrap();
    until(async || store.get(&key).await.unwrap().is_none()).await;
    let listed = store.list(&LISTED).await.unwrap();
    assert_eq!(listed.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), ["8/a"]);
}

#[tokio::test]
async fn a_page_is_full_although_records_before_and_in_it_have_expired() {
    let store = Store::open(&config()).await.unwrap();
    let events: Family<u32> = Family::listed("watch-event/");
    let key = |number: u32| events.key(format_args!("{number:05}"));
    let mut batch = Batch::new();
    for number in 0..1_300 {
        batch = if number == 600 || number >= 1_298 {
            batch.put(&key(number), &number).unwrap()
        } else {
            batch.put_expiring(&key(number), &number, Duration::from_millis(1)).unwrap()
        };
    }
    assert!(store.commit(batch).await.unwrap());
    until(async || store.get(&key(1_297)).await.unwrap().is_none()).await;
    let (mut found, mut after) = (Vec::new(), None);
    for _ in 0..3 {
        let page = store.page(&events, after.as_deref(), NonZeroUsize::MIN).await.unwrap();
        found.extend(page.records.into_iter().map(|(_, number)| number));
        after = page.next;
    }
    assert_eq!(found, [600, 1_298, 1_299]);
    let all = store.page(&events, None, NonZeroUsize::new(3).unwrap()).await.unwrap();
    assert_eq!(all.records.len(), 3);
}

#[tokio::test]
async fn a_lease_ends_by_itself() {
    let store = Store::open(&config()).await.unwrap();
    let first = store.acquire("sync", "a", Duration::from_millis(1)).await.unwrap().unwrap();
    until(async || store.acquire("sync", "b", Duration::from_secs(600)).await.unwrap().is_some()).await;
    assert!(!store.renew(&first, Duration::from_secs(600)).await.unwrap());
}

#[tokio::test]
async fn a_long_family_is_listed_whole() {
    let store = Store::open(&config()).await.unwrap();
    let open: Family<u32> = Family::listed("submission-open/");
    let mut batch = Batch::new();
    for id in 0..1_200 {
        batch = batch.put(&open.key(format_args!("{id:015}")), &id).unwrap();
    }
    assert!(store.commit(batch).await.unwrap());
    let listed = store.list(&open).await.unwrap();
    assert_eq!(listed.len(), 1_200);
    assert!(listed.is_sorted_by_key(|(name, _)| name.clone()));
}

#[tokio::test]
async fn records_that_are_kept_apart_are_not_held_to_others() {
    let store = Store::open(&config()).await.unwrap();
    let (first, seen) = (SPREAD.key("1/1/1"), Sample::default());
    let mixed = Batch::new().put(&first, &seen).unwrap().put(&number("a"), &1).unwrap();
    assert!(matches!(store.commit(mixed).await, Err(StoreError::Unstorable { .. })));
    assert_eq!(store.get(&first).await.unwrap(), None);
}

#[tokio::test]
async fn a_prefix_is_a_store_of_its_own() {
    let [one, two] = [config(), config()];
    let (one, two) = (Store::open(&one).await.unwrap(), Store::open(&two).await.unwrap());
    one.put(&number("a"), &1).await.unwrap();
    assert_eq!(two.get(&number("a")).await.unwrap(), None);
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_happens_once() {
    let server = Redis::start(&FORGETFUL);
    let breaker = Breaker::before(server.port).await;
    let store = Store::open(&on(&format!("redis://127.0.0.1:{}", breaker.port))).await.unwrap();
    let meter = number("meter");
    for round in 1..=20 {
        breaker.lose_after(round % 3);
        assert_eq!(store.take(&meter, 1, 100).await.unwrap(), Take::Taken { used: u64::from(3 * round - 2) });
        assert!(store.commit(Batch::new().take(&meter, 3, 100)).await.unwrap());
        store.refund(&meter, 1).await.unwrap();
        assert_eq!(store.get(&meter).await.unwrap(), Some(u64::from(3 * round)));
    }
    // A request with its units is also counted once.
    let (key, paid) = (number("rate"), number("paid"));
    let (rate, window) = (NonZeroU32::new(100).unwrap(), Duration::from_secs(36_000));
    for round in 1..=20 {
        breaker.lose_after(round % 3);
        let used = u64::from(round);
        let expected = (Admission::Allowed { left: 100 - round }, Some(Take::Taken { used }));
        let withdrawal = Withdrawal { counter: &paid, amount: 1, limit: 100 };
        let metered = both(&store, RateLimit { key: &key, rate, window }, withdrawal);
        assert_eq!(metered.await, Some(expected));
        assert_eq!(store.get(&paid).await.unwrap(), Some(used));
    }
}

#[tokio::test]
async fn a_stop_waits_for_the_refund_of_an_unanswered_take() {
    let server = Redis::start(&FORGETFUL);
    let breaker = Breaker::before(server.port).await;
    // Too short to send a call again.
    let call_timeout = Duration::from_millis(1);
    let config = config::Store { call_timeout, ..on(&format!("redis://127.0.0.1:{}", breaker.port)) };
    let store = Store::open(&config).await.unwrap();
    let (meter, mut used) = (number("meter"), 1);
    store.put(&meter, &used).await.unwrap();
    loop {
        until(async || store.fault().is_none()).await;
        breaker.lose_after(0);
        // The lost answer may be that of another call, which the store makes by itself.
        match store.take(&meter, 5, 100).await {
            Ok(_) => used += 5,
            Err(StoreError::Unanswered { .. }) => break,
            Err(_) => {}
        }
    }
    let mut settling = pin!(store.settle());
    // The store has not connected again.
    assert!(futures::poll!(&mut settling).is_pending());
    settling.await;
    assert_eq!(store.get(&meter).await.unwrap(), Some(used));
}

#[tokio::test]
async fn a_server_that_goes_away_is_an_error_until_it_is_back() {
    let server = Redis::start(&DURABLE);
    let config = config::Store { call_timeout: Duration::from_secs(2), ..on(&server.url()) };
    let store = Store::open(&config).await.unwrap();
    assert_eq!(store.take(&number("a"), 1, 9).await.unwrap(), Take::Taken { used: 1 });
    let (folder, port) = server.kill();
    let error = store.get(&number("a")).await.unwrap_err();
    assert!(matches!(error, StoreError::Away { .. }), "{error}");
    // The first call may have been sent before.
    store.take(&number("a"), 1, 9).await.unwrap_err();
    let error = store.take(&number("a"), 1, 9).await.unwrap_err();
    assert!(matches!(error, StoreError::Away { .. }), "{error}");
    assert!(store.fault().is_some());

    let _server = Redis::start_in(folder, port, &DURABLE).unwrap();
    until(async || store.fault().is_none()).await;
    assert_eq!(store.take(&number("a"), 1, 9).await.unwrap(), Take::Taken { used: 2 });
}

#[tokio::test]
async fn what_is_used_of_a_rate_comes_back_and_is_forgotten() {
    let store = Store::open(&config()).await.unwrap();
    let (key, window) = (counted("key", "a"), Duration::from_millis(20));
    let allowed = Some(Admission::Allowed { left: 0 });
    for _ in 0..3 {
        until(async || store.admit(&key, NonZeroU32::MIN, window).await == allowed).await;
    }
    until(async || store.get(&key).await.unwrap().is_none()).await;
}

#[tokio::test]
async fn a_rate_does_not_wait_for_a_server_that_is_slow_or_away() {
    let server = Redis::start(&FORGETFUL);
    let config = config::Store { count_timeout: Duration::from_millis(50), ..on(&server.url()) };
    let store = Store::open(&config).await.unwrap();
    let draw = || async { store.admit(&counted("key", "a"), NonZeroU32::MAX, Duration::from_secs(60)).await };
    let client = ::redis::Client::open(server.url()).unwrap();
    let mut other = client.get_multiplexed_async_connection().await.unwrap();
    // The server accepts write commands, but executes them only when the pause ends.
    ::redis::cmd("CLIENT").arg("PAUSE").arg(3_600_000).arg("WRITE").exec_async(&mut other).await.unwrap();
    assert_eq!((draw().await, draw().await), (None, None));
    assert_eq!(store.fault(), None);
    ::redis::cmd("CLIENT").arg("UNPAUSE").exec_async(&mut other).await.unwrap();
    until(async || draw().await.is_some()).await;

    let (folder, port) = server.kill();
    until(async || draw().await.is_none()).await;
    let _server = Redis::start_in(folder, port, &FORGETFUL).unwrap();
    until(async || draw().await.is_some()).await;
}

#[tokio::test]
async fn what_is_no_server_or_an_unsafe_one_is_refused_without_a_secret() {
    let forgetful = Redis::start(&["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]);
    let closed = Redis::start(&["--requirepass", "other"]);
    let (evicting, shut) = (forgetful.port, closed.port);
    for (url, part) in [
        ("redis://:s3cret@127.0.0.1:1".to_owned(), "refused"),
        (format!("redis://127.0.0.1:{evicting}"), "noeviction"),
        (format!("redis://:s3cret@127.0.0.1:{shut}"), "authentication failed"),
        (format!("redis://127.0.0.1:{shut}"), "NOAUTH"),
        ("redis:s3cret".to_owned(), "it is written"),
    ] {
        let Err(error) = Store::open(&on(&url)).await else { panic!("{url} is a store") };
        assert!(matches!(error, OpenError::Redis { .. }));
        let said = error.to_string();
        assert!(said.contains(part) && !said.contains("s3cret"), "{url}: {said}");
    }
    Store::open(&on(&format!("redis://:other@127.0.0.1:{shut}"))).await.unwrap();
}
