//! Proves that the value of a tree never falls, or never rises, when only one feature rises. It compares leaf with
//! leaf.
//!
//! Each leaf is a box: the values of each feature with which a wallet reaches it. Two leaves are compared if a change
//! of that one feature can move a wallet from one to the other. A tree in which no such pair breaks the claim keeps it.
//! A sum of such trees keeps it too, and so does a score that rises with the sum.

use crate::origin::{Missing, Split, Test, Tree};

/// The values of one feature with which a wallet reaches a leaf.
#[derive(Clone)]
struct LeafRange {
    above: f64,
    below: f64,
    absent: bool,
    /// The possible categories as bits. Empty if no split compares this feature by category.
    categories: Vec<u32>,
    /// Whether a category above these bits is possible.
    other: bool,
}

impl LeafRange {
    /// Whether both have a value in common, or both may be absent.
    fn meets(&self, other: &Self) -> bool {
        if self.absent && other.absent {
            return true;
        }
        if !self.categories.is_empty() {
            let shared = self.categories.iter().zip(&other.categories).any(|(one, two)| one & two != 0);
            return shared || (self.other && other.other);
        }
        self.above.max(other.above) < self.below.min(other.below)
    }

    fn child(&self, split: &Split, left: bool) -> Self {
        let mut range = self.clone();
        match &split.test {
            Test::Threshold(threshold) => {
                if left {
                    range.below = range.below.min(*threshold);
                } else {
                    range.above = range.above.max(*threshold);
                }
                range.absent &= match split.missing {
                    Missing::AsZero => left == (0.0 <= *threshold),
                    _ => left == split.default_left,
                };
            }
            Test::Categories { set, members_right } => {
                let members = left != *members_right;
                for (at, bits) in range.categories.iter_mut().enumerate() {
                    let set = set.get(at).copied().unwrap_or(0);
                    *bits &= if members { set } else { !set };
                }
                range.other &= !members;
                range.absent &= if *members_right { left == split.default_left } else { !left };
            }
        }
        range
    }
}

/// Whether no two leaves break the claim. Also false if this code cannot prove it: if a split compares the feature
/// by category, and if zero counts as missing.
pub(crate) fn holds(tree: &Tree, feature: usize, rising: bool) -> bool {
    if !tree.splits.iter().any(|split| split.feature == feature) {
        return true;
    }
    let unclear = |split: &Split| {
        split.missing == Missing::Zero || (split.feature == feature && !matches!(split.test, Test::Threshold(_)))
    };
    if tree.splits.iter().any(unclear) {
        return false;
    }
    let mut used: Vec<usize> = tree.splits.iter().map(|split| split.feature).collect();
    used.sort_unstable();
    used.dedup();
    let Some(own) = used.iter().position(|other| *other == feature) else { return true };
    let leaves = boxes(tree, &used);
    let breaks = |(low, less): &(Vec<LeafRange>, f64), (high, more): &(Vec<LeafRange>, f64)| {
        (if rising { less > more } else { less < more })
            && low.iter().zip(high).enumerate().all(|(at, (low, high))| {
                if at == own {
                    low.above < high.below && low.above < low.below && high.above < high.below
                } else {
                    low.meets(high)
                }
            })
    };
    !leaves
        .iter()
        .enumerate()
        .any(|(at, low)| leaves.iter().enumerate().any(|(other, high)| at != other && breaks(low, high)))
}

/// The box of each leaf over the features in `used`, and the value of the leaf. A parent comes before its children.
fn boxes(tree: &Tree, used: &[usize]) -> Vec<(Vec<LeafRange>, f64)> {
    let mut here: Vec<Option<Vec<LeafRange>>> = vec![None; tree.splits.len()];
    if let Some(root) = here.first_mut() {
        *root = Some(used.iter().map(|feature| anything(tree, *feature)).collect());
    }
    let mut leaves = Vec::new();
    for (at, split) in tree.splits.iter().enumerate() {
        let Some(ranges) = here.get_mut(at).and_then(Option::take) else { continue };
        let Some(place) = used.iter().position(|feature| *feature == split.feature) else { continue };
        for (child, left) in [(split.left, true), (split.right, false)] {
            let mut ranges = ranges.clone();
            if let Some(range) = ranges.get_mut(place) {
                *range = range.child(split, left);
            }
            match usize::try_from(child).ok().and_then(|child| here.get_mut(child)) {
                Some(place) => *place = Some(ranges),
                None => leaves.extend(tree.leaf_at(child).map(|leaf| (ranges, leaf.value))),
            }
        }
    }
    leaves
}

fn anything(tree: &Tree, feature: usize) -> LeafRange {
    let words = tree.splits.iter().filter(|split| split.feature == feature).map(|split| match &split.test {
        Test::Categories { set, .. } => set.len(),
        Test::Threshold(_) => 0,
    });
    let categories = vec![u32::MAX; words.max().unwrap_or(0)];
    LeafRange { above: f64::NEG_INFINITY, below: f64::INFINITY, absent: true, categories, other: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::Leaf;

    /// Feature 0 at 1, then feature 1 at 5 on both sides.
    fn tree(values: [f64; 4]) -> Tree {
        let split = |feature, threshold, left, right| Split {
            feature,
            test: Test::Threshold(threshold),
            missing: Missing::Nan,
            default_left: true,
            left,
            right,
        };
        Tree {
            splits: vec![split(0, 1.0, 1, 2), split(1, 5.0, !0, !1), split(1, 5.0, !2, !3)],
            leaves: values.map(|value| Leaf { value, weight: 1.0 }).to_vec(),
        }
    }

    #[test]
    fn a_claim_holds_where_no_pair_of_leaves_breaks_it() {
        // Leaves: both low; feature 1 high; feature 0 high; both high.
        assert!(holds(&tree([1.0, 5.0, 2.0, 6.0]), 0, true));
        assert!(holds(&tree([1.0, 5.0, 2.0, 6.0]), 1, true));
        assert!(!holds(&tree([1.0, 5.0, 2.0, 6.0]), 0, false));
        // Higher values of feature 0 add nothing if feature 1 is high: 5 is not compared with 2.
        assert!(holds(&tree([1.0, 5.0, 2.0, 5.0]), 0, true));
        assert!(!holds(&tree([1.0, 5.0, 2.0, 4.0]), 0, true));
        assert!(holds(&tree([9.0, 0.0, 0.0, 0.0]), 7, true), "a feature that the tree does not ask for");
    }

    #[test]
    fn a_claim_that_cannot_be_shown_does_not_hold() {
        let mut zero = tree([1.0, 1.0, 1.0, 1.0]);
        zero.splits[2].missing = Missing::Zero;
        assert!(!holds(&zero, 0, true));
        let mut sets = tree([1.0, 1.0, 1.0, 1.0]);
        sets.splits[0].test = Test::Categories { set: vec![5], members_right: false };
        assert!(!holds(&sets, 0, true) && holds(&sets, 1, true));
    }

    #[test]
    fn the_sides_of_a_set_are_never_compared() {
        // Feature 1 by category: on its left 1 then 2, on its right 9 then 9. Rising in feature 0 on each side.
        let set = |left, right| Split {
            feature: 1,
            test: Test::Categories { set: vec![0b110], members_right: false },
            missing: Missing::Nan,
            default_left: false,
            left,
            right,
        };
        let mut by_set = tree([1.0, 9.0, 2.0, 9.0]);
        by_set.splits[1] = set(!0, !1);
        by_set.splits[2] = set(!2, !3);
        assert!(holds(&by_set, 0, true));
        by_set.leaves[3].value = 8.0;
        assert!(!holds(&by_set, 0, true));
    }
}
