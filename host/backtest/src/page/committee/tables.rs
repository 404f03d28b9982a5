//! The tables of one model.

use super::range;
use crate::{
    grade::{Band, Check, Claim, Claimed, Grade, HeldOut, Power, Segment, Tenth},
    page::{
        chart::share,
        html::{esc, section as wrap, table},
        identity::psi,
    },
    report::Report,
    words::{decimal, grouped, percent, size},
};
use assay_domain::stats::Interval;

/// An interval of a share, in percent.
fn hundred(interval: Option<Interval>) -> String {
    range(interval.map(|i| Interval { low: i.low * 100.0, high: i.high * 100.0 }), 1)
}

pub fn checks(grade: &Grade) -> String {
    if grade.checks.is_empty() {
        return String::new();
    }
    let passed = grade.checks.iter().all(|check| check.passed);
    let row = |check: &Check| {
        let word = if check.passed { "<b class=\"up\">pass</b>" } else { "<b class=\"down\">fail</b>" };
        vec![esc(&check.bound), esc(&check.found), word.to_owned()]
    };
    let rows: Vec<_> = grade.checks.iter().map(row).collect();
    wrap(
        &format!("Verdict on {}: {}", esc(&grade.model), if passed { "pass" } else { "fail" }),
        "The bounds that were stated before this run, with --bounds.",
        &table("Bounds", &["Bound", "Found", "Verdict"], &rows),
    )
}

/// The rate that a model claims for a range, and a remark where the observed rate contradicts it.
fn claimed(band: &Band, comparable: bool) -> String {
    let Some(Claimed { low, estimate, high, agrees }) = band.claimed else { return "–".into() };
    let interval = hundred(Some(Interval { low, high }));
    let remark = if comparable && agrees == Some(false) { " <b class=\"down\">not as observed</b>" } else { "" };
    format!("{}<small>{interval}</small>{remark}", decimal(Some(estimate * 100.0), 1))
}

/// The event, the time and the wallets of the claimed rates, and a warning where this file has another event or time.
fn claim(report: &Report, grade: &Grade) -> String {
    let Some(Claim { outcome, horizon_days, population }) = &grade.claims else {
        return "<p>The model itself claims no rate, so nothing here is a promise that was kept or broken.</p>\n"
            .into();
    };
    let differs = match is_claimed(report, grade) {
        true => "",
        false => " The outcome or the time of this file is another: the rates cannot be compared.",
    };
    format!(
        "<p>The model claims the share that is {} within {horizon_days} days, of {}.{differs}</p>\n",
        esc(outcome),
        esc(population)
    )
}

/// Whether this file has the event and the time of the claimed rates.
fn is_claimed(report: &Report, grade: &Grade) -> bool {
    let is_same = |claim: &Claim| {
        report.label.as_ref() == Some(&claim.outcome) && report.horizon_days == Some(claim.horizon_days)
    };
    grade.claims.as_ref().is_some_and(is_same)
}

pub fn ranges(report: &Report, grade: &Grade) -> String {
    let comparable = is_claimed(report, grade);
    let most = grade.ranges.iter().filter_map(|band| band.rate).fold(0.0, f64::max);
    let row = |band: &Band| {
        let remark = if band.enough { "" } else { "<small>fewer than 50 records</small>" };
        vec![
            format!("{}{remark}", band.range),
            grouped(band.count),
            percent(band.count, grade.count),
            grouped(band.bad),
            share(band.bad, band.count, most),
            hundred(band.interval),
            claimed(band, comparable),
        ]
    };
    let rows: Vec<_> = grade.ranges.iter().map(row).collect();
    let head = ["Range", "Records", "Share", "Bad", "Bad rate", "95 % interval, %", "Claimed, %"];
    table("By range", &head, &rows) + &claim(report, grade)
}

pub fn tenths(grade: &Grade) -> String {
    let most = grade.tenths.iter().map(|tenth| tenth.row.bad_rate).fold(0.0, f64::max);
    let row = |tenth: &Tenth| {
        vec![
            format!("{} to {}", tenth.row.from, tenth.row.to),
            grouped(tenth.row.count),
            grouped(tenth.row.bad),
            share(tenth.row.bad, tenth.row.count, most),
            hundred(tenth.clustered),
            decimal(tenth.lift, 2),
            decimal(Some(tenth.row.cumulative_bad * 100.0), 1),
        ]
    };
    let rows: Vec<_> = grade.tenths.iter().map(row).collect();
    let head = ["Score", "Records", "Bad", "Bad rate", "95 % interval, %", "Lift", "Bad so far, %"];
    table(
        "By tenth, lowest scores first; equal scores stay together. Lift is the bad rate over that of the file",
        &head,
        &rows,
    )
}

