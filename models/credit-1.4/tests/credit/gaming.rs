//! What a better score costs: points for dollars and days spent on looking better than one is. The card has the table.

use credit_1_4::{
    score,
    types::{Features, MarketFeatures},
};

use crate::wallets::{Owes as _, PLAIN, market, wallet};

fn aave() -> MarketFeatures {
    market("lenderA_v3")
}

fn of(features: &Features) -> i32 {
    i32::try_from(score(features).unwrap().score).unwrap()
}

fn one(market: MarketFeatures) -> i32 {
    of(&wallet(vec![market]))
}

/// What is done, its cost in words, and the score before and after.
fn attempts() -> Vec<(&'static str, &'static str, i32, i32)> {
    let newcomer = one(aave().holds(10.0));
    let known = || aave().carried(10_000.0, 365.0, 1_000.0);
    let risky = || known().owes(10_000.0, 1.05, 0.8, PLAIN);
    let liquidated = || known().liquidated(3, 2.0);
    let carried = |usd, days: f64| one(aave().carried(usd, days, days - 0.001));
    let wash = (0..100).fold(aave(), |all, n| all.carried(1_000.0, 90.0 - f64::from(n) / 2.0, 1.0 / 1440.0));
    let split = |usd| one(known().owes(usd, 1.05, 0.8, PLAIN));
    let parked = |usd| of(&wallet(vec![known().owes(1_000.0, 1.05, 0.8, PLAIN), market("lenderB_v3").holds(usd)]));
    vec![
        ("dust: $1 borrowed and repaid", "$0 and the fees", newcomer, carried(1.0, 0.01)),
        ("dust: $1 carried for 30 days", "interest on $1", newcomer, carried(1.0, 30.0)),
        ("100 wash loans of $1,000, a minute each", "the fees of 200 transactions", newcomer, one(wash)),
        ("flash loan of $1M", "the fee of a transaction", newcomer, one(aave().carried(1e6, 10.0, 0.0))),
        ("$1,000 carried for 1 day", "interest on $1,000", newcomer, carried(1_000.0, 1.0)),
        ("$1,000 carried for 30 days", "interest on $1,000", newcomer, carried(1_000.0, 30.0)),
        ("$1,000 carried for 365 days", "interest on $1,000", newcomer, carried(1_000.0, 365.0)),
        ("$1M carried for 30 days", "no more than with $1,000", newcomer, carried(1e6, 30.0)),
        ("$10,000 at 1.05: one of 100 wallets with $100 each", "fees of 99 wallets", one(risky()), split(100.0)),
        ("$1,000 at 1.05: one of 100 wallets with $10 each", "fees of 99 wallets", split(1_000.0), split(10.0)),
        ("$10,000 at 1.05, collateral to 2 for an hour", "an hour of $10,800", one(risky()), split_at(2.0)),
        ("$10,000 at 1.05, repaid for an hour", "an hour of $10,000", one(risky()), one(known())),
        ("$1,000 at 1.05, $100,000 parked elsewhere", "an hour of $100,000", split(1_000.0), parked(1e5)),
        ("$1,000 at 1.05, $1M parked elsewhere", "an hour of $1M", split(1_000.0), parked(1e6)),
        ("liquidated 2 days ago, a new wallet", "a move", one(liquidated()), newcomer),
        ("liquidated 2 days ago, 100 wash loans since", "the fees of 200 transactions", one(liquidated()), {
            one((0..100).fold(liquidated(), |all, n| all.carried(1_000.0, f64::from(n) / 100.0, 0.0007)))
        }),
    ]
}

fn split_at(factor: f64) -> i32 {
    one(aave().carried(10_000.0, 365.0, 1_000.0).owes(10_000.0, factor, 0.8, PLAIN))
}

#[test]
fn the_card_has_the_cost_of_each_attempt() {
    let card = include_str!("../../card.toml");
    let mut missing = Vec::new();
    for (what, cost, before, after) in attempts() {
        let row = format!("  [\"{what}\", \"{cost}\", \"{before}\", \"{after}\"],");
        println!("{row}");
        if !card.contains(&row) {
            missing.push(row);
        }
    }
    assert!(missing.is_empty(), "the card lacks\n{}", missing.join("\n"));
}
