//! One tree: its splits with parents before children, and its leaves.

use tables::data::{CATEGORIES, DEFAULT_LEFT, MEMBERS_RIGHT, MISSING_NAN, MISSING_ZERO};

use super::SPLITS;

/// Splits and leaves. A child is the place of a split or, as a negative number, the complement of the place of a leaf.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Tree {
    pub splits: Vec<Split>,
    pub leaves: Vec<Leaf>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Split {
    pub feature: usize,
    pub test: Test,
    pub missing: Missing,
    pub default_left: bool,
    pub left: i16,
    pub right: i16,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test {
    Threshold(f64),
    /// A set as bits. Its members go left or, with `members_right`, right.
    Categories {
        set: Vec<u32>,
        members_right: bool,
    },
}

/// Which values take the default branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// None: an absent figure counts as zero.
    AsZero,
    /// An absent figure, and zero.
    Zero,
    /// An absent figure.
    Nan,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Leaf {
    pub value: f64,
    /// How much of the training data reached it.
    pub weight: f64,
}

/// A node as a file has it. A child is the number of a node in the file.
pub(crate) enum Raw {
    Leaf(Leaf),
    Split { feature: usize, test: Test, missing: Missing, default_left: bool, left: usize, right: usize },
}

impl Split {
    pub(crate) fn flags(&self) -> u8 {
        let missing = match self.missing {
            Missing::AsZero => 0,
            Missing::Zero => MISSING_ZERO,
            Missing::Nan => MISSING_NAN,
        };
        let test = match self.test {
            Test::Threshold(_) => 0,
            Test::Categories { members_right: false, .. } => CATEGORIES,
            Test::Categories { members_right: true, .. } => CATEGORIES | MEMBERS_RIGHT,
        };
        missing | test | if self.default_left { DEFAULT_LEFT } else { 0 }
    }

    pub(crate) fn children(&self) -> [i16; 2] {
        [self.left, self.right]
    }
}

impl Tree {
    /// Follows the nodes from number 0. A node that is reached twice is refused, so a tree has no circle.
    ///
    /// # Errors
    /// Why these nodes are no tree.
    pub(crate) fn grow(
        count: usize,
        features: usize,
        read: impl Fn(usize) -> Result<Raw, String>,
    ) -> Result<Self, String> {
        let (mut tree, mut reached) = (Self::default(), vec![false; count]);
        let mut open = vec![(0, None)];
        while let Some((number, parent)) = open.pop() {
            let place = reached.get_mut(number).ok_or_else(|| format!("it has no node {number}"))?;
            if std::mem::replace(place, true) {
                return Err(format!("node {number} is reached twice, so it is no tree"));
            }
            let child = match read(number)? {
                Raw::Leaf(leaf) => tree.leaf(number, leaf)?,
                Raw::Split { feature, test, missing, default_left, left, right } => {
                    let split = Split { feature, test, missing, default_left, left: 0, right: 0 };
                    let at = tree.split(number, features, split)?;
                    open.extend([(right, Some((at, false))), (left, Some((at, true)))]);
                    i16::try_from(at).map_err(|error| error.to_string())?
                }
            };
            if let Some((split, is_left)) = parent.and_then(|(at, is_left)| Some((tree.splits.get_mut(at)?, is_left))) {
                if is_left { split.left = child } else { split.right = child }
            }
        }
        Ok(tree)
    }

    fn leaf(&mut self, number: usize, leaf: Leaf) -> Result<i16, String> {
        if !leaf.value.is_finite() || !leaf.weight.is_finite() || leaf.weight < 0.0 {
            return Err(format!(
                "the leaf of node {number} has the value {} and the weight {}",
                leaf.value, leaf.weight
            ));
        }
        self.leaves.push(leaf);
        i16::try_from(self.leaves.len() - 1)
            .map(|place| !place)
            .map_err(|_| format!("it has more than {SPLITS} splits"))
    }

    fn split(&mut self, number: usize, features: usize, split: Split) -> Result<usize, String> {
        if split.feature >= features {
            return Err(format!("node {number} asks for feature {}, and there are {features}", split.feature));
        }
        if matches!(split.test, Test::Threshold(threshold) if threshold.is_nan()) {
            return Err(format!("the threshold of node {number} is not a number"));
        }
        if self.splits.len() >= SPLITS {
            return Err(format!("it has more than {SPLITS} splits"));
        }
        self.splits.push(split);
        Ok(self.splits.len() - 1)
    }

    /// The mean of the leaves below each split, by weight. A child comes after its parent.
    pub(crate) fn means(&self) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0, 0.0, 0.0); self.splits.len()];
        for (at, split) in self.splits.iter().enumerate().rev() {
            let mut sum = (0.0, 0.0, 0.0, 0.0);
            for child in split.children() {
                let (weighted, weight, plain, leaves) = match usize::try_from(child) {
                    Ok(split) => sums.get(split).copied().unwrap_or_default(),
                    Err(_) => {
                        self.leaf_at(child).map_or(sum, |leaf| (leaf.value * leaf.weight, leaf.weight, leaf.value, 1.0))
                    }
                };
                sum = (sum.0 + weighted, sum.1 + weight, sum.2 + plain, sum.3 + leaves);
            }
            if let Some(place) = sums.get_mut(at) {
                *place = sum;
            }
        }
        // If no weights were saved, each leaf counts the same.
        let mean = |(weighted, weight, plain, leaves): (f64, f64, f64, f64)| {
            if weight > 0.0 { weighted / weight } else { plain / leaves }
        };
        sums.into_iter().map(mean).collect()
    }

    /// The share of the training data below each split that goes left. If no weights were saved, each leaf counts the
    /// same.
    pub(crate) fn shares(&self) -> Vec<f64> {
        let saved = self.leaves.iter().any(|leaf| leaf.weight > 0.0);
        let (mut below, mut shares) = (vec![0.0; self.splits.len()], vec![0.5; self.splits.len()]);
        for (at, split) in self.splits.iter().enumerate().rev() {
            let weight = |child: i16| match usize::try_from(child) {
                Ok(split) => below.get(split).copied().unwrap_or_default(),
                Err(_) => self.leaf_at(child).map_or(0.0, |leaf| if saved { leaf.weight } else { 1.0 }),
            };
            let (left, right) = (weight(split.left), weight(split.right));
            if let Some((below, share)) = below.get_mut(at).zip(shares.get_mut(at)) {
                *below = left + right;
                *share = if left + right > 0.0 { left / (left + right) } else { 0.5 };
            }
        }
        shares
    }

    /// The most splits on a way down.
    pub(crate) fn depth(&self) -> usize {
        let mut depths = vec![1; self.splits.len()];
        for (at, split) in self.splits.iter().enumerate().rev() {
            let below = |child: i16| usize::try_from(child).ok().and_then(|at| depths.get(at)).copied().unwrap_or(0);
            let depth = 1 + below(split.left).max(below(split.right));
            if let Some(place) = depths.get_mut(at) {
                *place = depth;
            }
        }
        depths.first().copied().unwrap_or(0)
    }

    /// The most points that the features of one factor can have as Shapley values: each lies between the lowest leaf
    /// minus the highest and the highest minus the lowest.
    pub(crate) fn most_shapley(&self, scale: f64, of_factor: impl Fn(usize) -> bool) -> f64 {
        let leaves = || self.leaves.iter().map(|leaf| leaf.value);
        let span = leaves().fold(f64::MIN, f64::max) - leaves().fold(f64::MAX, f64::min);
        let mut features: Vec<_> = self.splits.iter().map(|split| split.feature).filter(|at| of_factor(*at)).collect();
        features.sort_unstable();
        features.dedup();
        (scale * span).abs() * features.len() as f64
    }

    pub(crate) fn leaf_at(&self, child: i16) -> Option<&Leaf> {
        usize::try_from(!child).ok().and_then(|place| self.leaves.get(place))
    }

    /// The mean of the leaves below a child.
    pub(crate) fn mean(&self, means: &[f64], child: i16) -> f64 {
        match usize::try_from(child) {
            Ok(split) => means.get(split).copied().unwrap_or_default(),
            Err(_) => self.leaf_at(child).map_or(0.0, |leaf| leaf.value),
        }
    }

    /// The most points that the features of one factor can add on a way down the tree. A margin of 1 is `scale` points.
    pub(crate) fn most(&self, means: &[f64], scale: f64, of_factor: impl Fn(usize) -> bool) -> f64 {
        let mut most = vec![0.0_f64; self.splits.len()];
        for (at, split) in self.splits.iter().enumerate().rev() {
            let here = means.get(at).copied().unwrap_or_default();
            let way = |child: i16| {
                let step = if of_factor(split.feature) { scale * (self.mean(means, child) - here) } else { 0.0 };
                step + usize::try_from(child).ok().and_then(|child| most.get(child)).copied().unwrap_or_default()
            };
            let best = way(split.left).max(way(split.right));
            if let Some(place) = most.get_mut(at) {
                *place = best;
            }
        }
        most.first().copied().unwrap_or_default()
    }
}
