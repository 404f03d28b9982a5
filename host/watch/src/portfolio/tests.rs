use chrono::TimeDelta;
use serde_json::{Value, json};

use super::*;
use crate::{
    records::{Role, StateRecord},
    trigger::NewTrigger,
    watches::NewWatch,
};
use assay_domain::time_from_unix;

const NOW: u64 = 1_790_000_000;

fn now() -> Time {
    time_from_unix(NOW)
}

/// A watch with this `when`, of a wallet that was never read.
fn unread(when: Value) -> Watch {
    let when: NewTrigger = serde_json::from_value(when).unwrap();
    let new = NewWatch {
        owner: "key".into(),
        by: "key".into(),
        subject: Address::with_last_byte(1).to_string(),
        triggers: vec![when.checked(&[]).unwrap()],
        every: std::time::Duration::from_secs(60),
        fires_at_once: false,
        statement: false,
        url: None,
        until: now() + TimeDelta::days(30),
        role: Role::Single,
        label: None,
    };
    Watch::new(new.record().unwrap(), None)
}

/// The same with a last value, on the wallet `wallet` that owes `owed` dollars.
fn read(when: Value, (value, fired): (Option<f64>, bool), wallet: u8, owed: f64) -> Watch {
    let mut watch = unread(when);
    let sample =
        json!({ "value": value, "at": now(), "blocks": [], "version": null, "score": null, "liquidations": [] });
    let series = json!({ "last": sample, "fired": fired, "stands": null, "left": null, "open": [] });
    let state = json!({ "series": { "": series } });
    let exposure = Exposure {
        at: now(),
        owed_usd: owed,
        at_risk_now_usd: 0.0,
        at_risk_usd: [0.0, owed / 2.0, owed],
        unknown_usd: 0.0,
    };
    watch.state = StateRecord {
        address: Some(Address::with_last_byte(wallet)),
        evaluated_at: Some(now()),
        triggers: vec![serde_json::from_value(state).unwrap()],
        exposure: Some(exposure),
        ..StateRecord::default()
    };
    watch
}

fn health() -> Value {
    json!({ "measure": "health_factor", "below": 1.0 })
}

#[test]
fn a_wallet_that_was_not_read_is_counted_as_such_and_not_as_zero() {
    let watches = [unread(health()), read(health(), (Some(2.0), false), 7, 500.0)];
    let found = Portfolio::of(&watches);
    assert_eq!((found.watches, found.unread, found.debts.read, found.debts.unread), (2, 1, 1, 1));
    assert_eq!((found.debts.owed_usd, found.debts.at_risk_usd), (500.0, [0.0, 250.0, 500.0]));
    assert_eq!(Portfolio::of(&watches[..1]).debts.oldest, None);
}

#[test]
fn the_debt_of_a_wallet_with_several_watches_counts_once_as_it_was_read_last() {
    let mut watches = [
        read(health(), (Some(2.0), false), 7, 500.0),
        read(health(), (Some(2.0), false), 7, 400.0),
        read(health(), (Some(2.0), false), 8, 100.0),
    ];
    watches[1].state.exposure.as_mut().unwrap().at = now() + TimeDelta::seconds(1);
    let found = Portfolio::of(&watches).debts;
    assert_eq!((found.read, found.unread, found.owed_usd, found.oldest), (2, 0, 500.0, Some(now())));
    // A second watch that was not read yet is of a wallet that was.
    watches[1].state.exposure = None;
    let found = Portfolio::of(&watches).debts;
    assert_eq!((found.read, found.unread, found.owed_usd), (2, 0, 600.0));
}

#[test]
fn the_ten_nearest_are_those_nearest_to_bounds_that_are_not_crossed() {
    let mut watches: Vec<Watch> =
        (1..=20_u8).map(|at| read(health(), (Some(1.0 + f64::from(at) / 51.0), false), at, 1.0)).collect();
    watches.push(read(health(), (Some(0.5), true), 30, 1.0));
    watches.push(read(health(), (None, false), 31, 0.0));
    watches.push(read(json!({ "measure": "debt_usd", "above": 1_000 }), (Some(999.0), false), 32, 999.0));
    watches.push(read(json!({ "measure": "coverage", "below": "complete" }), (Some(3.0), false), 33, 1.0));
    let found = Portfolio::of(&watches);
    assert_eq!((found.crossed, found.near), (1, 6), "five within 10 %, and the debt");
    assert_eq!(found.nearest.len(), NEAREST);
    assert_eq!((found.nearest[0].measure, found.nearest[0].value), (Measure::DebtUsd, 999.0));
    assert!(found.nearest.windows(2).all(|pair| pair[0].distance <= pair[1].distance));
}

#[test]
fn ended_watches_and_groups_are_in_no_sum() {
    let mut ended = read(health(), (Some(1.01), false), 7, 500.0);
    ended.state.ended_at = Some(now());
    let mut group = read(health(), (Some(1.01), false), 7, 500.0);
    group.record.role = Role::Group;
    let found = Portfolio::of(&[ended, group]);
    assert_eq!((found.watches, found.near, found.debts.read, found.nearest.len()), (0, 0, 0, 0));
}

#[test]
fn the_states_of_bounds_that_were_replaced_count_as_unread_and_nothing_else() {
    let mut watches = [
        read(health(), (Some(0.5), true), 7, 500.0),
        read(health(), (Some(1.01), false), 8, 500.0),
        read(health(), (None, false), 9, 500.0),
    ];
    watches[2].state.triggers[0].is_stale = true;
    let found = Portfolio::of(&watches);
    assert_eq!((found.crossed, found.near, found.stale, found.unread), (1, 1, 1, 0));
    for watch in &mut watches {
        watch.record.generation += 1;
    }
    let found = Portfolio::of(&watches);
    assert_eq!((found.crossed, found.near, found.stale, found.unread), (0, 0, 0, 3));
    assert_eq!((found.watches, found.nearest.len(), found.debts.owed_usd), (3, 0, 1_500.0));
    // Evaluated with the new bounds.
    for watch in &mut watches {
        watch.state.generation += 1;
    }
    let found = Portfolio::of(&watches);
    assert_eq!((found.crossed, found.near, found.stale, found.unread), (1, 1, 1, 0));
}
