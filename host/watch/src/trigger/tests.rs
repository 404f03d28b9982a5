use serde_json::json;

use super::*;

fn checked(trigger: Value) -> Result<Trigger, String> {
    serde_json::from_value::<NewTrigger>(trigger).map_err(|error| error.to_string())?.checked(&[])
}

#[test]
fn a_bound_clears_on_the_other_side_of_its_hysteresis() {
    let limit = |trigger| checked(trigger).unwrap().limit.unwrap();
    let below = limit(json!({ "measure": "health_factor", "below": 1.3, "clear_above": 1.4 }));
    assert_eq!([1.29, 1.3, 1.4].map(|value| below.fires(Some(value))), [true, false, false]);
    assert_eq!([1.3, 1.39, 1.4].map(|value| below.clears(Some(value))), [false, false, true]);
    assert!(below.clears(None) && !below.fires(None), "no debt");
    assert_eq!(limit(json!({ "measure": "score", "below": 600 })).bounds(), (600.0, 612.0));
    assert_eq!(limit(json!({ "measure": "debt_usd", "above": 1000 })).bounds(), (1_000.0, 980.0));
    assert_eq!(limit(json!({ "measure": "score", "below": 1000 })).bounds(), (1_000.0, 1_000.0));
    let coverage = limit(json!({ "measure": "coverage", "below": "complete" }));
    let rank = |coverage| Some(coverage_rank(coverage));
    assert!(coverage.fires(rank(Coverage::Partial)) && coverage.clears(rank(Coverage::Complete)));
    assert!(!coverage.fires(rank(Coverage::Complete)));
}

#[test]
fn a_trigger_that_cannot_fire_as_meant_is_refused_in_words() {
    let market = "1/lenderA_v3/0x0000000000000000000000000000000000000007";
    for (trigger, part) in [
        (json!({ "measure": "health_factor" }), "needs below or above"),
        (json!({ "measure": "score", "below": 1, "above": 2 }), "not both"),
        (json!({ "measure": "score", "below": 600, "clear_above": 590 }), "at least below"),
        (json!({ "measure": "score", "above": 600, "clear_below": 601 }), "at most above"),
        (json!({ "measure": "score", "above": 600, "clear_above": 601 }), "use clear_below"),
        (json!({ "measure": "score", "below": "low" }), "must be a number"),
        (json!({ "measure": "score", "below": -1 }), "300 to 1000"),
        (json!({ "measure": "score", "below": 900, "clear_above": 1001 }), "300 to 1000"),
        (json!({ "measure": "probability", "above": 2 }), "0 to 1"),
        (json!({ "measure": "debt_usd", "above": -1 }), "a value that it can have, 0 or more"),
        (json!("liquidation"), "expected an object with `measure`"),
        (json!({ "measure": "score", "below": 300 }), "never below 300"),
        (json!({ "measure": "score", "above": 1000 }), "never above 1000"),
        (json!({ "measure": "health_factor", "below": 0, "clear_above": 1 }), "never below 0"),
        (json!({ "measure": "debt_usd", "below": 0 }), "never below 0"),
        (json!({ "measure": "probability", "above": 1 }), "never above 1"),
        (json!({ "measure": "score", "below": 600, "market": market }), "leave out market"),
        (json!({ "measure": "debt_usd", "above": 1, "model_version": "1.1" }), "leave out model_version"),
        (json!({ "measure": "range", "below": 1 }), "every change"),
        (json!({ "measure": "coverage", "below": "failed" }), "complete"),
        (json!({ "measure": "coverage", "below": 1 }), "complete"),
        (json!({ "measure": "score", "below": 1, "horizon_days": 9 }), "only probability"),
        (json!({ "measure": "probability", "above": 0.1, "horizon_days": 0 }), "at least 1"),
        (json!({ "measure": "score", "bellow": 600 }), "unknown field"),
        (json!({ "measure": "luck", "below": 600 }), "unknown variant"),
        (json!({ "measure": "liquidation", "market": "lenderA_v3" }), "is no market"),
    ] {
        let error = checked(trigger.clone()).unwrap_err();
        assert!(error.contains(part), "{trigger}: {error}");
    }
    let found = checked(json!({ "measure": "probability", "above": 0.1 })).unwrap();
    assert_eq!(found.horizon_days, Some(90));
}

#[test]
fn values_are_shown_by_their_names() {
    assert_eq!(Measure::Range.shown(Some(range_rank(Range::Good))), "good");
    assert_eq!(Measure::Coverage.shown(Some(coverage_rank(Coverage::Partial))), "partial");
    assert_eq!((Measure::Score.shown(Some(640.0)), Measure::HealthFactor.shown(None)), (json!(640), Value::Null));
}
