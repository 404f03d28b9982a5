//! The result as one page for a browser: a single file without network access or scripts. Text from others, such as ids
//! and factor labels, is escaped. The page ends with the whole result as JSON, for programs.
//!
//! | file | owns |
//! |---|---|
//! | `html` | sections, tables, bars; safe text |
//! | `svg` | parts of charts |
//! | `histogram`, `chart` | the charts |
//! | `committee`, `roc` | one model by itself |
//! | `markdown` | a model card as HTML |
//! | `identity`, `agreement`, `migration`, `movers`, `foresight`, `cost` | the sections, top to bottom |

mod agreement;
mod chart;
mod committee;
mod cost;
mod foresight;
mod histogram;
mod html;
mod identity;
mod markdown;
mod migration;
mod movers;
mod roc;
mod svg;

use maud::{Markup, PreEscaped, html};

use crate::{compare::FileComparison, report::BacktestReport, words::grouped};

/// The page.
///
/// # Errors
/// If the result cannot be written as JSON.
pub fn page(report: &BacktestReport) -> Result<String, serde_json::Error> {
    // Escaped, so that no text can close the script element.
    let json = serde_json::to_string(report)?.replace('<', "\\u003c");
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    let page = html! {
        (PreEscaped("<!doctype html>"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="color-scheme" content="light dark";
                title { (html::safe(&title(report))) " · Assay backtest" }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                main { (PreEscaped(html::safe(&sections(report).0))) }
                footer {
                    p {
                        "Assay " (report.assay) " · " (report.made_at.format("%-d %B %Y, %H:%M UTC")) " · "
                        (grouped(report.sample.records)) " records scored in " (format!("{:.1}", report.seconds)) " s. "
                        "The whole result is in this file as JSON, in its last element."
                    }
                }
                script type="application/json" id="result" { (PreEscaped(json)) }
            }
        }
    };
    Ok(page.into_string())
}

fn title(report: &BacktestReport) -> String {
    let comparison = report.comparisons.first().map(|found| format!("{} against {}", found.second, found.first));
    let model = || report.models.first().map(|model| model.identity.name.clone());
    comparison.or_else(model).unwrap_or_else(|| "Backtest".to_owned())
}

fn sections(report: &BacktestReport) -> Markup {
    html! {
        @if report.comparisons.is_empty() { (committee::header(report)) (identity::alone(report)) }
        @for found in &report.comparisons { (comparison(report, found)) }
        @for grade in &report.grades { (committee::sections(report, grade)) }
        @for (model, card) in report.models.iter().zip(&report.cards) {
            @if let Some(card) = card {
                @let card = html! { div.card { (markdown::card(card)) } };
                (html::section(format!("Model card: {}", model.identity.name), "What its authors say of it.", card))
            }
        }
        (cost::section(report))
        (identity::baseline(report))
        (identity::method(report))
    }
}

/// The header of a page: its subject, the verdict and the note.
fn header(report: &BacktestReport, subject: &str, verdict: &str) -> Markup {
    html! {
        header {
            p.kicker { "Backtest · " (subject) }
            h1 { (verdict) }
            @if let Some(note) = &report.note { p.note { (note) } }
        }
    }
}

fn comparison(report: &BacktestReport, found: &FileComparison) -> Markup {
    html! {
        (header(report, &format!("{} in place of {}", found.second, found.first), &found.verdict))
        (identity::section(report, found))
        (agreement::section(report, found))
        (migration::section(found))
        @if let Some(outcomes) = &found.outcomes { (foresight::section(found, outcomes)) }
        @else { (foresight::without(report)) }
        (movers::moved(found))
        (movers::movers(found, report.sample.counted_in))
    }
}
