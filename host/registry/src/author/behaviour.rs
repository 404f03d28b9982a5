//! Behaviour that is valid in every single answer and still a mistake: what `check` finds by comparing answers.

use crate::{CreditModel, call::samples};
use assay_domain::features::Features;

/// The years for which the same wallet is asked about again.
const YEARS: [u64; 6] = [1, 2, 3, 4, 5, 10];
/// The most by which the order of sums may move a score.
const ROUNDING: u32 = 1;

/// Hints about a model that passed the self-test.
pub(super) fn hints(model: &CreditModel) -> Vec<String> {
    let wallet = samples::in_years(0);
    let score = |features: &Features| model.score(features);
    let Ok(before) = score(&wallet).map(|answer| answer.score.get()) else { return Vec::new() };
    let mut found = Vec::new();
    let mut other =
        |what: &str, features: &Features, is_wrong: &dyn Fn(u32) -> bool, advice: &str| match score(features) {
            Ok(answer) if !is_wrong(answer.score.get()) => {}
            Ok(answer) => {
                found.push(format!("an ordinary wallet scores {before}, and {what} {}: {advice}", answer.score.get()));
            }
            Err(error) => {
                found.push(format!("an ordinary wallet scores {before}, and {what} none ({error}): {advice}"));
            }
        };
    let differs = |score: u32| score.abs_diff(before) > ROUNDING;
    other(
        "with its lists in reverse order",
        &reversed(&wallet),
        &differs,
        "a server lists chains, markets and holdings in any order, so look for a field by what it names",
    );
    for years in YEARS {
        let later = if years == 1 { "a year later".to_owned() } else { format!("{years} years later") };
        let what = format!("{later}, with all its times as far from `as_of`,");
        other(&what, &samples::in_years(years), &differs, "measure time from `as_of`, and not from a date of your own");
    }
    other(
        "liquidated three times more, yesterday,",
        &liquidated(&wallet),
        &|score| score > before,
        "a liquidation should not raise a score",
    );
    other(
        "without debt and positions",
        &without_debt(&wallet),
        &|score| score + 100 < before,
        "repaying everything should not cost a hundred points",
    );
    other(
        "with unread lending",
        &unread(&wallet),
        &|score| score > before,
        "what could not be read should not count in favour of a wallet",
    );
    found
}

fn reversed(wallet: &Features) -> Features {
    let mut features = wallet.clone();
    features.chains.reverse();
    features.markets.reverse();
    features.holdings.reverse();
    features.identity.reverse();
    features
}

fn liquidated(wallet: &Features) -> Features {
    let mut features = wallet.clone();
    let yesterday = features.as_of.saturating_sub(86_400);
    for market in &mut features.markets {
        market.liquidation = market.liquidation.map(|count| count + 3);
        market.last_liquidation = Some(yesterday);
        market.last_event = Some(yesterday);
    }
    features
}

fn without_debt(wallet: &Features) -> Features {
    let mut features = wallet.clone();
    for chain in &mut features.chains {
        chain.borrowed_usd = 0.0;
    }
    for market in &mut features.markets {
        (market.borrowed_usd, market.repay) = (0.0, market.borrow);
        if let Some(position) = &mut market.position {
            position.debt.clear();
            (position.health_factor, position.utilisation) = (None, Some(0.0));
        }
    }
    features
}

fn unread(wallet: &Features) -> Features {
    use assay_domain::Coverage::Failed;
    let mut features = wallet.clone();
    for market in &mut features.markets {
        (market.coverage, market.events_coverage) = (Failed, Failed);
        (market.supply, market.withdraw, market.borrow) = (None, None, None);
        (market.repay, market.liquidation, market.liquidation_days) = (None, None, None);
        (market.first_event, market.last_event, market.last_liquidation) = (None, None, None);
        market.events.clear();
    }
    features
}
