//! How much of the training data reaches each leaf, counted on the table of the training.

use super::{
    Forest,
    tree::{Missing, Split, Test, Tree},
};

/// Counts the rows that reach each leaf. Returns how many rows have a figure that single precision rounds to a
/// threshold: trees that a library trained in double precision may send these another way.
pub(crate) fn count(forest: &mut Forest, rows: &[Vec<f64>]) -> usize {
    let (single, strict) = (forest.single, forest.strict);
    let mut close = vec![false; rows.len()];
    for tree in &mut forest.trees {
        tree.leaves.iter_mut().for_each(|leaf| leaf.weight = 0.0);
        for (row, close) in rows.iter().zip(&mut close) {
            if let Some(leaf) = place(tree, row, single, strict, close).and_then(|place| tree.leaves.get_mut(place)) {
                leaf.weight += 1.0;
            }
        }
    }
    close.into_iter().filter(|close| *close).count()
}

/// The leaf that a row reaches; `close` becomes true if a figure is rounded to a threshold on the way. A child comes
/// after its parent, so every walk ends.
fn place(tree: &Tree, row: &[f64], single: bool, strict: bool, close: &mut bool) -> Option<usize> {
    let mut at: i16 = if tree.splits.is_empty() { !0 } else { 0 };
    while let Ok(split) = usize::try_from(at) {
        let split = tree.splits.get(split)?;
        let exact = row.get(split.feature).copied()?;
        let value = if single { f64::from(exact as f32) } else { exact };
        // Libraries that compare strictly train in single precision.
        *close |= !strict && value != exact && split.test == Test::Threshold(value);
        at = if goes_left(split, value, strict)? { split.left } else { split.right };
    }
    usize::try_from(!at).ok()
}

/// `None` for a rule that only files with their own counts have.
fn goes_left(split: &Split, value: f64, strict: bool) -> Option<bool> {
    match (&split.test, split.missing) {
        (Test::Threshold(_), Missing::Nan) if value.is_nan() => Some(split.default_left),
        (Test::Threshold(threshold), Missing::Nan) => {
            Some(if strict { value < *threshold } else { value <= *threshold })
        }
        _ => None,
    }
}
