//! Morpho Blue, compiled from its package, with the package's rate model and oracle. The events of a wallet are counted
//! from the receipts of every block, and its positions are those of the package's own library. This module never
//! queries logs by filter, and shares no code with the host.

#![expect(clippy::too_many_arguments, reason = "constructors of generated calls")]

use alloy::primitives::{Address, B256, U256, keccak256};
use alloy::sol;
use alloy::sol_types::{SolCall, SolEvent, SolValue};

use super::{Log, Small, stubs};
use crate::devnet::receipts::LendingEvents;
use crate::devnet::{Error, actors};

sol! {
    #[derive(Debug)]
    struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }
    interface Blue {
        event Supply(bytes32 indexed id, address indexed caller, address indexed onBehalf, uint256 assets,
            uint256 shares);
        event Withdraw(bytes32 indexed id, address caller, address indexed onBehalf, address indexed receiver,
            uint256 assets, uint256 shares);
        event Borrow(bytes32 indexed id, address caller, address indexed onBehalf, address indexed receiver,
            uint256 assets, uint256 shares);
        event Repay(bytes32 indexed id, address indexed caller, address indexed onBehalf, uint256 assets,
            uint256 shares);
        event SupplyCollateral(bytes32 indexed id, address indexed caller, address indexed onBehalf, uint256 assets);
        event WithdrawCollateral(bytes32 indexed id, address caller, address indexed onBehalf, address indexed receiver,
            uint256 assets);
        event Liquidate(bytes32 indexed id, address indexed caller, address indexed borrower, uint256 repaidAssets,
            uint256 repaidShares, uint256 seizedAssets, uint256 badDebtAssets, uint256 badDebtShares);
        function enableIrm(address irm) external;
        function enableLltv(uint256 lltv) external;
        function setFee(MarketParams params, uint256 fee) external;
        function setFeeRecipient(address recipient) external;
        function createMarket(MarketParams params) external;
        function setAuthorization(address authorized, bool isAuthorized) external;
        function accrueInterest(MarketParams params) external;
        function supply(MarketParams params, uint256 assets, uint256 shares, address onBehalf,
            bytes data) external returns (uint256 a, uint256 s);
        function withdraw(MarketParams params, uint256 assets, uint256 shares, address onBehalf,
            address receiver) external returns (uint256 a, uint256 s);
        function borrow(MarketParams params, uint256 assets, uint256 shares, address onBehalf,
            address receiver) external returns (uint256 a, uint256 s);
        function repay(MarketParams params, uint256 assets, uint256 shares, address onBehalf,
            bytes data) external returns (uint256 a, uint256 s);
        function supplyCollateral(MarketParams params, uint256 assets, address onBehalf, bytes data) external;
        function withdrawCollateral(MarketParams params, uint256 assets, address onBehalf, address receiver) external;
        function liquidate(MarketParams params, address borrower, uint256 seizedAssets, uint256 repaidShares,
            bytes data) external returns (uint256 a, uint256 s);
        function position(bytes32 id, address user) external view returns (uint256 supplyShares, uint128 borrowShares,
            uint128 collateral);
    }
    interface Token {
        function setBalance(address account, uint256 amount) external;
        function approve(address spender, uint256 amount) external returns (bool done);
    }
    interface Oracle {
        function setPrice(uint256 price) external;
        function price() external view returns (uint256 price);
    }
    interface Views {
        function supplied(address morpho, MarketParams params, address user) external view returns (uint256 assets);
        function borrowed(address morpho, MarketParams params, address user) external view returns (uint256 assets);
    }
}

/// A token, and what it is worth in dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coin {
    pub token: Address,
    pub decimals: u8,
    pub dollars: f64,
}

impl Coin {
    /// So many thousandths of a whole token.
    pub fn thousandths(&self, amount: u64) -> U256 {
        U256::from(amount) * U256::from(10).pow(U256::from(self.decimals)) / U256::from(1_000)
    }

    fn worth(&self, amount: U256) -> f64 {
        f64::from(amount) / 10_f64.powi(self.decimals.into()) * self.dollars
    }
}

/// A market of the contract.
#[derive(Debug, Clone)]
pub struct Market {
    pub params: MarketParams,
    pub loan: Coin,
    pub collateral: Coin,
}

