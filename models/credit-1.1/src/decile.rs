//! The decile of a score.

/// The lowest scores of deciles 2 to 10.
///
/// They stand where the tenths of a population fall that has 7 % of its wallets in `low`, 12 % in `fair`, 34 % in
/// `good`, 20 % in `very_good` and 27 % in `excellent`, spread evenly within each range (`low` being 300 to 639, and so
/// on). That is the spread published for scored borrowers on this scale, and it is fixed with the version: a wallet's
/// decile moves with its score alone.
const LOWEST: [u32; 9] = [668, 753, 780, 806, 833, 868, 908, 941, 971];

/// 1 to 10, never falling as `score` rises. Scores outside 300 to 1000 get the decile of the nearer end.
pub fn decile(score: u32) -> u8 {
    LOWEST.iter().fold(1, |decile, lowest| decile + u8::from(score >= *lowest))
}
