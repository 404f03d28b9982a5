//! A random walk of wallets in vaults and deposits, and an independent book of it.

use std::collections::BTreeMap;

use alloy::primitives::{Address, U256};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::devnet::{Error, actors};
use assay_tests::lenders::Small;
use assay_tests::lenders::fluid::{Fluid, Share, VaultAt, VaultFactory};

/// Wallets of the walk. Strangers repay and deposit for others and never have a position.
pub(super) const WALKERS: usize = 12;
const OPERATIONS: usize = 3;

pub(super) fn name(walker: usize) -> String {
    format!("walker {walker}")
}

/// A position in the book, in the smallest units.
#[derive(Debug, Clone)]
pub(super) struct Booked {
    pub id: u64,
    pub owner: usize,
    pub vault: usize,
    pub collateral: f64,
    pub debt: f64,
    /// Whether it ever was liquidated.
    pub is_liquidated: bool,
    /// What the vault keeps as debt at the tick above, and is not owed.
    dust: f64,
    /// The tick of its last use, and how often that tick was liquidated before.
    tick: Option<(i64, u64)>,
}

/// What a wallet did with the tokens of deposits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Deposits {
    pub supplied: u64,
    pub withdrawn: u64,
}

/// The operations on positions while a wallet held them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Operations {
    pub supplied: u64,
    pub withdrawn: u64,
    pub borrowed: u64,
    pub repaid: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Book {
    pub positions: Vec<Booked>,
    pub deposits: BTreeMap<usize, Deposits>,
    shares: BTreeMap<(usize, usize), u128>,
    /// By vault and tick.
    liquidations: BTreeMap<(usize, i64), u64>,
    /// Wallets that have or had a position.
    pub owners: Vec<usize>,
    pub operations: BTreeMap<usize, Operations>,
    /// The positions used in the current block, with the changes of collateral and debt.
    used: Vec<(usize, f64, f64)>,
}

/// Numbers that look random, the same in each run.
pub(super) struct Numbers(pub u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// Between these shares.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() % 1_000_000) as f64 / 1e6
    }
}

/// A vault with a rate in whole units, and the size of a deposit.
pub(super) struct Place {
    pub vault: VaultAt,
    pub rate: f64,
    pub deposit: f64,
}

impl Place {
    /// The debt that collateral is worth, in the smallest units.
    fn worth(&self, collateral: f64) -> f64 {
        let (supply, borrow) = self.vault.decimals;
        collateral * self.rate * 10_f64.powi(i32::from(borrow) - i32::from(supply))
    }
}

/// Mines `blocks` blocks of random operations.
pub(super) async fn walk(
    chain: &mut Small,
    fluid: &Fluid,
    places: &[Place],
    book: &mut Book,
    numbers: &mut Numbers,
    blocks: usize,
) -> Result<(), Error> {
    for _ in 0..blocks {
        for _ in 0..OPERATIONS {
            book.operate(chain, fluid, places, numbers);
        }
        chain.mine().await?;
        book.end_block();
    }
    Ok(())
}

impl Book {
    fn operate(&mut self, chain: &mut Small, fluid: &Fluid, places: &[Place], numbers: &mut Numbers) {
        match numbers.below(12) {
            0 | 1 => self.open(chain, places, numbers),
            2 => self.transfer(chain, fluid, numbers),
            3 => self.liquidate(chain, places, numbers),
            4 | 5 => self.deposit(chain, fluid, numbers),
            _ => self.touch(chain, places, numbers),
        }
    }