/// All deployed contracts.
#[derive(Debug, Clone)]
pub struct Morpho {
    pub blue: Address,
    pub irm: Address,
    views: Address,
    hostile: Address,
    pub usdc: Coin,
    pub weth: Coin,
    /// A token that no source of prices knows.
    pub odd: Coin,
}

/// A wallet's position in one market, by the contract and the package's own library.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    pub supplied: U256,
    pub borrowed: U256,
    pub collateral: U256,
    /// Dollars of the deposit and the collateral, and of the debt.
    pub dollars: (f64, f64),
    /// `None` without debt.
    pub health: Option<f64>,
}

const DEPLOYER: &str = actors::DEPLOYER;

/// Deploys the contract and three tokens, of which one ether is worth `ether_usd`.
///
/// # Errors
/// When compiling or a transaction fails.
pub async fn deploy(chain: &mut Small, ether_usd: f64) -> Result<Morpho, Error> {
    let code = stubs("Morpho.sol").await?;
    let creation = |name: &str| code.get(name).cloned().ok_or_else(|| Error::Unknown(format!("the contract {name}")));
    let owner = actors::address(DEPLOYER);
    let blue = chain.create([creation("Morpho")?.as_ref(), &owner.abi_encode()].concat(), "Morpho Blue");
    let irm = chain.create(creation("IrmMock")?, "a rate model");
    let views = chain.create(creation("MorphoViews")?, "views");
    let hostile = chain.create(creation("Hostile")?, "a hostile contract");
    let mut token = |decimals: u8, dollars: f64| -> Result<Coin, Error> {
        let arguments = U256::from(decimals).abi_encode();
        let token = chain.create([creation("MorphoToken")?.as_ref(), &arguments].concat(), "a token");
        Ok(Coin { token, decimals, dollars })
    };
    let (usdc, weth, odd) = (token(6, 1.0)?, token(18, ether_usd)?, token(8, 0.0)?);
    chain.queue(owner, blue, &Blue::enableIrmCall { irm });
    chain.queue(owner, blue, &Blue::enableIrmCall { irm: Address::ZERO });
    chain.mine().await?;
    Ok(Morpho { blue, irm, views, hostile, usdc, weth, odd })
}

impl Morpho {
    /// A new market in which `loan` is lent against `collateral`, of which the oracle says that one is worth `price` of
    /// the other, up to so many thousandths of it.
    ///
    /// # Errors
    /// When a transaction fails.
    pub async fn market(
        &self,
        chain: &mut Small,
        (loan, collateral): (Coin, Coin),
        price: f64,
        thousandths: u64,
    ) -> Result<Market, Error> {
        let code = stubs("Morpho.sol").await?.remove("OracleMock");
        let oracle = chain.create(code.ok_or_else(|| Error::Unknown("the oracle".to_owned()))?, "an oracle");
        let lltv = U256::from(thousandths) * U256::from(10).pow(U256::from(15));
        let params =
            MarketParams { loanToken: loan.token, collateralToken: collateral.token, oracle, irm: self.irm, lltv };
        let market = Market { params, loan, collateral };
        chain.queue(actors::address(DEPLOYER), self.blue, &Blue::enableLltvCall { lltv });
        self.queue_price(chain, &market, price);
        let params = market.params.clone();
        chain.queue(actors::address(DEPLOYER), self.blue, &Blue::createMarketCall { params });
        chain.mine().await?;
        Ok(market)
    }

    /// A new market whose tokens and oracle use up all gas.
    ///
    /// # Errors
    /// When a transaction fails.
    pub async fn hostile(&self, chain: &mut Small, collateral: Coin) -> Result<Market, Error> {
        let (token, lltv) = (self.hostile, U256::from(10).pow(U256::from(17)));
        let loan = Coin { token, decimals: 18, dollars: 0.0 };
        let params = MarketParams {
            loanToken: token,
            collateralToken: collateral.token,
            oracle: token,
            irm: Address::ZERO,
            lltv,
        };
        let market = Market { params, loan, collateral };
        chain.queue(actors::address(DEPLOYER), self.blue, &Blue::enableLltvCall { lltv });
        let params = market.params.clone();
        chain.queue(actors::address(DEPLOYER), self.blue, &Blue::createMarketCall { params });
        chain.mine().await?;
        Ok(market)
    }

