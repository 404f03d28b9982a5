//! The result for a terminal: the most important figures.

use std::fmt::Write as _;

use crate::{
    compare::FileComparison,
    grade::{ComparedValue, Grade, Paired},
    models::ModelPart,
    outcome::{Figure, OutcomePart},
    report::{BacktestReport, Sample},
    source::RecordUnit,
    words::{decimal, ends, grouped, kib, percent, signed},
};
use assay_domain::{ClaimVerdict, stats::Interval};

/// About forty lines of text.
pub fn summary(report: &BacktestReport) -> String {
    let mut text = String::new();
    let mut line = |words: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", words.trim_end());
    };
    for found in &report.comparisons {
        line(plain(&found.verdict));
        line(String::new());
    }
    for grade in report.grades.iter().filter(|_| report.comparisons.is_empty()) {
        line(plain(&grade.verdict));
        line(String::new());
    }
    let sample = &report.sample;
    of_sample(sample, &mut line);
    for model in &report.models {
        of_model(model, sample.counted_in, &mut line);
    }
    for found in &report.comparisons {
        compared(found, &mut line);
        if let Some(outcomes) = &found.outcomes {
            foreseen(outcomes, &mut line);
        }
    }
    report.grades.iter().for_each(|grade| graded(grade, &mut line));
    for bad in &sample.first_bad_lines {
        line(format!("{} {}: {}", sample.counted_in.as_str(), bad.line, plain(&bad.reason)));
    }
    text
}

fn of_sample(sample: &Sample, line: &mut impl FnMut(String)) {
    line(format!(
        "sample    {} records of {} (sha256 {:.12}), {} bad {}s",
        grouped(sample.records),
        plain(&sample.file),
        sample.digest.to_string(),
        grouped(sample.bad_lines),
        sample.counted_in.as_str()
    ));
    if sample.with_outcome > 0 {
        line(format!(
            "          {} with an outcome, {} of them bad",
            grouped(sample.with_outcome),
            grouped(sample.bad_outcomes)
        ));
    }
}

fn of_model(model: &ModelPart, unit: RecordUnit, line: &mut impl FnMut(String)) {
    let ModelPart { identity, scored, refused, failed, cost, .. } = model;
    line(format!("{:<9} sha256 {}  {}", identity.name, identity.digest, plain(&identity.title)));
    line(format!(
        "          {} scored, {} refused, {} failed; mean {}, median {}, deviation {}",
        grouped(*scored),
        grouped(*refused),
        grouped(*failed),
        decimal(model.mean, 1),
        decimal(model.quantiles.get(3).copied().flatten(), 0),
        decimal(model.deviation, 1)
    ));
    line(format!(
        "          {} us at the median, {} us at p99; {} fuel, {}",
        decimal(cost.p50_us, 1),
        decimal(cost.p99_us, 1),
        cost.fuel_p50.map_or("–".into(), |fuel| grouped(fuel as u64)),
        kib(cost.memory_bytes)
    ));
    for (code, without) in &model.without_score {
        let (calls, first) = (grouped(without.calls), without.line);
        line(format!("          {calls} x {code}, first on {} {first}: {}", unit.as_str(), plain(&without.message)));
    }
}

fn compared(found: &FileComparison, line: &mut impl FnMut(String)) {
    let (count, differences, swap) = (found.count, &found.differences, &found.swap.set);
    line(format!("\n{} in place of {}, {}", found.second, found.first, found.records()));
    line(format!(
        "points    mean {}, median {}; {} up, {} the same, {} down; half within {}, 95 % within {}",
        signed(differences.mean, 1),
        signed(differences.median, 0),
        grouped(differences.up),
        grouped(differences.same),
        grouped(differences.down),
        decimal(differences.absolute_p50, 0),
        decimal(differences.absolute_p95, 0)
    ));
    line(format!(
        "agree     {} on the range, {} on the decile; Spearman {}, Kendall {}",
        percent(found.same_range, count),
        percent(found.same_decile, count),
        decimal(found.spearman, 4),
        decimal(found.kendall, 4)
    ));
    let spread = &found.distribution;
    line(format!(
        "spread    PSI {} by tenths, {} by ranges; KS {}; {} points apart",
        decimal(spread.psi, 4),
        decimal(spread.psi_ranges, 4),
        decimal(spread.ks, 4),
        decimal(spread.wasserstein, 1)
    ));
    line(format!(
        "at {:<6} {} pass both, {} only {}, {} only {}, {} neither",
        swap.cut_off,
        grouped(swap.both),
        grouped(swap.swapped_out),
        found.first,
        grouped(swap.swapped_in),
        found.second,
        grouped(swap.neither)
    ));
}

