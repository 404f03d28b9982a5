//! The sections on wallets: how those whose range changes differ from the others, and those that move most.

use maud::{Markup, html};

use super::{
    html::{change, row, section as wrap, table, words},
    identity::shift,
};
use crate::{
    compare::{FactorPart, FileComparison},
    movers::{FactorPoints, Mover},
    source::RecordUnit,
    words::{decimal, grouped},
};

/// No line break within the name of a model, or between a label and its points.
const NO_BREAK: char = '\u{a0}';

pub(super) fn moved(found: &FileComparison) -> Markup {
    let stayed = found.count - found.moved;
    if found.moved == 0 || stayed == 0 {
        return html! {};
    }
    let lead = format!(
        "Both models read the same wallets, so no figure shifts between them. What can be compared is the {} records \
         whose range changes with the {} whose range stays: the higher the index of a figure, the more it sets the two \
         groups apart.",
        grouped(found.moved),
        grouped(stayed)
    );
    let caption = "Population stability index of each figure, those who stay against those who move";
    let head = row!["Figure", "PSI", "Median of who stay", "Median of who move"];
    wrap("For whom", lead, table(caption, head, found.figures_of_moved.iter().map(shift)))
}

pub(super) fn movers(found: &FileComparison, unit: RecordUnit) -> Markup {
    let [first, second] = [&found.first, &found.second].map(|name| name.replace(' ', &NO_BREAK.to_string()));
    let lead = "A score is a base and the points of its factors. First on the mean of all records, then for those that \
                move most.";
    let caption = "Mean points by factor; a dash where a model has no such factor";
    let body = html! {
        (table(caption, row!["Factor", first, second, "Difference"], found.factors.iter().map(factor)))
        @for (heading, movers) in [("Furthest up", &found.movers.up), ("Furthest down", &found.movers.down)] {
            @if !movers.is_empty() {
                @let head = row!["Wallet", first, second, "Points", words("What moved it")];
                (table(heading, head, movers.iter().map(|one| mover(one, unit))))
            }
        }
    };
    wrap("Where the points come from", lead, body)
}

fn factor(FactorPart { label, first, second }: &FactorPart) -> Vec<Markup> {
    let difference = second.unwrap_or(0.0) - first.unwrap_or(0.0);
    row![label, decimal(*first, 1), decimal(*second, 1), change(difference, 1)]
}

fn mover(mover: &Mover, unit: RecordUnit) -> Vec<Markup> {
    let name = mover.id.clone().unwrap_or_else(|| format!("{} {}", unit.as_str(), grouped(mover.line)));
    let moves = mover.factors.iter().filter(|factor| factor.difference() != 0).take(4).enumerate();
    row![
        html! { code { (name) } },
        mover.first.to_string(),
        mover.second.to_string(),
        change(mover.points() as f64, 0),
        words(html! { @for (index, factor) in moves { @if index > 0 { ", " } (moved_by(factor)) } }),
    ]
}

fn moved_by(factor: &FactorPoints) -> Markup {
    let remark = match (factor.first, factor.second) {
        (None, _) => Some("(new)"),
        (_, None) => Some("(gone)"),
        _ => None,
    };
    html! {
        (factor.label) (NO_BREAK) (change(factor.difference() as f64, 0))
        @if let Some(remark) = remark { (NO_BREAK) (remark) }
    }
}
