//! Stubs of Euler v2: the connector, a factory and three vaults. The events of a wallet are counted from the receipts
//! of every block, transaction by transaction, and its positions are the vaults' own views of all 256 accounts that
//! were used. This module never queries logs by filter, and shares no code with the host.

use std::collections::BTreeSet;

use alloy::primitives::{Address, Bytes, U256};
use alloy::sol;
use alloy::sol_types::{SolCall, SolEvent, SolValue};

use super::{Log, Small, stubs};
use crate::devnet::receipts::LendingEvents;
use crate::devnet::{Error, actors};

sol! {
    interface Vault {
        event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
        event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets,
            uint256 shares);
        event Borrow(address indexed account, uint256 assets);
        event Repay(address indexed account, uint256 assets);
        event Liquidate(address indexed liquidator, address indexed violator, address collateral, uint256 repayAssets,
            uint256 yieldBalance);
        event PullDebt(address indexed from, address indexed to, uint256 assets);
        event DebtSocialized(address indexed account, uint256 assets);
        function deposit(uint256 assets, address receiver) external returns (uint256 shares);
        function withdraw(uint256 assets, address receiver, address owner) external returns (uint256 shares);
        function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets);
        function transfer(address to, uint256 amount) external returns (bool done);
        function borrow(uint256 assets, address receiver) external returns (uint256 borrowed);
        function repay(uint256 assets, address receiver) external returns (uint256 repaid);
        function repayWithShares(uint256 assets, address receiver) external returns (uint256 shares, uint256 debt);
        function pullDebt(uint256 assets, address from) external;
        function liquidate(address violator, address collateral, uint256 repayAssets, uint256 minYield) external;
        function disableController() external;
        function enableBalanceForwarder() external;
        function accrue(uint256 percent) external;
        function setLTV(address collateral, uint16 value) external;
        function balanceOf(address account) external view returns (uint256 shares);
        function debtOf(address account) external view returns (uint256 assets);
        function convertToAssets(uint256 shares) external view returns (uint256 assets);
        function accountLiquidity(address account, bool liquidation) external view returns (uint256 collateral,
            uint256 liability);
    }
    struct BatchItem { address targetContract; address onBehalfOfAccount; uint256 value; bytes data; }
    interface Connector {
        function setAccountOperator(address account, address operator, bool authorized) external;
        function enableCollateral(address account, address vault) external;
        function enableController(address account, address vault) external;
        function call(address target, address account, uint256 value, bytes data) external returns (bytes result);
        function batch(BatchItem[] items) external;
    }
    interface Factory {
        function createVault(address asset, address oracle) external returns (address vault);
        function getProxyListSlice(uint256 start, uint256 end) external view returns (address[] list);
    }
    interface Oracle {
        function setPrice(address token, uint256 price) external;
    }
    interface Token {
        function mint(address to, uint256 amount) external;
    }
}

/// A token, its vault, and what it is worth in dollars at the end of the chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coin {
    pub token: Address,
    pub vault: Address,
    pub decimals: u8,
    pub dollars: f64,
}

impl Coin {
    /// So many thousandths of a whole token.
    pub fn thousandths(&self, amount: u64) -> U256 {
        U256::from(amount) * U256::from(10).pow(U256::from(self.decimals)) / U256::from(1_000)
    }
}

/// All deployed contracts.
#[derive(Debug, Clone)]
pub struct Euler {
    pub connector: Address,
    pub factory: Address,
    oracle: Address,
    pub usdc: Coin,
    pub weth: Coin,
    /// A token that no source of prices knows.
    pub odd: Coin,
}

/// What a wallet has in all vaults.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Held {
    pub supplied_usd: f64,
    pub borrowed_usd: f64,
    /// That of the account nearest to liquidation; `None` without debt.
    pub health: Option<f64>,
}

const DEPLOYER: &str = actors::DEPLOYER;

/// The account of `owner` with this number, which is combined with its last byte.
pub fn account(owner: Address, number: u8) -> Address {
    let mut account = owner;
    account.0[19] ^= number;
    account
}

