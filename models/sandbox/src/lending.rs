//! The lending history of a mock wallet, and what it has in lending now.

use crate::{
    Pool, Position,
    dice::Dice,
    places::{Chain, Market},
    wallet::{DAY, LAST, Wallet, topic},
};

/// Every market on the wallet's chains, with the loans shared among them.
pub fn pools(address: &[u8], wallet: &Wallet) -> Vec<Pool> {
    let mut dice = Dice::new(address, topic::LENDING);
    let markets: Vec<_> =
        wallet.chains.iter().flat_map(|chain| chain.markets.iter().map(move |market| (*chain, market))).collect();
    let mut loans = dice.within(wallet.band.loans.clone());
    let repaid = dice.within(wallet.band.repaid.clone());
    let mut liquidations = dice.within(wallet.band.liquidations.clone());
    let count = markets.len();
    let mut pools = Vec::with_capacity(count);
    for (at, (chain, market)) in markets.into_iter().enumerate() {
        let here = if at + 1 == count { loans } else { dice.within(0..=loans) };
        loans -= here;
        let liquidated = if here == 0 { 0 } else { std::mem::take(&mut liquidations) };
        pools.push(pool(&mut dice, wallet, chain, market, here, here * repaid / 100, liquidated));
    }
    pools
}

fn pool(
    dice: &mut Dice,
    wallet: &Wallet,
    chain: &Chain,
    market: &Market,
    borrow: u64,
    repay: u64,
    liquidation: u64,
) -> Pool {
    // A loan needs a deposit first; some wallets only save.
    let supply = if borrow > 0 || dice.chance(30) { dice.within(1..=borrow / 2 + 2) } else { 0 };
    let withdraw = dice.within(0..=supply / 2);
    // The last event is at least a week old, and the first before it.
    let opened = wallet.first_transaction.max(market.opened);
    let first = dice.within(opened..=opened.max(LAST - 14 * DAY));
    let last = dice.within(first..=first.max(LAST - 7 * DAY));
    let events = supply + withdraw + borrow + repay + liquidation;
    Pool {
        protocol: market.protocol.into(),
        market_address: market.address.into(),
        market: market.name.map(Into::into),
        chain_id: chain.id,
        synced_to_block: chain.head,
        supply,
        withdraw,
        borrow,
        repay,
        liquidation,
        first_event: (events > 0).then_some(first),
        last_event: (events > 0).then_some(if events == 1 { first } else { last }),
    }
}

/// What is supplied where more was deposited than withdrawn, and owed where more was borrowed than repaid.
pub fn positions(wallet: &Wallet, pools: &[Pool]) -> Vec<Position> {
    let open = |pool: &&Pool| pool.supply > pool.withdraw;
    let shares: u64 = pools.iter().filter(open).map(|pool| pool.supply - pool.withdraw).sum();
    pools
        .iter()
        .filter(open)
        .map(|pool| {
            // Half of what the wallet holds is supplied beside it, and at most half of that is borrowed against it.
            let supplied = wallet.dollars * (pool.supply - pool.withdraw) / (2 * shares).max(1);
            let unpaid = pool.borrow.saturating_sub(pool.repay);
            let borrowed = supplied * unpaid / (2 * pool.borrow).max(1);
            Position {
                name: pool.protocol.clone(),
                supplied: supplied as f64,
                borrowed: borrowed as f64,
                chain_id: pool.chain_id,
            }
        })
        .collect()
}
