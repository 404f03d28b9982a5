//! The trees, the table or the network of a model: read, proved to be monotone if the declaration says so, and
//! packed.

use std::path::Path;

use tables::data::{Node, SHAPLEY_DEPTH, Section};

use crate::{
    FileFault, bins,
    card::{self, FeatureBins},
    declaration::{Declaration, DeclarationFile, DeclaredKind, Direction, Explain, Margin, SpannedText},
    files,
    language::Expression,
    monotone,
    network::NeuralNetwork,
    origin::{self, Forest, Test, Trained, Tree},
    packed::{Packed, number},
    predicts::Predicts,
    scale::Scale,
    training::Training,
};

/// What makes the margin.
pub(crate) enum ModelRules {
    Trees(Forest),
    Card(Card),
    Network(NeuralNetwork),
}

/// The table of a scorecard.
pub(crate) struct Card {
    pub rows: Vec<FeatureBins>,
    /// The features that are not cut into bins.
    pub terms: Option<NeuralNetwork>,
    /// A library made the table. The points that every wallet has are in its file, or under `base`.
    pub imported: bool,
    pub base: Option<f64>,
}

/// The score of the widest range, and the risk of the highest: what a factor can add at most if nothing bounds it.
const SCORES: u32 = 700;
const RISKS: u32 = 100;

/// The trees or the network that the declaration names, or its table.
///
/// # Errors
/// The first problem of either.
pub(crate) fn rules(
    file: &DeclarationFile,
    expressions: &[Expression],
    training: Option<&Training>,
) -> Result<ModelRules, FileFault> {
    let Some(trained) = &file.declared.trained else {
        if let Some(explain) = &file.declared.explain {
            return Err(file.fault(explain, "a scorecard needs no `explain`: its cells are its points"));
        }
        card::without_trained(file)?;
        let mut card = scorecard_of(file, expressions)?;
        if let Some((terms, training)) = card.terms.as_mut().zip(training) {
            terms.center(training);
        }
        return Ok(ModelRules::Card(card));
    };
    if let Some(scorecard) = &file.declared.scorecard {
        return Err(file.fault(scorecard, "a model has `trained` or `scorecard`, one of them"));
    }
    card::none(file, "trained")?;
    if file.declared.score.intercept != 0.0 {
        let message =
            "[score]: `intercept` is that of a scorecard, and the file of a trained model has its own: remove it";
        return Err(FileFault::of(&file.path, message));
    }
    let path = file.path.parent().unwrap_or(Path::new("")).join(trained.get_ref());
    if !path.exists() {
        let message = format!("there is no file {}: train first, and save it here", trained.get_ref());
        return Err(file.fault(trained, message));
    }
    let bytes = files::bytes(&path, files::TRAINED)?;
    match origin::read(&bytes, &file.names()).map_err(|why| FileFault::of(&path, why))? {
        Trained::Forest(forest) => forest_of(file, trained, forest, training).map(ModelRules::Trees),
        Trained::Network(network) => network_of(file, trained, network, expressions, training).map(ModelRules::Network),
    }
}

/// The bins and weights of the declaration, or those of the table that it names.
fn scorecard_of(file: &DeclarationFile, expressions: &[Expression]) -> Result<Card, FileFault> {
    let Some(named) = &file.declared.scorecard else {
        let (rows, terms) = card::card(file, expressions)?;
        return Ok(Card { rows, terms, imported: false, base: None });
    };
    card::none(file, "scorecard")?;
    let bins = bins::read(file, named, expressions)?;
    if *file.declared.score.margin.get_ref() == Margin::Points
        && bins.base.is_some() == file.declared.score.base.is_some()
    {
        let message = match bins.base {
            Some(base) => format!("{} has base points of {base}: remove `base`", named.get_ref()),
            None => "write `base` under [score]: the points that every wallet has, `scorecard.intercept_` of \
                     optbinning"
                .into(),
        };
        return Err(file.fault(named, message));
    }
    Ok(Card { rows: bins.rows, terms: None, imported: true, base: bins.base })
}

