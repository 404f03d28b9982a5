//! The ROC curve and the lift of one model.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::{
    html::pair,
    svg::{SIDE, diagonal, left, line, square, tick, to},
};
use crate::{grade::Grade, words::decimal};

pub(super) fn charts(grade: &Grade) -> Markup {
    pair([
        (roc(grade), "ROC: share of the bad below a score against share of the good below it".into()),
        (lift(grade), "Lift: bad rate of each tenth over that of the file".into()),
    ])
}

fn roc(grade: &Grade) -> Markup {
    let mut path = format!("M0 {SIDE}");
    for tenth in &grade.tenths {
        let (x, y) = (tenth.row.cumulative_good * SIDE, SIDE - tenth.row.cumulative_bad * SIDE);
        let _ = write!(path, "L{x:.1} {y:.1}");
    }
    let inner = html! {
        (diagonal(SIDE))
        path.curve d=(path) {}
        @for percent in [0, 50, 100] { (tick(SIDE, f64::from(percent) / 100.0 * SIDE, &format!("{percent} %"))) }
    };
    square(format!("ROC curve of {}", grade.model), ["of the good", "of the bad"], 54, inner)
}

fn lift(grade: &Grade) -> Markup {
    let most = grade.tenths.iter().filter_map(|tenth| tenth.lift).fold(1.0, f64::max);
    let width = SIDE / grade.tenths.len().max(1) as f64;
    let one = SIDE - SIDE / most;
    let inner = html! {
        @for (index, tenth) in grade.tenths.iter().enumerate() {
            @let lift = tenth.lift.unwrap_or(0.0);
            @let height = lift / most * SIDE;
            rect.second x=(to(index as f64 * width + 1.0)) y=(to(SIDE - height))
                width=(to(width - 2.0)) height=(to(height)) {
                title { (tenth.row.from) " to " (tenth.row.to) ": lift " (decimal(Some(lift), 2)) }
            }
        }
        (line("diagonal", [0.0, SIDE], [one, one]))
        (left(one + 4.0, "1"))
        (left(10.0, decimal(Some(most), 1)))
    };
    square(format!("Lift of {} by tenth", grade.model), ["tenths, lowest scores first", "lift"], 54, inner)
}
