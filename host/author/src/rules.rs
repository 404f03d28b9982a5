//! The trees or the table of a model: read, proved to be monotone where the declaration says so, and packed.

use std::path::Path;

use tables::data::{Node, SHAPLEY_DEPTH, Section};

use crate::{
    Fault,
    card::{self, Row},
    declaration::{Declaration, Direction, Explain, File, Margin, Text},
    files, monotone,
    origin::{self, Forest, Test, Tree},
    packed::{Packed, number},
    scale::Scale,
    training::Training,
};

/// The trees or the table that make the margin.
pub enum Rules {
    Trees(Forest),
    Card(Vec<Row>),
}

/// The trees that the declaration names, or its table.
///
/// # Errors
/// The first problem of either.
pub fn rules(file: &File, training: Option<&Training>) -> Result<Rules, Fault> {
    let Some(trees) = &file.declared.trees else {
        return match &file.declared.explain {
            Some(explain) => Err(file.fault(explain, "a scorecard needs no `explain`: its cells are its points")),
            None => card::without_trees(file).and_then(|()| card::rows(file)).map(Rules::Card),
        };
    };
    card::none(file)?;
    let path = file.path.parent().unwrap_or(Path::new("")).join(trees.get_ref());
    if !path.exists() {
        return Err(file.fault(trees, format!("there is no file {}: train first, and save it here", trees.get_ref())));
    }
    let bytes = files::bytes(&path, files::TRAINED)?;
    let mut forest = origin::read(&bytes, &file.names()).map_err(|why| Fault::of(&path, why))?;
    covers(file, trees, &mut forest, training)?;
    let depth = forest.trees.iter().map(Tree::depth).max().unwrap_or(0);
    match &file.declared.explain {
        Some(explain) if *explain.get_ref() == Explain::TreeShap && depth > SHAPLEY_DEPTH => {
            let message = format!(
                "a tree is {depth} splits deep, and `treeshap` goes down {SHAPLEY_DEPTH}. Train with a smaller max_depth, \
                 or explain by `saabas`"
            );
            Err(file.fault(explain, message))
        }
        _ => Ok(Rules::Trees(forest)),
    }
}

/// Counts the training data in each leaf if the file of the trees does not: no explanation is right without.
fn covers(file: &File, trees: &Text, forest: &mut Forest, training: Option<&Training>) -> Result<(), Fault> {
    if forest.has_covers() {
        return Ok(());
    }
    let name = trees.get_ref();
    let Some(Training { path, rows }) = training else {
        let message = format!(
            "{name} does not say how much of the training data reached each leaf, so the points of factors would be \
             wrong. Add `table = \"matrix.csv\"`, the table of the training from `assay features table`"
        );
        return Err(file.fault(trees, message));
    };
    match origin::count(forest, rows) {
        0 => Ok(()),
        close => Err(file.fault(
            trees,
            format!(
                "{name} rounds thresholds to single precision: {close} of {} rows of {} have a figure that is rounded to \
                 a threshold, and a library that trains in double precision sends them another way. Of LightGBM, name \
                 its own file (`booster.save_model(\"model.txt\")`); otherwise train and predict on \
                 `x.astype(\"float32\")`",
                rows.len(),
                path.file_name().unwrap_or_default().display()
            ),
        )),
    }
}

/// Proves that the score moves with each feature as `monotone` says.
///
/// # Errors
/// The first feature with which it does not.
pub fn prove(file: &File, rules: &Rules, scale: Scale) -> Result<(), Fault> {
    for (at, feature) in file.declared.features.iter().enumerate() {
        let Some(said) = &feature.monotone else { continue };
        let direction = *said.get_ref();
        let rising = (direction == Direction::Rising) == (scale.per_margin >= 0.0);
        let broken = match rules {
            Rules::Trees(forest) => forest.trees.iter().position(|tree| !monotone::holds(tree, at, rising)),
            Rules::Card(rows) => rows.get(at).filter(|row| !card::holds(row, rising)).map(|_| 0),
        };
        let Some(tree) = broken else { continue };
        let way = if direction == Direction::Rising { "rising" } else { "falling" };
        let name = feature.name.get_ref();
        let message = match rules {
            Rules::Trees(_) => format!(
                "the score is not {way} in {name}: tree {tree} breaks it. Train with monotone_constraints ({} for this \
                 feature), in LightGBM with monotone_constraints_method=basic, or remove `monotone`",
                if rising { 1 } else { -1 }
            ),
            Rules::Card(_) => format!("the score is not {way} in {name}: its bins are not in that order"),
        };
        return Err(file.fault(said, message));
    }
    Ok(())
}

