//! What a lender takes at each cut-off: the share accepted and the bad rate among them, as a chart and a table.

use std::fmt::Write as _;

use crate::{
    grade::{CutOff, Grade},
    page::html::{esc, table},
    words::{decimal, grouped, percent},
};

const WIDE: f64 = 640.0;
const HIGH: f64 = 260.0;

fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

/// The curve with its table.
pub(crate) fn curve(grade: &Grade) -> String {
    let row = |cut: &CutOff| {
        vec![
            cut.score.to_string(),
            grouped(cut.accepted),
            percent(cut.accepted, grade.count),
            percent(cut.accepted_bad, cut.accepted),
            percent(cut.refused_bad, grade.bad),
        ]
    };
    let head = ["Cut-off", "Accepted", "Share accepted", "Bad rate of the accepted", "Share of the bad refused"];
    let rows: Vec<_> = grade.curve.iter().map(row).collect();
    format!(
        "<figure>\n{}<figcaption>Share of the records accepted (grey, left) and bad rate among them (green, right) at each cut-off</figcaption></figure>\n\
         <details><summary>The same in numbers</summary>\n{}</details>\n",
        chart(grade),
        table("Every twentieth cut-off", &head, &rows)
    )
}

fn chart(grade: &Grade) -> String {
    let accepted = |cut: &CutOff| share(cut.accepted, grade.count);
    let bad = |cut: &CutOff| share(cut.accepted_bad, cut.accepted);
    let most = grade.curve.iter().filter_map(bad).fold(0.01, f64::max);
    let x = |cut: &CutOff| f64::from(cut.score.get() - 300) / 700.0 * WIDE;
    let path = |of: &dyn Fn(&CutOff) -> Option<f64>, top: f64| {
        let mut path = String::new();
        for (place, y) in grade.curve.iter().filter_map(|cut| Some((x(cut), HIGH - of(cut)? / top * HIGH))) {
            let _ = write!(path, "{}{place:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' });
        }
        path
    };
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"-52 -14 {} {}\" role=\"img\" aria-label=\"Share accepted and bad rate by cut-off: {}\">\n\
         <line class=\"axis\" x1=\"0\" x2=\"{WIDE}\" y1=\"{HIGH}\" y2=\"{HIGH}\"/>\n\
         <path class=\"first\" d=\"{}\"/><path class=\"curve\" d=\"{}\"/>\n",
        WIDE + 112.0,
        HIGH + 48.0,
        esc(&grade.model),
        path(&accepted, 1.0),
        path(&bad, most)
    );
    for part in [0.0, 0.5, 1.0] {
        let y = HIGH - part * HIGH + 4.0;
        let _ = writeln!(
            svg,
            "<text x=\"-8\" y=\"{y:.1}\" text-anchor=\"end\">{:.0} %</text><text x=\"{}\" y=\"{y:.1}\">{} %</text>",
            part * 100.0,
            WIDE + 8.0,
            decimal(Some(part * most * 100.0), usize::from(most < 0.2))
        );
    }
    for score in [300, 400, 500, 640, 750, 840, 920, 1000] {
        let place = f64::from(score - 300) / 700.0 * WIDE;
        let _ = writeln!(
            svg,
            "<line class=\"edge\" x1=\"{place:.1}\" x2=\"{place:.1}\" y1=\"0\" y2=\"{HIGH}\"/>\
             <text x=\"{place:.1}\" y=\"{}\" text-anchor=\"middle\">{score}</text>",
            HIGH + 20.0
        );
    }
    svg + "</svg>\n"
}
