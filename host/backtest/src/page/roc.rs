//! The ROC curve and the lift of one model, as SVG.

use std::fmt::Write as _;

use super::html::esc;
use crate::{grade::Grade, words::decimal};

const SIDE: f64 = 300.0;

pub(crate) fn charts(grade: &Grade) -> String {
    let name = esc(&grade.model);
    format!(
        "<div class=\"pair even\">\n<figure>\n{}<figcaption>ROC: share of the bad below a score against share of the good below it</figcaption></figure>\n\
         <figure>\n{}<figcaption>Lift: bad rate of each tenth over that of the file</figcaption></figure>\n</div>\n",
        roc(&name, grade),
        lift(&name, grade)
    )
}

fn frame(label: &str) -> String {
    format!(
        "<svg class=\"chart square\" viewBox=\"-74 -10 392 380\" role=\"img\" aria-label=\"{label}\">\n\
         <line class=\"axis\" x1=\"0\" x2=\"{SIDE}\" y1=\"{SIDE}\" y2=\"{SIDE}\"/>"
    )
}

fn axes(svg: &mut String, below: &str, beside: &str) {
    let _ = writeln!(
        svg,
        "<text class=\"soft\" x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">{below}</text><text class=\"soft\" transform=\"translate(-54 {0}) rotate(-90)\" text-anchor=\"middle\">{beside}</text>",
        SIDE / 2.0,
        SIDE + 44.0
    );
}

fn roc(name: &str, grade: &Grade) -> String {
    let mut svg = frame(&format!("ROC curve of {name}"));
    let mut path = format!("M0 {SIDE}");
    for tenth in &grade.tenths {
        let (x, y) = (tenth.row.cumulative_good * SIDE, SIDE - tenth.row.cumulative_bad * SIDE);
        let _ = write!(path, "L{x:.1} {y:.1}");
    }
    let _ = writeln!(
        svg,
        "<line class=\"diagonal\" x1=\"0\" y1=\"{SIDE}\" x2=\"{SIDE}\" y2=\"0\"/><path class=\"curve\" d=\"{path}\"/>"
    );
    for part in [0.0, 0.5, 1.0] {
        let (place, label) = (part * SIDE, decimal(Some(part * 100.0), 0));
        let _ = writeln!(
            svg,
            "<text x=\"{place}\" y=\"{}\" text-anchor=\"middle\">{label} %</text><text x=\"-8\" y=\"{:.1}\" text-anchor=\"end\">{label} %</text>",
            SIDE + 20.0,
            SIDE - place + 4.0
        );
    }
    axes(&mut svg, "of the good", "of the bad");
    svg + "</svg>\n"
}

fn lift(name: &str, grade: &Grade) -> String {
    let mut svg = frame(&format!("Lift of {name} by tenth"));
    let most = grade.tenths.iter().filter_map(|tenth| tenth.lift).fold(1.0, f64::max);
    let width = SIDE / grade.tenths.len().max(1) as f64;
    for (index, tenth) in grade.tenths.iter().enumerate() {
        let lift = tenth.lift.unwrap_or(0.0);
        let height = lift / most * SIDE;
        let _ = writeln!(
            svg,
            "<rect class=\"second\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"><title>{} to {}: lift {}</title></rect>",
            index as f64 * width + 1.0,
            SIDE - height,
            width - 2.0,
            tenth.row.from,
            tenth.row.to,
            decimal(Some(lift), 2)
        );
    }
    let one = SIDE - SIDE / most;
    let _ = writeln!(
        svg,
        "<line class=\"diagonal\" x1=\"0\" x2=\"{SIDE}\" y1=\"{one:.1}\" y2=\"{one:.1}\"/><text x=\"-8\" y=\"{:.1}\" text-anchor=\"end\">1</text>\
         <text x=\"-8\" y=\"10\" text-anchor=\"end\">{}</text>",
        one + 4.0,
        decimal(Some(most), 1)
    );
    axes(&mut svg, "tenths, lowest scores first", "lift");
    svg + "</svg>\n"
}
