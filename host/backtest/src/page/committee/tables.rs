//! The tables of one model.

use super::range;
use crate::{
    grade::{Band, Check, Grade, HeldOut, Power, Segment, Tenth},
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
pub(super) fn hundred(interval: Option<Interval>) -> String {
    range(interval.map(|i| Interval { low: i.low * 100.0, high: i.high * 100.0 }), 1)
}

pub(crate) fn checks(grade: &Grade) -> String {
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
        "The bounds that were stated before this run, with --bounds; claims that fail count without being asked for.",
        &table("Bounds", &["Bound", "Found", "Verdict"], &rows),
    )
}

pub(crate) fn ranges(grade: &Grade) -> String {
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
        ]
    };
    let rows: Vec<_> = grade.ranges.iter().map(row).collect();
    let caption = "By range; the intervals are Wilson's over wallets, for as many as the spread between them supports";
    table(caption, &["Range", "Records", "Share", "Bad", "Bad rate", "95 % interval, %"], &rows) + &dollars(grade)
}

/// The debt at the dates of the records, and how much of it went bad.
fn dollars(grade: &Grade) -> String {
    let sum = |of: fn(&Band) -> f64| grade.ranges.iter().map(of).sum::<f64>();
    let (owed, of_bad) = (sum(|band| band.owed_usd), sum(|band| band.owed_by_bad_usd));
    if owed <= 0.0 {
        return "<p>No debt is in this file, so it cannot show dollars at risk.</p>\n".into();
    }
    let is_lost = grade.ranges.iter().any(|band| band.lost_usd.is_some());
    let part = |of: f64, all: f64| if all > 0.0 { decimal(Some(of / all * 100.0), 1) } else { "–".into() };
    let whole = |usd: f64| grouped(usd.round() as u64);
    let lost = |usd: Option<f64>| is_lost.then(|| usd.map_or("–".into(), whole));
    let row = |name: &str, own: f64, bad: f64, usd: Option<f64>| {
        let cells = vec![name.to_owned(), whole(own), part(own, owed), whole(bad), part(bad, own)];
        cells.into_iter().chain(lost(usd)).collect::<Vec<_>>()
    };
    let bands = grade.ranges.iter().map(|band| row(band.range, band.owed_usd, band.owed_by_bad_usd, band.lost_usd));
    let all_lost = grade.ranges.iter().filter_map(|band| band.lost_usd).reduce(|sum, usd| sum + usd);
    let rows: Vec<_> = bands.chain([row("all", owed, of_bad, all_lost)]).collect();
    let mut head = vec!["Range", "At risk, USD", "Share of it, %", "Of the bad, USD", "Share gone bad, %"];
    head.extend(is_lost.then_some("Lost, USD"));
    let note = match is_lost {
        true => "",
        false => {
            "<p>The file has no column <code>lost_usd</code>: what a lender lost of the debt of the bad is not known, and at most that debt.</p>\n"
        }
    };
    table("Dollars by range: the debt at the date of each record, a wallet counted on each of its dates", &head, &rows)
        + note
}

pub(crate) fn tenths(grade: &Grade) -> String {
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

pub(crate) fn power(report: &Report, grade: &Grade) -> String {
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

pub(crate) fn held_out(grade: &Grade) -> String {
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
            "Each wallet’s rate is predicted by a logistic curve that was fitted without it ({folds} folds of whole wallets). Brier score {}, against {} for the bad rate alone{}",
            decimal(Some(*brier), 4),
            decimal(Some(*brier_of_base_rate), 4),
            match brier < brier_of_base_rate {
                true => ".",
                false =>
                    ": <b class=\"down\">worse than the bad rate alone</b>, so the score gives no probability here.",
            }
        ),
        &table(
            "Tenths of the prediction",
            &["Expected, %", "Observed, %", "95 % interval, %", "Records", "Bad"],
            &rows,
        ),
    )
}

pub(crate) fn segments(grade: &Grade) -> String {
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
    let months = table("By month of the record; the PSI compares with the first one", &head, &rows(&grade.months))
        + &silent(&grade.months);
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

/// The months without a figure: those in which too little happened, and those between the others without a record.
fn silent(months: &[Segment]) -> String {
    let few: Vec<_> = months.iter().filter(|month| month.auc.is_none()).map(|month| month.name.as_str()).collect();
    let missing: Vec<_> = months
        .windows(2)
        .filter_map(|pair| Some((pair.first()?, pair.last()?)))
        .flat_map(|(before, after)| between(&before.name, &after.name))
        .collect();
    let mut words = String::new();
    if !few.is_empty() {
        words += &format!("<p>No AUC of {}: fewer than 20 good or bad records there.</p>\n", few.join(", "));
    }
    if !missing.is_empty() {
        words += &format!("<p>No record of {}.</p>\n", missing.join(", "));
    }
    words
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
