//! The section on agreement: differences, order, ranges, and distributions.

use super::{
    histogram,
    html::{esc, facts, section as wrap, table},
    identity::psi,
};
use crate::{
    compare::Comparison,
    report::Report,
    words::{decimal, grouped, percent, signed},
};

pub(crate) fn section(report: &Report, found: &Comparison) -> String {
    let head = ["Score", "Mean", "Deviation", "Lowest", "5 %", "25 %", "Median", "75 %", "95 %", "Highest"];
    wrap(
        "Agreement",
        "How much a wallet’s score changes, and whether the two models put wallets in the same order.",
        &format!(
            "{}{}{}{}",
            figures(found),
            charts(report, found),
            table("Scores", &head, &scores(report, found)),
            tenths(found)
        ),
    )
}

fn figures(found: &Comparison) -> String {
    let (points, spread) = (&found.differences, &found.distribution);
    facts(&[
        ("Mean change", signed(points.mean, 1), format!("points; median {}", signed(points.median, 0))),
        (
            "Scores higher",
            percent(points.up, found.count),
            format!("{} the same, {} lower", percent(points.same, found.count), percent(points.down, found.count)),
        ),
        (
            "Half differ by at most",
            decimal(points.absolute_p50, 0),
            format!("points; 95 % by {}, all by {}", decimal(points.absolute_p95, 0), decimal(points.absolute_max, 0)),
        ),
        ("Rank correlation", decimal(found.spearman, 3), format!("Spearman; Kendall {}", decimal(found.kendall, 3))),
        ("Same range", percent(found.same_range, found.count), format!("of {}", found.records())),
        ("Same decile", percent(found.same_decile, found.count), "each by its own table".into()),
        (
            "PSI of the scores",
            decimal(spread.psi, 3),
            format!("by tenths; {} by ranges", decimal(spread.psi_ranges, 3)),
        ),
        ("Distance", decimal(spread.wasserstein, 1), format!("points; KS {}", decimal(spread.ks, 3))),
    ])
}

fn charts(report: &Report, found: &Comparison) -> String {
    let (first, second) = (esc(&found.first), esc(&found.second));
    let histogram = |index: usize| report.models.get(index).map(|model| &model.histogram);
    match (histogram(0), histogram(found.index)) {
        (Some(a), Some(b)) => {
            format!(
                "<figure>\n{}<figcaption>Share of records by score, in bars of 20 points; dotted lines are where the ranges begin.</figcaption></figure>\n",
                histogram::histograms((&first, a), (&second, b))
            )
        }
        _ => String::new(),
    }
}

/// The rows of the table of both models' scores.
fn scores(report: &Report, found: &Comparison) -> Vec<Vec<String>> {
    [0, found.index]
        .into_iter()
        .filter_map(|index| report.models.get(index))
        .map(|model| {
            let mut row = vec![esc(&model.identity.name), decimal(model.mean, 1), decimal(model.deviation, 1)];
            row.extend(model.quantiles.iter().map(|quantile| decimal(*quantile, 0)));
            row
        })
        .collect()
}

/// The bins of the PSI.
fn tenths(found: &Comparison) -> String {
    let spread = &found.distribution;
    let mut from = 300.0;
    let row = |(index, (first, second)): (usize, (&u64, &u64))| {
        let to = spread.edges.as_slice().get(index).copied().unwrap_or(1000.0);
        let name = format!(
            "{} {} to {}",
            if index == 0 { "from" } else { "over" },
            decimal(Some(from), 1),
            decimal(Some(to), 1)
        );
        from = to;
        vec![name, grouped(*first), percent(*first, found.count), grouped(*second), percent(*second, found.count)]
    };
    let rows: Vec<_> = spread.first.iter().zip(&spread.second).enumerate().map(row).collect();
    let head = ["Tenth of the reference", &*esc(&found.first), "share", &*esc(&found.second), "share"];
    format!(
        "<details><summary>PSI of the scores, bin by bin: {}</summary>\n{}</details>\n",
        psi(spread.psi),
        table("Bins at the tenths of the first model’s scores; equal edges are one", &head, &rows)
    )
}
