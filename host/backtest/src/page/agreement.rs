//! The section on agreement: differences, order, ranges, and distributions.

use maud::{Markup, html};

use super::{
    histogram::histograms,
    html::{facts, figure, folded, noted, psi, row, section as wrap, table},
};
use crate::{
    compare::FileComparison,
    models::ModelPart,
    report::BacktestReport,
    words::{decimal, grouped, percent, signed},
};

pub(super) fn section(report: &BacktestReport, found: &FileComparison) -> Markup {
    let models = [report.models.first(), report.models.get(found.index)];
    let head = row!["Score", "Mean", "Deviation", "Lowest", "5 %", "25 %", "Median", "75 %", "95 %", "Highest"];
    let lead = "How much a wallet’s score changes, and whether the two models put wallets in the same order.";
    let body = html! {
        (figures(found))
        @if let [Some(first), Some(second)] = models {
            @let caption = "Share of records by score, in bars of 20 points; dotted lines are where the ranges begin.";
            (figure(histograms([&found.first, &found.second], [&first.histogram, &second.histogram]), caption))
        }
        (table("Scores", head, models.into_iter().flatten().map(scores)))
        (tenths(found))
    };
    wrap("Agreement", lead, body)
}

fn figures(found: &FileComparison) -> Markup {
    let (points, spread) = (&found.differences, &found.distribution);
    let others = format!("{} the same, {} lower", percent(points.same, found.count), percent(points.down, found.count));
    let most =
        format!("points; 95 % by {}, all by {}", decimal(points.absolute_p95, 0), decimal(points.absolute_max, 0));
    let median = format!("points; median {}", signed(points.median, 0));
    facts([
        ("Mean change", noted(signed(points.mean, 1), median)),
        ("Scores higher", noted(percent(points.up, found.count), others)),
        ("Half differ by at most", noted(decimal(points.absolute_p50, 0), most)),
        (
            "Rank correlation",
            noted(decimal(found.spearman, 3), format!("Spearman; Kendall {}", decimal(found.kendall, 3))),
        ),
        ("Same range", noted(percent(found.same_range, found.count), format!("of {}", found.records()))),
        ("Same decile", noted(percent(found.same_decile, found.count), "each by its own table")),
        (
            "PSI of the scores",
            noted(decimal(spread.psi, 3), format!("by tenths; {} by ranges", decimal(spread.psi_ranges, 3))),
        ),
        ("Distance", noted(decimal(spread.wasserstein, 1), format!("points; KS {}", decimal(spread.ks, 3)))),
    ])
}

/// A row of the table of both models' scores.
fn scores(model: &ModelPart) -> Vec<Markup> {
    let mut row = row![model.identity.name, decimal(model.mean, 1), decimal(model.deviation, 1)];
    row.extend(model.quantiles.iter().map(|quantile| html! { (decimal(*quantile, 0)) }));
    row
}

/// The bins of the PSI.
fn tenths(found: &FileComparison) -> Markup {
    let spread = &found.distribution;
    let mut from = 300.0;
    let row = |(index, (first, second)): (usize, (&u64, &u64))| {
        let to = spread.edges.as_slice().get(index).copied().unwrap_or(1000.0);
        let start = if index == 0 { "from" } else { "over" };
        let name = format!("{start} {} to {}", decimal(Some(from), 1), decimal(Some(to), 1));
        from = to;
        row![name, grouped(*first), percent(*first, found.count), grouped(*second), percent(*second, found.count)]
    };
    let rows = spread.first.iter().zip(&spread.second).enumerate().map(row);
    let head = row!["Tenth of the reference", found.first, "share", found.second, "share"];
    folded(
        html! { "PSI of the scores, bin by bin: " (psi(spread.psi)) },
        table("Bins at the tenths of the first model’s scores; equal edges are one", head, rows),
    )
}