/// The most points that each factor can add.
pub fn possible(file: &File, rules: &Rules, scale: Scale, factor_of: &[usize]) -> Vec<u32> {
    let means: Vec<Vec<f64>> = match rules {
        Rules::Trees(forest) => forest.trees.iter().map(Tree::means).collect(),
        Rules::Card(_) => Vec::new(),
    };
    let most = |factor: usize| -> f64 {
        let of_factor = |feature: usize| factor_of.get(feature) == Some(&factor);
        match rules {
            Rules::Trees(forest) => {
                let most = |(tree, means): (&Tree, &Vec<f64>)| match shapley(file) {
                    true => tree.most_shapley(scale.per_margin, of_factor),
                    false => tree.most(means, scale.per_margin, of_factor),
                };
                forest.trees.iter().zip(&means).map(most).sum()
            }
            Rules::Card(rows) => {
                let best = |row: &Row| row.cells.iter().map(|cell| cell * scale.per_margin).fold(f64::MIN, f64::max);
                rows.iter().enumerate().filter(|(at, _)| of_factor(*at)).map(|(_, row)| best(row)).sum()
            }
        }
    };
    // A float above the largest `u32` becomes the largest `u32`.
    (0..file.declared.factors.len()).map(|factor| most(factor).max(0.0).ceil() as u32).collect()
}

/// Packs the rules. Returns what they are, in one line.
pub fn put(packed: &mut Packed, file: &File, rules: &Rules, scale: Scale) -> String {
    match rules {
        Rules::Trees(forest) => trees(packed, file, forest, scale),
        Rules::Card(rows) => scorecard(packed, file, rows, scale),
    }
}

/// Whether the declaration asks for Shapley values.
fn shapley(file: &File) -> bool {
    file.declared.explain.as_ref().is_some_and(|explain| *explain.get_ref() == Explain::TreeShap)
}

fn shape(packed: &mut Packed, file: &File, forest: Option<&Forest>) {
    let flag = |is: fn(&Forest) -> bool| u32::from(forest.is_some_and(is));
    let trees = forest.map_or(0, |forest| number(forest.trees.len()));
    let Declaration { features, factors, .. } = &file.declared;
    let (features, factors) = (number(features.len()), number(factors.len()));
    let (single, strict) = (flag(|forest| forest.single), flag(|forest| forest.strict));
    packed.numbers(Section::Shape, [features, factors, trees, single, strict, u32::from(shapley(file))]);
}

fn scorecard(packed: &mut Packed, file: &File, rows: &[Row], scale: Scale) -> String {
    shape(packed, file, None);
    packed.doubles(Section::Scale, [scale.per_margin, scale.base, file.declared.score.intercept]);
    let mut start = 0;
    let mut starts = vec![0];
    starts.extend(rows.iter().map(|row| {
        start += number(row.edges.len());
        start
    }));
    packed.numbers(Section::EdgeStarts, starts);
    packed.doubles(Section::Edges, rows.iter().flat_map(|row| row.edges.iter().copied()));
    packed.doubles(Section::Cells, rows.iter().flat_map(|row| row.cells.iter().copied()));
    let unit = if *file.declared.score.margin.get_ref() == Margin::Points { "points" } else { "weights of evidence" };
    format!("a scorecard of {} features in {unit}", rows.len())
}

fn trees(packed: &mut Packed, file: &File, forest: &Forest, scale: Scale) -> String {
    shape(packed, file, Some(forest));
    packed.doubles(Section::Scale, [scale.per_margin, scale.base, forest.start]);
    let (mut places, mut nodes, mut sets) = (vec![0, 0], Vec::new(), Vec::new());
    let (mut splits, mut leaves) = (0, 0);
    for tree in &forest.trees {
        for split in &tree.splits {
            let threshold = match &split.test {
                Test::Threshold(threshold) => threshold.to_le_bytes(),
                Test::Categories { set, .. } => {
                    let place = u64::from(number(sets.len())) | u64::from(number(set.len())) << 32;
                    sets.extend(set.iter().copied());
                    place.to_le_bytes()
                }
            };
            let node = Node {
                threshold,
                feature: split.feature as u8,
                flags: split.flags(),
                left: split.left,
                right: split.right,
            };
            nodes.extend(node.bytes());
        }
        splits += tree.splits.len();
        leaves += tree.leaves.len();
        places.extend([number(splits), number(leaves)]);
    }
    packed.put(Section::Nodes, nodes);
    packed.numbers(Section::Categories, sets);
    packed.numbers(Section::Trees, places);
    match shapley(file) {
        true => packed.doubles(Section::Shares, forest.trees.iter().flat_map(Tree::shares)),
        false => packed.singles(Section::Means, forest.trees.iter().flat_map(Tree::means)),
    }
    packed.doubles(Section::Leaves, forest.trees.iter().flat_map(|tree| tree.leaves.iter().map(|leaf| leaf.value)));
    let unused = match forest.unused {
        0 => String::new(),
        unused => format!(", without the {unused} trees after the best iteration"),
    };
    format!("{} trees with {leaves} leaves over {} features{unused}", forest.trees.len(), file.declared.features.len())
}
