//! Shapley values of trees, with the shares of the training data as weights: TreeSHAP (Lundberg, Erion and Lee, "Consistent
//! Individualized Feature Attribution for Tree Ensembles", 2018, algorithm 2), as LightGBM and XGBoost compute them. The
//! parts of a wallet differ from those of Saabas; their sum and the score are the same.

use crate::{
    data::{SHAPLEY_DEPTH, double, node},
    forest::{Forest, Values, leaf_place},
};

/// One feature on the way down.
#[derive(Clone, Copy)]
struct Step {
    feature: u8,
    /// The share of the training data that goes this way where the feature is not known.
    without: f64,
    /// 1 where the wallet goes this way, 0 where it does not.
    with: f64,
    /// The weight of the subsets of features with as many members as this step has steps before it.
    weight: f64,
}

/// A place of a tree that is still to be walked to.
struct Visit {
    at: i16,
    level: usize,
    /// Of the split above: its feature, the share of the data that goes this way, and whether the wallet does.
    feature: u8,
    share: f64,
    taken: bool,
    /// Whether the wallet comes here from the root.
    reached: bool,
}

/// Walks all ways of trees. It has its own stack, because that of the component is small.
pub struct Shapley {
    /// The features on the way to each level, each once. The first step stands for no feature.
    ways: Vec<Vec<Step>>,
    open: Vec<Visit>,
}

impl Shapley {
    pub fn new() -> Self {
        let way = || Vec::with_capacity(SHAPLEY_DEPTH + 1);
        Self { ways: (0..=SHAPLEY_DEPTH).map(|_| way()).collect(), open: Vec::with_capacity(2 * SHAPLEY_DEPTH) }
    }

    /// The leaf that the figures reach, with what each feature adds to it in `parts`.
    pub fn leaf(&mut self, forest: &Forest<'_>, tree: usize, values: &Values, parts: &mut Values) -> f64 {
        let (first, leaves, root) = forest.root(tree);
        let mut found = 0.0;
        self.open.push(Visit { at: root, level: 0, feature: u8::MAX, share: 1.0, taken: true, reached: true });
        while let Some(visit) = self.open.pop() {
            let Some(way) = way(&mut self.ways, &visit) else { continue };
            let Visit { at, level, reached, .. } = visit;
            let Ok(place) = usize::try_from(at) else {
                let leaf = double(forest.leaves, leaves + leaf_place(at));
                found += if reached { leaf } else { 0.0 };
                add(way, leaf, parts);
                continue;
            };
            let Some(node) = node(forest.nodes, first + place) else { return f64::NAN };
            let (left, share) = (forest.goes_left(node, values), double(forest.shares, first + place));
            for (at, share, taken) in [(node.left, share, left), (node.right, 1.0 - share, !left)] {
                let (level, feature, reached) = (level + 1, node.feature, reached && taken);
                self.open.push(Visit { at, level, feature, share, taken, reached });
            }
        }
        found
    }
}

/// The way to a place, from that to its split; `None` where neither the training data nor the wallet go there.
fn way<'a>(ways: &'a mut [Vec<Step>], visit: &Visit) -> Option<&'a [Step]> {
    let (above, below) = ways.split_at_mut_checked(visit.level)?;
    let way = below.first_mut()?;
    way.clear();
    way.extend_from_slice(above.last().map_or(&[], Vec::as_slice));
    let (mut without, mut with) = (visit.share, f64::from(u8::from(visit.taken)));
    // A feature that was on the way already counts once.
    let before = way.iter().skip(1).position(|step| step.feature == visit.feature);
    if let Some((place, step)) = before.and_then(|at| Some((at + 1, *way.get(at + 1)?))) {
        (without, with) = (without * step.without, with * step.with);
        shorten(way, place);
    }
    if without == 0.0 && with == 0.0 {
        return None;
    }
    extend(way, Step { feature: visit.feature, without, with, weight: 0.0 });
    Some(way)
}

/// Adds a feature to a way.
fn extend(way: &mut Vec<Step>, step: Step) {
    let depth = way.len();
    way.push(Step { weight: if depth == 0 { 1.0 } else { 0.0 }, ..step });
    let (all, mut above) = ((depth + 1) as f64, 0.0);
    for (at, place) in way.iter_mut().enumerate() {
        let weight = place.weight;
        place.weight = if at < depth { step.without * weight * (depth - at) as f64 / all } else { weight } + above;
        above = step.with * weight * (at + 1) as f64 / all;
    }
}

/// Calls `each` with the weights that a way has without the feature at a place, from the largest subsets to the smallest.
fn unwound(way: &[Step], place: usize, mut each: impl FnMut(usize, f64)) {
    let (Some((last, rest)), Some(step)) = (way.split_last(), way.get(place)) else { return };
    let (all, mut next) = (way.len() as f64, last.weight);
    for (at, Step { weight, .. }) in rest.iter().enumerate().rev() {
        let left = (rest.len() - at) as f64;
        if step.with == 0.0 {
            each(at, weight * all / (step.without * left));
        } else {
            let found = next * all / ((at + 1) as f64 * step.with);
            next = weight - found * step.without * left / all;
            each(at, found);
        }
    }
}

/// Takes the feature at a place from a way.
fn shorten(way: &mut Vec<Step>, place: usize) {
    let mut weights = [0.0; SHAPLEY_DEPTH + 1];
    unwound(way, place, |at, weight| {
        if let Some(place) = weights.get_mut(at) {
            *place = weight;
        }
    });
    way.remove(place);
    for (step, weight) in way.iter_mut().zip(weights) {
        step.weight = weight;
    }
}

/// Adds what each feature of a way adds to the leaf at its end.
fn add(way: &[Step], leaf: f64, parts: &mut Values) {
    for (place, step) in way.iter().enumerate().skip(1) {
        let mut sum = 0.0;
        unwound(way, place, |_, weight| sum += weight);
        if let Some(part) = parts.get_mut(usize::from(step.feature)) {
            *part += sum * (step.with - step.without) * leaf;
        }
    }
}
