//! Reads of written records, batches, compare-and-swap, expiry, lists.

use std::{num::NonZeroUsize, time::Duration};

use serde_json::value::RawValue;

use super::*;
use crate::{Batch, Revision, StoreError};

#[tokio::test]
async fn what_was_put_is_read_back_also_after_reopening() {
    let Fixture { store, folder, .. } = Fixture::new().await;
    let roles = Sample { name: "credit".into(), parts: vec!["1.1".into()], limit: Some(7) };
    let progress = Sample { name: "core".into(), parts: vec![], limit: None };
    let [one, two] = ["1/9/1", "1/9/2"].map(|rest| SPREAD.key(rest));
    let [credit, sybil] = ["credit", "sybil"].map(|kind| Family::<Sample>::new("roles/").key(kind));
    store.put(&credit, &roles).await.unwrap();
    store.put(&two, &progress).await.unwrap();
    drop(store);

    let store = reopened(&folder.path().join("assay.redb")).await.unwrap();
    assert_eq!(store.get(&credit).await.unwrap(), Some(roles));
    assert_eq!(store.get(&sybil).await.unwrap(), None);
    assert_eq!(store.get_many(&[one, two.clone()]).await.unwrap(), [None, Some(progress)]);
    store.remove(&two).await.unwrap();
    assert_eq!(store.get(&two).await.unwrap(), None);
}

#[tokio::test]
async fn a_batch_is_all_or_nothing() {
    for store in each().await {
        let [a, b] = ["a", "b"].map(number);
        let batch = || Batch::new().if_unchanged(&a, Revision::ABSENT).put(&a, &1).unwrap().put(&b, &2).unwrap();
        assert!(store.commit(batch()).await.unwrap());
        store.remove(&b).await.unwrap();
        assert!(!store.commit(batch()).await.unwrap());
        assert_eq!(store.get_many(&[a, b]).await.unwrap(), [Some(1), None]);
    }
}

#[tokio::test]
async fn of_many_swaps_from_one_state_one_wins() {
    for store in each().await {
        let key = number("a");
        for round in 1..=20 {
            let seen = store.read(&key).await.unwrap();
            let swaps = (0..16).map(|_| store.compare_and_swap(&key, &seen.revision, &round));
            let won = futures::future::join_all(swaps).await.into_iter().filter(|won| *won.as_ref().unwrap()).count();
            assert_eq!(won, 1);
        }
        assert_eq!(store.get(&key).await.unwrap(), Some(20));
    }
}

#[tokio::test]
async fn what_has_expired_is_gone_and_is_swept_by_later_writes() {
    let Fixture { store, time, .. } = Fixture::new().await;
    let [short, long, renewed] = ["short", "long", "renewed"].map(number);
    for key in [&short, &renewed] {
        store.put_expiring(key, &1, Duration::from_millis(10)).await.unwrap();
    }
    store.put_expiring(&long, &1, Duration::from_millis(20)).await.unwrap();
    store.put(&renewed, &2).await.unwrap();
    time.forward(9);
    assert_eq!(store.get(&short).await.unwrap(), Some(1));
    time.forward(1);
    assert_eq!(store.get_many(&[short.clone(), long, renewed]).await.unwrap(), [None, Some(1), Some(2)]);
    assert!(store.compare_and_swap(&short, &Revision::ABSENT, &5).await.unwrap());
    assert_eq!(store.get(&short).await.unwrap(), Some(5));

    let Backend::Embedded(embedded) = &store.backend else { panic!() };
    assert_eq!(embedded.stored().await.unwrap(), 3);
    time.forward(10);
    store.put(&number("other"), &1).await.unwrap();
    assert_eq!(embedded.stored().await.unwrap(), 3, "the long one went, the other one came");
}

#[tokio::test]
async fn a_family_lists_its_own_records_in_order() {
    for store in each().await {
        let keys: Family<Sample> = Family::listed("api-key/");
        let record = |name: &str| Sample { name: name.into(), ..Sample::default() };
        for byte in [3, 1, 2] {
            store.put(&keys.key(hex::encode([byte; 32])), &record(&byte.to_string())).await.unwrap();
        }
        store.put(&number("a"), &1).await.unwrap();
        let listed = store.list(&keys).await.unwrap();
        assert_eq!(listed.iter().map(|(_, record)| record.name.as_str()).collect::<Vec<_>>(), ["1", "2", "3"]);
        assert_eq!(listed[0].0, hex::encode([1; 32]));
    }
}

#[tokio::test]
async fn a_family_is_read_in_pages() {
    for store in each().await {
        let hours: Family<u32> = Family::listed("observed/");
        for (hour, process) in [(7, "a"), (7, "b"), (8, "a"), (9, "a"), (9, "c")] {
            store.put(&hours.key(format_args!("{hour}/{process}")), &hour).await.unwrap();
        }
        store.put(&Family::<u32>::listed("open/").key("0"), &0).await.unwrap();
        let (mut found, mut after, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = store.page(&hours, after.as_deref(), NonZeroUsize::new(2).unwrap()).await.unwrap();
            assert!(page.records.len() <= 2);
            found.extend(page.records.into_iter().map(|(key, hour)| format!("{key}={hour}")));
            pages += 1;
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, ["7/a=7", "7/b=7", "8/a=8", "9/a=9", "9/c=9"]);
        assert_eq!(pages, 3);
        let rest = store.page(&hours, Some("8/a"), NonZeroUsize::new(9).unwrap()).await.unwrap();
        assert_eq!(rest.records.len(), 2);
        assert!(rest.next.is_none());
    }
}

#[tokio::test]
async fn a_damaged_record_is_named_and_harms_no_other() {
    for store in each().await {
        let named = |error: StoreError| error.to_string().contains("units/damaged");
        for damage in ["\"no number\"", "100000000000000000000000", "-1", "1.5", "1e3", "[]", "null"] {
            let record: Box<RawValue> = serde_json::from_str(damage).unwrap();
            store.put(&Key::retyped(&number("damaged")), &record).await.unwrap();
            assert!(named(store.get(&number("damaged")).await.unwrap_err()), "{damage}");
            let (bad, good) = (number("damaged"), number("good"));
            let (bad, good) = tokio::join!(store.take(&bad, 1, 99), store.take(&good, 1, 99));
            assert!(named(bad.unwrap_err()), "{damage}");
            assert!(good.is_ok());
            let mixed = Batch::new().put(&number("other"), &1).unwrap().refund(&number("damaged"), 1);
            assert!(named(store.commit(mixed).await.unwrap_err()), "{damage}");
            assert_eq!(store.get(&number("other")).await.unwrap(), None);
        }
    }
}
