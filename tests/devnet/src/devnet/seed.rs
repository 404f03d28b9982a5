//! Turns lives and weather into blocks: every step at its time, steps of the same time in one block.
//!
//! Each start builds the chain again, in under three seconds. A dump would not help: its ages would be relative to
//! another day, and with old nonces anvil writes the whole state for every block, 76 MB in two seconds.

use std::collections::BTreeMap;

use alloy::primitives::{Address, U256};
use alloy::sol;
use alloy::sol_types::SolCall;

use super::aave::Market;
use super::actors;
use super::life::{Act, Step};
use super::rpc::Rpc;
use super::sender::{Sender, Tx};
use super::tokens::{Asset, units};
use super::{Error, feed};

sol! {
    interface Token {
        function approve(address spender, uint256 amount) external returns (bool);
        function transfer(address to, uint256 amount) external returns (bool);
        function mint(address to, uint256 amount) external returns (bool);
        function balanceOf(address owner) external view returns (uint256);
        function approveDelegation(address delegatee, uint256 amount) external;
    }

    interface Pool {
        function supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode) external;
        function withdraw(address asset, uint256 amount, address to) external returns (uint256);
        function borrow(address asset, uint256 amount, uint256 interestRateMode, uint16 referralCode,
            address onBehalfOf) external;
        function repay(address asset, uint256 amount, uint256 interestRateMode,
            address onBehalfOf) external returns (uint256);
        function repayWithATokens(address asset, uint256 amount, uint256 interestRateMode) external returns (uint256);
        function liquidationCall(address collateralAsset, address debtAsset, address user, uint256 debtToCover,
            bool receiveAToken) external;
    }

    interface DataProvider {
        function getReserveTokensAddresses(address asset) external view returns (address aToken, address stableDebt,
            address variableDebt);
    }
}

/// Aave's number for the variable rate. Newer deployments have no stable rate.
const VARIABLE: U256 = U256::from_limbs([2, 0, 0, 0]);

/// Runs the steps of one chain, and reports the finished and the total number of blocks to `progress`.
///
/// # Errors
/// When a transaction fails; the message names the account and the step.
pub async fn run(
    rpc: &Rpc,
    market: &Market,
    sender: &mut Sender,
    steps: &[Step],
    now: u64,
    mut progress: impl FnMut(usize, usize),
) -> Result<(), Error> {
    let mut blocks: BTreeMap<u64, Vec<&Step>> = BTreeMap::new();
    for step in steps {
        blocks.entry(now.saturating_sub(step.ago)).or_default().push(step);
    }
    let total = blocks.len();
    for (done, (time, steps)) in blocks.into_iter().enumerate() {
        for step in steps {
            let days = step.ago as f64 / 86_400.0;
            let label = format!("{} {days:.2} days ago on chain {}: {:?}", step.by, step.chain, step.act);
            for tx in transactions(rpc, market, actors::address(step.by), &step.act, label).await? {
                sender.queue(tx);
            }
        }
        sender.mine(time).await?;
        progress(done + 1, total);
    }
    Ok(())
}

/// The transactions of one step of `from`; `label` names it in an error.
///
/// # Errors
/// When the node does not answer, or the market has no such token.
pub async fn transactions(
    rpc: &Rpc,
    market: &Market,
    from: Address,
    act: &Act,
    label: String,
) -> Result<Vec<Tx>, Error> {
    let pool = market.pool;
    let token = |asset: &Asset| market.token(asset.symbol).ok_or_else(|| Error::Unknown(asset.symbol.to_owned()));
    let at = |asset: &Asset| token(asset).map(|token| token.address);
    let amount = |asset: &Asset, tokens: f64| units(tokens, asset.decimals);
    let (to, data) = match act {
        Act::Send { to, ether } => {
            let value = units(*ether, 18);
            return Ok(vec![Tx { value, ..Tx::call(from, *to, Vec::new(), label) }]);
        }
        Act::Equalise { asset, between } => {
            return equalise(rpc, from, at(asset)?, amount(asset, 1.0), *between, &label).await;
        }
        Act::Mint { asset, to, amount: n } => {
            (at(asset)?, Token::mintCall { to: *to, amount: amount(asset, *n) }.abi_encode())
        }
        Act::Transfer { asset, to, amount: n } => {
            (at(asset)?, Token::transferCall { to: *to, amount: amount(asset, *n) }.abi_encode())
        }
        Act::Approve { asset } => (at(asset)?, Token::approveCall { spender: pool, amount: U256::MAX }.abi_encode()),
        Act::Supply { asset, amount: n, owner } => {
            let call =
                Pool::supplyCall { asset: at(asset)?, amount: amount(asset, *n), onBehalfOf: *owner, referralCode: 0 };
            (pool, call.abi_encode())
        }
        Act::Withdraw { asset, amount: n } => {
            (pool, Pool::withdrawCall { asset: at(asset)?, amount: amount(asset, *n), to: from }.abi_encode())
        }
        Act::Borrow { asset, amount: n, owner } => {
            let (asset, amount) = (at(asset)?, amount(asset, *n));
            (
                pool,
                Pool::borrowCall { asset, amount, interestRateMode: VARIABLE, referralCode: 0, onBehalfOf: *owner }
                    .abi_encode(),
            )
        }
        Act::Repay { asset, amount: n, owner } => {
            let (asset, amount) = (at(asset)?, amount(asset, *n));
            (pool, Pool::repayCall { asset, amount, interestRateMode: VARIABLE, onBehalfOf: *owner }.abi_encode())
        }
        Act::RepayWithATokens { asset, amount: n } => (
            pool,
            Pool::repayWithATokensCall { asset: at(asset)?, amount: amount(asset, *n), interestRateMode: VARIABLE }
                .abi_encode(),
        ),
        Act::Delegate { asset, to, amount: n } => {
            let debt = rpc
                .call(market.data_provider, DataProvider::getReserveTokensAddressesCall { asset: at(asset)? })
                .await?
                .variableDebt;
            (debt, Token::approveDelegationCall { delegatee: *to, amount: amount(asset, *n) }.abi_encode())
        }
        Act::Liquidate { user, collateral, debt, cover } => {
            let (collateral_asset, debt_asset, cover) = (at(collateral)?, at(debt)?, amount(debt, *cover));
            let call = Pool::liquidationCallCall {
                collateralAsset: collateral_asset,
                debtAsset: debt_asset,
                user: *user,
                debtToCover: cover,
                receiveAToken: false,
            };
            (pool, call.abi_encode())
        }
        Act::Price { asset, dollars } => {
            let feed = token(asset)?.feed.ok_or_else(|| Error::Unknown(format!("the feed of {}", asset.symbol)))?;
            let mut set = vec![Tx::call(from, feed, feed::set(*dollars, 0), label.clone())];
            if asset.wraps_native {
                set.push(Tx::call(from, market.native_feed, feed::set(*dollars, 0), label));
            }
            return Ok(set);
        }
    };
    Ok(vec![Tx::call(from, to, data, label)])
}

async fn equalise(
    rpc: &Rpc,
    from: Address,
    asset: Address,
    one: U256,
    between: [Address; 2],
    label: &str,
) -> Result<Vec<Tx>, Error> {
    let [first, second] = between;
    let a = rpc.call(asset, Token::balanceOfCall { owner: first }).await?;
    let b = rpc.call(asset, Token::balanceOfCall { owner: second }).await?;
    let level = a.max(b) + one;
    let mint = |to, has| Tx::call(from, asset, Token::mintCall { to, amount: level - has }.abi_encode(), label);
    Ok(vec![mint(first, a), mint(second, b)])
}
