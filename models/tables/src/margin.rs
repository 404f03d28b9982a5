//! The margin of a wallet: the sum of all trees, or of the cells of a scorecard and its linear terms, or of a network; and
//! what each feature adds to it.

use crate::{
    code::{Source, value},
    data::{Data, FEATURES, Section, Shape, double, number},
    forest::{Forest, Values},
    network::network,
    shapley::Shapley,
};

/// The features of a wallet. An absent one is NaN.
pub fn values(data: Data<'_>, source: &impl Source) -> Values {
    let (mut values, mut code) = ([f64::NAN; FEATURES], data.section(Section::Code));
    for place in values.iter_mut().take(data.shape(Shape::Features)) {
        *place = value(&mut code, source);
    }
    values
}

/// The margin, with what each feature adds to it in `parts`. What is the same for all wallets is no part.
pub fn margin(data: Data<'_>, values: &Values, parts: &mut Values) -> f64 {
    let start = double(data.section(Section::Scale), 2);
    if data.shape(Shape::Trees) == 0 {
        return start + scorecard(data, values, parts) + network(data, values, parts);
    }
    let single_precision = data.shape(Shape::Single) == 1;
    let forest = Forest::new(data);
    let mut shapley = (data.shape(Shape::Shapley) == 1).then(Shapley::new);
    let mut rounded = *values;
    if single_precision {
        for value in &mut rounded {
            *value = f64::from(*value as f32);
        }
    }
    let (mut sum, mut single_sum) = (start, start as f32);
    for tree in 0..data.shape(Shape::Trees) {
        let leaf = match &mut shapley {
            Some(shapley) => shapley.leaf(&forest, tree, &rounded, parts),
            None => forest.leaf(tree, &rounded, parts),
        };
        sum += leaf;
        single_sum += leaf as f32;
    }
    if single_precision { f64::from(single_sum) } else { sum }
}

/// The sum of one cell for each feature. A bin holds its lower edge and not its upper one.
fn scorecard(data: Data<'_>, values: &Values, parts: &mut Values) -> f64 {
    let (starts, edges) = (data.section(Section::EdgeStarts), data.section(Section::Edges));
    let (cells, mut sum) = (data.section(Section::Cells), 0.0);
    for (feature, (value, part)) in values.iter().zip(parts).take(data.shape(Shape::Features)).enumerate() {
        let (from, to) = (number(starts, feature) as usize, number(starts, feature + 1) as usize);
        let reached = || (from..to).take_while(|edge| double(edges, *edge) <= *value).count();
        let bin = if value.is_nan() { to - from + 1 } else { reached() };
        *part = double(cells, from + 2 * feature + bin);
        sum += *part;
    }
    sum
}