/// Deploys the contracts with three vaults, of which one ether is worth `ether_usd`.
///
/// # Errors
/// When compiling or a transaction fails.
pub async fn deploy(chain: &mut Small, ether_usd: f64) -> Result<Euler, Error> {
    let code = stubs("Euler.sol").await?;
    let creation = |name: &str| code.get(name).cloned().ok_or_else(|| Error::Unknown(format!("the contract {name}")));
    let owner = actors::address(DEPLOYER);
    let connector = chain.create(creation("EulerConnector")?, "the vault connector");
    let factory =
        chain.create([creation("EulerFactory")?.as_ref(), &connector.abi_encode()].concat(), "the vault factory");
    let oracle = chain.create(creation("EulerOracle")?, "an oracle");
    let mut tokens = Vec::new();
    for (decimals, dollars) in [(6_u8, 1.0), (18, ether_usd), (18, 0.0)] {
        let arguments = U256::from(decimals).abi_encode();
        let token = chain.create([creation("EulerToken")?.as_ref(), &arguments].concat(), "a token");
        tokens.push((token, decimals, dollars));
        chain.queue(owner, factory, &Factory::createVaultCall { asset: token, oracle });
    }
    chain.mine().await?;
    let list = Factory::getProxyListSliceCall { start: U256::ZERO, end: U256::from(3) };
    let vaults = chain.view(factory, &list, chain.head).await?;
    let coin = |place: usize| -> Result<Coin, Error> {
        let vault = vaults.get(place).copied().ok_or_else(|| Error::Unknown("a vault".to_owned()))?;
        let (token, decimals, dollars) = *tokens.get(place).ok_or_else(|| Error::Unknown("a token".to_owned()))?;
        Ok(Coin { token, vault, decimals, dollars })
    };
    let euler = Euler { connector, factory, oracle, usdc: coin(0)?, weth: coin(1)?, odd: coin(2)? };
    for (of, collateral, share) in [
        (euler.usdc, euler.weth, 8_500),
        (euler.weth, euler.usdc, 9_000),
        (euler.usdc, euler.odd, 5_000),
        (euler.odd, euler.weth, 5_000),
    ] {
        chain.queue(owner, of.vault, &Vault::setLTVCall { collateral: collateral.vault, value: share });
    }
    euler.queue_price(chain, euler.usdc, 1.0);
    euler.queue_price(chain, euler.weth, ether_usd);
    euler.queue_price(chain, euler.odd, 5.0);
    chain.mine().await?;
    Ok(euler)
}

/// A call of `target` for an account, in a batch.
pub fn item<C: SolCall>(target: Address, account: Address, call: &C) -> BatchItem {
    BatchItem {
        targetContract: target,
        onBehalfOfAccount: account,
        value: U256::ZERO,
        data: Bytes::from(call.abi_encode()),
    }
}

impl Euler {
    /// Makes another vault of `coin`, and returns it.
    ///
    /// # Errors
    /// When the transaction fails.
    pub async fn another_vault(&self, chain: &mut Small, coin: Coin) -> Result<Coin, Error> {
        let call = Factory::createVaultCall { asset: coin.token, oracle: self.oracle };
        chain.call(actors::address(DEPLOYER), self.factory, &call).await?;
        let list = Factory::getProxyListSliceCall { start: U256::from(3), end: U256::from(4) };
        let vaults = chain.view(self.factory, &list, chain.head).await?;
        let vault = vaults.first().copied().ok_or_else(|| Error::Unknown("a vault".to_owned()))?;
        Ok(Coin { vault, ..coin })
    }

    pub fn queue_price(&self, chain: &mut Small, coin: Coin, dollars: f64) {
        let price = U256::from((dollars * 1e6).round() as u64) * U256::from(10).pow(U256::from(12));
        chain.queue(actors::address(DEPLOYER), self.oracle, &Oracle::setPriceCall { token: coin.token, price });
    }

    pub fn queue_tokens(&self, chain: &mut Small, account: Address, coin: Coin, amount: U256) {
        chain.queue(actors::address(DEPLOYER), coin.token, &Token::mintCall { to: account, amount });
    }

    /// Items of a batch by which `account` has a controller and a collateral.
    pub fn enabled(&self, account: Address, controller: Coin, collateral: Coin) -> [BatchItem; 2] {
        let call = Connector::enableCollateralCall { account, vault: collateral.vault };
        let first = item(self.connector, Address::ZERO, &call);
        let call = Connector::enableControllerCall { account, vault: controller.vault };
        [first, item(self.connector, Address::ZERO, &call)]
    }

