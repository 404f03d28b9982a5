//! The tables of one model.

use maud::{Markup, html};

use super::range;
use crate::{
    grade::{Band, BoundCheck, Grade, GradeSegment, HeldOut, Power, Tenth},
    page::html::{coloured, folded, noted, psi, row, section as wrap, share, table},
    report::BacktestReport,
    words::{decimal, grouped, percent, size},
};
use assay_domain::stats::Interval;

/// An interval of a share, in percent.
pub(super) fn hundred(interval: Option<Interval>) -> String {
    range(interval.map(|i| Interval { low: i.low * 100.0, high: i.high * 100.0 }), 1)
}

pub(super) fn checks(grade: &Grade) -> Markup {
    if grade.checks.is_empty() {
        return html! {};
    }
    let word = |passed: bool| if passed { "pass" } else { "fail" };
    let passed = grade.checks.iter().all(|check| check.passed);
    let row = |check: &BoundCheck| row![check.bound, check.found, coloured(check.passed, word(check.passed))];
    wrap(
        format!("Verdict on {}: {}", grade.model, word(passed)),
        "The bounds that were stated before this run, with --bounds; claims that fail count without being asked for.",
        table("Bounds", row!["Bound", "Found", "Verdict"], grade.checks.iter().map(row)),
    )
}

pub(super) fn ranges(grade: &Grade) -> Markup {
    let most = grade.ranges.iter().filter_map(|band| band.rate).fold(0.0, f64::max);
    let row = |band: &Band| {
        row![
            if band.enough {
                html! { (band.range) }
            } else {
                noted(band.range, "fewer than 50 records")
            },
            grouped(band.count),
            percent(band.count, grade.count),
            grouped(band.bad),
            share(band.bad, band.count, most),
            hundred(band.interval),
        ]
    };
    let caption = "By range; the intervals are Wilson's over wallets, for as many as the spread between them supports";
    let head = row!["Range", "Records", "Share", "Bad", "Bad rate", "95 % interval, %"];
    html! { (table(caption, head, grade.ranges.iter().map(row))) (dollars(grade)) }
}

/// The debt at the dates of the records, and how much of it went bad.
fn dollars(grade: &Grade) -> Markup {
    let sum = |of: fn(&Band) -> f64| grade.ranges.iter().map(of).sum::<f64>();
    let (owed, of_bad) = (sum(|band| band.owed_usd), sum(|band| band.owed_by_bad_usd));
    if owed <= 0.0 {
        return html! { p { "No debt is in this file, so it cannot show dollars at risk." } };
    }
    let is_lost = grade.ranges.iter().any(|band| band.lost_usd.is_some());
    let part = |of: f64, all: f64| if all > 0.0 { decimal(Some(of / all * 100.0), 1) } else { "–".into() };
    let whole = |usd: f64| grouped(usd.round() as u64);
    let row = |name: &str, own: f64, bad: f64, lost: Option<f64>| {
        let mut row = row![name, whole(own), part(own, owed), whole(bad), part(bad, own)];
        row.extend(is_lost.then(|| html! { (lost.map_or("–".into(), whole)) }));
        row
    };
    let bands = grade.ranges.iter().map(|band| row(band.range, band.owed_usd, band.owed_by_bad_usd, band.lost_usd));
    let all_lost = grade.ranges.iter().filter_map(|band| band.lost_usd).reduce(|sum, usd| sum + usd);
    let mut head = row!["Range", "At risk, USD", "Share of it, %", "Of the bad, USD", "Share gone bad, %"];
    head.extend(is_lost.then(|| html! { "Lost, USD" }));
    let caption = "Dollars by range: the debt at the date of each record, a wallet counted on each of its dates";
    html! {
        (table(caption, head, bands.chain([row("all", owed, of_bad, all_lost)])))
        @if !is_lost {
            p {
                "The file has no column " code { "lost_usd" } ": what a lender lost of the debt of the bad is not "
                "known, and at most that debt."
            }
        }
    }
}

pub(super) fn tenths(grade: &Grade) -> Markup {
    let most = grade.tenths.iter().map(|tenth| tenth.row.bad_rate).fold(0.0, f64::max);
    let row = |tenth: &Tenth| {
        row![
            format!("{} to {}", tenth.row.from, tenth.row.to),
            grouped(tenth.row.count),
            grouped(tenth.row.bad),
            share(tenth.row.bad, tenth.row.count, most),
            hundred(tenth.clustered),
            decimal(tenth.lift, 2),
            decimal(Some(tenth.row.cumulative_bad * 100.0), 1),
        ]
    };
    let head = row!["Score", "Records", "Bad", "Bad rate", "95 % interval, %", "Lift", "Bad so far, %"];
    let caption =
        "By tenth, lowest scores first; equal scores stay together. Lift is the bad rate over that of the file";
    table(caption, head, grade.tenths.iter().map(row))
}

