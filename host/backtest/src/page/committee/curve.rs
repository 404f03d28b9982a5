//! What a lender takes at each cut-off: the share accepted and the bad rate among them, as a chart and a table.

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::{
    grade::{CutOff, Grade},
    page::{
        html::{figure, folded, row, table},
        svg::{left, line, middle, to},
    },
    words::{decimal, grouped, percent},
};

const WIDE: f64 = 640.0;
const HIGH: f64 = 260.0;

/// The curve with its table.
pub(crate) fn curve(grade: &Grade) -> Markup {
    let row = |cut: &CutOff| {
        row![
            cut.score.to_string(),
            grouped(cut.accepted),
            percent(cut.accepted, grade.count),
            percent(cut.accepted_bad, cut.accepted),
            percent(cut.refused_bad, grade.bad),
        ]
    };
    let head = row!["Cut-off", "Accepted", "Share accepted", "Bad rate of the accepted", "Share of the bad refused"];
    let table = table("Every twentieth cut-off", head, grade.curve.iter().map(row));
    let caption = "Share of the records accepted (grey, left) and bad rate among them (green, right) at each cut-off";
    html! { (figure(chart(grade), caption)) (folded("The same in numbers", table)) }
}

fn x_of(score: u32) -> f64 {
    f64::from(score - 300) / 700.0 * WIDE
}

fn chart(grade: &Grade) -> Markup {
    let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
    let accepted = |cut: &CutOff| share(cut.accepted, grade.count);
    let bad = |cut: &CutOff| share(cut.accepted_bad, cut.accepted);
    let most = grade.curve.iter().filter_map(bad).fold(0.01, f64::max);
    let path = |of: &dyn Fn(&CutOff) -> Option<f64>, top: f64| {
        let mut path = String::new();
        for (x, y) in grade.curve.iter().filter_map(|cut| Some((x_of(cut.score.get()), HIGH - of(cut)? / top * HIGH))) {
            let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' });
        }
        path
    };
    let label = format!("Share accepted and bad rate by cut-off: {}", grade.model);
    html! {
        svg.chart viewBox={ "-52 -14 " (WIDE + 112.0) " " (HIGH + 48.0) } role="img" aria-label=(label) {
            (line("axis", [0.0, WIDE], [HIGH, HIGH]))
            path.first d=(path(&accepted, 1.0)) {}
            path.curve d=(path(&bad, most)) {}
            @for part in [0.0, 0.5, 1.0] {
                @let y = HIGH - part * HIGH + 4.0;
                (left(y, format!("{:.0} %", part * 100.0)))
                text x=(WIDE + 8.0) y=(to(y)) { (decimal(Some(part * most * 100.0), usize::from(most < 0.2))) " %" }
            }
            @for score in [300, 400, 500, 640, 750, 840, 920, 1000] {
                (line("edge", [x_of(score), x_of(score)], [0.0, HIGH]))
                (middle(x_of(score), HIGH + 20.0, score))
            }
        }
    }
}
