//! The steps that affect all wallets: liquidity, falling and recovering prices, and liquidations.

use super::actors::{self, BANK, DEPLOYER, FAUCET, LIQUIDATOR};
use super::life::{Act, BASE, ETHEREUM, Step, midnight};
use super::tokens::{ASSETS, Asset, USDC, WETH};

/// Length of the history in days: a little over four years.
pub const YEARS: f64 = 1_500.0;

/// A fall of WETH for two hours, and its liquidations: name of the wallet, and USDC of debt that is repaid.
struct Fall {
    chain: u64,
    days: f64,
    to: f64,
    liquidated: &'static [(&'static str, f64)],
}

const FALLS: &[Fall] = &[
    Fall { chain: ETHEREUM, days: 1_200.0, to: 1_400.0, liquidated: &[("liquidated-long-ago", 3_000.0)] },
    Fall { chain: ETHEREUM, days: 900.0, to: 1_400.0, liquidated: &[("liquidated-serially", 3_000.0)] },
    Fall { chain: ETHEREUM, days: 600.0, to: 1_400.0, liquidated: &[("liquidated-serially", 3_000.0)] },
    // `liquidated-twin` can be liquidated in that hour too, but is not.
    Fall {
        chain: ETHEREUM,
        days: 400.0,
        to: 1_400.0,
        liquidated: &[("liquidated", 3_000.0), ("liquidated-serially", 3_000.0)],
    },
    Fall { chain: ETHEREUM, days: 100.0, to: 1_400.0, liquidated: &[("liquidated-serially", 3_000.0)] },
    Fall { chain: ETHEREUM, days: 12.0, to: 1_400.0, liquidated: &[("liquidated-recently", 3_000.0)] },
    Fall { chain: BASE, days: 300.0, to: 1_400.0, liquidated: &[("liquidated-on-base", 3_000.0)] },
];

/// All steps outside the lives of wallets.
pub fn steps() -> Vec<Step> {
    let mut steps = liquidity(ETHEREUM);
    steps.extend(liquidity(BASE));
    for fall in FALLS {
        let mut at = |hours, by, act| steps.push(Step { chain: fall.chain, ago: midnight(fall.days, hours), by, act });
        let asset: Asset = WETH;
        at(0, DEPLOYER, Act::Price { asset, dollars: fall.to });
        for &(name, cover) in fall.liquidated {
            at(1, LIQUIDATOR, Act::Liquidate { user: actors::address(name), collateral: WETH, debt: USDC, cover });
        }
        at(2, DEPLOYER, Act::Price { asset, dollars: WETH.dollars });
    }
    let between = [actors::address("liquidated"), actors::address("liquidated-twin")];
    for asset in [WETH, USDC] {
        steps.push(Step {
            chain: ETHEREUM,
            ago: midnight(250.0, 0),
            by: FAUCET,
            act: Act::Equalise { asset, between },
        });
    }
    steps
}

/// The assets that borrowers take, and the asset that the liquidator pays with.
pub fn liquidity(chain: u64) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut at = |hours, by, act| steps.push(Step { chain, ago: midnight(YEARS - 1.0, hours), by, act });
    let bank = actors::address(BANK);
    for asset in ASSETS.into_iter().filter(|asset| asset.reserve) {
        // Twenty million dollars of each, so that borrowing hardly changes a rate.
        let amount = 20_000_000.0 / asset.dollars;
        at(0, FAUCET, Act::Mint { asset, to: bank, amount });
        at(1, BANK, Act::Approve { asset });
        at(1, BANK, Act::Supply { asset, amount, owner: bank });
    }
    at(0, FAUCET, Act::Mint { asset: USDC, to: actors::address(LIQUIDATOR), amount: 1_000_000.0 });
    at(1, LIQUIDATOR, Act::Approve { asset: USDC });
    steps
}