    pub fn queue_price(&self, chain: &mut Small, market: &Market, price: f64) {
        // What the contract expects of one smallest unit of the collateral, times 10^36.
        let exponent = 36 - 6 + u32::from(market.loan.decimals) - u32::from(market.collateral.decimals);
        let price = U256::from((price * 1e6).round() as u64) * U256::from(10).pow(U256::from(exponent));
        chain.queue(actors::address(DEPLOYER), market.params.oracle, &Oracle::setPriceCall { price });
    }

    /// Queues a balance of `coin` that the contract may take.
    pub fn queue_tokens(&self, chain: &mut Small, account: Address, coin: Coin, amount: U256) {
        let owner = actors::address(DEPLOYER);
        chain.queue(owner, coin.token, &Token::setBalanceCall { account, amount });
        chain.queue(account, coin.token, &Token::approveCall { spender: self.blue, amount: U256::MAX });
    }

    /// A call of the contract, mined a day after the last block.
    ///
    /// # Errors
    /// When it fails.
    pub async fn call<C: SolCall>(&self, chain: &mut Small, from: Address, call: &C) -> Result<(), Error> {
        chain.call(from, self.blue, call).await
    }

    /// The position of `user` in `market` at the end of a block.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn held(&self, chain: &Small, market: &Market, user: Address, block: u64) -> Result<Held, Error> {
        let (morpho, params) = (self.blue, &market.params);
        let call = Views::suppliedCall { morpho, params: params.clone(), user };
        let supplied = chain.view(self.views, &call, block).await?;
        let call = Views::borrowedCall { morpho, params: params.clone(), user };
        let borrowed = chain.view(self.views, &call, block).await?;
        let call = Blue::positionCall { id: market.id(), user };
        let collateral = U256::from(chain.view(morpho, &call, block).await?.collateral);
        let dollars = (market.loan.worth(supplied) + market.collateral.worth(collateral), market.loan.worth(borrowed));
        let mut health = None;
        if !borrowed.is_zero() {
            let price = chain.view(params.oracle, &Oracle::priceCall {}, block).await?;
            let worth = collateral * price / U256::from(10).pow(U256::from(36));
            let most = worth * params.lltv / U256::from(10).pow(U256::from(18));
            health = Some(f64::from(most) / f64::from(borrowed));
        }
        Ok(Held { supplied, borrowed, collateral, dollars, health })
    }

    /// The events of `wallet` in all markets, in `blocks`, given as the time and the logs of each.
    pub fn lived(&self, blocks: &[(u64, Vec<Log>)], wallet: Address) -> LendingEvents {
        let mut lived = LendingEvents::default();
        for (time, logs) in blocks {
            let time = *time;
            for log in logs.iter().filter(|log| log.address == self.blue) {
                if decoded::<Blue::Supply>(log).is_some_and(|event| event.onBehalf == wallet)
                    || decoded::<Blue::SupplyCollateral>(log).is_some_and(|event| event.onBehalf == wallet)
                {
                    lived.supply += 1;
                } else if decoded::<Blue::Withdraw>(log).is_some_and(|event| event.onBehalf == wallet)
                    || decoded::<Blue::WithdrawCollateral>(log).is_some_and(|event| event.onBehalf == wallet)
                {
                    lived.withdraw += 1;
                } else if decoded::<Blue::Borrow>(log).is_some_and(|event| event.onBehalf == wallet) {
                    lived.borrow += 1;
                } else if decoded::<Blue::Repay>(log).is_some_and(|event| event.onBehalf == wallet) {
                    lived.repay += 1;
                } else if decoded::<Blue::Liquidate>(log).is_some_and(|event| event.borrower == wallet) {
                    lived.liquidation += 1;
                    lived.last_liquidation = Some(time);
                } else {
                    continue;
                }
                lived.first.get_or_insert(time);
                lived.last = Some(time);
            }
        }
        lived
    }
}

impl Market {
    pub fn id(&self) -> B256 {
        keccak256(self.params.abi_encode())
    }
}

fn decoded<E: SolEvent>(log: &Log) -> Option<E> {
    let is_own = log.topics.first() == Some(&E::SIGNATURE_HASH);
    is_own.then(|| E::decode_raw_log(log.topics.iter().copied(), &log.data).ok()).flatten()
}
