//! A server that is reached and refuses calls.

use std::{fs, time::Duration};

use assay_process::redis::{FORGETFUL, Redis, ask};

use super::{
    server::{on, until},
    *,
};
use crate::StoreError;

/// What to do to a server, in words of redis-cli.
type Commands<'a> = &'a [&'a str];

async fn on_server(server: &Redis) -> Store {
    Store::open(&config::Store { call_timeout: Duration::from_secs(2), ..on(&server.url()) }).await.unwrap()
}

fn say(server: &Redis, command: &str) {
    let said = ask(server.port, &command.split(' ').collect::<Vec<_>>());
    assert_eq!(said.trim(), "OK", "{command}");
}

/// The store reports every kind of write as refused, still reads, and recovers once `end` was said. `codes` are what
/// the server may say.
async fn refuses(store: &Store, server: &Redis, (codes, begin, end): (&[&str], Commands<'_>, Commands<'_>)) {
    begin.iter().for_each(|command| say(server, command));
    let refused = |error: StoreError| {
        let says = |text: &str| codes.iter().any(|code| text.contains(code));
        assert!(matches!(&error, StoreError::Unwritable { reason } if says(reason)), "{codes:?}: {error:?}");
        assert!(store.fault().is_some_and(|fault| says(&fault)), "{codes:?}: {:?}", store.fault());
    };
    refused(store.put(&number("a"), &2).await.unwrap_err());
    let apart = store.put(&SPREAD.key("1/1/1"), &Sample::default()).await;
    // Records of one address are written without a script.
    if !begin.iter().any(|command| command.contains("eval")) {
        refused(apart.unwrap_err());
    }
    refused(store.take(&number("a"), 1, 9).await.unwrap_err());
    refused(store.acquire("sync", "a", Duration::from_secs(60)).await.unwrap_err());
    assert_eq!(store.get(&number("a")).await.unwrap(), Some(1), "{codes:?}");

    end.iter().for_each(|command| say(server, command));
    until(async || store.fault().is_none()).await;
    store.put(&number("a"), &1).await.unwrap();
}

#[tokio::test]
async fn every_refusal_of_a_write_is_unwritable_until_it_ends() {
    let server = Redis::start(&FORGETFUL);
    let store = on_server(&server).await;
    store.put(&number("a"), &1).await.unwrap();
    for case in [
        (&["OOM"][..], &["config set maxmemory 1"][..], &["config set maxmemory 0"][..]),
        (&["NOREPLICAS"], &["config set min-replicas-to-write 1"], &["config set min-replicas-to-write 0"]),
        (&["READONLY"], &["replicaof 127.0.0.1 1"], &["replicaof no one"]),
        (&["NOPERM"], &["acl setuser default -eval -evalsha"], &["acl setuser default +eval +evalsha"]),
        // In a script, the refused command has another error.
        (&["NOPERM", "can't run this command"], &["acl setuser default -set"], &["acl setuser default +set"]),
    ] {
        refuses(&store, &server, case).await;
    }
}

#[tokio::test]
async fn a_server_that_cannot_save_is_unwritable_until_it_can() {
    let server = Redis::start(&["--save", "3600", "1000000", "--appendonly", "no"]);
    let store = on_server(&server).await;
    store.put(&number("a"), &1).await.unwrap();
    // No file can get this name.
    let dump = server.folder().join("dump.rdb");
    fs::create_dir(&dump).unwrap();
    ask(server.port, &["bgsave"]);
    until(async || ask(server.port, &["info", "persistence"]).contains("rdb_last_bgsave_status:err")).await;
    refuses(&store, &server, (&["MISCONF"], &[], &["config set stop-writes-on-bgsave-error no"])).await;
}

#[tokio::test]
async fn a_server_that_refuses_writes_still_lists_a_family_with_expired_records() {
    let server = Redis::start(&FORGETFUL);
    let store = on_server(&server).await;
    let key = LISTED.key("7/a");
    store.put_expiring(&key, &Sample::default(), Duration::from_millis(1)).await.unwrap();
    store.put(&LISTED.key("8/a"), &Sample::default()).await.unwrap();
    until(async || store.get(&key).await.unwrap().is_none()).await;
    say(&server, "config set min-replicas-to-write 1");
    let listed = store.list(&LISTED).await.unwrap();
    assert_eq!(listed.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), ["8/a"]);
}

#[tokio::test]
async fn a_server_that_begins_to_evict_records_is_reported() {
    let server = Redis::start(&FORGETFUL);
    let store = on_server(&server).await;
    let says = |policy: &'static str| move |fault: String| fault.contains(&format!("maxmemory-policy {policy}"));
    for policy in ["allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-ttl"] {
        // Either setting may come first, and either ends it.
        for (begin, end) in [
            (["maxmemory 100mb", &format!("maxmemory-policy {policy}")], "maxmemory-policy noeviction"),
            ([&format!("maxmemory-policy {policy}"), "maxmemory 100mb"], "maxmemory 0"),
        ] {
            say(&server, "config set maxmemory 0");
            say(&server, "config set maxmemory-policy noeviction");
            begin.iter().for_each(|setting| say(&server, &format!("config set {setting}")));
            until(async || store.fault().is_some_and(says(policy))).await;
            say(&server, &format!("config set {end}"));
            until(async || store.fault().is_none()).await;
        }
    }
}

#[tokio::test]
async fn a_policy_that_can_no_longer_be_read_is_no_sign_that_it_is_well() {
    let server = Redis::start(&FORGETFUL);
    let store = on_server(&server).await;
    say(&server, "config set maxmemory 100mb");
    say(&server, "config set maxmemory-policy allkeys-lru");
    until(async || store.fault().is_some_and(|fault| fault.contains("allkeys-lru"))).await;
    say(&server, "acl setuser default -info");
    // The second refused look comes after what the first one led to.
    let refused_looks = || {
        let log = ask(server.port, &["acl", "log"]);
        let count = log.lines().skip_while(|line| *line != "count").nth(1);
        count.and_then(|count| count.parse::<u32>().ok()).unwrap_or_default()
    };
    until(async || refused_looks() >= 2).await;
    assert!(store.fault().is_some_and(|fault| fault.contains("allkeys-lru")), "{:?}", store.fault());
    say(&server, "acl setuser default +info");
    say(&server, "config set maxmemory-policy noeviction");
    until(async || store.fault().is_none()).await;
}

#[tokio::test]
async fn a_refund_waits_for_a_server_that_refuses_it() {
    let server = Redis::start(&FORGETFUL);
    let store = on_server(&server).await;
    store.put(&number("a"), &5).await.unwrap();
    say(&server, "config set maxmemory 1");
    let meter = number("a");
    let (refunded, ()) = tokio::join!(store.refund(&meter, 2), async {
        until(async || store.fault().is_some()).await;
        say(&server, "config set maxmemory 0");
    });
    refunded.unwrap();
    assert_eq!(store.get(&meter).await.unwrap(), Some(3));
}
