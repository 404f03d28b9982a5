//! Compares `assay_domain::stats` with NumPy, SciPy and scikit-learn on the same samples. `figures.py` computes the
//! expected values and names the versions; `figures.json` next to it stores them.

#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use assay_domain::{
    Decile, Score,
    stats::{self, Edges, Figures, Histogram, Interval, Joint, Labelled, Moments, Outcomes, Plan, Sketch},
};
use serde_json::Value;

fn figures() -> Value {
    serde_json::from_str(include_str!("figures.json")).unwrap()
}

fn near(what: &str, own: Option<f64>, theirs: &Value) {
    let (own, theirs) = (own.unwrap_or_else(|| panic!("{what}: none")), theirs.as_f64().unwrap());
    assert!((own - theirs).abs() <= 1e-9 * theirs.abs().max(1.0), "{what}: {own}, and they say {theirs}");
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn score(value: &Value) -> Score {
    Score::new(u32::try_from(value.as_u64().unwrap()).unwrap()).unwrap()
}

/// The sample, counted by two hosts and merged.
fn labelled(sample: &Value) -> Labelled {
    let mut halves = [Labelled::default(), Labelled::default()];
    let rows = list(&sample["first"]).iter().zip(list(&sample["second"])).zip(list(&sample["outcome"]));
    for (index, ((first, second), outcome)) in rows.enumerate() {
        halves[index % 2].add(score(first), score(second), outcome == 1);
    }
    let [mut all, other] = halves;
    all.merge(&other);
    all
}

fn joint(labelled: &Labelled) -> Joint {
    let mut joint = labelled.good.clone();
    joint.merge(&labelled.bad);
    joint
}

#[test]
fn distributions_and_orders_agree_with_scipy() {
    let figures = figures();
    for sample in list(&figures["samples"]) {
        let joint = joint(&labelled(sample));
        let (first, second) = (joint.first(), joint.second());
        let name = sample["name"].as_str().unwrap();
        let is = |what: &str, own: Option<f64>| near(&format!("{name} {what}"), own, &sample[what]);
        is("mean", first.mean());
        is("variance", first.variance());
        is("mean_difference", joint.differences().mean());
        is("ks", stats::ks(&first, &second));
        is("wasserstein", stats::wasserstein(&first, &second));
        is("spearman", joint.spearman());
        is("kendall", joint.kendall());
        for (index, at) in list(&sample["at"]).iter().map(|at| at.as_f64().unwrap()).enumerate() {
            near(&format!("{name} quantile {at}"), first.quantile(at), &sample["quantiles"][index]);
            near(
                &format!("{name} difference {at}"),
                joint.differences().quantile(at),
                &sample["difference_quantiles"][index],
            );
            near(
                &format!("{name} distance {at}"),
                joint.differences().absolute_quantile(at),
                &sample["absolute_quantiles"][index],
            );
        }
        let deciles = Edges::quantiles(&first, 10);
        assert_eq!(deciles.as_slice().len(), list(&sample["decile_edges"]).len(), "{name}");
        for (what, edges) in
            [("psi_ranges", Edges::of_ranges()), ("psi_fixed", Edges::fixed()), ("psi_deciles", deciles)]
        {
            is(what, stats::psi(&edges.counts(&first), &edges.counts(&second)));
        }
        for (row, theirs) in joint.migration().iter().zip(list(&sample["migration"])) {
            assert_eq!(row.to_vec(), list(theirs).iter().map(|n| n.as_u64().unwrap()).collect::<Vec<_>>(), "{name}");
        }
    }
}

#[test]
fn how_well_a_score_tells_outcomes_apart_agrees_with_scikit_learn() {
    let figures = figures();
    for sample in list(&figures["samples"]) {
        let labelled = labelled(sample);
        for (outcomes, theirs) in [labelled.first(), labelled.second()].iter().zip(list(&sample["outcomes"])) {
            let name = sample["name"].as_str().unwrap();
            let is = |what: &str, own: Option<f64>| near(&format!("{name} {what}"), own, &theirs[what]);
            is("auc", outcomes.auc());
            is("gini", outcomes.gini());
            is("ks", outcomes.ks());
            is("brier", outcomes.brier());
            is("slope", outcomes.logistic().map(|fit| fit.slope));
            is("intercept", outcomes.logistic().map(|fit| fit.intercept));
            let rows = outcomes.deciles();
            assert_eq!(rows.len(), list(&theirs["deciles"]).len(), "{name}");
            for (row, theirs) in rows.iter().zip(list(&theirs["deciles"])) {
                let whole =
                    [("from", u64::from(row.from)), ("to", u64::from(row.to)), ("count", row.count), ("bad", row.bad)];
                whole.into_iter().for_each(|(what, own)| assert_eq!(theirs[what], own, "{name} {what}"));
                near("low", Some(row.interval.low), &theirs["low"]);
                near("high", Some(row.interval.high), &theirs["high"]);
                near("expected_rate", row.expected_rate, &theirs["expected_rate"]);
                near("cumulative_bad", Some(row.cumulative_bad), &theirs["cumulative_bad"]);
                near("cumulative_good", Some(row.cumulative_good), &theirs["cumulative_good"]);
            }
        }
    }
}

#[test]
fn intervals_agree_with_scipy_and_numpy() {
    let figures = figures();
    for row in list(&figures["wilson"]) {
        let Interval { low, high } = stats::wilson(row[0].as_f64().unwrap() as u64, row[1].as_f64().unwrap() as u64);
        near("low", Some(low), &row[2]);
        near("high", Some(high), &row[3]);
    }
    let plan = Plan {
        resamples: u32::try_from(figures["resamples"].as_u64().unwrap()).unwrap(),
        seed: figures["seed"].as_u64().unwrap(),
    };
    let sample = list(&figures["samples"]).iter().find(|sample| sample.get("bootstrap").is_some()).unwrap();
    let found = labelled(sample).resample(plan, [Outcomes::auc, Outcomes::brier]);
    for (own, what) in found.iter().zip(["auc", "brier"]) {
        assert_eq!(own.used, plan.resamples, "{what}");
        for (own, which) in [(own.first, "first"), (own.second, "second"), (own.difference, "difference")] {
            let theirs = &sample["bootstrap"][what][which];
            near(&format!("{what} {which} low"), own.map(|interval| interval.low), &theirs[0]);
            near(&format!("{what} {which} high"), own.map(|interval| interval.high), &theirs[1]);
        }
    }
}

#[test]
fn a_sketch_is_right_to_its_width_and_merges_without_loss() {
    let figures = figures();
    let theirs = &figures["sketch"];
    let sketch = |values: &[Value]| {
        let mut sketch = Sketch::default();
        values.iter().for_each(|value| sketch.add(value.as_f64()));
        sketch
    };
    let (expected, actual) = (list(&theirs["expected"]), list(&theirs["actual"]));
    let (whole, (left, right)) = (sketch(expected), expected.split_at(expected.len() / 3));
    let mut merged = sketch(left);
    merged.merge(&sketch(right));
    assert_eq!(merged, whole);
    assert_eq!(serde_json::from_value::<Sketch>(serde_json::to_value(&whole).unwrap()).unwrap(), whole);
    for (at, exact) in list(&theirs["at"]).iter().zip(list(&theirs["quantiles"])) {
        let (own, exact) = (whole.quantile(at.as_f64().unwrap()).unwrap(), exact.as_f64().unwrap());
        assert!((own - exact).abs() <= exact * 0.016, "{at}: {own} for {exact}");
    }
    // The bins count every figure once, and the index is computed from these counts.
    let bins = whole.bins(&sketch(actual), 10);
    for band in &bins {
        let within = |value: Option<f64>| match (band.figures, value) {
            (Figures::Absent, value) => value.is_none(),
            (Figures::Zero, value) => value == Some(0.0),
            (Figures::Negative { from, below }, value) => {
                value.is_some_and(|value| value <= below && from.is_none_or(|from| value > from))
            }
            (Figures::Positive { from, below }, value) => {
                value.is_some_and(|value| value > 0.0 && value >= from && below.is_none_or(|below| value < below))
            }
        };
        let count = |values: &[Value]| values.iter().filter(|value| within(value.as_f64())).count() as u64;
        assert_eq!((band.expected, band.actual), (count(expected), count(actual)), "{band:?}");
    }
    assert!((10..=12).contains(&bins.len()), "{bins:?}");
    let psi = whole.psi(&sketch(actual)).unwrap();
    assert!(psi > 0.2, "{psi}");
    assert_eq!(whole.psi(&whole), Some(0.0));
}

#[test]
fn what_does_not_exist_is_none() {
    let lone = |value| Score::new(value).unwrap();
    let (empty, mut one) = (Joint::default(), Joint::default());
    assert_eq!(
        (empty.spearman(), empty.kendall(), empty.first().mean(), empty.first().quantile(0.5)),
        (None, None, None, None)
    );
    one.add_many(lone(300), lone(400), 5);
    assert_eq!((one.spearman(), one.kendall()), (None, None), "everyone has the same score");
    assert_eq!(one.differences().signs(), (5, 0, 0));
    assert_eq!(stats::ks(&one.first(), &Histogram::default()), None);
    assert_eq!((stats::psi(&[1, 2], &[0, 0]), stats::psi(&[1], &[1, 2])), (None, None));
    let mut apart = Outcomes::default();
    apart.good.add(lone(700));
    assert_eq!((apart.auc(), apart.brier(), apart.ks()), (None, None, None), "nobody failed");
    apart.bad.add(lone(400));
    assert_eq!(apart.auc(), Some(1.0));
    assert_eq!(apart.brier(), None, "no finite curve tells them apart");
    assert_eq!((Moments::default().mean(), Moments::default().variance()), (None, None));
    assert_eq!((Sketch::default().quantile(0.5), Sketch::default().psi(&Sketch::default())), (None, None));
}

#[test]
fn what_was_kept_is_taken_up_again_and_nonsense_is_not() {
    let figures = figures();
    let whole = labelled(&figures["samples"][0]);
    assert_eq!(serde_json::from_value::<Labelled>(serde_json::to_value(&whole).unwrap()).unwrap(), whole);
    assert!(serde_json::from_str::<Joint>("[[299,300,1]]").is_err());
    assert!(serde_json::from_str::<Histogram>("[[1001,1]]").unwrap_err().to_string().contains("1001"));
}

#[test]
fn moments_merge_to_those_of_the_whole() {
    let figures = figures();
    let sample = &figures["samples"][0];
    let (mut parts, all) = ([Moments::default(); 3], list(&sample["first"]));
    for (index, value) in all.iter().enumerate() {
        parts[index * index % 3].add(value.as_f64().unwrap());
    }
    let mut whole = Moments::default();
    parts.iter().for_each(|part| whole.merge(part));
    assert_eq!(whole.count(), all.len() as u64);
    near("mean", whole.mean(), &sample["mean"]);
    near("variance", whole.variance(), &sample["variance"]);
}

#[test]
fn a_swap_set_and_the_same_decile_are_counted() {
    let figures = figures();
    let joint = joint(&labelled(&figures["samples"][0]));
    let cut_off = Score::new(640).unwrap();
    let swap = joint.swap_set(cut_off);
    assert_eq!(swap.both + swap.swapped_in + swap.swapped_out + swap.neither, joint.count());
    assert_eq!(
        swap.both + swap.swapped_out,
        joint.first().given().filter(|(score, _)| *score >= 640).map(|(_, count)| count).sum::<u64>()
    );
    let tenth = |score: Score| Decile::new(u8::try_from((score.get() - 300) / 71).unwrap() + 1);
    let same = joint
        .cells()
        .filter(|(a, b, _)| (a.get() - 300) / 71 == (b.get() - 300) / 71)
        .map(|(_, _, count)| count)
        .sum::<u64>();
    assert_eq!(joint.same_decile(tenth, tenth), same);
    assert_eq!(joint.same_decile(|_| None, |_| None), 0);
}
