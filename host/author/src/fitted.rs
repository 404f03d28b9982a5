//! Scale and deciles of a credit model that does not declare them, from the table of its training.

use tables::{
    Data,
    data::{FEATURES, Section},
    link::Link,
    margin,
};

use crate::{
    FileFault,
    declaration::{DeclarationFile, DeclaredKind, Margin},
    packed::Packed,
    rules::{self, ModelRules},
    scale::Scale,
    training::Training,
};

/// The score of the middle wallet, and how far the lowest and the highest hundredth are from it.
const MIDDLE: f64 = 650.0;
const SPREAD: f64 = 300.0;
/// The share of the wallets on each side that can be farther away.
const TAIL: f64 = 0.005;
/// The largest share of the wallets that one decile has without a word: a tenth, and what ties add.
const CROWDED: f64 = 0.25;
/// Wallets below which the share of a decile says nothing.
const ENOUGH: usize = 100;

/// What a score is linear in, of each wallet of the training: the calibrated margin of the model.
pub(crate) struct Fit {
    margins: Vec<f64>,
}

impl Fit {
    /// `factor` and `link` are those of the model.
    pub(crate) fn of(
        file: &DeclarationFile,
        rules: &ModelRules,
        factor: Option<f64>,
        link: &[f64],
        training: &Training,
    ) -> Self {
        let mut draft = Packed::new();
        draft.put(Section::FactorOf, file.declared.features.iter().map(|_| 0));
        draft.doubles(Section::Link, link.iter().copied());
        rules::put(&mut draft, file, rules, Scale { per_margin: 1.0, base: 0.0 });
        let bytes = draft.bytes();
        let Some(data) = Data::new(&bytes) else { return Self { margins: Vec::new() } };
        let linear = |row: &Vec<f64>| {
            let (mut values, mut parts) = ([f64::NAN; FEATURES], [0.0; FEATURES]);
            values.iter_mut().zip(row).for_each(|(value, figure)| *value = *figure);
            let sum = margin(data, &values, &mut parts);
            Link::of(data).map_or(factor.unwrap_or(1.0) * sum, |link| link.value(sum))
        };
        let mut margins: Vec<f64> = training.rows.iter().map(linear).filter(|margin| margin.is_finite()).collect();
        margins.sort_by(f64::total_cmp);
        Self { margins }
    }

    /// The scale with which the middle wallet scores 650, and all but a hundredth score 350 to 950. With it the points
    /// that double the odds, and the odds of 650.
    fn odds(&self, margin: Margin) -> Option<(Scale, f64, f64)> {
        let [low, middle, high] = [TAIL, 0.5, 1.0 - TAIL].map(|share| quantile(&self.margins, share));
        let (low, middle, high) = (low?, middle?, high?);
        let widest = (high - middle).max(middle - low).max(1e-9);
        let double = (std::f64::consts::LN_2 * SPREAD / widest * 10.0).round().max(10.0) / 10.0;
        let sign = if margin == Margin::LogOddsOfBad { -1.0 } else { 1.0 };
        let per = double / std::f64::consts::LN_2;
        let scale = Scale { per_margin: sign * per, base: MIDDLE - sign * per * middle };
        Some((scale, double, (sign * middle).exp()))
    }

    /// Whether all wallets have one margin, to which no scale can be fitted.
    fn is_flat(&self) -> bool {
        self.margins.first().zip(self.margins.last()).is_some_and(|(low, high)| low == high)
    }

    /// The scores of the wallets, lowest first.
    fn scores(&self, scale: Scale) -> Vec<f64> {
        let score = |margin: &f64| (scale.base + scale.per_margin * margin).clamp(300.0, 1000.0);
        let mut scores: Vec<f64> = self.margins.iter().map(score).collect();
        scores.sort_by(f64::total_cmp);
        scores
    }
}

/// The quantile of sorted numbers at `share`, interpolated; `None` if there are none.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let at = share * sorted.len().saturating_sub(1) as f64;
    let (below, above) = (sorted.get(at.floor() as usize)?, sorted.get(at.ceil() as usize)?);
    Some(below + (above - below) * at.fract())
}

