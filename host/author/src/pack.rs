//! From `model.toml` to a component.

use std::path::Path;

use assay_domain::{ModelVersion, features::Features};
use tables::data::{Data, FACTORS, FEATURES, Node, Section};

use crate::{
    Fault, Wallet,
    card::{self, Row},
    declaration::{Declaration, Direction, Feature, File, Margin, Text},
    fault::begins,
    files,
    language::Expression,
    module, monotone,
    origin::{self, Forest, Test, Tree},
    packed::{Packed, number},
    scale::{Scale, deciles},
};

/// The most bytes of data. The data is in memory during each call.
const DATA: usize = 1 << 20;
/// The most characters of a title or label, and of the text of a factor without its figures.
const LABEL: usize = 80;
const TEXT: usize = 400;

/// A model without code.
#[derive(Debug, Clone, PartialEq)]
pub struct Pack {
    /// The core module, which the registry makes a component.
    pub core: Vec<u8>,
    /// The data in the core module, for native code.
    pub data: Vec<u8>,
    /// What is packed, in one line.
    pub summary: String,
}

impl Pack {
    /// The score of a wallet, computed natively by the same code; `None` where the model refuses it.
    pub fn score(&self, features: &Features) -> Option<u32> {
        tables::answer(Data::new(&self.data)?, &Wallet(features)).map(|answer| answer.score)
    }
}

/// The trees or the table that make the margin.
enum Rules {
    Trees(Forest),
    Card(Vec<Row>),
}

/// Reads a declaration and the trees it names.
///
/// # Errors
/// The first problem, with its file and line.
pub fn pack(declaration: &Path) -> Result<Pack, Fault> {
    let file = File::read(declaration)?;
    let expressions = expressions(&file)?;
    let factor_of = factors(&file)?;
    let scale = Scale::of(&file)?;
    let rules = rules(&file)?;
    claims(&file, &rules, scale)?;
    let mut packed = Packed::new();
    packed.put(Section::Code, expressions.iter().flat_map(|expression| expression.code.iter().copied()));
    packed.put(Section::FactorOf, factor_of.iter().map(|factor| *factor as u8));
    packed.numbers(Section::Possible, possible(&file, &rules, scale, &factor_of));
    packed.numbers(Section::Deciles, deciles(&file)?.iter().copied());
    packed.texts(&texts(&file, &expressions)?);
    let summary = match &rules {
        Rules::Trees(forest) => trees(&mut packed, &file, forest, scale),
        Rules::Card(rows) => scorecard(&mut packed, &file, rows, scale),
    };
    let data = packed.bytes();
    if data.len() > DATA {
        let message =
            format!("its data has {} bytes and may have {DATA}. Train with fewer trees or leaves", data.len());
        return Err(Fault::of(declaration, message));
    }
    let core = module::with(&data).map_err(|why| Fault::of(declaration, why))?;
    Ok(Pack { core, data, summary })
}

/// The expressions of the features.
///
/// # Errors
/// The first problem, at its column.
pub fn expressions(file: &File) -> Result<Vec<Expression>, Fault> {
    let features = &file.declared.features;
    if features.is_empty() || features.len() > FEATURES {
        return Err(Fault::of(&file.path, format!("it has {} features; 1 to {FEATURES} are possible", features.len())));
    }
    for (at, feature) in features.iter().enumerate() {
        let name = feature.name.get_ref();
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if name.is_empty() || name.len() > LABEL || !plain {
            return Err(file.fault(&feature.name, "a name has letters, digits and `_`"));
        }
        if features.iter().take(at).any(|other| other.name.get_ref() == name) {
            return Err(file.fault(&feature.name, format!("there are two features `{name}`")));
        }
    }
    let parse = |feature: &Feature| {
        let is = &feature.is;
        Expression::parse(is.get_ref()).map_err(|wrong| {
            let at = begins(&file.text, &is.span(), is.get_ref()) + wrong.at;
            Fault::at(&file.path, &file.text, at, format!("feature {}: {}", feature.name.get_ref(), wrong.message))
        })
    };
    features.iter().map(parse).collect()
}

/// The factor of each feature.
fn factors(file: &File) -> Result<Vec<usize>, Fault> {
    let Declaration { version, title, factors, features, .. } = &file.declared;
    version.get_ref().parse::<ModelVersion>().map_err(|why| file.fault(version, why))?;
    if factors.is_empty() || factors.len() > FACTORS {
        return Err(Fault::of(&file.path, format!("it has {} factors; 1 to {FACTORS} are possible", factors.len())));
    }
    let long = |text: &Text, most: usize| {
        let count = text.get_ref().chars().count();
        let message = format!("it has {count} characters; 1 to {most} are possible");
        if (1..=most).contains(&count) { Ok(()) } else { Err(file.fault(text, message)) }
    };
    long(title, LABEL)?;
    for factor in factors {
        long(&factor.label, LABEL)?;
        long(&factor.text, TEXT)?;
    }
    let place = |feature: &Feature| {
        let wanted = feature.factor.get_ref();
        let found = factors.iter().position(|factor| factor.label.get_ref() == wanted);
        found.ok_or_else(|| {
            let labels: Vec<_> = factors.iter().map(|factor| format!("{:?}", factor.label.get_ref())).collect();
            file.fault(&feature.factor, format!("there is no factor {wanted:?}: there are {}", labels.join(", ")))
        })
    };
    features.iter().map(place).collect()
}

