//! The ratings of factors: the fifth of the training table that the points of a wallet are in.

use std::array;

use tables::{
    Data,
    data::{EDGES, FEATURES, Shape},
};

/// The most rows that are looked at: Shapley values of more take minutes.
const ROWS: usize = 10_000;

/// The lowest points of each rating above the lowest, factor by factor.
pub(crate) fn edges(data: Data<'_>, rows: &[Vec<f64>]) -> Vec<i32> {
    let mut factors = vec![Vec::new(); data.shape(Shape::Factors)];
    for row in rows.iter().step_by(rows.len().div_ceil(ROWS).max(1)) {
        let mut values = [f64::NAN; FEATURES];
        values.iter_mut().zip(row).for_each(|(value, figure)| *value = *figure);
        for (factor, points) in factors.iter_mut().zip(tables::points(data, &values).1) {
            factor.push(points);
        }
    }
    factors.into_iter().flat_map(fifths).collect()
}

/// The lowest whole numbers that are above 1, 2, 3 and 4 fifths of `points`. Those that are equal count half: what
/// nearly all wallets have is neither the lowest rating nor the highest.
fn fifths(mut points: Vec<i32>) -> [i32; EDGES] {
    points.sort_unstable();
    let twice_above =
        |edge: i32| points.partition_point(|one| *one < edge) + points.partition_point(|one| *one <= edge);
    let mut edges = points.clone();
    edges.extend(points.iter().map(|one| one.saturating_add(1)));
    edges.sort_unstable();
    edges.dedup();
    array::from_fn(|fifth| {
        let enough = |edge: &&i32| 5 * twice_above(**edge) >= 2 * (fifth + 1) * points.len();
        edges.iter().find(enough).copied().unwrap_or(i32::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rating_says_how_many_wallets_have_fewer_points() {
        let rating = |of: &[i32], points: i32| fifths(of.to_vec()).iter().filter(|edge| points >= **edge).count();
        let even: Vec<i32> = (0..100).collect();
        assert_eq!(
            [-5, 0, 19, 20, 50, 79, 80, 99, 500].map(|points| rating(&even, points)),
            [0, 0, 0, 1, 2, 3, 4, 4, 4]
        );
        // Nine of ten have the most points: these are good, and the others low.
        let most: Vec<i32> = (0..100).map(|at| if at < 10 { -40 } else { 7 }).collect();
        assert_eq!([-40, 0, 7, 8].map(|points| rating(&most, points)), [0, 0, 2, 4]);
        // Nine of ten have none: these are good, and the others excellent.
        let none: Vec<i32> = (0..100).map(|at| if at < 90 { 0 } else { 30 }).collect();
        assert_eq!([-1, 0, 1, 30].map(|points| rating(&none, points)), [0, 2, 4, 4]);
        assert_eq!([0, 3, 4].map(|points| rating(&[3; 7], points)), [0, 2, 4]);
    }
}