    /// A batch, mined a day after the last block.
    ///
    /// # Errors
    /// When it fails.
    pub async fn batch(&self, chain: &mut Small, from: Address, items: Vec<BatchItem>) -> Result<(), Error> {
        chain.call(from, self.connector, &Connector::batchCall { items }).await
    }

    /// What `accounts` have at the end of a block, by the vaults' views.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn held(&self, chain: &Small, accounts: &BTreeSet<Address>, block: u64) -> Result<Held, Error> {
        let mut held = Held::default();
        for account in accounts.iter().copied() {
            for coin in [self.usdc, self.weth, self.odd] {
                let shares = chain.view(coin.vault, &Vault::balanceOfCall { account }, block).await?;
                let assets = chain.view(coin.vault, &Vault::convertToAssetsCall { shares }, block).await?;
                let debt = chain.view(coin.vault, &Vault::debtOfCall { account }, block).await?;
                let dollars = |amount: U256| f64::from(amount) / 10_f64.powi(coin.decimals.into()) * coin.dollars;
                held.supplied_usd += dollars(assets);
                held.borrowed_usd += dollars(debt);
                if !debt.is_zero() {
                    let call = Vault::accountLiquidityCall { account, liquidation: true };
                    let of = chain.view(coin.vault, &call, block).await?;
                    let health = f64::from(of.collateral) / f64::from(of.liability);
                    held.health = Some(held.health.map_or(health, |least| least.min(health)));
                }
            }
        }
        Ok(held)
    }

    /// The events of all `accounts` of an owner, in `blocks`, given as the time and the logs of each. A block has one
    /// transaction.
    pub fn lived(&self, blocks: &[(u64, Vec<Log>)], accounts: &BTreeSet<Address>) -> LendingEvents {
        let mut lived = LendingEvents::default();
        for (time, logs) in blocks {
            for vault in [self.usdc.vault, self.weth.vault, self.odd.vault] {
                let own: Vec<&Log> = logs.iter().filter(|log| log.address == vault).collect();
                count(&mut lived, *time, &own, accounts);
            }
        }
        lived
    }
}

/// Adds the events of `accounts` in the logs of one vault in one block: what a liquidation and a move of debt say
/// replaces a repayment each.
fn count(lived: &mut LendingEvents, time: u64, logs: &[&Log], accounts: &BTreeSet<Address>) {
    let is_own = |account: &Address| accounts.contains(account);
    let mut found = LendingEvents::default();
    for log in logs {
        if decoded::<Vault::Deposit>(log).is_some_and(|event| is_own(&event.owner)) {
            found.supply += 1;
        } else if decoded::<Vault::Withdraw>(log).is_some_and(|event| is_own(&event.owner)) {
            found.withdraw += 1;
        } else if decoded::<Vault::Borrow>(log).is_some_and(|event| is_own(&event.account)) {
            found.borrow += 1;
        } else if decoded::<Vault::Repay>(log).is_some_and(|event| is_own(&event.account)) {
            found.repay += 1;
        } else if decoded::<Vault::DebtSocialized>(log).is_some_and(|event| is_own(&event.account)) {
            found.repay -= 1;
        } else if let Some(event) = decoded::<Vault::PullDebt>(log) {
            if is_own(&event.from) && is_own(&event.to) {
                found.repay -= 1;
                found.borrow -= 1;
            }
        } else if let Some(event) = decoded::<Vault::Liquidate>(log).filter(|event| is_own(&event.violator)) {
            found.repay -= u64::from(!event.repayAssets.is_zero());
            found.liquidation += u64::from(!event.repayAssets.is_zero() || !event.yieldBalance.is_zero());
        }
    }
    if found.total() > 0 {
        lived.first.get_or_insert(time);
        lived.last = Some(time);
    }
    if found.liquidation > 0 {
        lived.last_liquidation = Some(time);
    }
    lived.supply += found.supply;
    lived.withdraw += found.withdraw;
    lived.borrow += found.borrow;
    lived.repay += found.repay;
    lived.liquidation += found.liquidation;
}

fn decoded<E: SolEvent>(log: &Log) -> Option<E> {
    let is_own = log.topics.first() == Some(&E::SIGNATURE_HASH);
    is_own.then(|| E::decode_raw_log(log.topics.iter().copied(), &log.data).ok()).flatten()
}
