//! What the wallets do: each something that the reading must tell apart.

use alloy::primitives::{Address, U256};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::lenders::Small;
use assay_tests::lenders::euler::{BatchItem, Coin, Connector, Euler, Vault, account, item};

use super::super::Done;
use super::world::ETHER_USD;

/// Deposits `amount` thousandths for `account`, by a call of the vault itself.
pub(super) async fn supply(chain: &mut Small, euler: &Euler, from: &str, coin: Coin, to: Address, amount: u64) -> Done {
    let assets = coin.thousandths(amount);
    euler.queue_tokens(chain, wallet(from), coin, assets);
    chain.call(wallet(from), coin.vault, &Vault::depositCall { assets, receiver: to }).await
}

/// The items by which `account` of `owner` supplies ether and borrows dollars against it.
pub(super) fn loan(euler: &Euler, of: Address, ether: u64, dollars: u64) -> Vec<BatchItem> {
    let (usdc, weth) = (euler.usdc, euler.weth);
    let mut items: Vec<BatchItem> = euler.enabled(of, usdc, weth).into();
    if ether > 0 {
        let deposit = Vault::depositCall { assets: weth.thousandths(ether), receiver: of };
        items.push(item(weth.vault, of, &deposit));
    }
    let borrow = Vault::borrowCall { assets: usdc.thousandths(dollars), receiver: of };
    items.push(item(usdc.vault, of, &borrow));
    items
}

/// Repays so many thousandths of dollars for `of`, by a call of the vault itself.
pub(super) async fn repay(chain: &mut Small, euler: &Euler, from: &str, of: Address, amount: Option<u64>) -> Done {
    let usdc = euler.usdc;
    euler.queue_tokens(chain, wallet(from), usdc, usdc.thousandths(50_000_000));
    let assets = amount.map_or(U256::MAX, |amount| usdc.thousandths(amount));
    chain.call(wallet(from), usdc.vault, &Vault::repayCall { assets, receiver: of }).await
}

/// An account of the liquidator takes debt and collateral of `violator` while ether is worth `dollars`.
pub(super) async fn liquidate(
    chain: &mut Small,
    euler: &Euler,
    violator: Address,
    dollars: f64,
    repaid: Option<u64>,
) -> Done {
    let (liquidator, usdc, weth) = (wallet("liquidator"), euler.usdc, euler.weth);
    euler.queue_price(chain, weth, dollars);
    let repay = repaid.map_or(U256::MAX, |amount| usdc.thousandths(amount));
    let (collateral, min) = (weth.vault, U256::ZERO);
    let call = Vault::liquidateCall { violator, collateral, repayAssets: repay, minYield: min };
    let mut items: Vec<BatchItem> = euler.enabled(liquidator, usdc, weth).into();
    items.push(item(usdc.vault, liquidator, &call));
    let done = euler.batch(chain, liquidator, items).await;
    euler.queue_price(chain, weth, ETHER_USD);
    done
}

/// Raises all debts of dollars to `percent` of what they are.
pub(super) async fn accrue(chain: &mut Small, euler: &Euler, percent: u64) -> Done {
    let call = Vault::accrueCall { percent: U256::from(percent) };
    chain.call(wallet("keeper"), euler.usdc.vault, &call).await
}

