//! The decile of every score, read from a credit model when it is loaded.

use assay_domain::{Decile, Score};

/// A table of deciles. A decile never falls as the score rises, so only the scores at which it rises are stored.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deciles {
    rises: Vec<(Score, Decile)>,
}

impl Deciles {
    /// Adds the decile of the next higher score.
    pub(crate) fn push(&mut self, score: Score, decile: Decile) {
        if decile > self.of(score) {
            self.rises.push((score, decile));
        }
    }

    pub(crate) fn of(&self, score: Score) -> Decile {
        self.rises.iter().rev().find(|(from, _)| *from <= score).map_or(Decile::MIN, |(_, decile)| *decile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decile_holds_until_the_next_rise() {
        let mut deciles = Deciles::default();
        for (score, decile) in [(300, 2), (301, 2), (302, 5), (303, 9)] {
            deciles.push(Score::new(score).unwrap(), Decile::new(decile).unwrap());
        }
        let found = [300, 301, 302, 303, 1000].map(|score| deciles.of(Score::new(score).unwrap()).get());
        assert_eq!(found, [2, 2, 5, 9, 9]);
    }
}
