//! The section on outcomes: how well each model separates bad outcomes from good ones.

use maud::{Markup, html};

use super::{
    chart,
    html::{noted, pair, row, section as wrap, share, table},
};
use crate::{
    compare::FileComparison,
    outcome::{Curve, Figure, OutcomePart},
    report::BacktestReport,
    words::{decimal, grouped, percent, records, signed},
};
use assay_domain::stats::{DecileRow, Interval};

pub(super) fn section(found: &FileComparison, outcomes: &OutcomePart) -> Markup {
    let base = format!("lower is better; the bad rate alone has {}", decimal(outcomes.brier_of_base_rate, 4));
    let rows = [
        figure("AUC", "0.5 is chance, 1 is perfect", 3, &outcomes.auc),
        figure("Gini", "0 is chance", 3, &outcomes.gini),
        figure("KS", "0 is chance; it does not say which way", 3, &outcomes.ks),
        figure("Brier", &base, 4, &outcomes.brier),
    ];
    let models = [(&found.first, &outcomes.first), (&found.second, &outcomes.second)];
    let chart = |(name, curve): (&String, &Curve)| {
        (chart::calibration(name, &curve.deciles), format!("{name}: {}", slope(curve)))
    };
    let lead = format!(
        "{} have a known outcome and {} of them turned out bad ({}). A measure tells the models apart only where the \
         interval of the difference leaves out zero.",
        records(outcomes.count, outcomes.clusters),
        grouped(outcomes.bad),
        percent(outcomes.bad, outcomes.count)
    );
    let body = html! {
        (table("With 95 % intervals", row!["Measure", found.first, found.second, "Difference", ""], rows))
        (pair(models.map(chart)))
        @for (name, curve) in models { (deciles(name, curve)) }
    };
    wrap("Foresight", lead, body)
}

/// Why there is no such section.
pub(super) fn without(report: &BacktestReport) -> Markup {
    let why = html! {
        @if report.sample.with_outcome == 0 {
            "The file does not say what became of the wallets, so nothing here shows which model is right. With an "
            code { "outcome" } " of true or false on its lines, this page has AUC, Gini, KS, Brier and a decile table."
        } @else {
            "Every known outcome is the same, so nothing can be said of how well the models tell them apart."
        }
    };
    wrap("Foresight", why, html! {})
}

fn figure(name: &str, remark: &str, places: usize, Figure { first, second, intervals }: &Figure) -> Vec<Markup> {
    let cell = |figure: Option<f64>, interval: Option<Interval>| {
        noted(decimal(figure, places), range(interval, |n| decimal(n, places)))
    };
    let difference = first.zip(*second).map(|(first, second)| second - first);
    let conclusion = match intervals.difference {
        Some(interval) if !interval.contains(0.0) => "a difference",
        Some(_) => "no difference shown",
        None => "",
    };
    row![
        noted(name, remark),
        cell(*first, intervals.first),
        cell(*second, intervals.second),
        noted(signed(difference, places), range(intervals.difference, |n| signed(n, places))),
        conclusion,
    ]
}

fn range(interval: Option<Interval>, shown: impl Fn(Option<f64>) -> String) -> String {
    let ends = |Interval { low, high }| format!("{} to {}", shown(Some(low)), shown(Some(high)));
    interval.map(ends).unwrap_or_default()
}

fn slope(curve: &Curve) -> String {
    match curve.logistic.map(|fit| fit.points_to_halve_odds()) {
        Some(Some(points)) => format!(
            "observed rate of bad outcomes by tenths, with 95 % intervals, against a fitted curve whose odds halve \
             every {} points",
            decimal(Some(points), 0)
        ),
        Some(None) => {
            "observed rate of bad outcomes by tenths against a fitted curve: a higher score goes with more bad outcomes"
                .into()
        }
        None => "no curve can be fitted".into(),
    }
}

fn deciles(name: &str, curve: &Curve) -> Markup {
    let most = curve.deciles.iter().map(|row| row.bad_rate).fold(0.0, f64::max);
    let row = |row: &DecileRow| {
        row![
            format!("{} to {}", row.from, row.to),
            grouped(row.count),
            grouped(row.bad),
            share(row.bad, row.count, most),
            range(Some(row.interval), |n| decimal(n.map(|n| n * 100.0), 1)),
            decimal(row.expected_rate.map(|rate| rate * 100.0), 1),
            decimal(Some(row.cumulative * 100.0), 1),
            decimal(Some(row.cumulative_bad * 100.0), 1),
            decimal(Some(row.ks * 100.0), 1),
        ]
    };
    let head = row![
        "Score",
        "Records",
        "Bad",
        "Bad rate",
        "95 % interval, %",
        "Expected, %",
        "Records so far, %",
        "Bad so far, %",
        "KS, %",
    ];
    let caption = format!("{name} by tenths, lowest scores first; equal scores stay together");
    table(&caption, head, curve.deciles.iter().map(row))
}
