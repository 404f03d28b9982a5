//! What a real model would say of a mock score: five factors whose points and the base of 300 add up to it.

use crate::{
    dice::Dice,
    lending, tokens,
    types::{Factor, Rating},
    wallet::{DAY, LAST, Wallet, topic},
};

/// Labels and maxima as in the credit model; the maxima sum to 700.
const POSSIBLE: [(&str, u32); 5] = [
    ("Wallet Age", 120),
    ("Transaction History", 120),
    ("DeFi Activity", 120),
    ("Asset Holdings", 140),
    ("Repayment History", 200),
];

pub fn factors(address: &[u8]) -> Vec<Factor> {
    let wallet = Wallet::of(address);
    let pools = lending::pools(address, &wallet);
    let sum = |count: fn(&crate::Pool) -> u64| pools.iter().map(count).sum::<u64>();
    let (loans, repaid, liquidated) = (sum(|pool| pool.borrow), sum(|pool| pool.repay), sum(|pool| pool.liquidation));
    let events = sum(|pool| pool.supply + pool.withdraw) + loans + repaid;
    let held: f64 = tokens::tokens(address, &wallet).iter().map(|token| token.value_usd).sum();
    let days = (LAST - wallet.first_transaction) / DAY;
    let (sent, chains) = (wallet.transactions, wallet.chains.len() as u64);
    let texts = [
        format!("Your wallet has been in use for {days} day{}; age grows by itself.", s(days)),
        format!(
            "You have sent {sent} transaction{} on {chains} chain{}; staying active would help.",
            s(sent),
            s(chains)
        ),
        format!("You have used lending markets {events} time{}; using them more would help.", s(events)),
        format!("You hold {} dollars; keeping more in this wallet would help.", held as u64),
        format!(
            "You made {repaid} repayment{} on {loans} loan{} and were liquidated {liquidated} time{}; \
             repaying on time would help.",
            s(repaid),
            s(loans),
            s(liquidated)
        ),
    ];
    let points = points(wallet.score, &mut Dice::new(address, topic::FACTORS));
    let factor = |((label, possible), (points, description)): (&(&str, u32), (u32, String))| Factor {
        label: (*label).into(),
        rating: rating(points, *possible),
        description,
        points: points.cast_signed(),
        possible: *possible,
    };
    POSSIBLE.iter().zip(points.into_iter().zip(texts)).map(factor).collect()
}

/// The points above 300, shared in proportion to the maxima and then moved about a little, so that wallets with one
/// score still differ.
fn points(score: u32, dice: &mut Dice) -> [u32; 5] {
    let total = score.saturating_sub(300).min(700);
    let mut points = POSSIBLE.map(|(_, possible)| total * possible / 700);
    let mut left = total - points.iter().sum::<u32>();
    for (points, (_, possible)) in points.iter_mut().zip(POSSIBLE) {
        let more = left.min(possible - *points);
        *points += more;
        left -= more;
    }
    let [age, transactions, defi, assets, _] = &mut points;
    for (from, to, room) in [(age, transactions, POSSIBLE[1].1), (defi, assets, POSSIBLE[3].1)] {
        let moved = u32::try_from(dice.within(0..=15)).unwrap_or(0).min(*from).min(room - *to);
        *from -= moved;
        *to += moved;
    }
    points
}

/// The range the whole score would be in if every factor did as well as this one.
fn rating(points: u32, possible: u32) -> Rating {
    match 300 + 700 * points / possible.max(1) {
        920.. => Rating::Excellent,
        840.. => Rating::VeryGood,
        750.. => Rating::Good,
        640.. => Rating::Fair,
        _ => Rating::Low,
    }
}

/// The ending of a noun after `n`.
fn s(n: u64) -> &'static str {
    if n == 1 { "" } else { "s" }
}