fn forest_of(
    file: &DeclarationFile,
    trees: &SpannedText,
    mut forest: Forest,
    training: Option<&Training>,
) -> Result<Forest, FileFault> {
    if let Some(absent) = file.declared.features.iter().find_map(|feature| feature.absent.as_ref()) {
        return Err(file.fault(absent, "trees send an absent figure where their library does: remove `absent`"));
    }
    covers(file, trees, &mut forest, training)?;
    let depth = forest.trees.iter().map(Tree::depth).max().unwrap_or(0);
    match &file.declared.explain {
        Some(explain) if *explain.get_ref() == Explain::TreeShap && depth > SHAPLEY_DEPTH => {
            let message = format!(
                "a tree is {depth} splits deep, and `treeshap` goes down {SHAPLEY_DEPTH}. Train with a smaller \
                 max_depth, or explain by `saabas`"
            );
            Err(file.fault(explain, message))
        }
        _ => Ok(forest),
    }
}

fn network_of(
    file: &DeclarationFile,
    named: &SpannedText,
    mut network: NeuralNetwork,
    expressions: &[Expression],
    training: Option<&Training>,
) -> Result<NeuralNetwork, FileFault> {
    if let Some(explain) = &file.declared.explain {
        let message = "linear models and networks have one explanation, the distance from the mean of the training: \
                       remove `explain`";
        return Err(file.fault(explain, message));
    }
    let Some(training) = training else {
        let message = format!(
            "the points of factors are distances from the mean of the training, which {} does not have. Add `table = \
             \"matrix.csv\"`, the table of the training from `assay features table`",
            named.get_ref()
        );
        return Err(file.fault(named, message));
    };
    network.fill(file, expressions)?;
    network.center(training);
    Ok(network)
}

impl ModelRules {
    /// What the margin of a trained model means, and how messages call it.
    pub(crate) fn predicts(&self) -> Option<(&'static str, &Predicts)> {
        match self {
            Self::Trees(forest) => Some(("trees", &forest.predicts)),
            Self::Network(network) => Some(("layers", &network.predicts)),
            Self::Card(_) => None,
        }
    }

    /// Whether a library made it, which has predictions to compare with.
    pub(crate) fn is_trained(&self) -> bool {
        !matches!(self, Self::Card(Card { imported: false, .. }))
    }

    /// Figures and sums have single precision.
    pub(crate) fn is_single(&self) -> bool {
        match self {
            Self::Trees(forest) => forest.single,
            Self::Network(network) => network.single,
            Self::Card(_) => false,
        }
    }
}

