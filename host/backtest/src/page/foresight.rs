//! The section on outcomes: how well each model separates bad outcomes from good ones.

use super::{
    chart,
    html::{esc, section as wrap, table},
};
use crate::{
    compare::Comparison,
    outcome::{Curve, Figure, OutcomePart},
    report::Report,
    words::{decimal, grouped, percent, records, signed},
};
use assay_domain::stats::{DecileRow, Interval};

pub(crate) fn section(found: &Comparison, outcomes: &OutcomePart) -> String {
    let (first, second) = (esc(&found.first), esc(&found.second));
    let rows = [
        figure("AUC", "0.5 is chance, 1 is perfect", 3, &outcomes.auc),
        figure("Gini", "0 is chance", 3, &outcomes.gini),
        figure("KS", "0 is chance; it does not say which way", 3, &outcomes.ks),
        figure(
            "Brier",
            &format!("lower is better; the bad rate alone has {}", decimal(outcomes.brier_of_base_rate, 4)),
            4,
            &outcomes.brier,
        ),
    ];
    let body = table("With 95 % intervals", &["Measure", &first, &second, "Difference", ""], &rows)
        + &format!(
            "<div class=\"pair even\">\n<figure>\n{}<figcaption>{first}: {}</figcaption></figure>\n<figure>\n{}<figcaption>{second}: {}</figcaption></figure>\n</div>\n",
            chart::calibration(&first, &outcomes.first.deciles),
            slope(&outcomes.first),
            chart::calibration(&second, &outcomes.second.deciles),
            slope(&outcomes.second)
        )
        + &deciles(&first, &outcomes.first)
        + &deciles(&second, &outcomes.second);
    wrap(
        "Foresight",
        &format!(
            "{} have a known outcome and {} of them turned out bad ({}). A measure tells the models apart only where the interval of the difference leaves out zero.",
            records(outcomes.count, outcomes.clusters),
            grouped(outcomes.bad),
            percent(outcomes.bad, outcomes.count)
        ),
        &body,
    )
}

/// Why there is no such section.
pub(crate) fn without(report: &Report) -> String {
    let why = if report.sample.with_outcome == 0 {
        "The file does not say what became of the wallets, so nothing here shows which model is right. With an <code>outcome</code> of true or false on its lines, this page has AUC, Gini, \
         KS, Brier and a decile table."
    } else {
        "Every known outcome is the same, so nothing can be said of how well the models tell them apart."
    };
    format!("<section>\n<h2>Foresight</h2>\n<p class=\"lead\">{why}</p>\n</section>\n")
}

fn figure(name: &str, remark: &str, places: usize, Figure { first, second, intervals }: &Figure) -> Vec<String> {
    let cell = |figure: Option<f64>, interval: Option<Interval>| {
        format!("{}<small>{}</small>", decimal(figure, places), range(interval, |n| decimal(n, places)))
    };
    let difference = first.zip(*second).map(|(first, second)| second - first);
    let conclusion = match intervals.difference {
        Some(interval) if !interval.contains(0.0) => "a difference",
        Some(_) => "no difference shown",
        None => "",
    };
    vec![
        format!("{name}<small>{remark}</small>"),
        cell(*first, intervals.first),
        cell(*second, intervals.second),
        format!("{}<small>{}</small>", signed(difference, places), range(intervals.difference, |n| signed(n, places))),
        conclusion.to_owned(),
    ]
}

fn range(interval: Option<Interval>, shown: impl Fn(Option<f64>) -> String) -> String {
    interval
        .map(|interval| format!("{} to {}", shown(Some(interval.low)), shown(Some(interval.high))))
        .unwrap_or_default()
}

fn slope(curve: &Curve) -> String {
    match curve.logistic.map(|fit| fit.points_to_halve_odds()) {
        Some(Some(points)) => format!(
            "observed rate of bad outcomes by tenths, with 95 % intervals, against a fitted curve whose odds halve every {} points",
            decimal(Some(points), 0)
        ),
        Some(None) => {
            "observed rate of bad outcomes by tenths against a fitted curve: a higher score goes with more bad outcomes"
                .into()
        }
        None => "no curve can be fitted".into(),
    }
}

fn deciles(name: &str, curve: &Curve) -> String {
    let most = curve.deciles.iter().map(|row| row.bad_rate).fold(0.0, f64::max);
    let row = |row: &DecileRow| {
        vec![
            format!("{} to {}", row.from, row.to),
            grouped(row.count),
            grouped(row.bad),
            chart::share(row.bad, row.count, most),
            range(Some(row.interval), |n| decimal(n.map(|n| n * 100.0), 1)),
            decimal(row.expected_rate.map(|rate| rate * 100.0), 1),
            decimal(Some(row.cumulative * 100.0), 1),
            decimal(Some(row.cumulative_bad * 100.0), 1),
            decimal(Some(row.ks * 100.0), 1),
        ]
    };
    let rows: Vec<_> = curve.deciles.iter().map(row).collect();
    let head = [
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
    table(&format!("{name} by tenths, lowest scores first; equal scores stay together"), &head, &rows)
}
