//! The model beside simple baselines and another score, and its claims beside what was observed.

use maud::{Markup, html};

use super::{range, tables::hundred};
use crate::{
    grade::{ClaimResult, ClaimedRange, ComparedValue, Estimate, Grade, Paired},
    page::html::{coloured, noted, row, table},
    report::BacktestReport,
    words::{decimal, grouped, signed},
};
use assay_domain::ClaimVerdict;

fn cell(estimate: Estimate) -> Markup {
    noted(decimal(estimate.value, 3), range(estimate.interval, 3))
}

/// The records of a row, and the bad ones among them.
fn counts(count: u64, bad: u64) -> Markup {
    noted(grouped(count), format!("{} bad", grouped(bad)))
}

/// The name, the records, both AUCs and their difference with a conclusion.
fn row(name: Markup, beside: &ComparedValue, Paired { auc, model, difference }: Paired) -> Vec<Markup> {
    let conclusion = match difference.interval {
        Some(interval) if interval.low > 0.0 => coloured(true, "the model ranks better"),
        Some(interval) if interval.high < 0.0 => coloured(false, "it ranks better alone"),
        Some(_) => html! { "no difference shown" },
        None => html! {},
    };
    let interval = difference.interval.map(|i| format!("{} to {}", signed(Some(i.low), 3), signed(Some(i.high), 3)));
    let difference = noted(signed(difference.value, 3), interval.unwrap_or_default());
    row![name, counts(beside.count, beside.bad), cell(auc), cell(model), difference, conclusion]
}

fn rows(name: &str, beside: &ComparedValue) -> Vec<Vec<Markup>> {
    let within = beside.within.map(|paired| row(noted(name, "within dates"), beside, paired));
    let pooled = row(noted(name, "all dates together"), beside, beside.pooled);
    within.into_iter().chain([pooled]).collect()
}

fn compared(caption: &str, rows: Vec<Vec<Markup>>) -> Markup {
    let head = row!["Without a model", "Records", "AUC alone", "AUC of the model", "Difference", ""];
    table(caption, head, rows)
}

/// The model beside what needs no fit.
pub(super) fn baselines(grade: &Grade) -> Markup {
    let known = grade.baselines.iter().filter_map(|baseline| Some(rows(baseline.title, baseline.beside.as_ref()?)));
    let found: Vec<_> = known.flatten().collect();
    let absent: Vec<_> = grade.baselines.iter().filter(|one| one.beside.is_none()).map(|one| one.title).collect();
    let caption = "Beside simple baselines, each on the records that have it; intervals of the difference are paired, \
                   over wallets. A wallet that owes nothing has the best health factor, one that was never liquidated \
                   the best date";
    html! {
        @if !found.is_empty() { (compared(caption, found)) }
        @if !absent.is_empty() {
            p { "This file cannot show: " (absent.join(", ")) ". No record has it, or all have the same." }
        }
    }
}

/// The model beside a column of the file.
pub(super) fn external(grade: &Grade) -> Markup {
    let Some(other) = &grade.external else { return html! {} };
    compared("Beside another score", rows(&format!("column {}", other.column), &other.beside))
}

/// Every claim of the model with its own table.
pub(super) fn claims(report: &BacktestReport, grade: &Grade) -> Markup {
    html! {
        @if grade.claims.is_empty() {
            p { "The model claims no rate, so nothing here is a promise that was kept or broken." }
        }
        @if grade.claims.iter().any(|claim| claim.not_compared.is_none()) {
            p {
                "A claim fails if each rate lies outside of the other's interval. It holds if it does not fail, and "
                "the observed interval lies within the claimed one, widened to half and twice the claimed rate. "
                "Otherwise the file shows neither. Observed intervals are over wallets, and none counts more than once."
            }
        }
        @for claim in &grade.claims { (one(report, claim)) }
    }
}

fn one(report: &BacktestReport, claim: &ClaimResult) -> Markup {
    let ClaimResult { outcome, horizon_days, population, .. } = claim;
    let what = format!("The share that is {outcome} within {horizon_days} days, of {population}");
    if let Some(why) = &claim.not_compared {
        return html! { p { (what) ": " (coloured(false, "not compared")) ", " (why) "." } };
    }
    let count = grouped(claim.count);
    let head = row!["Range", "Verdict", "Records", "Observed, %", "95 % interval, %", "Claimed, %", "95 % interval, %"];
    html! {
        p {
            (what) ". "
            @if claim.by_rule { (count) " records are of this population." }
            @else { "The population is stated only in words, so all " (count) " records are taken." }
            @if let Some(label) = report.label.as_ref().filter(|label| *label != outcome) {
                " This file calls its outcome “" (label) "”; the rates are compared all the same."
            }
        }
        (table("Claimed and observed", head, claim.ranges.iter().map(claimed)))
    }
}

fn claimed(range: &ClaimedRange) -> Vec<Markup> {
    let verdict = match range.verdict {
        _ if !range.band.enough => noted("not shown", "fewer than 50 records"),
        ClaimVerdict::Holds => coloured(true, "holds"),
        ClaimVerdict::Fails => coloured(false, "fails"),
        ClaimVerdict::NotShown => noted("not shown", "too wide an interval"),
    };
    row![
        range.band.range,
        verdict,
        counts(range.band.count, range.band.bad),
        decimal(range.band.rate.map(|rate| rate * 100.0), 1),
        hundred(range.band.interval),
        decimal(Some(range.estimate * 100.0), 1),
        hundred(Some(range.claimed)),
    ]
}
