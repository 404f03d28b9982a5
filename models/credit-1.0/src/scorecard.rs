//! The scorecard: 300 points to begin with, and what the four factors add.

use crate::{
    Assessment, decile,
    figures::Figures,
    types::{Factor, Features, Rating, Refusal},
};

/// The score of a wallet that nobody knows.
const BASE: u32 = 300;

/// Where a factor is full, and what it is worth then.
struct Scale {
    label: &'static str,
    full: u64,
    possible: u32,
}

/// Five years: one whole cycle of the market. A quarter of all points.
const AGE: Scale = Scale { label: "Wallet Age", full: 1825, possible: 175 };
/// A thousand transactions: a person's daily use over years. A quarter of all points.
const TRANSACTIONS: Scale = Scale { label: "Transaction History", full: 1000, possible: 175 };
/// A hundred lending events: what about one lending wallet in twenty reaches. The least, since activity alone says
/// little of credit.
const DEFI: Scale = Scale { label: "DeFi Activity", full: 100, possible: 150 };
/// A hundred thousand dollars: past that, richer is not safer. The most, since assets are what a debt is paid from.
const ASSETS: Scale = Scale { label: "Asset Holdings", full: 100_000, possible: 200 };

/// The assessment of `features`, the same to the bit wherever it is computed.
///
/// # Errors
/// [`Refusal::Missing`] where there are chains or markets and not one of them could be read. A wallet with nothing is
/// not refused: it scores 300.
pub fn score(features: &Features) -> Result<Assessment, Refusal> {
    let Some(figures) = Figures::of(features) else {
        return Err(Refusal::Missing(
            "a chain that could be read: the coverage of every chain and market is failed".into(),
        ));
    };
    let Figures { days, transactions, lending, dollars } = figures;
    let factors = vec![
        AGE.judge(
            days,
            format!("Your wallet has been in use for {days} day{}; this grows by itself until 5 years.", s(days)),
        ),
        TRANSACTIONS.judge(
            transactions,
            format!("You have sent {transactions} transaction{}; regular use until 1,000 would help.", s(transactions)),
        ),
        DEFI.judge(
            lending,
            format!(
                "You have used lending markets {lending} time{}; using them more, until 100, would help.",
                s(lending)
            ),
        ),
        ASSETS.judge(
            dollars,
            format!(
                "You hold about {dollars} dollar{}; keeping more in this wallet, until 100,000, would help.",
                s(dollars)
            ),
        ),
    ];
    let score = factors.iter().fold(BASE, |sum, factor| sum + factor.points.unsigned_abs());
    Ok(Assessment { score, decile: decile(score), factors })
}

impl Scale {
    /// Each doubling of the figure counts alike, and nothing counts past full.
    fn judge(&self, figure: u64, description: String) -> Factor {
        let share = if figure >= self.full { 1.0 } else { libm::log1p(figure as f64) / libm::log1p(self.full as f64) };
        let points = (share * f64::from(self.possible) + 0.5).floor() as i32;
        Factor { label: self.label.into(), rating: rating(share), description, points, possible: self.possible }
    }
}

/// The range the whole score would be in if every factor did as well as this one.
fn rating(share: f64) -> Rating {
    match 300.0 + 700.0 * share {
        920.0.. => Rating::Excellent,
        840.0.. => Rating::VeryGood,
        750.0.. => Rating::Good,
        640.0.. => Rating::Fair,
        _ => Rating::Low,
    }
}

/// The ending of a noun after `n`.
fn s(n: u64) -> &'static str {
    if n == 1 { "" } else { "s" }
}