/// Counts the training data in each leaf if the file of the trees does not: no explanation is right without.
fn covers(
    file: &DeclarationFile,
    trees: &SpannedText,
    forest: &mut Forest,
    training: Option<&Training>,
) -> Result<(), FileFault> {
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
                "{name} rounds thresholds to single precision: {close} of {} rows of {} have a figure that is rounded \
                 to a threshold, and a library that trains in double precision sends them another way. Of LightGBM, \
                 name its own file (`booster.save_model(\"model.txt\")`); otherwise train and predict on \
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
pub(crate) fn prove(file: &DeclarationFile, rules: &ModelRules, scale: Scale) -> Result<(), FileFault> {
    for (at, feature) in file.declared.features.iter().enumerate() {
        let Some(said) = &feature.monotone else { continue };
        let direction = *said.get_ref();
        let rising = (direction == Direction::Rising) == (scale.per_margin >= 0.0);
        let broken = match rules {
            ModelRules::Trees(forest) => forest.trees.iter().position(|tree| !monotone::holds(tree, at, rising)),
            ModelRules::Card(card) => {
                let falls = card.rows.get(at).is_some_and(|row| !card::holds(row, rising));
                (falls || card.terms.as_ref().is_some_and(|terms| !terms.holds(at, rising))).then_some(0)
            }
            ModelRules::Network(network) => (!network.holds(at, rising)).then_some(0),
        };
        let Some(tree) = broken else { continue };
        let way = if direction == Direction::Rising { "rising" } else { "falling" };
        let name = feature.name.get_ref();
        let message = match rules {
            ModelRules::Trees(forest) if forest.trees.iter().all(|tree| monotone::holds(tree, at, !rising)) => format!(
                "the score is not {way} in {name}: tree {tree} breaks it, and all trees have it the other way round. \
                 Is the outcome that is 1 in the training the one that `margin` names? Turn `margin` (log-odds-of-bad, \
                 log-odds-of-good), or the constraint of the training"
            ),
            ModelRules::Trees(_) => format!(
                "the score is not {way} in {name}: tree {tree} breaks it. Train with monotone_constraints ({} for this \
                 feature), in LightGBM with monotone_constraints_method=basic, or remove `monotone`",
                if rising { 1 } else { -1 }
            ),
            ModelRules::Card(_) => {
                format!("the score is not {way} in {name}: its bins or weights are not in that order")
            }
            ModelRules::Network(_) => format!(
                "the weights do not show that the score is {way} in {name}: train with weights of one sign on its way, \
                 or remove `monotone`"
            ),
        };
        return Err(file.fault(said, message));
    }
    Ok(())
}

/// The most points that each factor can add. `linked`: the score is not linear in the margin.
pub(crate) fn possible(
    file: &DeclarationFile,
    rules: &ModelRules,
    scale: Scale,
    factor_of: &[usize],
    linked: bool,
) -> Vec<u32> {
    let all = if file.declared.kind == DeclaredKind::Sybil { RISKS } else { SCORES };
    let means: Vec<Vec<f64>> = match rules {
        ModelRules::Trees(forest) => forest.trees.iter().map(Tree::means).collect(),
        ModelRules::Card(_) | ModelRules::Network(_) => Vec::new(),
    };
    let most = |factor: usize| -> f64 {
        let of_factor = |feature: usize| factor_of.get(feature) == Some(&factor);
        let unbounded = |network: &NeuralNetwork| network.columns.iter().any(|column| of_factor(column.feature));
        match rules {
            _ if linked => f64::from(all),
            ModelRules::Trees(forest) => {
                let most = |(tree, means): (&Tree, &Vec<f64>)| match shapley(file) {
                    true => tree.most_shapley(scale.per_margin, of_factor),
                    false => tree.most(means, scale.per_margin, of_factor),
                };
                forest.trees.iter().zip(&means).map(most).sum()
            }
            ModelRules::Card(Card { terms: Some(terms), .. }) if unbounded(terms) => f64::from(all),
            ModelRules::Card(card) => {
                let best =
                    |row: &FeatureBins| row.cells.iter().map(|cell| cell * scale.per_margin).fold(f64::MIN, f64::max);
                card.rows.iter().enumerate().filter(|(at, _)| of_factor(*at)).map(|(_, row)| best(row)).sum()
            }
            ModelRules::Network(_) => f64::from(all),
        }
    };
    // A float above the largest `u32` becomes the largest `u32`.
    (0..file.declared.factors.len()).map(|factor| most(factor).max(0.0).ceil() as u32).collect()
}

/// Packs the rules. Returns what they are, in one line.
pub(crate) fn put(packed: &mut Packed, file: &DeclarationFile, rules: &ModelRules, scale: Scale) -> String {
    match rules {
        ModelRules::Trees(forest) => trees(packed, file, forest, scale),
        ModelRules::Card(card) => scorecard(packed, file, card, scale),
        ModelRules::Network(network) => {
            shape(packed, file, None, network.single);
            packed.doubles(Section::Scale, [scale.per_margin, scale.base, 0.0]);
            network.put(packed);
            network.summary(file.declared.features.len())
        }
    }
}

/// Whether the declaration asks for Shapley values.
fn shapley(file: &DeclarationFile) -> bool {
    file.declared.explain.as_ref().is_some_and(|explain| *explain.get_ref() == Explain::TreeShap)
}

fn shape(packed: &mut Packed, file: &DeclarationFile, forest: Option<&Forest>, is_single: bool) {
    let flag = |is: fn(&Forest) -> bool| u32::from(forest.is_some_and(is));
    let trees = forest.map_or(0, |forest| number(forest.trees.len()));
    let Declaration { features, factors, .. } = &file.declared;
    let (features, factors) = (number(features.len()), number(factors.len()));
    let (single, strict) = (u32::from(is_single), flag(|forest| forest.strict));
    packed.numbers(Section::Shape, [features, factors, trees, single, strict, u32::from(shapley(file))]);
}

fn scorecard(packed: &mut Packed, file: &DeclarationFile, card: &Card, scale: Scale) -> String {
    let Card { rows, terms, .. } = card;
    shape(packed, file, None, false);
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
    let linear = terms.as_ref().map_or(0, |terms| terms.columns.len());
    if let Some(terms) = terms {
        terms.put(packed);
    }
    match (rows.len() - linear, linear) {
        (bins, 0) => format!("a scorecard of {bins} features in {unit}"),
        (0, linear) => format!("a linear model of {linear} features"),
        (bins, linear) => format!("a scorecard of {bins} features in {unit} and {linear} linear terms"),
    }
}

fn trees(packed: &mut Packed, file: &DeclarationFile, forest: &Forest, scale: Scale) -> String {
    shape(packed, file, Some(forest), forest.single);
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
