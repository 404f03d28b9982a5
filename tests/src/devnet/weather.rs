//! What happens to all wallets: liquidity to borrow from, prices that fall and come back, and who is liquidated
//! meanwhile.

use super::actors::{self, BANK, DEPLOYER, FAUCET, LIQUIDATOR};
use super::life::{Act, BASE, ETHEREUM, Step, midnight};
use super::tokens::{ASSETS, Asset, USDC, WETH};

/// Days the devnet looks back: a little over four years.
pub const YEARS: f64 = 1_500.0;

/// A fall of WETH that is over in two hours, and who is liquidated in it: name and USDC of debt covered.
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
    // The twin of the first is as liquidatable in that hour; nobody comes for it.
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

/// Everything nobody's life contains.
pub fn steps() -> Vec<Step> {
    let mut steps = Vec::new();
    for chain in [ETHEREUM, BASE] {
        let mut at = |hours, by, act| steps.push(Step { chain, ago: midnight(YEARS - 1.0, hours), by, act });
        let bank = actors::address(BANK);
        for asset in ASSETS.into_iter().filter(|asset| asset.reserve) {
            // Twenty million dollars of each, so that nobody's borrowing moves a rate.
            let amount = 20_000_000.0 / asset.dollars;
            at(0, FAUCET, Act::Mint { asset, to: bank, amount });
            at(1, BANK, Act::Approve { asset });
            at(1, BANK, Act::Supply { asset, amount, owner: bank });
        }
        at(0, FAUCET, Act::Mint { asset: USDC, to: actors::address(LIQUIDATOR), amount: 1_000_000.0 });
        at(1, LIQUIDATOR, Act::Approve { asset: USDC });
    }
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
