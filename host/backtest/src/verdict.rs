//! The result of a comparison in one sentence, limited to what the figures show.

use crate::{
    compare::FileComparison,
    models::ModelPart,
    outcome::OutcomePart,
    words::{decimal, grouped, percent},
};

/// Below this number of wallets the verdict says that they are too few.
const ENOUGH: u64 = 100;
/// Below this number of bad outcomes an AUC shows nothing.
pub(crate) const ENOUGH_BAD: u64 = 20;

/// What changes if the second model replaces the first.
pub(crate) fn verdict(found: &FileComparison, second: &ModelPart) -> String {
    let (name, count) = (&second.identity.name, found.count);
    if count == 0 {
        return format!(
            "No wallet was scored by both {} and {name}, so nothing can be said of how they differ.",
            found.first
        );
    }
    let few = if count < ENOUGH { ", too few to say much," } else { "" };
    let moved = match found.moved {
        0 => format!("leaves all {}{few} in their range", found.records()),
        moved => format!(
            "would move {} of {}{few} to another range{}",
            percent(moved, count),
            found.records(),
            direction(found)
        ),
    };
    let mut parts = vec![format!("{name} {moved}"), order(found)];
    parts.extend(found.outcomes.as_ref().map(|outcomes| foresight(found, outcomes)));
    if second.failed > 0 {
        parts.push(format!("it failed on {} of them", grouped(second.failed)));
    }
    let last = parts.pop().unwrap_or_default();
    capital(&format!("{}, and {last}.", parts.join(", ")))
}

/// The sentence with a capital first letter.
pub(crate) fn capital(sentence: &str) -> String {
    let mut rest = sentence.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// The direction in which most wallets move.
fn direction(found: &FileComparison) -> String {
    let (mut up, mut down) = (0, 0);
    for (from, row) in found.migration.iter().enumerate() {
        for (to, wallets) in row.iter().enumerate() {
            match to.cmp(&from) {
                std::cmp::Ordering::Greater => up += wallets,
                std::cmp::Ordering::Less => down += wallets,
                std::cmp::Ordering::Equal => {}
            }
        }
    }
    let share = up as f64 / (up + down).max(1) as f64;
    match share {
        1.0 => ", all of them up".into(),
        0.0 => ", all of them down".into(),
        0.8.. => ", most of them up".into(),
        ..=0.2 => ", most of them down".into(),
        _ => ", some up and some down".into(),
    }
}

/// Whether the two models rank the wallets in the same order.
fn order(found: &FileComparison) -> String {
    let Some(rank) = found.spearman else { return "one of the two gives everybody the same score".into() };
    let word = match rank {
        0.95.. => "keeps almost the same order",
        0.8.. => "keeps a similar order",
        0.5.. => "puts them in a rather different order",
        0.2.. => "puts them in a very different order",
        _ => "puts them in an unrelated order",
    };
    format!("{word} (rank correlation {})", decimal(Some(rank), 2))
}

/// Whether one model separates outcomes better: only if the interval of the difference excludes 0. If both are worse
/// than chance, the sentence says so.
fn foresight(found: &FileComparison, outcomes: &OutcomePart) -> String {
    let (first, intervals) = (&found.first, &outcomes.auc.intervals);
    let pair = format!("AUC {} against {}", decimal(outcomes.auc.second, 3), decimal(outcomes.auc.first, 3));
    if outcomes.bad < ENOUGH_BAD {
        return format!(
            "{} bad outcomes are too few to show which of the two tells them from good ones better ({pair})",
            outcomes.bad
        );
    }
    let (Some(of_first), Some(of_second), Some(difference)) = (intervals.first, intervals.second, intervals.difference)
    else {
        return format!("is not shown to tell bad outcomes from good ones better or worse ({pair})");
    };
    let upside_down = |other: &str| {
        format!("scores those who turned out bad higher than the others{other} ({pair}, where 0.5 is chance)")
    };
    match (of_first.high < 0.5, of_second.high < 0.5) {
        (true, true) => upside_down(&format!(", as {first} does")),
        (false, true) => upside_down(&format!(", as {first} does not")),
        _ if of_first.contains(0.5) && of_second.contains(0.5) => {
            format!("is not shown to tell bad outcomes from good ones, nor is {first} ({pair})")
        }
        // Who lends to nobody has no bad loan, and is no better for it.
        _ if difference.low > 0.0 && accepts_nobody(found) => format!(
            "puts bad outcomes below good ones more often than {first} ({pair}), but accepts nobody from {} on",
            found.swap.set.cut_off
        ),
        _ if difference.low > 0.0 => format!("tells bad outcomes from good ones better than {first} ({pair})"),
        _ if difference.high < 0.0 => format!("tells bad outcomes from good ones worse than {first} ({pair})"),
        _ => format!("is not shown to tell bad outcomes from good ones better or worse ({pair})"),
    }
}

/// Whether the second model accepts no wallet at the cut-off.
fn accepts_nobody(found: &FileComparison) -> bool {
    found.swap.set.both + found.swap.set.swapped_in == 0
}
