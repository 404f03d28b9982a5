//! The scale, the words and the constants.

use crate::wallets::{Draw, drawn};
use credit_1_4::{Verdict, decile, describe, explain, score, table};

#[test]
fn a_score_keeps_to_the_scale_and_its_words_to_its_points() {
    let mut draw = Draw(21);
    for _ in 0..20_000 {
        let features = drawn(&mut draw);
        match (score(&features), explain(&features)) {
            (Ok(Verdict { score: found, decile: tenth, points }), Ok(factors)) => {
                assert!((300..=1000).contains(&found));
                assert_eq!(tenth, decile(found));
                assert_eq!(300 + points.iter().sum::<i32>(), found as i32, "{features:?}");
                assert_eq!(factors.iter().map(|factor| factor.points).collect::<Vec<_>>(), points);
                for factor in factors {
                    assert!(factor.points <= factor.possible as i32, "{factor:?}");
                    assert!((1..=500).contains(&factor.description.len()));
                }
                assert_eq!(score(&features), score(&features.clone()));
            }
            (Err(one), Err(other)) => assert_eq!(one, other),
            (one, other) => panic!("{one:?} against {other:?}"),
        }
    }
}

#[test]
fn deciles_never_fall() {
    let deciles: Vec<_> = (300..=1000).map(decile).collect();
    assert!(deciles.is_sorted());
    assert_eq!((deciles.first(), deciles.last()), (Some(&1), Some(&10)));
}

/// `fit.py` writes both files.
#[test]
fn the_constants_are_those_of_the_scorecard() {
    let card: toml::Table = include_str!("../../scorecard.toml").parse().unwrap();
    let source = include_str!("../../src/table.rs");
    for (name, value) in card["constants"].as_table().unwrap() {
        let line = format!("pub const {}: f64 = {:?};", name.to_uppercase(), value.as_float().unwrap());
        assert!(source.contains(&line), "{line}");
    }
    let number = |name: &str| card["possible"][name].as_integer().unwrap() as u32;
    assert_eq!((number("position"), number("repayment")), (table::POSITION, table::REPAYMENT));
    assert_eq!((number("carried"), 700), (table::CARRIED, table::POSITION + table::REPAYMENT + table::CARRIED));
    assert_eq!(card["version"].as_str(), Some(describe().version.as_str()));
}
