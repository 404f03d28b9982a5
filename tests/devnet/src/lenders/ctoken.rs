//! A stub of Compound v2. The events of a wallet in one market are counted from the receipts of every block. This
//! module never queries logs by filter, and shares no code with the host.

use alloy::primitives::{Address, U256};
use alloy::sol;
use alloy::sol_types::{SolEvent, SolValue};

use super::{Log, Small, stubs};
use crate::devnet::receipts::LendingEvents;
use crate::devnet::{Error, actors};

sol! {
    interface Token {
        function give(address to, uint256 amount) external;
        function transfer(address to, uint256 amount) external;
    }
    interface Oracle {
        function setPrice(address market, uint256 price) external;
    }
    interface Comptroller {
        function distribute() external;
        function claimComp(address holder, address market) external;
        function oracle() external view returns (address oracle);
        function enterMarkets(address[] cTokens) external;
        function getAccountLiquidity(address account) external view returns (uint256 error, uint256 liquidity,
            uint256 shortfall);
    }
    /// The interface of every market.
    interface CToken {
        event Borrow(address borrower, uint256 borrowAmount, uint256 accountBorrows, uint256 totalBorrows);
        event RepayBorrow(address payer, address borrower, uint256 repayAmount, uint256 accountBorrows,
            uint256 totalBorrows);
        event LiquidateBorrow(address liquidator, address borrower, uint256 repayAmount, address cTokenCollateral,
            uint256 seizeTokens);
        function accrue(uint256 rate, uint256 index) external;
        function transfer(address to, uint256 tokens) external;
        function redeem(uint256 tokens) external;
        function borrow(uint256 amount) external;
        function balanceOf(address account) external view returns (uint256 balance);
        function exchangeRateStored() external view returns (uint256 rate);
        function borrowBalanceStored(address account) external view returns (uint256 balance);
    }
    interface CErc20 {
        function mint(uint256 amount) external;
        function repayBorrow(uint256 amount) external;
        function repayBorrowBehalf(address borrower, uint256 amount) external;
        function liquidateBorrow(address borrower, uint256 amount, address collateral) external;
    }
    interface CEther {
        function mint() external payable;
        function repayBorrow() external payable;
        function repayBorrowBehalf(address borrower) external payable;
    }
    interface Bundle {
        function run(address[] targets, bytes[] calls) external;
    }
}

/// A deployed market.
#[derive(Debug, Clone, Copy)]
pub struct Market {
    pub ctoken: Address,
    /// The zero address in the market of the native currency.
    pub underlying: Address,
    pub decimals: u8,
    pub dollars: f64,
}

/// All deployed contracts.
#[derive(Debug, Clone)]
pub struct Compound {
    pub comptroller: Address,
    pub usdc: Market,
    pub dai: Market,
    pub ether: Market,
    pub bundle: Address,
}

/// The initial exchange rate: units of the underlying for one cToken unit, times 10^18.
const RATE: u64 = 200_000_000_000_000;

/// # Errors
/// When compiling or a transaction fails.
pub async fn deploy(chain: &mut Small, ether_usd: f64) -> Result<Compound, Error> {
    deploy_fork(chain, ether_usd, "ComptrollerStub", ["cUSDC", "cDAI", "cETH"]).await
}

