//! The model beside simple baselines and another score, and its claims beside what was observed.

use super::{range, tables::hundred};
use crate::{
    grade::{Baseline, Beside, Claimed, ClaimedRange, Estimate, Grade, Paired},
    page::html::{esc, table},
    report::Report,
    words::{decimal, grouped, signed},
};
use assay_domain::ClaimVerdict;

fn cell(estimate: Estimate) -> String {
    format!("{}<small>{}</small>", decimal(estimate.value, 3), range(estimate.interval, 3))
}

/// The name, the records, both AUCs and their difference with a conclusion.
fn row(name: &str, beside: &Beside, Paired { auc, model, difference }: Paired) -> Vec<String> {
    let conclusion = match difference.interval {
        Some(interval) if interval.low > 0.0 => "<b class=\"up\">the model ranks better</b>",
        Some(interval) if interval.high < 0.0 => "<b class=\"down\">it ranks better alone</b>",
        Some(_) => "no difference shown",
        None => "",
    };
    let interval = difference.interval.map(|i| format!("{} to {}", signed(Some(i.low), 3), signed(Some(i.high), 3)));
    vec![
        name.to_owned(),
        format!("{}<small>{} bad</small>", grouped(beside.count), grouped(beside.bad)),
        cell(auc),
        cell(model),
        format!("{}<small>{}</small>", signed(difference.value, 3), interval.unwrap_or_default()),
        conclusion.to_owned(),
    ]
}

fn rows(name: &str, beside: &Beside) -> Vec<Vec<String>> {
    let within = beside.within.map(|paired| row(&format!("{name}<small>within dates</small>"), beside, paired));
    let pooled = row(&format!("{name}<small>all dates together</small>"), beside, beside.pooled);
    within.into_iter().chain([pooled]).collect()
}

const HEAD: [&str; 6] = ["Without a model", "Records", "AUC alone", "AUC of the model", "Difference", ""];

/// The model beside what needs no fit.
pub(crate) fn baselines(grade: &Grade) -> String {
    let known = |baseline: &Baseline| Some(rows(baseline.title, baseline.beside.as_ref()?));
    let found: Vec<_> = grade.baselines.iter().filter_map(known).flatten().collect();
    let absent: Vec<_> = grade.baselines.iter().filter(|one| one.beside.is_none()).map(|one| one.title).collect();
    let absent = match absent.is_empty() {
        true => String::new(),
        false => {
            format!("<p>This file cannot show: {}. No record has it, or all have the same.</p>\n", absent.join(", "))
        }
    };
    let caption = "Beside simple baselines, each on the records that have it; intervals of the difference are paired, over wallets. \
                   A wallet that owes nothing has the best health factor, one that was never liquidated the best date";
    if found.is_empty() { absent } else { table(caption, &HEAD, &found) + &absent }
}

/// The model beside a column of the file.
pub(crate) fn external(grade: &Grade) -> String {
    let Some(other) = &grade.external else { return String::new() };
    table("Beside another score", &HEAD, &rows(&format!("column {}", esc(&other.column)), &other.beside))
}

/// How a claim is judged, before the tables.
const RULE: &str = "<p>A claim fails if each rate lies outside of the other's interval. It holds if it does not fail, \
                    and the observed interval lies within the claimed one, widened to half and twice the claimed \
                    rate. Otherwise the file shows neither. Observed intervals are over wallets, and none counts more \
                    than once.</p>\n";

/// Every claim of the model with its own table.
pub(crate) fn claims(report: &Report, grade: &Grade) -> String {
    if grade.claims.is_empty() {
        return "<p>The model claims no rate, so nothing here is a promise that was kept or broken.</p>\n".into();
    }
    let rule = if grade.claims.iter().any(|claim| claim.not_compared.is_none()) { RULE } else { "" };
    rule.to_owned() + &grade.claims.iter().map(|claim| one(report, claim)).collect::<String>()
}

fn one(report: &Report, claim: &Claimed) -> String {
    let Claimed { outcome, horizon_days, population, .. } = claim;
    let what = format!("The share that is {} within {horizon_days} days, of {}", esc(outcome), esc(population));
    if let Some(why) = &claim.not_compared {
        return format!("<p>{what}: <b class=\"down\">not compared</b>, {}.</p>\n", esc(why));
    }
    let other_word = match &report.label {
        Some(label) if label != outcome => {
            format!(" This file calls its outcome “{}”; the rates are compared all the same.", esc(label))
        }
        _ => String::new(),
    };
    let of = match claim.by_rule {
        true => format!("{} records are of this population.", grouped(claim.count)),
        false => format!("The population is stated only in words, so all {} records are taken.", grouped(claim.count)),
    };
    let row = |range: &ClaimedRange| {
        let verdict = match range.verdict {
            _ if !range.band.enough => "not shown<small>fewer than 50 records</small>",
            ClaimVerdict::Holds => "<b class=\"up\">holds</b>",
            ClaimVerdict::Fails => "<b class=\"down\">fails</b>",
            ClaimVerdict::NotShown => "not shown<small>too wide an interval</small>",
        };
        vec![
            range.band.range.to_owned(),
            verdict.to_owned(),
            format!("{}<small>{} bad</small>", grouped(range.band.count), grouped(range.band.bad)),
            decimal(range.band.rate.map(|rate| rate * 100.0), 1),
            hundred(range.band.interval),
            decimal(Some(range.estimate * 100.0), 1),
            hundred(Some(range.claimed)),
        ]
    };
    let head = ["Range", "Verdict", "Records", "Observed, %", "95 % interval, %", "Claimed, %", "95 % interval, %"];
    let rows: Vec<_> = claim.ranges.iter().map(row).collect();
    format!("<p>{what}. {of}{other_word}</p>\n") + &table("Claimed and observed", &head, &rows)
}