pub(super) fn power(report: &BacktestReport, grade: &Grade) -> Markup {
    let row = |power: &Power| {
        row![
            power.name,
            decimal(power.auc, 3),
            decimal(power.information_value, 3),
            percent(power.missing, grade.count),
            size(power.mean),
            format!("{} to {}", size(power.from), size(power.to)),
        ]
    };
    let table = |caption: &str, list: &[Power]| {
        let head = row!["", "AUC alone", "Information value", "Missing", "Mean", "From, to"];
        table(caption, head, list.iter().map(row))
    };
    let lead = format!(
        "AUC alone is above 0.5 where more goes with good outcomes, and below where more goes with bad ones; an \
         information value under 0.02 tells nothing, from 0.3 on much. The points of a factor are its weight in the \
         score. {} of {} records of the file have an outcome.",
        grouped(grade.known),
        grouped(report.sample.records)
    );
    let summary = "Figures of the features, whether the model reads them or not";
    let body = html! {
        (table("Points of the factors", &grade.factors))
        (folded(summary, table("Figures", &grade.figures)))
    };
    wrap(format!("What each part tells: {}", grade.model), lead, body)
}

pub(super) fn held_out(grade: &Grade) -> Markup {
    let heading = format!("Calibration: {}", grade.model);
    let Some(HeldOut { folds, brier, brier_of_base_rate, bins }) = &grade.held_out else {
        let lead = "There are too few outcomes of one kind to fit on some wallets and test on others.";
        return wrap(heading, lead, html! {});
    };
    let rows = bins.iter().map(|bin| {
        row![
            decimal(Some(bin.expected * 100.0), 1),
            decimal(Some(bin.observed * 100.0), 1),
            hundred(Some(bin.interval)),
            grouped(bin.count),
            grouped(bin.bad),
        ]
    });
    let lead = html! {
        "Each wallet’s rate is predicted by a logistic curve that was fitted without it (" (folds) " folds of whole "
        "wallets). Brier score " (decimal(Some(*brier), 4)) ", against " (decimal(Some(*brier_of_base_rate), 4))
        " for the bad rate alone"
        @if brier < brier_of_base_rate { "." } @else {
            ": " (coloured(false, "worse than the bad rate alone")) ", so the score gives no probability here."
        }
    };
    let head = row!["Expected, %", "Observed, %", "95 % interval, %", "Records", "Bad"];
    wrap(heading, lead, table("Tenths of the prediction", head, rows))
}

pub(super) fn segments(grade: &Grade) -> Markup {
    let row = |segment: &GradeSegment| {
        let auc = segment.auc.map_or_else(
            || noted("–", "fewer than 20 of a kind"),
            |auc| noted(decimal(auc.value, 3), range(auc.interval, 3)),
        );
        row![
            format!("{} {}", segment.by, segment.name),
            grouped(segment.count),
            percent(segment.bad, segment.count),
            auc,
            decimal(segment.mean_score, 0),
            psi(segment.psi),
        ]
    };
    let table = |caption: &str, list: &[GradeSegment]| {
        let head = row!["Segment", "Records", "Bad rate", "AUC", "Mean score", "PSI of the scores"];
        table(caption, head, list.iter().map(row))
    };
    let lead = "A score that was fitted on some months is out of time in those after them; one that holds in one \
                segment alone says little of another.";
    let others = "By other dimensions; the PSI compares with all records. A wallet can be in several";
    let body = html! {
        (table("By month of the record; the PSI compares with the first one", &grade.months))
        (silent(&grade.months))
        @if grade.segments.is_empty() {
            p { "Name dimensions with --by, such as chain,protocol or a column, to see where the score does not hold." }
        } @else { (table(others, &grade.segments)) }
    };
    wrap(format!("Over time and by segment: {}", grade.model), lead, body)
}

/// The months without a figure: those in which too little happened, and those between the others without a record.
fn silent(months: &[GradeSegment]) -> Markup {
    let few: Vec<_> = months.iter().filter(|month| month.auc.is_none()).map(|month| month.name.as_str()).collect();
    let missing: Vec<_> = months
        .windows(2)
        .filter_map(|pair| Some((pair.first()?, pair.last()?)))
        .flat_map(|(before, after)| between(&before.name, &after.name))
        .collect();
    html! {
        @if !few.is_empty() { p { "No AUC of " (few.join(", ")) ": fewer than 20 good or bad records there." } }
        @if !missing.is_empty() { p { "No record of " (missing.join(", ")) "." } }
    }
}

/// The months between two others, such as `2021-02` and `2021-04`.
fn between(before: &str, after: &str) -> Vec<String> {
    let number = |month: &str| {
        let (year, month) = month.split_once('-')?;
        Some(year.parse::<u64>().ok()? * 12 + month.parse::<u64>().ok()? - 1)
    };
    let (Some(from), Some(to)) = (number(before), number(after)) else { return Vec::new() };
    (from + 1..to).map(|month| format!("{:04}-{:02}", month / 12, month % 12 + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn months_between_two_are_counted_over_a_year() {
        assert_eq!(between("2020-11", "2021-02"), ["2020-12", "2021-01"]);
        assert!(between("2021-02", "2021-03").is_empty());
    }
}
