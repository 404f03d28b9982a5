//! The wallets behind figures: of each wallet one answer, so a wallet that is scored often counts once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use assay_domain::{Address, Score, stats::Joint, stats::split_mix};

/// Wallets that one record keeps. If there are more, it keeps those of every second wallet, then of every fourth, and
/// so on; the address decides, so all hours and hosts keep the same wallets.
const MOST: usize = 2_000;

/// One answer about each wallet, of a sample of the wallets if there are very many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WalletSample<A> {
    /// How often all wallets were halved.
    #[serde(default)]
    halvings: u32,
    /// By a hash of the address.
    answers: BTreeMap<u64, A>,
}

/// The newest answer of a challenger about each wallet.
pub type WalletAnswers = WalletSample<Answer>;

/// The challenger's answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Both scores, the champion's first.
    #[serde(rename = "s")]
    Scored(Score, Score),
    #[serde(rename = "r")]
    Refused,
    #[serde(rename = "f")]
    Failed,
}

fn hash(address: Address) -> u64 {
    let [.., a, b, c, d, e, f, g, h] = address.into_array();
    // An address can be chosen, so its bits are mixed.
    split_mix(0, u64::from_be_bytes([a, b, c, d, e, f, g, h]))
}

impl<A> Default for WalletSample<A> {
    fn default() -> Self {
        Self { halvings: 0, answers: BTreeMap::new() }
    }
}

impl<A: Copy> WalletSample<A> {
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Keeps the newest answer about a wallet, if the wallet is in the sample.
    pub fn see(&mut self, address: Address, answer: A) {
        let hash = hash(address);
        if self.has(hash) {
            self.answers.insert(hash, answer);
            self.fit();
        }
    }

    /// Keeps the first answer about a wallet. Returns the hash of a wallet that is in the sample and was not before.
    pub fn see_first(&mut self, address: Address, answer: A) -> Option<u64> {
        let hash = hash(address);
        if !self.has(hash) || self.answers.contains_key(&hash) {
            return None;
        }
        self.answers.insert(hash, answer);
        self.fit();
        self.has(hash).then_some(hash)
    }

    /// Whether the sample has the wallets with this hash.
    fn has(&self, hash: u64) -> bool {
        hash.leading_zeros() >= self.halvings
    }

    /// How often all wallets were halved.
    pub fn halvings(&self) -> u32 {
        self.halvings
    }

    /// Adds the answers of a later hour, or of another host.
    pub fn merge(&mut self, later: &Self) {
        self.answers.extend(&later.answers);
        self.halve(self.halvings.max(later.halvings));
    }

    /// Halves the wallets until there is room for them.
    fn fit(&mut self) {
        while self.answers.len() > MOST {
            self.halve(self.halvings + 1);
        }
    }

    fn halve(&mut self, halvings: u32) {
        self.halvings = halvings;
        self.answers.retain(|hash, _| hash.leading_zeros() >= halvings);
    }

    /// The number of wallets with such an answer; an estimate if not all are kept.
    pub fn with(&self, is_wanted: impl Fn(A) -> bool) -> u64 {
        self.estimate(self.answers.values().filter(|answer| is_wanted(**answer)).count() as u64)
    }

    /// The number of all wallets, of which the sample has `kept`.
    pub fn estimate(&self, kept: u64) -> u64 {
        kept << self.halvings.min(32)
    }

    /// The number of wallets; an estimate if not all are kept.
    pub fn count(&self) -> u64 {
        self.estimate(self.answers.len() as u64)
    }
}

impl WalletAnswers {
    /// The number of wallets that the challenger refused; an estimate if not all are kept.
    pub fn refused(&self) -> u64 {
        self.with(|answer| matches!(answer, Answer::Refused))
    }

    /// The scores of the kept wallets that both models scored.
    pub fn scores(&self) -> Joint {
        let mut scores = Joint::default();
        for answer in self.answers.values() {
            if let Answer::Scored(champion, challenger) = answer {
                scores.add(*champion, *challenger);
            }
        }
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(score: u32) -> Score {
        Score::new(score).unwrap()
    }

    #[test]
    fn a_wallet_counts_once_with_its_newest_answer() {
        let wallet = |n: u64| Address::left_padding_from(&n.to_be_bytes());
        let (mut first, mut second) = (WalletAnswers::default(), WalletAnswers::default());
        for _ in 0..5 {
            first.see(wallet(1), Answer::Scored(score(500), score(600)));
        }
        first.see(wallet(2), Answer::Refused);
        second.see(wallet(1), Answer::Scored(score(510), score(700)));
        second.see(wallet(3), Answer::Failed);
        let text = serde_json::to_string(&second).unwrap();
        assert_eq!(serde_json::from_str::<WalletAnswers>(&text).unwrap(), second, "{text}");
        first.merge(&second);
        assert_eq!((first.count(), first.refused()), (3, 1));
        assert_eq!(first.scores().cells().collect::<Vec<_>>(), [(score(510), score(700), 1)]);
    }

    #[test]
    fn the_first_answer_about_a_wallet_stays() {
        let mut answers = WalletSample::default();
        for (wallet, answer, is_first) in [(1_u64, 'a', true), (1, 'b', false), (2, 'b', true), (2, 'b', false)] {
            let hash = answers.see_first(Address::left_padding_from(&wallet.to_be_bytes()), answer);
            assert_eq!(hash.is_some(), is_first, "{wallet} {answer}");
        }
        assert_eq!(['a', 'b'].map(|wanted| answers.with(|answer| answer == wanted)), [1, 1]);
    }

    #[test]
    fn of_many_wallets_a_share_is_kept_the_same_everywhere() {
        let seen = |wallets: std::ops::Range<u64>| {
            let mut answers = WalletAnswers::default();
            for n in wallets {
                answers.see(Address::left_padding_from(&n.to_be_bytes()), Answer::Scored(score(500), score(600)));
            }
            answers
        };
        let (mut one, other) = (seen(0..30_000), seen(20_000..24_000));
        assert!(one.answers.len() <= MOST && other.answers.len() <= MOST);
        assert!((27_000..33_000).contains(&one.count()), "{}", one.count());
        // All of the other's wallets are known already.
        let before = one.clone();
        one.merge(&other);
        assert_eq!(one, before);
    }
}
