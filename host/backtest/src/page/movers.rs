//! The sections on wallets: how those whose range changes differ from the others, and those that move most.

use super::{
    html::{esc, section as wrap, table},
    identity::shift,
};
use crate::{
    compare::{Comparison, FactorPart},
    movers::{FactorPoints, Mover},
    source::Unit,
    words::{decimal, grouped, signed},
};

pub(crate) fn moved(found: &Comparison) -> String {
    let stayed = found.count - found.moved;
    if found.moved == 0 || stayed == 0 {
        return String::new();
    }
    let rows: Vec<_> = found.figures_of_moved.iter().map(shift).collect();
    wrap(
        "For whom",
        &format!(
            "Both models read the same wallets, so no figure shifts between them. What can be compared is the {} records whose range changes with the {} whose range stays: \
             the higher the index of a figure, the more it sets the two groups apart.",
            grouped(found.moved),
            grouped(stayed)
        ),
        &table(
            "Population stability index of each figure, those who stay against those who move",
            &["Figure", "PSI", "Median of who stay", "Median of who move"],
            &rows,
        ),
    )
}

pub(crate) fn movers(found: &Comparison, unit: Unit) -> String {
    let (first, second) = (esc(&found.first), esc(&found.second));
    // No line break within the name of a model.
    let (first, second) = (first.replace(' ', "&nbsp;"), second.replace(' ', "&nbsp;"));
    let factors: Vec<_> = found.factors.iter().map(factor).collect();
    let list = |heading: &str, movers: &[Mover]| {
        let rows: Vec<_> = movers.iter().map(|one| mover(one, unit)).collect();
        if rows.is_empty() {
            String::new()
        } else {
            table(heading, &["Wallet", &first, &second, "Points", "<span class=\"words\">What moved it</span>"], &rows)
        }
    };
    wrap(
        "Where the points come from",
        "A score is a base and the points of its factors. First on the mean of all records, then for those that move most.",
        &format!(
            "{}{}{}",
            table(
                "Mean points by factor; a dash where a model has no such factor",
                &["Factor", &first, &second, "Difference"],
                &factors
            ),
            list("Furthest up", &found.movers.up),
            list("Furthest down", &found.movers.down)
        ),
    )
}

fn factor(FactorPart { label, first, second }: &FactorPart) -> Vec<String> {
    let difference = second.unwrap_or(0.0) - first.unwrap_or(0.0);
    vec![esc(label), decimal(*first, 1), decimal(*second, 1), change(difference, 1)]
}

fn mover(mover: &Mover, unit: Unit) -> Vec<String> {
    let name = mover.id.as_deref().map_or_else(|| format!("{} {}", unit.as_str(), grouped(mover.line)), esc);
    let moves: Vec<_> = mover.factors.iter().filter(|factor| factor.difference() != 0).take(4).map(moved_by).collect();
    vec![
        format!("<code>{name}</code>"),
        mover.first.to_string(),
        mover.second.to_string(),
        change(mover.points() as f64, 0),
        format!("<span class=\"words\">{}</span>", moves.join(", ")),
    ]
}

fn moved_by(factor: &FactorPoints) -> String {
    let label = esc(&factor.label);
    match (factor.first, factor.second) {
        (None, _) => format!("{label}&nbsp;{}&nbsp;(new)", change(factor.difference() as f64, 0)),
        (_, None) => format!("{label}&nbsp;{}&nbsp;(gone)", change(factor.difference() as f64, 0)),
        _ => format!("{label}&nbsp;{}", change(factor.difference() as f64, 0)),
    }
}

fn change(points: f64, places: usize) -> String {
    let class = if points < 0.0 { "down" } else { "up" };
    format!("<b class=\"{class}\">{}</b>", signed(Some(points), places))
}
