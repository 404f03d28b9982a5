//! Calls of served models: failures, nonsense answers, swaps under load, and words apart from numbers.

use super::*;

#[tokio::test]
async fn a_model_that_fails_on_the_hundredth_call_goes_after_three_in_a_row() {
    for misbehaviour in [act::TRAP, act::LOOP, act::BOMB, act::RECURSE, act::LONG_TEXT] {
        let bad = Credit::new("1.2").act_when(EVERY_HUNDREDTH, misbehaviour).build();
        let (_shelf, registry) = open(&[
            ("a", Credit::new("1.0").build()),
            ("b", Credit::new("1.1").score("(i32.const 800)").build()),
            ("c", bad),
        ]);
        registry.set_champion(KIND, &v("1.0")).unwrap();
        registry.set_champion(KIND, &v("1.2")).unwrap();
        let mut roles = registry.watch_roles();
        roles.mark_unchanged();

        for second in 0..250_u64 {
            let model = registry.champion::<CreditModel>().unwrap();
            let answer = model.score(&at(second));
            assert_eq!(answer.is_err(), second % 100 == 99, "{second}: {answer:?}");
        }
        assert_eq!(champion(&registry), "1.2", "two failures with answers between them are not three in a row");

        for _ in 0..3 {
            let error = registry.champion::<CreditModel>().unwrap().score(&at(99)).unwrap_err();
            assert!(error.is_fault(), "{error}");
        }
        assert_eq!(champion(&registry), "1.0", "the champion before it, not the highest");
        assert!(roles.has_changed().unwrap());
        assert_eq!(roles.borrow().champion(KIND), Some(&v("1.0")));
        let list = registry.list();
        let benched =
            list.iter().find(|status| status.info.as_ref().is_some_and(|info| info.version == v("1.2"))).unwrap();
        assert_eq!((benched.state, benched.role, benched.failures), (State::OutOfService, Role::Available, 5));
        assert!(benched.reason.as_ref().unwrap().message.contains("3 times in a row"));

        registry.set_champion(KIND, &v("1.2")).unwrap();
        assert_eq!(champion(&registry), "1.2", "an operator may give it another chance");
    }
}

#[tokio::test]
async fn a_nonsense_answer_is_an_error_of_its_own() {
    let score = format!("(select (i32.const 1001) (i32.const 700) {EVERY_HUNDREDTH})");
    let (_shelf, registry) = open(&[("a", Credit::new("1.0").score(&score).build())]);
    let model = registry.champion::<CreditModel>().unwrap();
    assert!(matches!(model.score(&at(199)), Err(ScoreError::OutOfRange(_))));
    for _ in 0..10 {
        let _ = registry.champion::<CreditModel>().unwrap().score(&at(99));
    }
    assert!(
        registry.champion::<CreditModel>().unwrap().score(&at(100)).is_ok(),
        "the only version goes on serving whom it can"
    );
}

#[tokio::test]
async fn forty_swaps_under_load_lose_no_call_and_mislabel_none() {
    let (_shelf, registry) =
        open(&[("a", Credit::new("1.0").build()), ("b", Credit::new("1.1").score("(i32.const 800)").build())]);
    let done = AtomicBool::new(false);
    let calls: usize = std::thread::scope(|scope| {
        let hammer = || {
            let mut calls = 0;
            while !done.load(Relaxed) {
                let model = registry.champion::<CreditModel>().unwrap();
                let score = model.score(&at(1)).unwrap().score.get();
                assert_eq!(score, if model.version() == &v("1.0") { 700 } else { 800 });
                calls += 1;
            }
            calls
        };
        let hammers: Vec<_> = (0..4).map(|_| scope.spawn(hammer)).collect();
        for swap in 0..40 {
            registry.set_champion(KIND, &v(["1.0", "1.1"][swap % 2])).unwrap();
            // Waits as long as some scores of the new champion take.
            (0..20).for_each(|_| drop(registry.champion::<CreditModel>().unwrap().score(&at(1)).unwrap()));
        }
        done.store(true, Relaxed);
        hammers.into_iter().map(|hammer| hammer.join().unwrap()).sum()
    });
    let counted: u64 = registry.list().iter().map(|status| status.calls).sum();
    assert_eq!(counted, calls as u64 + 40 * 20);
    assert!(registry.list().iter().all(|status| status.failures == 0));
}

#[tokio::test]
async fn a_model_of_v2_is_asked_for_words_only_where_they_are_shown() {
    let trapping = Credit::v2("2.0").explain_when(IN_PRODUCTION, act::TRAP).build();
    let (_shelf, registry) = open(&[("old", Credit::new("1.0").build()), ("new", trapping)]);
    let now = at(1_760_000_000);
    let (old, new): (CreditModel, CreditModel) =
        (registry.version(&v("1.0")).unwrap(), registry.version(&v("2.0")).unwrap());
    let (before, after) = (old.score(&now).unwrap(), new.score(&now).unwrap());
    assert_eq!((before.score, before.decile), (after.score, after.decile));
    let numbers = |of: &Assessment| of.factors.iter().map(|f| (f.label.clone(), f.points)).collect::<Vec<_>>();
    assert_eq!(numbers(&before), numbers(&after), "points have the labels of the words");
    assert!(before.is_explained() && !after.is_explained());
    assert!(matches!(new.explained(&now), Err(ScoreError::Trap { .. })), "its words fail, and only they");
    assert_eq!(old.explained(&now).unwrap(), before);
    let words = new.explained(&at(1_748_736_000)).unwrap();
    assert_eq!(words, old.score(&at(1_748_736_000)).unwrap(), "with words both answers are the same");
    // One call for the numbers, and one for the words where they are asked for.
    assert_eq!(new.calls(), (5, 1));
}
