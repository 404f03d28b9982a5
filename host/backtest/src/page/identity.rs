//! The sections on the input: the models with their digests, the sample, the baseline, and the method.

use super::{
    chart::gauge,
    html::{esc, section as wrap, table},
};
use crate::{
    compare::Comparison,
    report::{Report, Sample},
    shift::Shift,
    words::{decimal, grouped, percent, size},
};
use assay_domain::stats::{FLOOR, INVESTIGATE, SIGNIFICANT};

pub(crate) fn section(report: &Report, found: &Comparison) -> String {
    models(report, &[(0, "first", "answers today"), (found.index, "second", "would answer instead")])
}

/// The one model of a page, and the sample.
pub(crate) fn alone(report: &Report) -> String {
    models(report, &[(0, "second", "the only model of this page")])
}

fn models(report: &Report, shown: &[(usize, &str, &str)]) -> String {
    let rows: Vec<_> = shown
        .iter()
        .copied()
        .filter_map(|(index, class, role)| report.models.get(index).map(|model| (model, class, role)))
        .map(|(model, class, role)| {
            vec![
                format!(
                    "<span class=\"name\"><span class=\"swatch {class}\"></span>{}</span>",
                    esc(&model.identity.name)
                ),
                format!(
                    "<span class=\"words\">{}<small>{role}</small><code>{}</code></span>",
                    esc(&model.identity.title),
                    model.identity.digest
                ),
                grouped(model.scored),
                grouped(model.refused),
                grouped(model.failed),
            ]
        })
        .collect();
    let sample = table(
        "Models",
        &[
            "Model",
            "<span class=\"words\">Title, role, and SHA-256 of the component</span>",
            "Scored",
            "Refused",
            "Failed",
        ],
        &rows,
    ) + &format!("<p>{}</p>\n", sample(&report.sample))
        + &bad_lines(&report.sample)
        + &failures(report, shown);
    format!("<section class=\"plain\">\n<h2 class=\"quiet\">What was compared</h2>\n{sample}</section>\n")
}

fn sample(sample: &Sample) -> String {
    let outcome = match sample.with_outcome {
        0 => "none with a known outcome".to_owned(),
        known => format!(
            "{} with a known outcome, {} of them bad ({})",
            grouped(known),
            grouped(sample.bad_outcomes),
            percent(sample.bad_outcomes, known)
        ),
    };
    format!(
        "{} records in <b>{}</b>, SHA-256 <code>{}</code>; {outcome}.",
        grouped(sample.records),
        esc(&sample.file),
        sample.digest
    )
}

fn bad_lines(sample: &Sample) -> String {
    if sample.bad_lines == 0 {
        return String::new();
    }
    let unit = sample.counted_in.as_str();
    let rows = sample
        .first_bad_lines
        .iter()
        .map(|bad| vec![grouped(bad.line), format!("<span class=\"words\">{}</span>", esc(&bad.reason))]);
    format!(
        "<details><summary>{} {unit}s could not be read and are not in any figure</summary>\n",
        grouped(sample.bad_lines)
    ) + &table("The first of them", &["Number", "What is wrong"], &rows.collect::<Vec<_>>())
        + "</details>\n"
}

fn failures(report: &Report, shown: &[(usize, &str, &str)]) -> String {
    let models = shown.iter().filter_map(|(index, _, _)| report.models.get(*index));
    let row = |(name, (code, without)): (&String, (&&str, &crate::tally::Without))| {
        vec![
            esc(name),
            format!("<code>{code}</code>"),
            grouped(without.calls),
            grouped(without.line),
            format!("<span class=\"words\">{}</span>", esc(&without.message)),
        ]
    };
    let rows: Vec<_> = models
        .flat_map(|model| model.without_score.iter().map(move |without| (&model.identity.name, without)))
        .map(row)
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    table(
        "Records without a score",
        &["Model", "Why", "Records", &format!("First {}", report.sample.counted_in.as_str()), "What it said there"],
        &rows,
    )
}

/// The shifts since the baseline.
pub(crate) fn baseline(report: &Report) -> String {
    let Some(before) = &report.baseline else { return String::new() };
    let scores = report
        .models
        .iter()
        .map(|model| vec![esc(&model.identity.name), psi(model.psi_since_baseline), String::new(), String::new()]);
    let rows: Vec<_> = scores.chain(report.figures_since_baseline.iter().map(shift)).collect();
    wrap(
        "Since the baseline",
        &format!(
            "How the wallets have shifted from the baseline to this sample: {} A shift in what models read moves scores even where no model changes.",
            sample(before)
        ),
        &table(
            "Population stability index, scores first",
            &["Score or figure", "PSI", "Median before", "Median now"],
            &rows,
        ),
    )
}

/// A row of a table of shifts.
pub(crate) fn shift(shift: &Shift) -> Vec<String> {
    vec![shift.figure.to_owned(), psi(shift.psi), size(shift.expected_median), size(shift.actual_median)]
}

/// The index with a bar and a word for its size.
pub(crate) fn psi(psi: Option<f64>) -> String {
    let Some(index) = psi else { return "–".into() };
    let (class, word) = match index {
        SIGNIFICANT.. => ("far", "far apart"),
        INVESTIGATE.. => ("near", "apart"),
        _ => ("", "alike"),
    };
    format!("<span class=\"psi\">{}{}<small>{word}</small></span>", gauge(index, class), decimal(Some(index), 3))
}

/// The methods of the statistics.
pub(crate) fn method(report: &Report) -> String {
    let resampling = report
        .comparisons
        .iter()
        .find_map(|found| found.outcomes.as_ref())
        .map(|outcomes| {
            format!(
                " Intervals are 95 % percentile intervals of {} bootstrap resamples of the {} (Efron and Tibshirani 1993; seed {}), both models on the same \
                 resample; one that would leave out the figure itself, as of KS, is moved by its bias. The Brier score (1950) is of a logistic curve fitted to the score on this same sample: it says what the scores are worth after calibration. \
                 Rates have 95 % Wilson intervals (1927).",
                grouped(u64::from(outcomes.plan.resamples)),
                outcomes.clusters.map_or("wallets".to_owned(), |count| format!("{} clusters of records", grouped(count))),
                outcomes.plan.seed
            )
        })
        .unwrap_or_default();
    format!(
        "<section>\n<h2>How it is computed</h2>\n<p class=\"words\">Every record was scored by every model in a fresh instance, as a server would. PSI is the population \
         stability index, Σ (a − e) ln(a / e) over bins, shares below {FLOOR} taken for that (Siddiqi 2006, who gives {INVESTIGATE} and {SIGNIFICANT} as the bounds of a shift worth \
         looking into and of another population); bins are tenths of the reference. KS is the largest gap between two distribution functions (Smirnov 1948), \
         the distance in points the first Wasserstein distance. Rank correlations are Spearman’s with mean ranks for ties (1904) and Kendall’s tau-b (1945). AUC counts ties half \
         (Hanley and McNeil 1982); Gini is 2 AUC − 1.{resampling} Latencies, fuel and medians of figures are right to 1.6 %, everything else is exact.</p>\n\
         <p class=\"words\">For model risk management this page is analysis of outcomes on past data. SR 26-2 of the Federal Reserve (OCC Bulletin 2026-13), which replaced SR 11-7 \
         in April 2026, leaves it to the institution what else it takes: an independent review of the model, limits of its use, and monitoring, for which <code>assay model outcomes</code> \
         joins served scores with what happened after them.</p>\n</section>\n"
    )
}