fn foreseen(outcomes: &OutcomePart, line: &mut impl FnMut(String)) {
    line(format!(
        "\noutcomes  {} known, {} bad; intervals of 95 % from {} resamples",
        grouped(outcomes.count),
        grouped(outcomes.bad),
        outcomes.plan.resamples
    ));
    for (name, Figure { first, second, intervals }) in
        [("AUC", &outcomes.auc), ("Gini", &outcomes.gini), ("KS", &outcomes.ks), ("Brier", &outcomes.brier)]
    {
        let difference = intervals.difference;
        line(format!(
            "{name:<9} {} → {}, difference {} to {}",
            decimal(*first, 4),
            decimal(*second, 4),
            signed(difference.map(|interval| interval.low), 4),
            signed(difference.map(|interval| interval.high), 4)
        ));
    }
}

/// One model on the records with an outcome.
fn graded(grade: &Grade, line: &mut impl FnMut(String)) {
    let ends = |interval: Option<Interval>| ends(interval, 3);
    line(format!(
        "\n{}: AUC within dates {}, {}; all dates {}, {}; KS {}, {}; {} records of {} wallets ({}), {} bad",
        grade.model,
        decimal(grade.within_dates.value, 3),
        ends(grade.within_dates.interval),
        decimal(grade.auc.value, 3),
        ends(grade.auc.interval),
        decimal(grade.ks.value, 3),
        ends(grade.ks.interval),
        grouped(grade.count),
        grouped(grade.clusters),
        grade.clusters_found,
        grouped(grade.bad)
    ));
    for baseline in &grade.baselines {
        let Some(paired) = baseline.beside.as_ref().map(ComparedValue::fairest) else { continue };
        line(format!(
            "alone     {}: AUC {}; the model's is higher by {}",
            baseline.title,
            decimal(paired.auc.value, 3),
            ends(paired.difference.interval)
        ));
    }
    for band in grade.ranges.iter().filter(|band| band.count > 0) {
        let few = if band.enough { "" } else { ", too few to say much" };
        line(format!(
            "{:<9} {} bad of {}, {}, {}{few}",
            band.range,
            grouped(band.bad),
            grouped(band.count),
            percent(band.bad, band.count),
            ends(band.interval)
        ));
    }
    for claim in &grade.claims {
        let what = format!("claim     {} within {} days, {}", claim.outcome, claim.horizon_days, claim.population);
        line(plain(&match &claim.not_compared {
            Some(why) => format!("{what}: not compared, {why}"),
            None => what,
        }));
        for range in &claim.ranges {
            let word = match range.verdict {
                _ if !range.band.enough => "fewer than 50 records",
                ClaimVerdict::Holds => "holds",
                ClaimVerdict::Fails => "fails",
                ClaimVerdict::NotShown => "not shown",
            };
            let of = |share: f64| decimal(Some(share * 100.0), 1);
            let observed = range.band.rate.map_or("–".into(), of);
            line(format!(
                "          {} claims {} %, observed {observed} %: {word}",
                range.band.range,
                of(range.estimate)
            ));
        }
    }
    if let Some(other) = &grade.external {
        let Paired { auc, difference, .. } = other.beside.pooled;
        let (auc, difference) = (decimal(auc.value, 3), ends(difference.interval));
        line(format!("column    {}: AUC {auc}; the model's is higher by {difference}", plain(&other.column)));
    }
    for check in &grade.checks {
        let word = if check.passed { "pass" } else { "fail" };
        line(format!("{word:<9} {}: {}", check.bound, check.found));
    }
}

/// Replaces control characters, which a terminal would execute.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