fn rules(file: &File) -> Result<Rules, Fault> {
    let Some(trees) = &file.declared.trees else { return Ok(Rules::Card(card::rows(file)?)) };
    card::none(file)?;
    let path = file.path.parent().unwrap_or(Path::new("")).join(trees.get_ref());
    if !path.exists() {
        return Err(file.fault(trees, format!("there is no file {}: train first, and save it here", trees.get_ref())));
    }
    let text = files::text(&path, files::TRAINED)?;
    origin::read(&text, &file.names()).map(Rules::Trees).map_err(|why| Fault::of(&path, why))
}

/// Proves that the score moves with each feature as `monotone` claims.
fn claims(file: &File, rules: &Rules, scale: Scale) -> Result<(), Fault> {
    for (at, feature) in file.declared.features.iter().enumerate() {
        let Some(claim) = &feature.monotone else { continue };
        let direction = *claim.get_ref();
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
                 feature), in LightGBM with monotone_constraints_method=basic, or remove the claim",
                if rising { 1 } else { -1 }
            ),
            Rules::Card(_) => format!("the score is not {way} in {name}: its bins are not in that order"),
        };
        return Err(file.fault(claim, message));
    }
    Ok(())
}

/// The most points that each factor can add.
fn possible(file: &File, rules: &Rules, scale: Scale, factor_of: &[usize]) -> Vec<u32> {
    let means: Vec<Vec<f64>> = match rules {
        Rules::Trees(forest) => forest.trees.iter().map(Tree::means).collect(),
        Rules::Card(_) => Vec::new(),
    };
    let most = |factor: usize| -> f64 {
        let of_factor = |feature: usize| factor_of.get(feature) == Some(&factor);
        match rules {
            Rules::Trees(forest) => {
                let trees = forest.trees.iter().zip(&means);
                trees.map(|(tree, means)| tree.most(means, scale.per_margin, of_factor)).sum()
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

/// Version, title, authors, inputs, and label and text of each factor.
fn texts(file: &File, expressions: &[Expression]) -> Result<Vec<Vec<u8>>, Fault> {
    let Declaration { version, title, authors, factors, .. } = &file.declared;
    // The model refuses a wallet of which nothing could be read, so it always reads the coverage.
    let mut reads = vec!["chains.coverage".to_owned(), "markets.coverage".to_owned()];
    reads.extend(expressions.iter().flat_map(|expression| expression.reads.iter().cloned()));
    reads.sort();
    reads.dedup();
    let plain = |text: &str| text.as_bytes().to_vec();
    let mut texts =
        vec![plain(version.get_ref()), plain(title.get_ref()), plain(&authors.join("\n")), plain(&reads.join("\n"))];
    for factor in factors {
        texts.push(plain(factor.label.get_ref()));
        texts.push(template(file, &factor.text)?);
    }
    Ok(texts)
}

/// A text with the place of the feature in place of each `{name}`.
fn template(file: &File, text: &Text) -> Result<Vec<u8>, Fault> {
    let (names, mut out, mut rest) = (file.names(), Vec::new(), text.get_ref().as_str());
    if rest.bytes().any(|byte| byte < b' ') {
        return Err(file.fault(text, "a text has one line and no control characters"));
    }
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or_else(|| file.fault(text, "a `{` is not closed"))?;
        let place = names.iter().position(|known| *known == name).and_then(|at| u8::try_from(at + 1).ok());
        let place = place.ok_or_else(|| file.fault(text, format!("`{{{name}}}` names no feature")))?;
        out.extend(before.as_bytes());
        out.extend([1, place]);
        rest = after;
    }
    out.extend(rest.as_bytes());
    Ok(out)
}

fn shape(packed: &mut Packed, file: &File, forest: Option<&Forest>) {
    let flag = |is: fn(&Forest) -> bool| u32::from(forest.is_some_and(is));
    let trees = forest.map_or(0, |forest| number(forest.trees.len()));
    let Declaration { features, factors, .. } = &file.declared;
    let (features, factors) = (number(features.len()), number(factors.len()));
    packed.numbers(
        Section::Shape,
        [features, factors, trees, flag(|forest| forest.single), flag(|forest| forest.strict)],
    );
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
    let unit = if file.declared.score.margin == Margin::Points { "points" } else { "weights of evidence" };
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
    packed.singles(Section::Means, forest.trees.iter().flat_map(Tree::means));
    packed.doubles(Section::Leaves, forest.trees.iter().flat_map(|tree| tree.leaves.iter().map(|leaf| leaf.value)));
    format!("{} trees with {leaves} leaves over {} features", forest.trees.len(), file.declared.features.len())
}
