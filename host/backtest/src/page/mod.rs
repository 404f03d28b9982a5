//! The result as one page for a browser: a single file without network access or scripts. Text from others, such as ids
//! and factor labels, is escaped. The page ends with the whole result as JSON, for programs.
//!
//! | file | owns |
//! |---|---|
//! | `html` | escaping, tables |
//! | `histogram`, `chart` | the charts, as SVG |
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

use html::esc;

use crate::{models::ModelPart, report::Report, words::grouped};

const STYLE: &str = include_str!("style.css");

/// The page.
///
/// # Errors
/// Where the result cannot be written as JSON.
pub fn page(report: &Report) -> Result<String, serde_json::Error> {
    // Escaped, so that no text can close the script element.
    let json = serde_json::to_string(report)?.replace('<', "\\u003c");
    let title = report
        .comparisons
        .first()
        .map(|found| format!("{} against {}", found.second, found.first))
        .or_else(|| report.models.first().map(|model| model.identity.name.clone()))
        .unwrap_or_else(|| "Backtest".to_owned());
    let comparisons: String = report.comparisons.iter().map(|found| comparison(report, found)).collect();
    let grades: String = report.grades.iter().map(|grade| committee::sections(report, grade)).collect();
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{} · Assay backtest</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         {}{comparisons}{grades}{}{}{}{}</main>\n<footer><p>Assay {} · {} · {} records scored in {:.1} s. \
         The whole result is in this file as JSON, in its last element.</p></footer>\n\
         <script type=\"application/json\" id=\"result\">{json}</script>\n</body>\n</html>\n",
        esc(&title),
        alone(report),
        cards(report),
        cost::section(report),
        identity::baseline(report),
        identity::method(report),
        esc(report.assay),
        report.made_at.format("%-d %B %Y, %H:%M UTC"),
        grouped(report.sample.records),
        report.seconds,
    ))
}

/// The head of a page about one model.
fn alone(report: &Report) -> String {
    match report.comparisons.is_empty() {
        true => committee::header(report) + &identity::alone(report),
        false => String::new(),
    }
}

/// The header of a page: its subject, the verdict and the note.
fn header(report: &Report, subject: &str, verdict: &str) -> String {
    let note = report.note.as_ref().map(|note| format!("<p class=\"note\">{}</p>\n", esc(note))).unwrap_or_default();
    let (subject, verdict) = (esc(subject), esc(verdict));
    format!("<header><p class=\"kicker\">Backtest · {subject}</p>\n<h1>{verdict}</h1>\n{note}</header>\n")
}

fn cards(report: &Report) -> String {
    let section = |(model, card): (&ModelPart, &Option<String>)| {
        let heading = format!("Model card: {}", esc(&model.identity.name));
        Some(html::section(
            &heading,
            "What its authors say of it.",
            &format!("<div class=\"card\">\n{}</div>\n", markdown::html(card.as_deref()?)),
        ))
    };
    report.models.iter().zip(&report.cards).filter_map(section).collect()
}

fn comparison(report: &Report, found: &crate::compare::Comparison) -> String {
    format!(
        "{}{}{}{}{}{}{}",
        header(report, &format!("{} in place of {}", found.second, found.first), &found.verdict),
        identity::section(report, found),
        agreement::section(report, found),
        migration::section(found),
        found
            .outcomes
            .as_ref()
            .map(|outcomes| foresight::section(found, outcomes))
            .unwrap_or_else(|| foresight::without(report)),
        movers::moved(found),
        movers::movers(found, report.sample.counted_in),
    )
}
