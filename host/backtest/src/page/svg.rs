//! Parts of charts as SVG. A chart scales with the page, uses its colours, and has a label for screen readers.

use maud::{Markup, Render, html};

/// The side of a square chart.
pub(super) const SIDE: f64 = 300.0;

/// A coordinate, to a tenth of a point.
pub(super) fn to(place: f64) -> f64 {
    (place * 10.0).round() / 10.0 + 0.0
}

/// A chart with equal sides around `inner`, between a line at its foot and the names of its axes.
pub(super) fn square(label: impl Render, axes: [&str; 2], left: u32, inner: Markup) -> Markup {
    html! {
        svg class="chart square" viewBox="-74 -10 392 380" role="img" aria-label=(label) {
            (line("axis", [0.0, SIDE], [SIDE, SIDE]))
            (inner)
            (names(SIDE, axes, left))
        }
    }
}

pub(super) fn line(class: &str, [x1, x2]: [f64; 2], [y1, y2]: [f64; 2]) -> Markup {
    html! { line class=(class) x1=(to(x1)) x2=(to(x2)) y1=(to(y1)) y2=(to(y2)) {} }
}

/// From the lower left corner to the upper right one.
pub(super) fn diagonal(side: f64) -> Markup {
    line("diagonal", [0.0, side], [side, 0.0])
}

/// A label whose middle is at `x`.
pub(super) fn middle(x: f64, y: f64, label: impl Render) -> Markup {
    html! { text x=(to(x)) y=(to(y)) text-anchor="middle" { (label) } }
}

/// A label that ends left of the y axis.
pub(super) fn left(y: f64, label: impl Render) -> Markup {
    html! { text x="-8" y=(to(y)) text-anchor="end" { (label) } }
}

/// A label at the same `place` of both axes.
pub(super) fn tick(side: f64, place: f64, label: &str) -> Markup {
    html! { (middle(place, side + 20.0, label)) (left(side - place + 4.0, label)) }
}

/// The names of the x axis and of the y axis, which is `left` of the chart.
pub(super) fn names(side: f64, [x, y]: [&str; 2], left: u32) -> Markup {
    let turned = format!("translate(-{left} {}) rotate(-90)", side / 2.0);
    html! {
        text.soft x=(side / 2.0) y=(side + 44.0) text-anchor="middle" { (x) }
        text.soft transform=(turned) text-anchor="middle" { (y) }
    }
}
