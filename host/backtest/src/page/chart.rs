//! The drawings. Each is an SVG that scales with the page, takes its colours from it, and says in words what it shows.

use std::fmt::Write as _;

use crate::words::{decimal, grouped};
use assay_domain::stats::{DecileRow, Histogram, Joint};

/// Points in a bar of a histogram and in a cell of a map.
const STEP: u32 = 20;
/// Bars over the whole scale, the last one with 1000 in it.
const BARS: usize = 35;
/// Where the named ranges begin.
const RANGES: [(u32, &str); 5] = [(300, "low"), (640, "fair"), (750, "good"), (840, "very good"), (920, "excellent")];

fn bar(score: u32) -> usize {
    ((score.saturating_sub(300) / STEP) as usize).min(BARS - 1)
}

fn shares(scores: &Histogram) -> Vec<f64> {
    let mut bars = vec![0.0; BARS];
    let all = scores.count().max(1) as f64;
    for (score, count) in scores.given() {
        if let Some(bar) = bars.get_mut(bar(score)) {
            *bar += count as f64 / all;
        }
    }
    bars
}

/// Two histograms over each other: the first as an outline, the second filled.
pub fn histograms(first: (&str, &Histogram), second: (&str, &Histogram)) -> String {
    const WIDTH: f64 = 1000.0;
    const HEIGHT: f64 = 300.0;
    let (a, b) = (shares(first.1), shares(second.1));
    let most = a.iter().chain(&b).copied().fold(0.0, f64::max).max(1e-9);
    let x = |score: f64| (score - 300.0) / 700.0 * WIDTH;
    let y = |share: f64| HEIGHT - share / most * (HEIGHT - 30.0);
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"-46 -8 1064 366\" role=\"img\" aria-label=\"Scores of {} (outline) and {} (filled), in bars of {STEP} points\">\n",
        first.0, second.0
    );
    for (from, name) in RANGES {
        let left = x(f64::from(from));
        let _ = writeln!(
            svg,
            "<line class=\"edge\" x1=\"{left:.1}\" x2=\"{left:.1}\" y1=\"0\" y2=\"{HEIGHT}\"/><text class=\"soft\" x=\"{:.1}\" y=\"10\">{name}</text>",
            left + 5.0
        );
    }
    for part in [0.5, 1.0] {
        let at = y(most * part);
        let _ = writeln!(
            svg,
            "<line class=\"rule\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text class=\"soft\" x=\"-8\" y=\"{:.1}\" text-anchor=\"end\">{} %</text>",
            at + 4.0,
            decimal(Some(most * part * 100.0), usize::from(most * part < 0.1))
        );
    }
    let width = WIDTH / BARS as f64;
    for (index, (share, other)) in b.iter().zip(&a).enumerate() {
        let from = 300 + STEP * u32::try_from(index).unwrap_or(0);
        let to = if index + 1 == BARS { 1000 } else { from + STEP - 1 };
        let _ = writeln!(
            svg,
            "<rect class=\"second\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{from} to {to}: {} {:.1} %, {} {:.1} %</title></rect>",
            index as f64 * width + 1.0,
            y(*share),
            width - 2.0,
            HEIGHT - y(*share),
            first.0,
            other * 100.0,
            second.0,
            share * 100.0
        );
    }
    let mut path = format!("M0 {HEIGHT}");
    for (index, share) in a.iter().enumerate() {
        let _ = write!(path, "V{:.1}H{:.1}", y(*share), (index + 1) as f64 * width);
    }
    let _ = writeln!(
        svg,
        "<path class=\"first\" d=\"{path}V{HEIGHT}\"/><line class=\"axis\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{HEIGHT}\" y2=\"{HEIGHT}\"/>"
    );
    for score in [300, 400, 500, 600, 700, 800, 900, 1000] {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{score}</text>",
            x(f64::from(score)),
            HEIGHT + 20.0
        );
    }
    let _ = writeln!(
        svg,
        "<g transform=\"translate(0 346)\"><rect class=\"key first\" x=\"0\" y=\"-10\" width=\"22\" height=\"11\"/><text x=\"30\" y=\"0\">{}</text>\
         <rect class=\"second\" x=\"150\" y=\"-10\" width=\"22\" height=\"11\"/><text x=\"180\" y=\"0\">{}</text></g>",
        first.0, second.0
    );
    svg + "</svg>\n"
}

