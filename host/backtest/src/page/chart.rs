//! The map of both scores, and the chart of calibration.

use maud::{Markup, html};

use super::svg::{SIDE, diagonal, line, names, square, tick, to};
use crate::words::{RANGES, decimal, grouped};
use assay_domain::stats::{DecileRow, Joint};

/// Points of a bar of a histogram, and of a cell of a map.
pub(super) const STEP: u32 = 20;
/// Bars of the whole scale; the last one includes 1000.
pub(super) const BARS: usize = 35;
/// The side of the map.
const MAP: f64 = 420.0;

/// The bar of a score.
pub(super) fn bar(score: u32) -> usize {
    ((score.saturating_sub(300) / STEP) as usize).min(BARS - 1)
}

/// The number of records for each pair of scores: the first model on the x axis, the second on the y axis.
pub(super) fn map([first, second]: [&str; 2], joint: &Joint) -> Markup {
    let at = |score: u32| f64::from(score - 300) / 700.0 * MAP;
    let label = format!("Score of {second} against score of {first}: above the diagonal the second gives more");
    html! {
        svg class="chart square" viewBox="-52 -10 490 500" role="img" aria-label=(label) {
            @for (from, _) in RANGES {
                (line("edge", [at(from), at(from)], [0.0, MAP]))
                (line("edge", [0.0, MAP], [MAP - at(from), MAP - at(from)]))
            }
            (diagonal(MAP))
            (cells([first, second], joint))
            @for score in [300, 500, 700, 900] { (tick(MAP, at(score), &score.to_string())) }
            (names(MAP, [first, second], 42))
        }
    }
}

fn cells([first, second]: [&str; 2], joint: &Joint) -> Markup {
    let mut cells = vec![0_u64; BARS * BARS];
    for (first, second, count) in joint.cells() {
        if let Some(cell) = cells.get_mut(bar(second.get()) * BARS + bar(first.get())) {
            *cell += count;
        }
    }
    let most = cells.iter().copied().max().unwrap_or(1).max(1) as f64;
    let step = MAP / BARS as f64;
    let from = |at: usize| 300 + STEP * u32::try_from(at).unwrap_or(0);
    html! {
        @for (index, count) in cells.iter().enumerate().filter(|(_, count)| **count > 0) {
            @let (row, column) = (index / BARS, index % BARS);
            @let opacity = format!("{:.2}", 0.12 + 0.88 * (*count as f64 / most).sqrt());
            rect.cell x=(to(column as f64 * step + 0.5)) y=(to(MAP - (row + 1) as f64 * step + 0.5))
                width=(to(step - 1.0)) height=(to(step - 1.0)) fill-opacity=(opacity) {
                title {
                    (first) " from " (from(column)) ", " (second) " from " (from(row)) ": " (grouped(*count)) " records"
                }
            }
        }
    }
}

/// Observed against expected rates for each tenth, with the interval of each observed rate.
pub(super) fn calibration(name: &str, rows: &[DecileRow]) -> Markup {
    let rates = rows.iter().flat_map(|row| [row.interval.high, row.expected_rate.unwrap_or(0.0)]);
    let top = rates.fold(0.0, f64::max).clamp(0.01, 1.0);
    let at = |rate: f64| rate / top * SIDE;
    let label = format!("Observed against expected rate of bad outcomes by tenths of {name}");
    let inner = html! {
        (diagonal(SIDE))
        @for part in [0.0, 0.5, 1.0] {
            @let rate = decimal(Some(top * part * 100.0), usize::from(top < 0.2));
            (tick(SIDE, part * SIDE, &format!("{rate} %")))
        }
        @for row in rows {
            @if let Some(expected) = row.expected_rate {
                @let (x, interval) = (at(expected), row.interval);
                (line("whisker", [x, x], [SIDE - at(interval.low), SIDE - at(interval.high)]))
                circle.dot cx=(to(x)) cy=(to(SIDE - at(row.bad_rate))) r="4.5" {
                    title {
                        (row.from) " to " (row.to) ": " (grouped(row.bad)) " of " (grouped(row.count)) " bad, "
                        (format!("{:.2} % expected", expected * 100.0))
                    }
                }
            }
        }
    };
    square(label, ["expected", "observed"], 62, inner)
}
