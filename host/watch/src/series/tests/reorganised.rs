//! Crossings of blocks that a reorganisation replaces.

use super::*;

#[test]
fn a_crossing_of_an_orphaned_block_is_retracted_unless_the_new_block_shows_it_too() {
    let crossed = |after: f64| {
        let mut watch = Watched::new(below(1.3, 1.4));
        watch.value(2.0);
        assert_eq!(words(&watch.value(1.0)), ["crossed"]);
        watch.chains.orphaned.insert(hash(1));
        watch.value(after)
    };
    assert!(crossed(1.1).is_empty());
    assert!(matches!(&crossed(1.5)[..], [What::Retracted { seq: 1, .. }]));
    assert!(matches!(&crossed(1.35)[..], [What::Retracted { seq: 1, .. }]), "on the new chain it was never below");
}

#[test]
fn an_event_of_a_final_block_stands() {
    let mut watch = Watched::new(below(1.3, 1.4));
    watch.value(2.0);
    watch.value(1.0);
    watch.chains.settled.insert(1, 1);
    let reading = Reading::Read(sample(1.0, 2));
    assert_eq!(watch.observe(reading).settled, [1]);
    watch.chains.orphaned.insert(hash(1));
    assert_eq!(words(&watch.value(1.5)), ["cleared"]);
}

#[test]
fn an_event_that_no_state_remembers_is_retracted_too() {
    let by = |watch: &mut Watched, value, version: &str| {
        let version: Option<ModelVersion> = version.parse().ok();
        watch.see(Reading::Read(Sample { version, ..sample(value, watch.step) }))
    };
    let score = trigger(Measure::Score, Some(Limit::Below { at: 600.0, clear: 612.0 }));
    // The crossing, the promotion after it, and a value on the chain that has neither block.
    let mut watch = Watched::new(score.clone());
    by(&mut watch, 700.0, "1.1");
    assert_eq!(words(&by(&mut watch, 550.0, "1.1")), ["crossed"]);
    assert_eq!(words(&by(&mut watch, 540.0, "1.3")), ["model"]);
    watch.chains.orphaned.extend([hash(1), hash(2)]);
    let told = by(&mut watch, 690.0, "1.3");
    assert_eq!(words(&told), ["retracted", "retracted", "model"]);
    assert!(matches!(&told[2], What::ModelChanged { before, fired: false, .. } if before.value == Some(700.0)));
    // A value by another version does not show that the crossing still stands.
    let mut watch = Watched::new(score);
    by(&mut watch, 700.0, "1.1");
    by(&mut watch, 550.0, "1.1");
    watch.chains.orphaned.insert(hash(1));
    assert_eq!(words(&by(&mut watch, 540.0, "1.3")), ["retracted", "model"]);
    // A first value that fired.
    let mut watch = Watched { fires_at_once: true, ..Watched::new(below(1.3, 1.4)) };
    watch.value(1.0);
    watch.chains.orphaned.insert(hash(0));
    assert_eq!(words(&watch.value(2.0)), ["retracted"]);
    // Other bounds, and a market that is not read any more.
    for market in [false, true] {
        let mut watch = Watched::new(below(1.3, 1.4));
        watch.value(2.0);
        watch.value(1.0);
        if !market {
            watch.replace();
        }
        watch.state.series.remove(if market { "other" } else { "" });
        let other = Readings::from([("other".to_owned(), Reading::Read(sample(2.0, 2)))]);
        let round = Round {
            readings: &other,
            now: time_from_unix(2 * MINUTE),
            since: time_from_unix(0),
            stale_after: TimeDelta::minutes(10),
            fires_at_once: false,
            chains: &watch.chains,
        };
        watch.state.observe(&watch.trigger, &round, &mut watch.past, &mut watch.next);
        watch.chains.orphaned.insert(hash(1));
        assert!(matches!(&watch.unread()[..], [What::Retracted { seq: 1, after: None, .. }]), "{market}");
    }
}

#[test]
fn the_oldest_of_too_many_open_events_are_named() {
    let mut watch = Watched::new(below(1.3, 1.4));
    let mut unchecked = Vec::new();
    for turn in 0..36 {
        let reading = Reading::Read(sample(if turn % 2 == 0 { 2.0 } else { 1.0 }, watch.step));
        unchecked.extend(watch.observe(reading).unchecked);
    }
    assert_eq!((watch.next, unchecked), (36, vec![1, 2, 3]));
}

#[test]
fn a_value_waits_until_it_is_known_what_became_of_the_block_before_it() {
    let mut watch = Watched::new(below(1.3, 1.4));
    watch.value(2.0);
    watch.value(1.0);
    watch.chains.unknown.insert(hash(1));
    assert!(watch.value(2.0).is_empty(), "cleared, or never crossed");
    watch.chains.unknown.clear();
    watch.chains.orphaned.insert(hash(1));
    assert_eq!(words(&watch.value(2.0)), ["retracted"]);
}