/// How many wallets have which pair of scores: the first model to the right, the second upwards.
pub fn map(names: (&str, &str), joint: &Joint) -> String {
    const SIDE: f64 = 420.0;
    let mut cells = vec![0_u64; BARS * BARS];
    for (first, second, count) in joint.cells() {
        if let Some(cell) = cells.get_mut(bar(second.get()) * BARS + bar(first.get())) {
            *cell += count;
        }
    }
    let most = cells.iter().copied().max().unwrap_or(1).max(1) as f64;
    let (step, x) = (SIDE / BARS as f64, |score: u32| f64::from(score - 300) / 700.0 * SIDE);
    let mut svg = format!(
        "<svg class=\"chart square\" viewBox=\"-52 -10 490 500\" role=\"img\" aria-label=\"Score of {} against score of {}: above the diagonal the second gives more\">\n",
        names.1, names.0
    );
    for (from, _) in RANGES {
        let at = x(from);
        let _ = writeln!(
            svg,
            "<line class=\"edge\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{SIDE}\"/><line class=\"edge\" x1=\"0\" x2=\"{SIDE}\" y1=\"{0:.1}\" y2=\"{0:.1}\"/>",
            SIDE - at
        );
    }
    let _ = writeln!(svg, "<line class=\"diagonal\" x1=\"0\" y1=\"{SIDE}\" x2=\"{SIDE}\" y2=\"0\"/>");
    for (index, count) in cells.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (row, column) = (index / BARS, index % BARS);
        let from = |at: usize| 300 + STEP * u32::try_from(at).unwrap_or(0);
        let _ = writeln!(
            svg,
            "<rect class=\"cell\" x=\"{:.1}\" y=\"{:.1}\" width=\"{2:.1}\" height=\"{2:.1}\" fill-opacity=\"{3:.2}\"><title>{4} from {5}, {6} from {7}: {8} wallets</title></rect>",
            column as f64 * step + 0.5,
            SIDE - (row + 1) as f64 * step + 0.5,
            step - 1.0,
            0.12 + 0.88 * (*count as f64 / most).sqrt(),
            names.0,
            from(column),
            names.1,
            from(row),
            grouped(*count)
        );
    }
    for score in [300, 500, 700, 900] {
        let at = x(score);
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{score}</text><text x=\"-8\" y=\"{:.1}\" text-anchor=\"end\">{score}</text>",
            SIDE + 20.0,
            SIDE - at + 4.0
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"soft\" x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">{2}</text><text class=\"soft\" transform=\"translate(-42 {0}) rotate(-90)\" text-anchor=\"middle\">{3}</text>",
        SIDE / 2.0,
        SIDE + 44.0,
        names.0,
        names.1
    );
    svg + "</svg>\n"
}

/// Observed against expected rates, tenth by tenth, with the interval of each observed one.
pub fn calibration(name: &str, rows: &[DecileRow]) -> String {
    const SIDE: f64 = 300.0;
    let top = rows
        .iter()
        .flat_map(|row| [row.interval.high, row.expected_rate.unwrap_or(0.0)])
        .fold(0.0, f64::max)
        .clamp(0.01, 1.0);
    let at = |rate: f64| rate / top * SIDE;
    let mut svg = format!(
        "<svg class=\"chart square\" viewBox=\"-74 -10 392 380\" role=\"img\" aria-label=\"Observed against expected rate of bad outcomes by tenths of {name}\">\n\
         <line class=\"axis\" x1=\"0\" x2=\"{SIDE}\" y1=\"{SIDE}\" y2=\"{SIDE}\"/><line class=\"diagonal\" x1=\"0\" y1=\"{SIDE}\" x2=\"{SIDE}\" y2=\"0\"/>\n"
    );
    for part in [0.0, 0.5, 1.0] {
        let (place, label) = (part * SIDE, decimal(Some(top * part * 100.0), usize::from(top < 0.2)));
        let _ = writeln!(
            svg,
            "<text x=\"{place}\" y=\"{}\" text-anchor=\"middle\">{label} %</text><text x=\"-8\" y=\"{:.1}\" text-anchor=\"end\">{label} %</text>",
            SIDE + 20.0,
            SIDE - place + 4.0
        );
    }
    for row in rows {
        let Some(expected) = row.expected_rate else { continue };
        let x = at(expected);
        let _ = writeln!(
            svg,
            "<line class=\"whisker\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/><circle class=\"dot\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4.5\">\
             <title>{} to {}: {} of {} bad, {:.2} % expected</title></circle>",
            SIDE - at(row.interval.low),
            SIDE - at(row.interval.high),
            SIDE - at(row.bad_rate),
            row.from,
            row.to,
            grouped(row.bad),
            grouped(row.count),
            expected * 100.0
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"soft\" x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">expected</text><text class=\"soft\" transform=\"translate(-62 {0}) rotate(-90)\" text-anchor=\"middle\">observed</text>",
        SIDE / 2.0,
        SIDE + 44.0
    );
    svg + "</svg>\n"
}

/// A bar as long as `share` of 0 to 1, for a cell of a table.
pub fn gauge(share: f64, class: &str) -> String {
    format!("<span class=\"gauge {class}\" style=\"--share:{:.3}\"></span>", share.clamp(0.0, 1.0))
}
