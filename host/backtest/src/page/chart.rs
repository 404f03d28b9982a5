//! Charts as SVG. Each scales with the page, uses its colours, and has a label for screen readers.

use std::fmt::Write as _;

use crate::words::{RANGES, decimal, grouped, percent};
use assay_domain::stats::{DecileRow, Joint};

/// Points of a bar of a histogram, and of a cell of a map.
pub(crate) const STEP: u32 = 20;
/// Bars of the whole scale; the last one includes 1000.
pub(crate) const BARS: usize = 35;

/// The bar of a score.
pub(crate) fn bar(score: u32) -> usize {
    ((score.saturating_sub(300) / STEP) as usize).min(BARS - 1)
}

/// The number of records for each pair of scores: the first model on the x axis, the second on the y axis.
pub(crate) fn map(names: (&str, &str), joint: &Joint) -> String {
    let mut svg = format!(
        "<svg class=\"chart square\" viewBox=\"-52 -10 490 500\" role=\"img\" aria-label=\"Score of {} against score of {}: above the diagonal the second gives more\">\n",
        names.1, names.0
    );
    for (from, _) in RANGES {
        let at = map_at(from);
        let _ = writeln!(
            svg,
            "<line class=\"edge\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{MAP}\"/><line class=\"edge\" x1=\"0\" x2=\"{MAP}\" y1=\"{0:.1}\" y2=\"{0:.1}\"/>",
            MAP - at
        );
    }
    let _ = writeln!(svg, "<line class=\"diagonal\" x1=\"0\" y1=\"{MAP}\" x2=\"{MAP}\" y2=\"0\"/>");
    cells(&mut svg, names, joint);
    map_axes(&mut svg, names);
    svg + "</svg>\n"
}

/// The side of the map.
const MAP: f64 = 420.0;

fn map_at(score: u32) -> f64 {
    f64::from(score - 300) / 700.0 * MAP
}

fn cells(svg: &mut String, names: (&str, &str), joint: &Joint) {
    let mut cells = vec![0_u64; BARS * BARS];
    for (first, second, count) in joint.cells() {
        if let Some(cell) = cells.get_mut(bar(second.get()) * BARS + bar(first.get())) {
            *cell += count;
        }
    }
    let most = cells.iter().copied().max().unwrap_or(1).max(1) as f64;
    let step = MAP / BARS as f64;
    for (index, count) in cells.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (row, column) = (index / BARS, index % BARS);
        let from = |at: usize| 300 + STEP * u32::try_from(at).unwrap_or(0);
        let _ = writeln!(
            svg,
            "<rect class=\"cell\" x=\"{:.1}\" y=\"{:.1}\" width=\"{2:.1}\" height=\"{2:.1}\" fill-opacity=\"{3:.2}\"><title>{4} from {5}, {6} from {7}: {8} records</title></rect>",
            column as f64 * step + 0.5,
            MAP - (row + 1) as f64 * step + 0.5,
            step - 1.0,
            0.12 + 0.88 * (*count as f64 / most).sqrt(),
            names.0,
            from(column),
            names.1,
            from(row),
            grouped(*count)
        );
    }
}

fn map_axes(svg: &mut String, names: (&str, &str)) {
    for score in [300, 500, 700, 900] {
        let at = map_at(score);
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{score}</text><text x=\"-8\" y=\"{:.1}\" text-anchor=\"end\">{score}</text>",
            MAP + 20.0,
            MAP - at + 4.0
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"soft\" x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">{2}</text><text class=\"soft\" transform=\"translate(-42 {0}) rotate(-90)\" text-anchor=\"middle\">{3}</text>",
        MAP / 2.0,
        MAP + 44.0,
        names.0,
        names.1
    );
}

/// Observed against expected rates for each tenth, with the interval of each observed rate.
pub(crate) fn calibration(name: &str, rows: &[DecileRow]) -> String {
    let top = rows
        .iter()
        .flat_map(|row| [row.interval.high, row.expected_rate.unwrap_or(0.0)])
        .fold(0.0, f64::max)
        .clamp(0.01, 1.0);
    let at = |rate: f64| rate / top * CALIBRATION;
    let mut svg = format!(
        "<svg class=\"chart square\" viewBox=\"-74 -10 392 380\" role=\"img\" aria-label=\"Observed against expected rate of bad outcomes by tenths of {name}\">\n\
         <line class=\"axis\" x1=\"0\" x2=\"{CALIBRATION}\" y1=\"{CALIBRATION}\" y2=\"{CALIBRATION}\"/><line class=\"diagonal\" x1=\"0\" y1=\"{CALIBRATION}\" x2=\"{CALIBRATION}\" y2=\"0\"/>\n"
    );
    for part in [0.0, 0.5, 1.0] {
        let (place, label) = (part * CALIBRATION, decimal(Some(top * part * 100.0), usize::from(top < 0.2)));
        let _ = writeln!(
            svg,
            "<text x=\"{place}\" y=\"{}\" text-anchor=\"middle\">{label} %</text><text x=\"-8\" y=\"{:.1}\" text-anchor=\"end\">{label} %</text>",
            CALIBRATION + 20.0,
            CALIBRATION - place + 4.0
        );
    }
    dots(&mut svg, rows, at);
    let _ = writeln!(
        svg,
        "<text class=\"soft\" x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">expected</text><text class=\"soft\" transform=\"translate(-62 {0}) rotate(-90)\" text-anchor=\"middle\">observed</text>",
        CALIBRATION / 2.0,
        CALIBRATION + 44.0
    );
    svg + "</svg>\n"
}

/// The side of the calibration chart.
const CALIBRATION: f64 = 300.0;

/// A point with its interval for each row; `at` gives the position of a rate.
fn dots(svg: &mut String, rows: &[DecileRow], at: impl Fn(f64) -> f64) {
    for row in rows {
        let Some(expected) = row.expected_rate else { continue };
        let x = at(expected);
        let _ = writeln!(
            svg,
            "<line class=\"whisker\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/><circle class=\"dot\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4.5\">\
             <title>{} to {}: {} of {} bad, {:.2} % expected</title></circle>",
            CALIBRATION - at(row.interval.low),
            CALIBRATION - at(row.interval.high),
            CALIBRATION - at(row.bad_rate),
            row.from,
            row.to,
            grouped(row.bad),
            grouped(row.count),
            expected * 100.0
        );
    }
}

/// The share of `part` in `of` for a table cell, with a bar. A share of `most` has the full bar.
pub(crate) fn share(part: u64, of: u64, most: f64) -> String {
    let share = part as f64 / of.max(1) as f64;
    format!("<span class=\"psi\">{}{}</span>", gauge(share / most.max(1e-9), "far"), percent(part, of))
}

/// A bar for a table cell, with the length `share` from 0 to 1.
pub(crate) fn gauge(share: f64, class: &str) -> String {
    format!("<span class=\"gauge {class}\" style=\"--share:{:.3}\"></span>", share.clamp(0.0, 1.0))
}
