//! The sections about one model alone, for a committee that decides on it.

mod beside;
mod curve;
mod tables;

use maud::{Markup, html};

use super::{
    html::{facts, noted, row, section as wrap, table},
    roc,
};
use crate::{
    grade::Grade,
    report::BacktestReport,
    words::{day, decimal, ends, grouped, percent},
};
use assay_domain::stats::Interval;

/// The header of a page about one model.
pub(super) fn header(report: &BacktestReport) -> Markup {
    let name = report.models.first().map_or("", |model| &model.identity.name);
    let verdict = report.grades.first().map_or_else(
        || format!("Nothing says what became of the wallets, so {name} cannot be judged."),
        |grade| grade.verdict.clone(),
    );
    super::header(report, name, &verdict)
}

const SEPARATION: &str =
    "How far the score puts good outcomes above bad ones. At chance the AUC is 0.5 and the line is the diagonal.";

/// Everything about one model.
pub(super) fn sections(report: &BacktestReport, grade: &Grade) -> Markup {
    let titled = |what: &str| format!("{what}: {}", grade.model);
    let ranges = html! { (cut_off(grade)) (tables::ranges(grade)) (curve::curve(grade)) (tables::tenths(grade)) };
    let separation = html! {
        (separation(grade)) (beside::baselines(grade)) (beside::external(grade)) (roc::charts(grade))
    };
    html! {
        (sample(report, grade))
        (tables::checks(grade))
        (wrap(titled("Bad rate by range"), falls(grade), ranges))
        (wrap(
            titled("What it claims"),
            "The rates that the model states beforehand, on the records of the population that it states them for.",
            beside::claims(report, grade),
        ))
        (wrap(titled("Separation"), SEPARATION, separation))
        (tables::power(report, grade))
        (tables::held_out(grade))
        (tables::segments(grade))
    }
}

fn sample(report: &BacktestReport, grade: &Grade) -> Markup {
    let horizon = report.horizon_days.map_or("the file states no horizon".into(), |days| format!("within {days} days"));
    let label = report.label.as_deref().unwrap_or("not stated: name it with --label");
    let repeats = match grade.largest_cluster {
        0 | 1 => "no wallet repeats".into(),
        most => format!("one has up to {} of the records", grouped(most)),
    };
    let bad = format!("{} bad, {}", grouped(grade.bad), percent(grade.bad, grade.count));
    let facts = facts([
        ("Bad outcome", noted(html! { span.term { (label) } }, horizon)),
        ("Dates", noted(day(grade.from), format!("to {}, by the as_of of the records", day(grade.to)))),
        ("Records", noted(grouped(grade.count), bad)),
        ("Wallets", noted(grouped(grade.clusters), format!("{repeats}; told apart {}", grade.clusters_found))),
    ]);
    let left_out = grade.known - grade.count;
    let body = html! {
        (facts)
        @if left_out > 0 {
            p {
                (grouped(left_out)) " records with an outcome are not in these figures: the model gave them no score, "
                "or the file has more than are kept."
            }
        }
    };
    wrap(
        format!("What was measured: {}", grade.model),
        "The outcome, the dates and the wallets on which everything below rests.",
        body,
    )
}

fn falls(grade: &Grade) -> &'static str {
    match grade.falls {
        Some(true) => "It falls from range to range, or stays at 0, among the ranges with at least 50 records.",
        Some(false) => {
            "It does not fall from range to range, among the ranges with at least 50 records: a cut-off at such a \
             range is not supported."
        }
        None => {
            "Fewer than two ranges have 50 records, or none of these is bad, so this file cannot show whether it falls."
        }
    }
}

/// The records that the cut-off of the run accepts.
fn cut_off(grade: &Grade) -> Markup {
    let Some(cut) = &grade.cut_off else { return html! {} };
    html! {
        p {
            "A lender who accepts scores from " (cut.score) " on takes " (grouped(cut.accepted)) " of the records ("
            (percent(cut.accepted, grade.count)) "); " (percent(cut.accepted_bad, cut.accepted))
            " of those turn out bad, and " (percent(cut.refused_bad, grade.bad)) " of the bad are refused."
        }
    }
}

fn separation(grade: &Grade) -> Markup {
    let gini =
        |interval: Option<Interval>| interval.map(|i| Interval { low: 2.0 * i.low - 1.0, high: 2.0 * i.high - 1.0 });
    let rows = [
        ("AUC within dates", grade.within_dates.value, grade.within_dates.interval),
        ("AUC, all dates together", grade.auc.value, grade.auc.interval),
        ("Gini", grade.auc.value.map(|auc| 2.0 * auc - 1.0), gini(grade.auc.interval)),
        ("KS", grade.ks.value, grade.ks.interval),
    ];
    let rows = rows.map(|(name, value, interval)| row![name, decimal(value, 3), range(interval, 3)]);
    let caption = format!(
        "With 95 % percentile intervals from {} bootstrap resamples of whole wallets, all records of one together; one \
         that would leave out the figure is moved by its bias",
        grouped(grade.resamples)
    );
    html! {
        (table(&caption, row!["Measure", "Value", "95 % interval"], rows))
        p {
            @if grade.dates == 0 {
                "No date has a good and a bad record, so there is no AUC within dates: what sets the dates apart may "
                "be taken for skill."
            } @else {
                "Within dates only records of the same day are compared, on " (grouped(grade.dates)) " days that have "
                "both outcomes; all dates together also count what sets the dates apart."
            }
        }
    }
}

/// An interval in a table: one dash if there is none.
fn range(interval: Option<Interval>, places: usize) -> String {
    interval.map_or("–".into(), |interval| ends(Some(interval), places))
}
