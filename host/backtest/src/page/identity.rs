//! The sections on the input: the models with their digests, the sample, the baseline, and the method.

use maud::{Markup, html};

use super::html::{folded, noted, psi, row, section as wrap, table, words};
use crate::{
    compare::FileComparison,
    models::ModelPart,
    report::{BacktestReport, Sample},
    shift::Shift,
    words::{grouped, percent, size},
};
use assay_domain::stats::{FLOOR, INVESTIGATE, SIGNIFICANT};

/// A model of the page.
struct Shown<'a> {
    model: &'a ModelPart,
    /// The class of its colour.
    class: &'static str,
    role: &'static str,
}

pub(super) fn section(report: &BacktestReport, found: &FileComparison) -> Markup {
    let first = report.models.first().map(|model| Shown { model, class: "first", role: "answers today" });
    let second =
        report.models.get(found.index).map(|model| Shown { model, class: "second", role: "would answer instead" });
    models(report, &first.into_iter().chain(second).collect::<Vec<_>>())
}

/// The one model of a page, and the sample.
pub(super) fn alone(report: &BacktestReport) -> Markup {
    let role = "the only model of this page";
    let only = report.models.first().map(|model| Shown { model, class: "second", role });
    models(report, only.as_slice())
}

fn models(report: &BacktestReport, shown: &[Shown<'_>]) -> Markup {
    let row = |Shown { model, class, role }: &Shown<'_>| {
        row![
            html! { span.name { span class={ "swatch " (class) } {} (model.identity.name) } },
            html! { span.words { (noted(&model.identity.title, role)) code { (model.identity.digest) } } },
            grouped(model.scored),
            grouped(model.refused),
            grouped(model.failed),
        ]
    };
    let title = words("Title, role, and SHA-256 of the component");
    html! {
        section.plain {
            h2.quiet { "What was compared" }
            (table("Models", row!["Model", title, "Scored", "Refused", "Failed"], shown.iter().map(row)))
            p { (sample(&report.sample)) }
            (bad_lines(&report.sample))
            (failures(report, shown))
        }
    }
}

fn sample(sample: &Sample) -> Markup {
    let (known, bad) = (sample.with_outcome, sample.bad_outcomes);
    html! {
        (grouped(sample.records)) " records in " b { (sample.file) } ", SHA-256 " code { (sample.digest) } "; "
        @if known == 0 { "none with a known outcome." } @else {
            (grouped(known)) " with a known outcome, " (grouped(bad)) " of them bad (" (percent(bad, known)) ")."
        }
    }
}

fn bad_lines(sample: &Sample) -> Markup {
    if sample.bad_lines == 0 {
        return html! {};
    }
    let (lines, unit) = (grouped(sample.bad_lines), sample.counted_in.as_str());
    let rows = sample.first_bad_lines.iter().map(|bad| row![grouped(bad.line), words(&bad.reason)]);
    folded(
        format!("{lines} {unit}s could not be read and are not in any figure"),
        table("The first of them", row!["Number", "What is wrong"], rows),
    )
}

fn failures(report: &BacktestReport, shown: &[Shown<'_>]) -> Markup {
    let rows = shown.iter().flat_map(|Shown { model, .. }| {
        model.without_score.iter().map(|(code, without)| {
            row![
                model.identity.name,
                html! { code { (code) } },
                grouped(without.calls),
                grouped(without.line),
                words(&without.message),
            ]
        })
    });
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return html! {};
    }
    let first = format!("First {}", report.sample.counted_in.as_str());
    table("Records without a score", row!["Model", "Why", "Records", first, "What it said there"], rows)
}

/// The shifts since the baseline.
pub(super) fn baseline(report: &BacktestReport) -> Markup {
    let Some(before) = &report.baseline else { return html! {} };
    let scores = report.models.iter().map(|model| row![model.identity.name, psi(model.psi_since_baseline), "", ""]);
    let lead = html! {
        "How the wallets have shifted from the baseline to this sample: " (sample(before))
        " A shift in what models read moves scores even where no model changes."
    };
    let head = row!["Score or figure", "PSI", "Median before", "Median now"];
    let rows = scores.chain(report.figures_since_baseline.iter().map(shift));
    wrap("Since the baseline", lead, table("Population stability index, scores first", head, rows))
}

/// A row of a table of shifts.
pub(super) fn shift(shift: &Shift) -> Vec<Markup> {
    row![shift.figure, psi(shift.psi), size(shift.expected_median), size(shift.actual_median)]
}

/// The methods of the statistics.
pub(super) fn method(report: &BacktestReport) -> Markup {
    let outcomes = report.comparisons.iter().find_map(|found| found.outcomes.as_ref());
    html! {
        section {
            h2 { "How it is computed" }
            p.words {
                "Every record was scored by every model in a fresh instance, as a server would. PSI is the population "
                "stability index, Σ (a − e) ln(a / e) over bins, shares below " (FLOOR) " taken for that (Siddiqi "
                "2006, who gives " (INVESTIGATE) " and " (SIGNIFICANT) " as the bounds of a shift worth looking into \
                                                                        and "
                "of another population); bins are tenths of the reference. KS is the largest gap between two \
                 distribution "
                "functions (Smirnov 1948), the distance in points the first Wasserstein distance. Rank correlations "
                "are Spearman’s with mean ranks for ties (1904) and Kendall’s tau-b (1945). AUC counts ties half "
                "(Hanley and McNeil 1982); Gini is 2 AUC − 1."
                @if let Some(outcomes) = outcomes {
                    " Intervals are 95 % percentile intervals of " (grouped(u64::from(outcomes.plan.resamples)))
                    " bootstrap resamples of the "
                    @if let Some(count) = outcomes.clusters { (grouped(count)) " clusters of records" }
                    @else { "wallets" }
                    " (Efron and Tibshirani 1993; seed " (outcomes.plan.seed) "), both models on the same resample; "
                    "one that would leave out the figure itself, as of KS, is moved by its bias. The Brier score \
                     (1950) "
                    "is of a logistic curve fitted to the score on this same sample: it says what the scores are worth "
                    "after calibration. Rates have 95 % Wilson intervals (1927)."
                }
                " Latencies, fuel and medians of figures are right to 1.6 %, everything else is exact."
            }
            p.words {
                "For model risk management this page is analysis of outcomes on past data. SR 26-2 of the Federal "
                "Reserve (OCC Bulletin 2026-13), which replaced SR 11-7 in April 2026, leaves it to the institution "
                "what else it takes: an independent review of the model, limits of its use, and monitoring, for which "
                code { "assay model outcomes" } " joins served scores with what happened after them."
            }
        }
    }
}
