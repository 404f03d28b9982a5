//! A borrower: collateral and debt, how careful it is, and its actions in a week.

use alloy::primitives::{Address, keccak256};

use super::account::Account;
use super::prices::Prices;
use crate::devnet::life::Act;
use crate::devnet::tokens::{ALL, Asset, DAI, USDC, WBTC, WETH};
use crate::dice::Dice;

/// Weeks in which borrowers arrive.
const ARRIVALS: u64 = 40;
/// A careful borrower repays below this health factor.
const NERVOUS: f64 = 1.25;
/// Upper bound of a debt's growth by interest in a week.
const INTEREST: f64 = 1.01;
/// A loan of fewer dollars is dust and gets no outcome.
const DUST: f64 = 10.0;

#[derive(Debug)]
pub struct Borrower {
    pub address: Address,
    pub collateral: Asset,
    pub debt: Asset,
    /// Value of the first deposit of collateral, in dollars.
    dollars: f64,
    /// The intended ratio of debt to collateral.
    leverage: f64,
    careful: bool,
    arrives: u64,
    dice: Dice,
}

/// Returns `count` borrowers, the same for the same seed.
pub fn all(count: u64, seed: u64) -> Vec<Borrower> {
    (0..count).map(|number| Borrower::new(number, seed)).collect()
}

/// A ratio of debt to collateral. The pool allows up to 0.8.
fn leverage(dice: &mut Dice) -> f64 {
    0.24 + 0.53 * dice.share()
}

impl Borrower {
    fn new(number: u64, seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_add((number + 1) << 20));
        let volatile = dice.pick(&[WETH, WETH, WBTC]);
        let stable = dice.pick(&[USDC, DAI]);
        let (collateral, debt) = match dice.below(20) {
            0..2 => (USDC, DAI),
            2..3 => (WETH, WBTC),
            3..4 => (USDC, volatile),
            _ => (volatile, stable),
        };
        let dust = number % 20 == 7;
        // From two hundred to a hundred thousand dollars, log-uniform.
        let dollars = if dust { DUST } else { 200.0 * 500_f64.powf(dice.share()) };
        Self {
            address: Address::from_slice(&keccak256(format!("assay economy {number}"))[12..]),
            collateral: if dust { WETH } else { collateral },
            debt: if dust { USDC } else { debt },
            dollars,
            leverage: leverage(&mut dice),
            careful: dice.chance(20),
            // Two of three arrive in the first week.
            arrives: dice.below(ARRIVALS * 3).saturating_sub(ARRIVALS * 2),
            dice,
        }
    }

    /// Returns the actions of a borrower in one week, based on the state of its account.
    pub fn acts(&mut self, week: u64, account: Account, prices: Prices) -> Vec<Act> {
        if week < self.arrives {
            return Vec::new();
        }
        if week == self.arrives {
            return self.opens(prices);
        }
        if account.debt == 0.0 {
            return if self.dice.chance(6) { self.reopens(account, prices) } else { Vec::new() };
        }
        if self.careful && account.health < NERVOUS && self.dice.chance(50) {
            return self.repays(account.debt * 0.4, prices);
        }
        match self.dice.below(100) {
            0..3 => {
                let part = 0.2 + 0.4 * self.dice.share();
                self.repays(account.debt * part, prices)
            }
            3..6 => self.borrows(account, prices),
            6..7 => self.closes(account, prices),
            _ => Vec::new(),
        }
    }

    fn opens(&mut self, prices: Prices) -> Vec<Act> {
        let price = prices.of(self.collateral.symbol);
        let (asset, owner) = (self.collateral, self.address);
        // The deposit is rounded up and the loan down, so the loan is never too large.
        let amount = (self.dollars / price * 1000.0).ceil() / 1000.0;
        let deposit = [
            Act::Mint { asset, to: owner, amount },
            Act::Approve { asset },
            Act::Approve { asset: self.debt },
            Act::Supply { asset, amount, owner },
        ];
        deposit.into_iter().chain(self.loan(amount * price * self.leverage, prices)).collect()
    }

    /// Borrows against the remaining collateral, or against a new deposit.
    fn reopens(&mut self, account: Account, prices: Prices) -> Vec<Act> {
        self.leverage = leverage(&mut self.dice);
        if account.collateral < DUST { self.opens(prices) } else { self.borrows(account, prices) }
    }

    fn borrows(&self, account: Account, prices: Prices) -> Vec<Act> {
        let wanted = account.collateral * self.leverage - account.debt;
        if wanted < account.collateral * 0.03 {
            return Vec::new();
        }
        self.loan(wanted.min(account.available * 0.95), prices).into_iter().collect()
    }

    /// A loan of this many dollars, or `None` if that rounds to no tokens.
    fn loan(&self, dollars: f64, prices: Prices) -> Option<Act> {
        let amount = (dollars / prices.of(self.debt.symbol) * 1000.0).floor() / 1000.0;
        (amount > 0.0).then_some(Act::Borrow { asset: self.debt, amount, owner: self.address })
    }

    fn repays(&self, dollars: f64, prices: Prices) -> Vec<Act> {
        let (asset, owner) = (self.debt, self.address);
        let amount = (dollars / prices.of(asset.symbol) * 1000.0).floor() / 1000.0;
        if amount == 0.0 {
            return Vec::new();
        }
        vec![Act::Mint { asset, to: owner, amount }, Act::Repay { asset, amount, owner }]
    }

    /// Repays everything. Half of the borrowers also withdraw their collateral.
    fn closes(&mut self, account: Account, prices: Prices) -> Vec<Act> {
        let (asset, owner) = (self.debt, self.address);
        let amount = (account.debt / prices.of(asset.symbol) * INTEREST * 1000.0).ceil() / 1000.0;
        let mut acts = vec![Act::Mint { asset, to: owner, amount }, Act::Repay { asset, amount: ALL, owner }];
        if account.collateral > 0.0 && self.dice.chance(50) {
            acts.push(Act::Withdraw { asset: self.collateral, amount: ALL });
        }
        acts
    }
}
