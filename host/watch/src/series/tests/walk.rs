//! Any course of values, failures, promotions, changes of the bounds and reorganisations.

use super::*;

/// One evaluation: a value in tenths, or none; what happens before it, and how many blocks before it a reorganisation
/// replaces.
#[derive(Debug, Clone, Copy)]
enum Step {
    Value(u8),
    Unread,
    Nothing,
    Reorganised(u64, u8),
    Final,
    Promoted(u8),
    Replaced(u8),
}

/// What an event says.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Says {
    Crossed,
    Cleared,
    Begins(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..30_u8).prop_map(Step::Value),
        2 => Just(Step::Unread),
        1 => Just(Step::Nothing),
        2 => (1..6_u64, 0..30_u8).prop_map(|(depth, value)| Step::Reorganised(depth, value)),
        1 => Just(Step::Final),
        1 => (0..30_u8).prop_map(Step::Promoted),
        1 => (0..30_u8).prop_map(Step::Replaced),
    ];
    prop::collection::vec(step, 1..120)
}

proptest! {
    #[test]
    fn every_crossing_is_told_once_on_values_that_were_read(steps in steps(), fires_at_once: bool) {
        let mut watch = Watched { fires_at_once, ..Watched::new(below(1.3, 1.6)) };
        // The events that stand, by number; those of the present bounds, and those before.
        let mut standing: BTreeMap<u64, Says> = BTreeMap::new();
        let mut before = BTreeSet::new();
        let (mut used, mut is_final, mut version) = (BTreeSet::new(), BTreeSet::new(), 1);
        let mut began_fired = None;
        for step in steps {
            let now = watch.step;
            let value = match step {
                Step::Value(value) => Some(value),
                Step::Reorganised(depth, value) => {
                    watch.chains.orphaned.extend((now.saturating_sub(depth)..now).map(hash));
                    Some(value)
                }
                Step::Promoted(value) => {
                    version += 1;
                    Some(value)
                }
                Step::Replaced(value) => {
                    watch.replace();
                    before.extend(std::mem::take(&mut standing).into_keys());
                    began_fired = None;
                    Some(value)
                }
                Step::Final => {
                    watch.chains.settled.insert(1, now.saturating_sub(1));
                    None
                }
                Step::Unread | Step::Nothing => None,
            };
            let value = value.map(|tenths| f64::from(tenths) / 10.0);
            let version: Option<ModelVersion> = format!("1.{version}").parse().ok();
            let reading = match (value, step) {
                (Some(value), _) => Reading::Read(Sample { version, ..sample(value, now) }),
                (None, Step::Nothing) => Reading::Nothing(String::new()),
                (None, _) => Reading::Unread(String::new()),
            };
            let observed = watch.observe(reading);
            is_final.extend(observed.settled.into_iter().chain(observed.unchecked));
            for Change { seq, what } in observed.changes {
                prop_assert!(used.insert(seq), "a number is used once");
                let says = match what {
                    What::Crossed { .. } => Some(Says::Crossed),
                    What::Cleared { .. } => Some(Says::Cleared),
                    What::ModelChanged { fired, .. } => Some(Says::Begins(fired)),
                    What::Retracted { seq, after, .. } => {
                        prop_assert!(!is_final.contains(&seq));
                        let was = if after.is_some() { standing.remove(&seq).is_some() } else { before.remove(&seq) };
                        prop_assert!(was, "an event is retracted once");
                        prop_assert!(after.is_none() || value.is_some());
                        None
                    }
                    What::Stale { .. } => {
                        prop_assert!(value.is_none());
                        None
                    }
                    What::Current { .. } => None,
                    other => return Err(TestCaseError::fail(format!("{other:?}"))),
                };
                if let Some(says) = says {
                    prop_assert!(value.is_some(), "nothing fires on a value that was not read");
                    standing.insert(seq, says);
                }
            }
            let open = watch.state.series.values().flat_map(|series| &series.open);
            let open = open.map(|event| (event.seq, &event.blocks));
            let open: BTreeMap<_, _> = open.chain(watch.past.iter().map(|event| (event.seq, &event.blocks))).collect();
            let forgotten = |seq: &&u64| !open.contains_key(seq) && !is_final.contains(seq);
            let lost = standing.keys().chain(&before).find(forgotten);
            prop_assert_eq!(lost, None, "an event whose block is not final can be retracted, or is named");
            let Some(value) = value else { continue };
            let began = *began_fired.get_or_insert(value < 1.3);
            // Crossings and clearings that stand alternate, from the state at the beginning.
            let mut fired = began && !fires_at_once;
            for says in standing.values() {
                match says {
                    Says::Begins(now) => fired = *now,
                    Says::Crossed | Says::Cleared => {
                        prop_assert_ne!(fired, *says == Says::Crossed, "{:?}", standing);
                        fired = *says == Says::Crossed;
                    }
                }
            }
            prop_assert_eq!(fired, watch.state.series[""].fired);
            prop_assert!(value >= 1.3 || fired, "a crossing was not told");
            prop_assert!(value < 1.6 || !fired, "a clearing was not told");
            let orphaned = open.values().any(|blocks| watch.chains.has_orphan(blocks));
            prop_assert!(!orphaned, "an event of an orphaned block stands");
        }
    }
}
