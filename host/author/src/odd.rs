//! Odd rows: figures at which a reader of a trained file goes wrong and no wallet of a training may be.
//!
//! Every threshold, edge, category and bound of a model is in one of the rows, with its neighbours; so are absent
//! figures, zeros of both signs and the largest numbers. The rows follow from the declaration and its files, so a
//! training script needs to write only what it predicts for them.

use std::path::Path;

use tables::data::Kind;

use crate::{
    FileFault,
    bins::DIGITS,
    declaration::DeclarationFile,
    matrix,
    network::NeuralNetwork,
    origin::{Forest, Test},
    pack::expressions,
    rules::{self, Card, ModelRules},
    training::Training,
};

/// The most rows. A model with more thresholds than fit is compared at a random part of them.
const ROWS: usize = 10_000;

/// The largest figure that LightGBM takes for zero, and smaller ones.
const NEAR_ZERO: [f64; 5] = [1e-35_f32 as f64, 1e-35, 9e-36, 1e-40, 5e-324];

/// The largest figures in double and in single precision: libraries with single precision refuse infinity, also after a
/// scaler.
const LARGEST: f64 = 1e308;
const LARGEST_SINGLE: f64 = 1e30;

/// The odd rows of a declaration, in a fixed order.
#[derive(Debug)]
pub struct OddRows {
    names: Vec<String>,
    /// One figure for each feature; NaN if it is absent.
    pub rows: Vec<Vec<f64>>,
}

impl OddRows {
    /// # Errors
    /// The first problem of the declaration or of its files.
    pub fn of(declaration: &Path) -> Result<Self, FileFault> {
        let file = DeclarationFile::read(declaration)?;
        let expressions = expressions(&file)?;
        let training = Training::read(&file)?;
        let rules = rules::rules(&file, &expressions, training.as_ref())?;
        let table = training.map(|training| training.rows).unwrap_or_default();
        let largest = if rules.is_single() { LARGEST_SINGLE } else { LARGEST };
        let single = rules.is_single();
        let mut random = Random(0x5eed);
        let columns: Vec<Column> = expressions
            .iter()
            .enumerate()
            .map(|(at, expression)| {
                let mut odd: Vec<f64> =
                    critical(&rules, at).into_iter().flat_map(|figure| neighbours(figure, single)).collect();
                odd.extend(ends(&table, at));
                odd.extend(NEAR_ZERO.iter().flat_map(|near| [*near, -near]));
                odd.extend([0.0, -0.0, 1.0, -1.0]);
                odd.extend(expression.can_be_absent.then_some(f64::NAN));
                odd.sort_by(f64::total_cmp);
                odd.dedup_by(|one, other| one.to_bits() == other.to_bits());
                random.shuffle(&mut odd);
                let finite = odd.iter().copied().filter(|figure| figure.is_finite()).collect();
                Column { odd, finite, can_be_absent: expression.can_be_absent }
            })
            .collect();
        let rows = made(&columns, &table, largest, &mut random);
        Ok(Self { names: file.names().into_iter().map(Into::into).collect(), rows })
    }

    /// The rows as CSV, below the names of the features.
    pub fn text(&self) -> String {
        let mut text = self.names.join(",");
        text.push('\n');
        for row in &self.rows {
            text.push_str(&matrix::cells(row));
            text.push('\n');
        }
        text
    }
}

/// The odd figures of one feature.
struct Column {
    odd: Vec<f64>,
    /// Those that are no NaN.
    finite: Vec<f64>,
    can_be_absent: bool,
}

/// Each row has odd figures for about half of the features; the others are those of a row of the training.
fn made(columns: &[Column], table: &[Vec<f64>], largest: f64, random: &mut Random) -> Vec<Vec<f64>> {
    let base = |random: &mut Random| -> Vec<f64> {
        let figure = |column: &Column, random: &mut Random| {
            column.finite.get(random.below(column.finite.len())).copied().unwrap_or_default()
        };
        match table.get(random.below(table.len())) {
            Some(row) => row.clone(),
            None => columns.iter().map(|column| figure(column, random)).collect(),
        }
    };
    let mut rows = Vec::new();
    // The largest figures, one at a time: the sum of two of opposite sign says nothing.
    for at in 0..columns.len() {
        for figure in [largest, -largest] {
            let mut row = base(random);
            row.iter_mut().skip(at).take(1).for_each(|place| *place = figure);
            rows.push(row);
        }
    }
    let mut absent = base(random);
    for (place, column) in absent.iter_mut().zip(columns) {
        if column.can_be_absent {
            *place = f64::NAN;
        }
    }
    rows.push(absent);
    let mut used = vec![0; columns.len()];
    while rows.len() < ROWS && used.iter().zip(columns).any(|(used, column)| *used < column.odd.len()) {
        let mut row = base(random);
        for ((place, column), used) in row.iter_mut().zip(columns).zip(&mut used) {
            let left = column.odd.len().saturating_sub(*used);
            if left > 0 && random.below(2) == 0 {
                *place = column.odd.get(*used).copied().unwrap_or(*place);
                *used += 1;
            }
        }
        rows.push(row);
    }
    rows
}

/// The figures of a feature at which the model changes.
fn critical(rules: &ModelRules, feature: usize) -> Vec<f64> {
    match rules {
        ModelRules::Trees(forest) => of_trees(forest, feature),
        ModelRules::Card(Card { rows, terms, imported, .. }) => {
            let edges = rows.get(feature).map(|row| row.edges.as_slice()).unwrap_or_default();
            let around = |edge: &f64| if *imported { around(*edge) } else { vec![*edge] };
            edges.iter().flat_map(around).chain(terms.iter().flat_map(|terms| of_network(terms, feature))).collect()
        }
        ModelRules::Network(network) => of_network(network, feature),
    }
}

