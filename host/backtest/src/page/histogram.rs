//! The chart of both distributions of scores.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::{
    chart::{BARS, STEP, bar},
    svg::{line, middle, to},
};
use crate::words::{RANGES, decimal};
use assay_domain::stats::Histogram;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 300.0;

/// The distribution of both models' scores: the first as an outline, the second as bars.
pub(super) fn histograms(names: [&str; 2], scores: [&Histogram; 2]) -> Markup {
    let [first, second] = scores.map(shares);
    let most = first.iter().chain(&second).copied().fold(0.0, f64::max).max(1e-9);
    let [a, b] = names;
    let label = format!("Scores of {a} (outline) and {b} (filled), in bars of {STEP} points");
    html! {
        svg.chart viewBox="-46 -8 1064 366" role="img" aria-label=(label) {
            (grid(most))
            (bars(names, [&first, &second], most))
            path.first d=(outline(&first, most)) {}
            (line("axis", [0.0, WIDTH], [HEIGHT, HEIGHT]))
            @for score in [300, 400, 500, 600, 700, 800, 900, 1000] {
                (middle(x_of(score), HEIGHT + 20.0, score))
            }
            g transform="translate(0 346)" {
                rect class="key first" x="0" y="-10" width="22" height="11" {}
                text x="30" y="0" { (a) }
                rect.second x="150" y="-10" width="22" height="11" {}
                text x="180" y="0" { (b) }
            }
        }
    }
}

fn x_of(score: u32) -> f64 {
    f64::from(score - 300) / 700.0 * WIDTH
}

fn y_of(share: f64, most: f64) -> f64 {
    HEIGHT - share / most * (HEIGHT - 30.0)
}

/// The edges of the ranges, and lines at half of the highest bar and at its top.
fn grid(most: f64) -> Markup {
    html! {
        @for (from, name) in RANGES {
            (line("edge", [x_of(from), x_of(from)], [0.0, HEIGHT]))
            text.soft x=(to(x_of(from) + 5.0)) y="10" { (name) }
        }
        @for share in [most * 0.5, most] {
            @let y = y_of(share, most);
            (line("rule", [0.0, WIDTH], [y, y]))
            text.soft x="-8" y=(to(y + 4.0)) text-anchor="end" {
                (decimal(Some(share * 100.0), usize::from(share < 0.1))) " %"
            }
        }
    }
}

fn bars([first, second]: [&str; 2], [outlined, filled]: [&[f64]; 2], most: f64) -> Markup {
    let width = WIDTH / BARS as f64;
    html! {
        @for (index, (share, other)) in filled.iter().zip(outlined).enumerate() {
            @let from = 300 + STEP * u32::try_from(index).unwrap_or(0);
            @let to_score = if index + 1 == BARS { 1000 } else { from + STEP - 1 };
            rect.second x=(to(index as f64 * width + 1.0)) y=(to(y_of(*share, most)))
                width=(to(width - 2.0)) height=(to(HEIGHT - y_of(*share, most))) {
                title {
                    (from) " to " (to_score)
                    (format!(": {first} {:.1} %, {second} {:.1} %", other * 100.0, share * 100.0))
                }
            }
        }
    }
}

fn outline(shares: &[f64], most: f64) -> String {
    let mut path = format!("M0 {HEIGHT}");
    for (share, bar) in shares.iter().zip(1..) {
        let _ = write!(path, "V{:.1}H{:.1}", y_of(*share, most), f64::from(bar) * WIDTH / BARS as f64);
    }
    path + &format!("V{HEIGHT}")
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
