//! The chart of both distributions of scores.

use std::fmt::Write as _;

use super::chart::{BARS, STEP, bar};
use crate::words::{RANGES, decimal};
use assay_domain::stats::Histogram;

/// The distribution of both models' scores: the first as an outline, the second as bars.
pub(crate) fn histograms(first: (&str, &Histogram), second: (&str, &Histogram)) -> String {
    let (a, b) = (shares(first.1), shares(second.1));
    let most = a.iter().chain(&b).copied().fold(0.0, f64::max).max(1e-9);
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"-46 -8 1064 366\" role=\"img\" aria-label=\"Scores of {} (outline) and {} (filled), in bars of {STEP} points\">\n",
        first.0, second.0
    );
    grid(&mut svg, most);
    bars(&mut svg, (first.0, &a), (second.0, &b), most);
    outline(&mut svg, &a, most);
    scores_and_key(&mut svg, first.0, second.0);
    svg + "</svg>\n"
}

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 300.0;

fn x_of(score: f64) -> f64 {
    (score - 300.0) / 700.0 * WIDTH
}

fn y_of(share: f64, most: f64) -> f64 {
    HEIGHT - share / most * (HEIGHT - 30.0)
}

/// The edges of the ranges, and lines at half of the highest bar and at its top.
fn grid(svg: &mut String, most: f64) {
    for (from, name) in RANGES {
        let left = x_of(f64::from(from));
        let _ = writeln!(
            svg,
            "<line class=\"edge\" x1=\"{left:.1}\" x2=\"{left:.1}\" y1=\"0\" y2=\"{HEIGHT}\"/><text class=\"soft\" x=\"{:.1}\" y=\"10\">{name}</text>",
            left + 5.0
        );
    }
    for part in [0.5, 1.0] {
        let at = y_of(most * part, most);
        let _ = writeln!(
            svg,
            "<line class=\"rule\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text class=\"soft\" x=\"-8\" y=\"{:.1}\" text-anchor=\"end\">{} %</text>",
            at + 4.0,
            decimal(Some(most * part * 100.0), usize::from(most * part < 0.1))
        );
    }
}

fn bars(svg: &mut String, first: (&str, &[f64]), second: (&str, &[f64]), most: f64) {
    let width = WIDTH / BARS as f64;
    for (index, (share, other)) in second.1.iter().zip(first.1).enumerate() {
        let from = 300 + STEP * u32::try_from(index).unwrap_or(0);
        let to = if index + 1 == BARS { 1000 } else { from + STEP - 1 };
        let _ = writeln!(
            svg,
            "<rect class=\"second\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{from} to {to}: {} {:.1} %, {} {:.1} %</title></rect>",
            index as f64 * width + 1.0,
            y_of(*share, most),
            width - 2.0,
            HEIGHT - y_of(*share, most),
            first.0,
            other * 100.0,
            second.0,
            share * 100.0
        );
    }
}

fn outline(svg: &mut String, shares: &[f64], most: f64) {
    let mut path = format!("M0 {HEIGHT}");
    for (index, share) in shares.iter().enumerate() {
        let _ = write!(path, "V{:.1}H{:.1}", y_of(*share, most), (index + 1) as f64 * WIDTH / BARS as f64);
    }
    let _ = writeln!(
        svg,
        "<path class=\"first\" d=\"{path}V{HEIGHT}\"/><line class=\"axis\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{HEIGHT}\" y2=\"{HEIGHT}\"/>"
    );
}

fn scores_and_key(svg: &mut String, first: &str, second: &str) {
    for score in [300, 400, 500, 600, 700, 800, 900, 1000] {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{score}</text>",
            x_of(f64::from(score)),
            HEIGHT + 20.0
        );
    }
    let _ = writeln!(
        svg,
        "<g transform=\"translate(0 346)\"><rect class=\"key first\" x=\"0\" y=\"-10\" width=\"22\" height=\"11\"/><text x=\"30\" y=\"0\">{first}</text>\
         <rect class=\"second\" x=\"150\" y=\"-10\" width=\"22\" height=\"11\"/><text x=\"180\" y=\"0\">{second}</text></g>"
    );
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