pub fn power(report: &Report, grade: &Grade) -> String {
    let row = |power: &Power| {
        vec![
            esc(&power.name),
            decimal(power.auc, 3),
            decimal(power.information_value, 3),
            percent(power.missing, grade.count),
            size(power.mean),
            format!("{} to {}", size(power.from), size(power.to)),
        ]
    };
    let head = ["", "AUC alone", "Information value", "Missing", "Mean", "From, to"];
    let rows = |list: &[Power]| list.iter().map(row).collect::<Vec<_>>();
    let whole = report.sample.records;
    wrap(
        &format!("What each part tells: {}", esc(&grade.model)),
        &format!(
            "AUC alone is above 0.5 where more goes with good outcomes, and below where more goes with bad ones; an information value under 0.02 tells nothing, \
             from 0.3 on much. The points of a factor are its weight in the score. {} of {} records of the file have an outcome.",
            grouped(grade.known),
            grouped(whole)
        ),
        &(table("Points of the factors", &head, &rows(&grade.factors))
            + "<details><summary>Figures of the features, whether the model reads them or not</summary>\n"
            + &table("Figures", &head, &rows(&grade.figures))
            + "</details>\n"),
    )
}

pub fn held_out(grade: &Grade) -> String {
    let Some(HeldOut { folds, brier, brier_of_base_rate, bins }) = &grade.held_out else {
        return wrap(
            &format!("Calibration: {}", esc(&grade.model)),
            "There are too few outcomes of one kind to fit on some wallets and test on others.",
            "",
        );
    };
    let rows: Vec<_> = bins
        .iter()
        .map(|bin| {
            let observed = decimal(Some(bin.observed * 100.0), 1);
            let expected = decimal(Some(bin.expected * 100.0), 1);
            vec![expected, observed, hundred(Some(bin.interval)), grouped(bin.count), grouped(bin.bad)]
        })
        .collect();
    wrap(
        &format!("Calibration: {}", esc(&grade.model)),
        &format!(
            "Each wallet’s rate is predicted by a logistic curve that was fitted without it ({folds} folds of whole wallets). Brier score {}, against {} for the bad rate alone.",
            decimal(Some(*brier), 4),
            decimal(Some(*brier_of_base_rate), 4)
        ),
        &table(
            "Tenths of the prediction",
            &["Expected, %", "Observed, %", "95 % interval, %", "Records", "Bad"],
            &rows,
        ),
    )
}

pub fn segments(grade: &Grade) -> String {
    let row = |segment: &Segment| {
        let auc = segment.auc.map_or_else(
            || "–<small>fewer than 20 of a kind</small>".to_owned(),
            |auc| format!("{}<small>{}</small>", decimal(auc.value, 3), range(auc.interval, 3)),
        );
        vec![
            format!("{} {}", esc(&segment.by), esc(&segment.name)),
            grouped(segment.count),
            percent(segment.bad, segment.count),
            auc,
            decimal(segment.mean_score, 0),
            psi(segment.psi),
        ]
    };
    let head = ["Segment", "Records", "Bad rate", "AUC", "Mean score", "PSI of the scores"];
    let rows = |list: &[Segment]| list.iter().map(row).collect::<Vec<_>>();
    let months = table("By month of the record; the PSI compares with the first one", &head, &rows(&grade.months));
    let others = match grade.segments.is_empty() {
        true => "<p>Name dimensions with --by, such as chain,protocol or a column, to see where the score does not hold.</p>\n".to_owned(),
        false => table("By other dimensions; the PSI compares with all records. A wallet can be in several", &head, &rows(&grade.segments)),
    };
    wrap(
        &format!("Over time and by segment: {}", esc(&grade.model)),
        "A score that was fitted on some months is out of time in those after them; one that holds in one segment alone says little of another.",
        &(months + &others),
    )
}