pub(super) async fn live(chain: &mut Small, euler: &Euler) -> Done {
    let (usdc, weth, odd) = (euler.usdc, euler.weth, euler.odd);
    for (coin, amount) in [(usdc, 500_000_000), (weth, 500_000), (odd, 500_000)] {
        supply(chain, euler, "bank", coin, wallet("bank"), amount).await?;
    }
    for name in ["ada", "ben", "cleo", "dora", "emil", "ivy", "kay", "operator"] {
        euler.queue_tokens(chain, wallet(name), weth, weth.thousandths(100_000));
        euler.queue_tokens(chain, account(wallet(name), 1), weth, weth.thousandths(100_000));
    }
    chain.mine().await?;

    // A deposit by a call of the vault, which the connector does not authenticate, then a loan.
    let ada = wallet("ada");
    supply(chain, euler, "ada", weth, ada, 5_000).await?;
    euler.batch(chain, ada, loan(euler, ada, 0, 4_000_000)).await?;
    repay(chain, euler, "ada", ada, Some(1_000_000)).await?;
    accrue(chain, euler, 103).await?;
    euler.batch(chain, ada, loan(euler, ada, 1_000, 500_000)).await?;

    // Two accounts, between which debt and shares move.
    let [ben, first, second] = [0, 1, 2].map(|number| account(wallet("ben"), number));
    euler.batch(chain, ben, loan(euler, first, 3_000, 2_000_000)).await?;
    let mut items: Vec<BatchItem> = euler.enabled(second, usdc, weth).into();
    let move_ = Vault::transferCall { to: second, amount: weth.thousandths(2_000) };
    items.push(item(weth.vault, first, &move_));
    items.push(item(usdc.vault, second, &Vault::pullDebtCall { assets: usdc.thousandths(700_000), from: first }));
    euler.batch(chain, ben, items).await?;
    accrue(chain, euler, 101).await?;

    // An operator acts for an account.
    let [cleo, of_cleo] = [0, 1].map(|number| account(wallet("cleo"), number));
    let call = Connector::setAccountOperatorCall { account: of_cleo, operator: wallet("operator"), authorized: true };
    chain.call(cleo, euler.connector, &call).await?;
    euler.batch(chain, wallet("operator"), loan(euler, of_cleo, 2_000, 1_500_000)).await?;
    repay(chain, euler, "bank", of_cleo, Some(200_000)).await?;

    // A liquidation in part, and one that leaves a debt without collateral.
    let (dora, emil) = (account(wallet("dora"), 1), account(wallet("emil"), 200));
    euler.batch(chain, wallet("dora"), loan(euler, dora, 2_000, 3_000_000)).await?;
    euler.queue_tokens(chain, emil, weth, weth.thousandths(100_000));
    euler.batch(chain, wallet("emil"), loan(euler, emil, 1_000, 1_500_000)).await?;
    liquidate(chain, euler, dora, 1_700.0, Some(1_000_000)).await?;
    liquidate(chain, euler, emil, 900.0, None).await?;
    // Of a healthy account: a log, and nothing else.
    liquidate(chain, euler, ada, ETHER_USD, None).await?;

    // Never calls the connector.
    supply(chain, euler, "finn", usdc, wallet("finn"), 700_000).await?;
    let all = Vault::redeemCall { shares: U256::MAX, receiver: wallet("finn"), owner: wallet("finn") };
    chain.call(wallet("finn"), usdc.vault, &all).await?;
    supply(chain, euler, "finn", weth, wallet("finn"), 300).await?;

    // Gifts: shares, deposits for a wallet and for an account that one uses.
    let gift = Vault::transferCall { to: wallet("gus"), amount: usdc.thousandths(40_000) };
    chain.call(wallet("bank"), usdc.vault, &gift).await?;
    supply(chain, euler, "bank", weth, wallet("hal"), 250).await?;
    supply(chain, euler, "bank", usdc, of_cleo, 90_000).await?;

    // Pays a debt with shares of the same vault.
    let ivy = wallet("ivy");
    supply(chain, euler, "ivy", usdc, ivy, 2_000_000).await?;
    euler.batch(chain, ivy, loan(euler, ivy, 2_000, 1_000_000)).await?;
    let pay = Vault::repayWithSharesCall { assets: usdc.thousandths(600_000), receiver: ivy };
    euler.batch(chain, ivy, vec![item(usdc.vault, ivy, &pay)]).await?;

    // Takes over a part of the debt of another wallet, and pays everything.
    let kay = wallet("kay");
    let mut items: Vec<BatchItem> = euler.enabled(kay, usdc, weth).into();
    items.push(item(weth.vault, kay, &Vault::depositCall { assets: weth.thousandths(1_000), receiver: kay }));
    items.push(item(usdc.vault, kay, &Vault::pullDebtCall { assets: usdc.thousandths(300_000), from: ada }));
    euler.batch(chain, kay, items).await?;
    accrue(chain, euler, 102).await?;
    repay(chain, euler, "kay", kay, None).await?;
    supply(chain, euler, "odo", odd, wallet("odo"), 5_000).await?;
    for _ in 0..40 {
        chain.mine().await?;
    }
    Ok(())
}