/// The declared scale, or that of the training if the declaration has none; and what was fitted, in words.
///
/// # Errors
/// What the section `score` lacks or has wrong.
pub(crate) fn scale(file: &DeclarationFile, fit: Option<&Fit>) -> Result<(Scale, Option<String>), FileFault> {
    let score = &file.declared.score;
    let declared = score.points_to_double.or(score.anchor_score).or(score.anchor_odds).or(score.base);
    let margin = *score.margin.get_ref();
    let odds = matches!(margin, Margin::LogOddsOfBad | Margin::LogOddsOfGood);
    let fits = odds && declared.is_none() && file.declared.kind == DeclaredKind::Credit;
    if let Some(flat) = fit.filter(|fit| fits && fit.is_flat()) {
        return Err(FileFault::of(
            &file.path,
            format!(
                "no scale can be fitted to `table`, because the model has one margin for all its {} wallets: give \
                 more wallets, or write `points_to_double`, `anchor_score` and `anchor_odds` under [score]",
                flat.margins.len()
            ),
        ));
    }
    match fit.and_then(|fit| fit.odds(margin)) {
        Some((scale, double, odds_of_middle)) if fits => {
            let words = format!("{double} points double the odds, {MIDDLE} has odds of {odds_of_middle:.4}");
            Ok((scale, Some(words)))
        }
        _ => Ok((Scale::of(file)?, None)),
    }
}

/// The declared deciles, or those of the training if the declaration has none; and what was fitted, or how crowded a
/// declared decile is, in words.
///
/// # Errors
/// The declared ones are not nine rising scores, or there is nothing to fit them to.
pub(crate) fn deciles(
    file: &DeclarationFile,
    fit: Option<&Fit>,
    scale: Scale,
) -> Result<(Vec<u32>, Option<String>), FileFault> {
    let scores = fit.map(|fit| fit.scores(scale)).unwrap_or_default();
    let is_declared = file.declared.score.deciles.is_some() || file.declared.kind == DeclaredKind::Sybil;
    if !is_declared && let Some(fitted) = tenths(&scores) {
        return Ok((fitted.clone(), Some(format!("deciles {fitted:?}"))));
    }
    let declared = crate::scale::deciles(file)?.to_vec();
    let words = crowded(&declared, &scores).map(|(decile, share)| {
        format!("decile {decile} has {:.0} % of the table: remove `deciles`, and they are fitted to it", 100.0 * share)
    });
    Ok((declared, words))
}

/// Where the deciles 2 to 10 begin, each above the one before.
fn tenths(scores: &[f64]) -> Option<Vec<u32>> {
    let mut lowest = Vec::new();
    for tenth in 1..10_u32 {
        let at = quantile(scores, f64::from(tenth) / 10.0)?.round() as u32;
        let above = lowest.last().map_or(301, |last: &u32| last + 1);
        lowest.push(at.max(above).min(991 + tenth));
    }
    Some(lowest)
}

/// The decile with most wallets and its share of them, if that is far more than a tenth.
fn crowded(lowest: &[u32], scores: &[f64]) -> Option<(usize, f64)> {
    let mut counts = [0_usize; 10];
    for score in scores {
        let whole = (score + 0.5) as u32;
        let place = lowest.iter().filter(|at| whole >= **at).count();
        if let Some(count) = counts.get_mut(place) {
            *count += 1;
        }
    }
    let (place, most) = counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
    let share = *most as f64 / scores.len().max(1) as f64;
    (share > CROWDED && scores.len() >= ENOUGH && !lowest.is_empty()).then_some((place + 1, share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_spreads_over_scores_and_deciles() {
        let fit = Fit { margins: (0..1000).map(|at| -3.0 + f64::from(at) / 250.0).collect() };
        let (scale, double, odds) = fit.odds(Margin::LogOddsOfBad).unwrap();
        assert!((double - 105.1).abs() < 0.2 && (odds - 1.002_f64.exp()).abs() < 0.01, "{double} {odds}");
        let scores = fit.scores(scale);
        assert!(scores[0] > 330.0 && scores[999] < 960.0 && (scores[500] - 650.0).abs() < 2.0);
        let lowest = tenths(&scores).unwrap();
        assert_eq!(crowded(&lowest, &scores), None, "{lowest:?}");
        let (decile, share) = crowded(&[370, 440, 510, 580, 585, 590, 600, 860, 930], &scores).unwrap();
        assert!(decile == 8 && share > 0.4, "{decile} {share}");
    }

    #[test]
    fn equal_wallets_still_have_rising_deciles() {
        for scores in [vec![300.0; 50], vec![650.0; 50], vec![1000.0; 50]] {
            let lowest = tenths(&scores).unwrap();
            assert!(lowest.is_sorted_by(|low, high| low < high), "{lowest:?}");
            assert!(lowest.iter().all(|at| (301..=1000).contains(at)), "{lowest:?}");
        }
    }
}
