//! A stub of an Aave v3 pool with a wallet that has very many events, counted from the receipts of every block. This
//! module never queries logs by filter, and shares no code with the host.

use alloy::primitives::{Address, U256};
use alloy::sol;
use alloy::sol_types::SolEvent;

use super::{Small, stubs};
use crate::devnet::receipts::{Borrow, LendingEvents, Repay, Supply, Withdraw};
use crate::devnet::{Error, actors};

sol! {
    interface BusyPool {
        function live(address user, uint256 rounds) external;
    }
}

/// Rounds in one transaction, with four events and eight logs of tokens each; they use half of the gas limit.
const ROUNDS: u64 = 250;

/// Deploys the pool and returns its address.
///
/// # Errors
/// When compiling or a transaction fails.
pub async fn deploy(chain: &mut Small) -> Result<Address, Error> {
    let code = stubs("BusyPool.sol").await?;
    let code = code.get("BusyPoolStub").cloned().ok_or_else(|| Error::Unknown("the stub BusyPoolStub".to_owned()))?;
    let pool = chain.create(code, "a busy pool");
    chain.mine().await?;
    Ok(pool)
}

/// `wallet` supplies, borrows, repays and withdraws this many times, with one transaction a day.
///
/// # Errors
/// When a transaction fails.
pub async fn live(chain: &mut Small, pool: Address, wallet: Address, rounds: u64) -> Result<(), Error> {
    let mut left = rounds;
    while left > 0 {
        let now = left.min(ROUNDS);
        let call = BusyPool::liveCall { user: wallet, rounds: U256::from(now) };
        chain.call(actors::address(actors::DEPLOYER), pool, &call).await?;
        left -= now;
    }
    Ok(())
}

/// The events of `wallet` in `pool`.
///
/// # Errors
/// When the node does not answer.
pub async fn lived(chain: &Small, pool: Address, wallet: Address) -> Result<LendingEvents, Error> {
    let mut lived = LendingEvents::default();
    for number in 1..=chain.head {
        let (time, logs) = chain.block(number).await?;
        for log in logs.iter().filter(|log| log.address == pool && log.topics.get(2) == Some(&wallet.into_word())) {
            let count = match log.topics.first() {
                Some(&Supply::SIGNATURE_HASH) => &mut lived.supply,
                Some(&Withdraw::SIGNATURE_HASH) => &mut lived.withdraw,
                Some(&Borrow::SIGNATURE_HASH) => &mut lived.borrow,
                Some(&Repay::SIGNATURE_HASH) => &mut lived.repay,
                _ => continue,
            };
            *count += 1;
            lived.first.get_or_insert(time);
            lived.last = Some(time);
        }
    }
    Ok(lived)
}