    fn open(&mut self, chain: &mut Small, places: &[Place], numbers: &mut Numbers) {
        // Some wallets never have a position.
        let (owner, vault) = (numbers.below(WALKERS - 4), numbers.below(places.len()));
        let place = &places[vault];
        let collateral = (place.deposit * numbers.between(0.5, 2.0)).round();
        let is_borrowed = numbers.below(4) > 0;
        let debt = if is_borrowed { (place.worth(collateral) * numbers.between(0.1, 0.7)).round() } else { 0.0 };
        place.vault.queue(chain, wallet(&name(owner)), 0, collateral as i128, debt as i128);
        let id = self.positions.len() as u64 + 1;
        let mut booked = Booked { id, owner, vault, collateral, debt, is_liquidated: false, dust: 0.0, tick: None };
        self.place(&mut booked);
        self.used.push((self.positions.len(), collateral, debt));
        self.positions.push(booked);
        self.owners.push(owner);
    }

    /// Sets the tick of a position that was just used.
    fn place(&self, booked: &mut Booked) {
        (booked.tick, booked.dust) = (None, 0.0);
        if booked.debt > 0.0 {
            // The vault adds a billionth, and rounds up to a tick.
            let debt = booked.debt * (1.0 + 1e-9);
            let tick = ((debt / booked.collateral).ln() / 1.0015_f64.ln()).floor();
            booked.dust = 1.0015_f64.powf(tick + 1.0) * booked.collateral - debt;
            let tick = tick as i64;
            let before = self.liquidations.get(&(booked.vault, tick)).copied().unwrap_or_default();
            (booked.tick, booked.debt) = (Some((tick, before)), debt);
        }
    }

    fn transfer(&mut self, chain: &mut Small, fluid: &Fluid, numbers: &mut Numbers) {
        if self.positions.is_empty() {
            return;
        }
        let (place, to) = (numbers.below(self.positions.len()), numbers.below(WALKERS - 4));
        let booked = &mut self.positions[place];
        let [from, receiver] = [booked.owner, to].map(|walker| wallet(&name(walker)));
        let call = VaultFactory::transferFromCall { from, to: receiver, id: U256::from(booked.id) };
        chain.queue(from, fluid.factory, &call);
        booked.owner = to;
        self.owners.push(to);
    }

    /// Takes a part of all positions at a tick, or absorbs them.
    fn liquidate(&mut self, chain: &mut Small, places: &[Place], numbers: &mut Numbers) {
        let open: Vec<usize> = (0..self.positions.len()).filter(|place| self.is_liquidatable(*place)).collect();
        let Some(place) = open.get(numbers.below(open.len().max(1))).copied() else { return };
        let is_absorbed = numbers.below(3) == 0;
        let (debt, collateral) = if is_absorbed { (0, 0) } else { (700_000_000, 680_000_000) };
        let (vault, tick) = (self.positions[place].vault, self.positions[place].tick);
        places[vault].vault.queue_liquidation(chain, self.positions[place].id, debt, collateral);
        let (left, rest) = (debt as f64 / 1e9, collateral as f64 / 1e9);
        for booked in self.positions.iter_mut().filter(|booked| booked.vault == vault && booked.tick == tick) {
            booked.debt = ((booked.debt + booked.dust) * left - booked.dust).max(0.0);
            booked.collateral *= rest;
            booked.is_liquidated = true;
        }
        let tick = tick.map(|(tick, _)| tick).unwrap_or_default();
        *self.liquidations.entry((vault, tick)).or_default() += 1;
    }

    /// Whether it has a debt at a tick that was not liquidated since.
    fn is_liquidatable(&self, place: usize) -> bool {
        let booked = &self.positions[place];
        booked.debt > 0.0
            && booked.tick.is_some_and(|(tick, before)| {
                before == self.liquidations.get(&(booked.vault, tick)).copied().unwrap_or_default()
            })
    }