/// With another Comptroller, and these symbols of the markets.
///
/// # Errors
/// When compiling or a transaction fails.
pub async fn deploy_fork(
    chain: &mut Small,
    ether_usd: f64,
    controller: &str,
    [dollar, dai, native]: [&str; 3],
) -> Result<Compound, Error> {
    let code = stubs("Compound.sol").await?;
    let creation = |name: &str| code.get(name).cloned().ok_or_else(|| Error::Unknown(format!("the stub {name}")));
    let oracle = chain.create(creation("OracleStub")?, "an oracle");
    let comptroller = chain.create([creation(controller)?.as_ref(), &oracle.abi_encode()].concat(), "a comptroller");
    let (token, erc20, rate) = (creation("TokenStub")?, creation("CErc20Stub")?, U256::from(RATE));
    let mut markets = Vec::new();
    for (name, decimals, dollars) in [(dollar, 6, 1.0), (dai, 18, 0.5)] {
        let underlying = chain.create([token.as_ref(), &U256::from(decimals).abi_encode()].concat(), "a token");
        let arguments = (name.to_owned(), comptroller, rate, underlying).abi_encode_params();
        let ctoken = chain.create([erc20.as_ref(), &arguments].concat(), "a market");
        chain.queue(
            actors::address(actors::DEPLOYER),
            underlying,
            &Token::giveCall { to: ctoken, amount: U256::MAX >> 1 },
        );
        markets.push(Market { ctoken, underlying, decimals, dollars });
    }
    let arguments = (native.to_owned(), comptroller, rate).abi_encode_params();
    let ctoken = chain.create([creation("CEtherStub")?.as_ref(), &arguments].concat(), "the ether market");
    markets.push(Market { ctoken, underlying: Address::ZERO, decimals: 18, dollars: ether_usd });
    for market in &markets {
        let price = U256::from((market.dollars * 1e6) as u64) * U256::from(10).pow(U256::from(30 - market.decimals));
        chain.queue(actors::address(actors::DEPLOYER), oracle, &Oracle::setPriceCall { market: market.ctoken, price });
    }
    let bundle = chain.create(creation("BundleStub")?, "a bundle");
    chain.mine().await?;
    let [usdc, dai, ether] = markets.try_into().map_err(|_| Error::Unknown("a market".to_owned()))?;
    Ok(Compound { comptroller, usdc, dai, ether, bundle })
}

impl Compound {
    pub fn markets(&self) -> [&Market; 3] {
        [&self.usdc, &self.dai, &self.ether]
    }
}

impl Market {
    /// The supplied and borrowed dollars at the newest block.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn held(&self, chain: &Small, account: Address) -> Result<(f64, f64), Error> {
        let tokens = chain.view(self.ctoken, &CToken::balanceOfCall { account }, chain.head).await?;
        let rate = chain.view(self.ctoken, &CToken::exchangeRateStoredCall {}, chain.head).await?;
        let debt = chain.view(self.ctoken, &CToken::borrowBalanceStoredCall { account }, chain.head).await?;
        let dollars = |amount: f64| amount / 10_f64.powi(self.decimals.into()) * self.dollars;
        Ok((dollars(f64::from(tokens) * (f64::from(rate) / 1e18)), dollars(f64::from(debt))))
    }

    /// The events of `wallet` in `blocks`, given as the time and the logs of each. Every liquidation also emits one
    /// repayment.
    pub fn lived(&self, blocks: &[(u64, Vec<Log>)], wallet: Address) -> LendingEvents {
        let mut lived = LendingEvents::default();
        let mut repaid = 0;
        for (time, logs) in blocks {
            let time = *time;
            for log in logs.iter().filter(|log| log.address == self.ctoken) {
                if decoded::<CToken::Borrow>(log).is_some_and(|event| event.borrower == wallet) {
                    lived.borrow += 1;
                } else if decoded::<CToken::RepayBorrow>(log).is_some_and(|event| event.borrower == wallet) {
                    repaid += 1;
                } else if decoded::<CToken::LiquidateBorrow>(log).is_some_and(|event| event.borrower == wallet) {
                    lived.liquidation += 1;
                    lived.last_liquidation = Some(time);
                } else {
                    continue;
                }
                lived.first.get_or_insert(time);
                lived.last = Some(time);
            }
        }
        lived.repay = repaid - lived.liquidation;
        lived
    }
}

fn decoded<E: SolEvent>(log: &Log) -> Option<E> {
    E::decode_raw_log(log.topics.iter().copied(), &log.data).ok()
}
