//! Counters and rates never exceed their limit, and a lease has one holder at a time.

use std::{num::NonZeroU32, time::Duration};

use super::*;
use crate::{Admission, Batch, Metered, Take};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn however_many_take_at_once_the_limit_holds() {
    for store in each().await {
        let takers = (0..500).map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.take(&number("a"), 3, 1000).await.unwrap() })
        });
        let taken = futures::future::join_all(takers).await;
        let count = taken.into_iter().filter(|take| matches!(take, Ok(Take::Taken { .. }))).count();
        assert_eq!(count, 333);
        assert_eq!(store.get(&number("a")).await.unwrap(), Some(999));
        assert_eq!(store.take(&number("a"), 2, 1000).await.unwrap(), Take::Exhausted { used: 999 });
        assert_eq!(store.take(&number("a"), u64::MAX, u64::MAX).await.unwrap(), Take::Exhausted { used: 999 });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn however_many_hosts_count_one_rate_holds_for_all() {
    let config = server::config();
    let hosts = [Store::open(&config).await.unwrap(), Store::open(&config).await.unwrap()];
    // The window is too long for a used request to return during the test.
    let (rate, window) = (NonZeroU32::new(7).unwrap(), Duration::from_secs(36_000));
    let draws = (0..100).map(|n| {
        let host = hosts[n % 2].clone();
        tokio::spawn(async move { host.admit(&counted("key", "a"), rate, window).await.unwrap() })
    });
    let draws: Vec<_> = futures::future::join_all(draws).await.into_iter().map(Result::unwrap).collect();
    let mut left: Vec<_> = draws
        .iter()
        .filter_map(|draw| if let Admission::Allowed { left } = draw { Some(*left) } else { None })
        .collect();
    left.sort_unstable();
    assert_eq!(left, [0, 1, 2, 3, 4, 5, 6]);
    let waits: Vec<_> = draws
        .iter()
        .filter_map(|draw| if let Admission::Refused { wait } = draw { Some(*wait) } else { None })
        .collect();
    assert!(waits.len() == 93 && waits.iter().all(|wait| !wait.is_zero() && *wait <= window / 7), "{waits:?}");
    for other in [counted("key", "b"), counted("address", "a")] {
        assert_eq!(hosts[0].admit(&other, rate, window).await, Some(Admission::Allowed { left: 6 }), "{other:?}");
    }
    let least = NonZeroU32::MAX;
    assert_eq!(
        hosts[0].admit(&counted("key", "c"), least, window).await,
        Some(Admission::Allowed { left: u32::MAX - 1 })
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_request_is_counted_and_paid_for_in_one_write() {
    let config = server::config();
    let hosts = [Store::open(&config).await.unwrap(), Store::open(&config).await.unwrap()];
    let window = Duration::from_secs(36_000);
    let ask = async |host: &Store, rate: u32, limit: u64| {
        let (key, counter) = (number(&format!("rate {rate}")), number("units"));
        let rate_limit = RateLimit { key: &key, rate: NonZeroU32::new(rate).unwrap(), window };
        both(host, rate_limit, Withdrawal { counter: &counter, amount: 3, limit }).await.unwrap()
    };
    // The rate runs out first.
    let asked = (0..60).map(|n| ask(&hosts[n % 2], 20, 1_000));
    let all = futures::future::join_all(asked).await;
    let paid = |(admission, take): &Metered| {
        matches!((admission, take), (Admission::Allowed { .. }, Some(Take::Taken { .. })))
    };
    let refused = |result: &Metered| matches!(result, (Admission::Refused { wait }, None) if !wait.is_zero());
    let count = |what: fn(&Metered) -> bool| all.iter().filter(|one| what(one)).count();
    assert_eq!((count(paid), count(refused)), (20, 40));
    assert_eq!(hosts[0].get(&number("units")).await.unwrap(), Some(60));
    // The units run out first: a request without units still counts.
    let asked = (0..30).map(|n| ask(&hosts[n % 2], 100, 100));
    let all = futures::future::join_all(asked).await;
    let count = |what: fn(&Metered) -> bool| all.iter().filter(|one| what(one)).count();
    let exhausted = |(admission, take): &Metered| {
        matches!((admission, take), (Admission::Allowed { .. }, Some(Take::Exhausted { used: 99 })))
    };
    assert_eq!((count(paid), count(exhausted)), (13, 17));
    assert_eq!(hosts[0].get(&number("units")).await.unwrap(), Some(99));
    let (last, _) = ask(&hosts[0], 100, 100).await;
    assert_eq!(last, Admission::Allowed { left: 69 });
}

#[tokio::test]
async fn a_store_of_one_host_leaves_rates_to_it() {
    let Fixture { store, .. } = Fixture::new().await;
    let (key, meter) = (number("rate"), number("units"));
    let rate_limit = RateLimit { key: &key, rate: NonZeroU32::MIN, window: Duration::from_secs(1) };
    let found = both(&store, rate_limit, Withdrawal { counter: &meter, amount: 1, limit: 1 }).await;
    assert_eq!((found, store.get(&meter).await.unwrap()), (None, None));
    assert_eq!(store.admit(&counted("key", "a"), NonZeroU32::MIN, Duration::from_secs(1)).await, None);
}

#[tokio::test]
async fn giving_back_stops_at_zero() {
    for store in each().await {
        let key = number("a");
        store.take(&key, 5, 5).await.unwrap();
        store.refund(&key, 2).await.unwrap();
        assert_eq!(store.get(&key).await.unwrap(), Some(3));
        store.refund(&key, 9).await.unwrap();
        assert_eq!(store.take(&key, 5, 5).await.unwrap(), Take::Taken { used: 5 });
    }
}

#[tokio::test]
async fn of_many_one_is_given_a_lease_and_its_token_only_grows() {
    for store in each().await {
        let ttl = Duration::from_secs(600);
        let contenders = (0..8).map(|_| store.acquire("sync", "a", ttl));
        let granted: Vec<_> =
            futures::future::join_all(contenders).await.into_iter().filter_map(Result::unwrap).collect();
        let [first] = granted.as_slice() else { panic!("{granted:?}") };
        assert!(store.renew(first, ttl).await.unwrap());
        store.release(first.clone()).await.unwrap();
        assert!(!store.renew(first, ttl).await.unwrap());
        let second = store.acquire("sync", "b \"quoted\"", ttl).await.unwrap().unwrap();
        assert!(second.token > first.token);
        store.release(first.clone()).await.unwrap();
        assert_eq!(store.acquire("sync", "c", ttl).await.unwrap(), None, "an old holder releases nothing");

        let write = |lease, value: u64| store.commit(Batch::new().if_leased(lease).put(&number("a"), &value).unwrap());
        assert!(!write(first, 1).await.unwrap(), "nor does it write");
        assert!(write(&second, 2).await.unwrap());
        assert_eq!(store.get(&number("a")).await.unwrap(), Some(2));
    }
}

#[tokio::test]
async fn units_are_taken_with_what_they_are_for_or_not_at_all() {
    for store in each().await {
        let (meter, item) = (number("meter"), number("item"));
        let buy = |value: u64| store.commit(Batch::new().put(&item, &value).unwrap().take(&meter, 6, 10));
        assert!(buy(1).await.unwrap());
        assert!(!buy(2).await.unwrap());
        assert_eq!(store.get_many(&[meter.clone(), item.clone()]).await.unwrap(), [Some(6), Some(1)]);
        assert!(store.commit(Batch::new().remove(&item).refund(&meter, 6)).await.unwrap());
        assert_eq!(store.get_many(&[meter.clone(), item.clone()]).await.unwrap(), [Some(0), None]);
    }
}

#[tokio::test]
async fn one_holds_a_lease_until_it_ends_or_is_released() {
    let Fixture { store, time, .. } = Fixture::new().await;
    let ttl = Duration::from_millis(10);
    let contenders = (0..8).map(|_| store.acquire("sync", "a", ttl));
    let granted: Vec<_> = futures::future::join_all(contenders).await.into_iter().filter_map(Result::unwrap).collect();
    let [first] = granted.as_slice() else { panic!("{granted:?}") };

    time.forward(9);
    assert!(store.renew(first, ttl).await.unwrap());
    time.forward(9);
    assert_eq!(store.acquire("sync", "b", ttl).await.unwrap(), None);
    time.forward(1);
    assert!(!store.renew(first, ttl).await.unwrap());
    let second = store.acquire("sync", "b", ttl).await.unwrap().unwrap();
    assert!(second.token > first.token);

    store.release(first.clone()).await.unwrap();
    assert_eq!(store.acquire("sync", "c", ttl).await.unwrap(), None, "an old holder releases nothing");
    store.release(second.clone()).await.unwrap();
    assert!(store.acquire("sync", "c", ttl).await.unwrap().unwrap().token > second.token);
}

#[tokio::test]
async fn a_holder_that_was_away_too_long_writes_nothing() {
    let Fixture { store, time, .. } = Fixture::new().await;
    let ttl = Duration::from_millis(10);
    let old = store.acquire("sync", "a", ttl).await.unwrap().unwrap();
    let write = |lease, value: u64| store.commit(Batch::new().if_leased(lease).put(&number("a"), &value).unwrap());
    assert!(write(&old, 1).await.unwrap());
    time.forward(10);
    let new = store.acquire("sync", "b", ttl).await.unwrap().unwrap();
    assert!(!write(&old, 2).await.unwrap());
    assert!(write(&new, 3).await.unwrap());
    assert_eq!(store.get(&number("a")).await.unwrap(), Some(3));
}