/// The figures around an edge that a table may have rounded, as optbinning does to `DIGITS`; the edge itself if it is a
/// multiple of a sixteenth, as between whole numbers. Another decimal may stand for a number next to it.
fn around(edge: f64) -> Vec<f64> {
    let unit = 10_f64.powi(-(DIGITS as i32));
    if (edge * 16.0).fract() == 0.0 { vec![edge] } else { vec![edge - unit, edge + unit] }
}

fn of_trees(forest: &Forest, feature: usize) -> Vec<f64> {
    let splits = forest.trees.iter().flat_map(|tree| &tree.splits).filter(|split| split.feature == feature);
    splits
        .flat_map(|split| match &split.test {
            Test::Threshold(threshold) => vec![*threshold],
            // One more than the largest is a category that the training did not have.
            Test::Categories { set, .. } => (0..=32 * set.len()).map(|category| category as f64).collect(),
        })
        .filter(|figure| figure.is_finite())
        .collect()
}

/// The bounds of the columns, and their categories with one that the training did not have.
fn of_network(network: &NeuralNetwork, feature: usize) -> Vec<f64> {
    let columns = network.columns.iter().filter(|column| column.feature == feature);
    columns
        .flat_map(|column| match column.kind {
            Kind::Number => [column.low, column.high].map(|bound| (bound - column.offset) / column.factor).to_vec(),
            Kind::Equal => vec![column.offset, column.offset + 1.0, column.offset + 0.5],
            Kind::Absent => Vec::new(),
        })
        .filter(|figure| figure.is_finite())
        .collect()
}

/// A figure and its neighbours: the nearest numbers below and above it, in double precision and in that of the model.
fn neighbours(figure: f64, single: bool) -> Vec<f64> {
    let mut all = vec![figure, figure.next_down(), figure.next_up()];
    if single {
        let rounded = figure as f32;
        all.extend([rounded, rounded.next_down(), rounded.next_up()].map(f64::from));
    }
    all.retain(|figure| figure.is_finite() && (!single || (*figure as f32).is_finite()));
    all
}

/// The lowest, the middle and the highest figure of the training.
fn ends(table: &[Vec<f64>], feature: usize) -> Vec<f64> {
    let mut figures: Vec<f64> =
        table.iter().filter_map(|row| row.get(feature).copied()).filter(|x| x.is_finite()).collect();
    figures.sort_by(f64::total_cmp);
    let picked = [0, figures.len() / 2, figures.len().saturating_sub(1)];
    picked.iter().filter_map(|at| figures.get(*at).copied()).collect()
}

/// `SplitMix64`: the same rows each time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ (mixed >> 31)) * end as u128) >> 64) as usize
    }

    fn shuffle(&mut self, figures: &mut [f64]) {
        for at in (1..figures.len()).rev() {
            let other = self.below(at + 1);
            figures.swap(at, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_that_may_be_rounded_is_compared_a_unit_away() {
        for exact in [1.5, 0.25, -3.0, 12.0625, 1e12] {
            assert_eq!(around(exact), [exact]);
        }
        for rounded in [0.34657359, 1.49786615, -6.82219195, 0.15, 123.455] {
            let [below, above] = around(rounded)[..] else { panic!("{rounded}") };
            assert!(rounded - below > 5e-9 && above - rounded > 5e-9, "{below} {above}");
        }
    }

    #[test]
    fn each_threshold_its_neighbours_and_absent_figures_are_in_a_row() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in
            crate::template(crate::Language::Trees, assay_domain::ModelKind::Credit, "t", "0.1", "").unwrap()
        {
            let text = text.replace("log1p(sum(chains.assets_usd))", "or_else(log1p(sum(chains.assets_usd)), 0)");
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let tree = "tree\nnum_class=1\nnum_tree_per_iteration=1\nobjective=binary sigmoid:1\n\
            feature_names=age repays liquidations assets\n\nTree=0\nnum_cat=0\nsplit_feature=0\nthreshold=12.5\n\
            decision_type=10\nleft_child=-1\nright_child=-2\nleaf_value=-0.25 0.5\nleaf_count=30 10\n\n\n\
            end of trees\n";
        std::fs::write(folder.path().join("model.txt"), tree).unwrap();
        std::fs::write(folder.path().join("matrix.csv"), "age,repays,liquidations,assets\n1,2,3,4\n,0,0,7\n").unwrap();
        let declaration = folder.path().join("model.toml");
        let odd = OddRows::of(&declaration).unwrap();
        let has = |feature: usize, figure: f64| odd.rows.iter().any(|row| row[feature].to_bits() == figure.to_bits());
        for figure in [12.5, 12.5_f64.next_up(), 12.5_f64.next_down(), 0.0, -0.0, 1e308, -1e308, 1e-35, 5e-324] {
            assert!(has(0, figure), "{figure:e}");
        }
        // The age of a wallet can be absent, and its assets cannot.
        assert!(odd.rows.iter().any(|row| row[0].is_nan()) && odd.rows.iter().all(|row| !row[3].is_nan()));
        assert!(odd.text().starts_with("age,repays,liquidations,assets\n"));
        assert_eq!(odd.text(), OddRows::of(&declaration).unwrap().text());
    }
}
