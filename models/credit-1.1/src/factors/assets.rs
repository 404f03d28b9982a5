//! Asset Holdings: what the wallet could pay with, after its debts.

use super::factor;
use crate::{
    curve::{Curve, whole},
    seen::Seen,
    types::Factor,
    words::{count, dollars},
};

/// More than activity, since assets are what a debt is paid from; less than Repayment History, since they can leave in
/// a block.
const POSSIBLE: u32 = 140;

/// Dollars after debts. A hundred pays for a year of transactions, ten thousand is an ordinary saver, and past a
/// hundred thousand a wallet is not a better payer for being richer.
const WORTH: Curve = Curve(&[(10.0, 8.0), (100.0, 30.0), (1_000.0, 60.0), (10_000.0, 90.0), (100_000.0, 116.0)]);

/// Classes of asset held. The second shields against one price's fall; four of the six are as spread as most portfolios
/// get.
const CLASSES: Curve = Curve(&[(1.0, 5.0), (2.0, 14.0), (4.0, 24.0)]);

pub fn judge(seen: &Seen) -> Factor {
    let worth = (seen.sound_usd - seen.owed_usd).max(0.0);
    let points = whole(WORTH.at(worth) + CLASSES.at(f64::from(seen.classes_held)));
    let net = (seen.held_usd - seen.owed_usd).max(0.0);
    let description = if seen.held_usd < 1.0 {
        "You hold nothing here that has a price; keeping some assets in this wallet would help.".into()
    } else {
        let owed = if seen.owed_usd < 1.0 { String::new() } else { format!(" and owe {}", dollars(seen.owed_usd)) };
        let help = match () {
            () if net < seen.owed_usd => "owing less would help",
            () if worth < 10_000.0 => "holding more would help",
            () if seen.classes_held < 3 => "spreading them over more kinds of asset would help",
            () => "there is little left to gain",
        };
        let kinds = count(seen.classes_held.into(), "kind", "kinds");
        format!("You hold {} in {kinds} of asset{owed}; {help}.", dollars(seen.held_usd))
    };
    factor("Asset Holdings", points, POSSIBLE, description)
}