    /// Uses a position: by its owner, or by a stranger who repays or deposits.
    fn touch(&mut self, chain: &mut Small, places: &[Place], numbers: &mut Numbers) {
        if self.positions.is_empty() {
            return;
        }
        let at = numbers.below(self.positions.len());
        let mut booked = self.positions[at].clone();
        let (place, owner) = (&places[booked.vault], wallet(&name(booked.owner)));
        let stranger = wallet("stranger");
        let least = place.deposit * 1e-3;
        let (from, collateral, debt) = match numbers.below(6) {
            0 => (owner, (place.deposit * numbers.between(0.1, 1.0)).round(), 0.0),
            1 => (stranger, (place.deposit * numbers.between(0.1, 1.0)).round(), 0.0),
            2 | 3 if booked.debt > place.worth(least) => {
                let from = if numbers.below(2) == 0 { owner } else { stranger };
                (from, 0.0, -(booked.debt * numbers.between(0.1, 0.5)).round())
            }
            4 if place.worth(booked.collateral) * 0.6 > booked.debt + place.worth(least) => {
                (owner, 0.0, (place.worth(booked.collateral) * 0.6 - booked.debt).round())
            }
            5 if booked.debt == 0.0 && booked.collateral > least => (owner, f64::NEG_INFINITY, 0.0),
            5 if booked.debt > 0.0 && booked.debt < place.worth(booked.collateral) * 0.2 => {
                (stranger, 0.0, f64::NEG_INFINITY)
            }
            _ => return,
        };
        let amount = |amount: f64| if amount.is_infinite() { i128::MIN } else { amount as i128 };
        place.vault.queue(chain, from, booked.id, amount(collateral), amount(debt));
        let after = |before: f64, change: f64| if change.is_infinite() { 0.0 } else { before + change };
        (booked.collateral, booked.debt) = (after(booked.collateral, collateral), after(booked.debt, debt));
        self.place(&mut booked);
        self.positions[at] = booked;
        self.used.push((at, collateral, debt));
    }

    /// Counts the operations of a block for those who hold the positions at its end.
    fn end_block(&mut self) {
        for (at, collateral, debt) in self.used.drain(..) {
            let did = self.operations.entry(self.positions[at].owner).or_default();
            did.supplied += u64::from(collateral > 0.0);
            did.withdrawn += u64::from(collateral < 0.0);
            did.borrowed += u64::from(debt > 0.0);
            did.repaid += u64::from(debt < 0.0);
        }
    }

    fn deposit(&mut self, chain: &mut Small, fluid: &Fluid, numbers: &mut Numbers) {
        let (walker, of) = (numbers.below(WALKERS - 1), numbers.below(2));
        let (owner, share) = (wallet(&name(walker)), fluid.shares[of]);
        let held = self.shares.get(&(walker, of)).copied().unwrap_or_default();
        let did = self.deposits.entry(walker).or_default();
        match numbers.below(4) {
            0 if held > 0 => {
                chain.queue(owner, share, &Share::redeemCall { shares: U256::from(held), receiver: owner, owner });
                self.shares.insert((walker, of), 0);
                did.withdrawn += 1;
            }
            1 if held > 1 => {
                let to = numbers.below(WALKERS - 1);
                let call = Share::transferCall { to: wallet(&name(to)), shares: U256::from(held / 2) };
                chain.queue(owner, share, &call);
                *self.shares.entry((walker, of)).or_default() -= held / 2;
                *self.shares.entry((to, of)).or_default() += held / 2;
                // A receiver without a deposit has shares, too.
                self.deposits.entry(to).or_default();
            }
            by => {
                // The stub has whole shares at a price of one.
                let assets = 1_000_000 + u128::from(numbers.next() % 1_000_000_000);
                let from = if by == 2 { wallet("stranger") } else { owner };
                chain.queue(from, share, &Share::depositCall { assets: U256::from(assets), receiver: owner });
                *self.shares.entry((walker, of)).or_default() += assets;
                did.supplied += 1;
            }
        }
    }

    /// The shares of a wallet.
    pub(super) fn shares(&self, walker: usize) -> [u128; 2] {
        [0, 1].map(|of| self.shares.get(&(walker, of)).copied().unwrap_or_default())
    }

    pub(super) fn of(&self, walker: usize) -> impl Iterator<Item = &Booked> {
        self.positions.iter().filter(move |booked| booked.owner == walker)
    }
}

/// Who sets prices.
pub(super) fn governor() -> Address {
    actors::address(actors::DEPLOYER)
}
