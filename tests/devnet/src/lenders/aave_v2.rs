//! Aave v2 from its published artifacts, with a stub of its rewards controller; and the events of a wallet, counted
//! from the receipts of every block.

use std::collections::BTreeMap;
use std::path::Path;

use alloy::primitives::{Address, B256, Bytes, I256, U256};
use alloy::sol;
use alloy::sol_types::{SolEvent, SolValue};

use super::{Small, stubs};
use crate::devnet::artifact::creation_code;
use crate::devnet::receipts::LendingEvents;
use crate::devnet::{Error, actors, feed};
use crate::node;

sol! {
    interface Pool {
        event Deposit(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount,
            uint16 indexed referral);
        event Withdraw(address indexed reserve, address indexed user, address indexed to, uint256 amount);
        event Borrow(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount,
            uint256 borrowRateMode, uint256 borrowRate, uint16 indexed referral);
        event Repay(address indexed reserve, address indexed user, address indexed repayer, uint256 amount);
        event LiquidationCall(address indexed collateralAsset, address indexed debtAsset, address indexed user,
            uint256 debtToCover, uint256 liquidatedCollateralAmount, address liquidator, bool receiveAToken);

        function deposit(address asset, uint256 amount, address onBehalfOf, uint16 referralCode) external;
        function withdraw(address asset, uint256 amount, address to) external;
        function borrow(address asset, uint256 amount, uint256 interestRateMode, uint16 referralCode,
            address onBehalfOf) external;
        function repay(address asset, uint256 amount, uint256 rateMode, address onBehalfOf) external;
        function liquidationCall(address collateralAsset, address debtAsset, address user, uint256 debtToCover,
            bool receiveAToken) external;
    }

    interface Token {
        function mint(uint256 value) external;
        function approve(address spender, uint256 amount) external;
        function transfer(address to, uint256 amount) external;
        event Transfer(address indexed from, address indexed to, uint256 amount);
    }

    interface Gateway {
        function withdrawETH(uint256 amount, address to) external;
    }

    interface Governance {
        function setPoolAdmin(address admin) external;
        function setEmergencyAdmin(address admin) external;
        function setLendingPoolImpl(address pool) external;
        function setLendingPoolConfiguratorImpl(address configurator) external;
        function setLendingPoolCollateralManager(address manager) external;
        function setPriceOracle(address oracle) external;
        function setLendingRateOracle(address oracle) external;
        function setAddress(bytes32 id, address at) external;
        function getLendingPool() external view returns (address pool);
        function getLendingPoolConfigurator() external view returns (address configurator);
        function setMarketBorrowRate(address asset, uint256 rate) external;
        function initReserve(address aToken, address stableDebt, address variableDebt, uint8 decimals,
            address strategy) external;
        function configureReserveAsCollateral(address asset, uint256 ltv, uint256 threshold, uint256 bonus) external;
        function enableBorrowingOnReserve(address asset, bool stable) external;
    }

    interface DataProvider {
        function getUserReserveData(address asset, address user) external view returns (
            uint256 aTokenBalance, uint256 stableDebt, uint256 variableDebt, uint256 principalStableDebt,
            uint256 scaledVariableDebt,
            uint256 stableBorrowRate, uint256 liquidityRate, uint40 stableRateLastUpdated,
            bool usageAsCollateralEnabled);
        function getReserveTokensAddresses(address asset) external view returns (address aToken, address stableDebt,
            address variableDebt);
    }
}

/// A deployed pool whose oracle quotes prices in ether.
#[derive(Debug, Clone)]
pub struct Market {
    pub pool: Address,
    /// Wrapped ether, which the oracle prices at one ether.
    pub weth: Reserve,
    pub usdc: Reserve,
    /// The price feed of the stablecoin, in ether.
    pub usdc_feed: Address,
    /// The aToken of wrapped ether.
    pub a_weth: Address,
    /// The gateway that supplies and withdraws ether for other accounts.
    pub gateway: Address,
    data_provider: Address,
    provider: Address,
}

#[derive(Debug, Clone, Copy)]
pub struct Reserve {
    pub asset: Address,
    pub decimals: u8,
}

/// The id under which Aave's v2 deployments register their data provider.
fn data_provider_id() -> B256 {
    B256::right_padding_from(&[1])
}

fn units_of_ether(ether: u64) -> U256 {
    U256::from(ether) * U256::from(10).pow(U256::from(18))
}

fn admin() -> Address {
    actors::address(actors::DEPLOYER)
}

struct Deployment<'a> {
    chain: &'a mut Small,
    modules: &'a Path,
    libraries: BTreeMap<String, Address>,
    /// The contract that manages the rewards of every token.
    rewards: Address,
    /// Creation code of the wrapper of an aToken that names the rewards contract.
    rewarded: Bytes,
}

impl Deployment<'_> {
    fn create(&mut self, path: &str, arguments: &[u8]) -> Result<Address, Error> {
        let code = creation_code(self.modules, "@aave/protocol-v2", path, &self.libraries)?;
        Ok(self.chain.create([&code, arguments].concat(), path))
    }

    fn library(&mut self, name: &str) -> Result<(), Error> {
        let at = self.create(&format!("protocol/libraries/logic/{name}"), &[])?;
        self.libraries.insert(name.to_owned(), at);
        Ok(())
    }

    fn reserve(
        &mut self,
        market: &Market,
        configurator: Address,
        reserve: Reserve,
        strategy: Address,
    ) -> Result<(), Error> {
        let (pool, asset) = (market.pool, reserve.asset);
        let text = || "Test".to_owned();
        let token = (pool, asset, actors::address(actors::TREASURY), text(), text(), self.rewards).abi_encode_params();
        let debt = (pool, asset, text(), text(), self.rewards).abi_encode_params();
        let published = self.create("protocol/tokenization/AToken", &token)?;
        let rewarded = [self.rewarded.as_ref(), &(published, self.rewards).abi_encode()].concat();
        let init = Governance::initReserveCall {
            aToken: self.chain.create(rewarded, "an aToken with rewards"),
            stableDebt: self.create("protocol/tokenization/StableDebtToken", &debt)?,
            variableDebt: self.create("protocol/tokenization/VariableDebtToken", &debt)?,
            decimals: reserve.decimals,
            strategy,
        };
        self.chain.queue(admin(), configurator, &init);
        let (ltv, threshold, bonus) = (U256::from(7_500), U256::from(8_000), U256::from(10_500));
        self.chain.queue(
            admin(),
            configurator,
            &Governance::configureReserveAsCollateralCall { asset, ltv, threshold, bonus },
        );
        self.chain.queue(admin(), configurator, &Governance::enableBorrowingOnReserveCall { asset, stable: true });
        Ok(())
    }
}

/// Deploys a pool with two reserves. One ether is worth `usdc_per_ether` of the stablecoin.
///
/// # Errors
/// When an artifact is missing or a transaction fails.
pub async fn deploy(chain: &mut Small, usdc_per_ether: u64) -> Result<Market, Error> {
    let modules = tokio::task::spawn_blocking(node::packages).await.map_err(|e| Error::Task(e.to_string()))??;
    let code = stubs("Rewards.sol").await?;
    let creation = |name: &str| code.get(name).cloned().ok_or_else(|| Error::Unknown(format!("the stub {name}")));
    let rewards = chain.create(creation("RewardsStub")?, "a controller of rewards");
    let mut deploy = Deployment {
        chain,
        modules: &modules,
        libraries: BTreeMap::new(),
        rewards,
        rewarded: creation("RewardedStub")?,
    };
    for library in ["ReserveLogic", "GenericLogic", "ValidationLogic"] {
        deploy.library(library)?;
    }
    let provider =
        deploy.create("protocol/configuration/LendingPoolAddressesProvider", &"Test".to_owned().abi_encode())?;
    let pool_impl = deploy.create("protocol/lendingpool/LendingPool", &[])?;
    let configurator_impl = deploy.create("protocol/lendingpool/LendingPoolConfigurator", &[])?;
    let manager = deploy.create("protocol/lendingpool/LendingPoolCollateralManager", &[])?;
    let rates = deploy.create("mocks/oracle/LendingRateOracle", &[])?;
    let chain = &mut *deploy.chain;
    chain.queue(admin(), provider, &Governance::setPoolAdminCall { admin: admin() });
    chain.queue(admin(), provider, &Governance::setEmergencyAdminCall { admin: admin() });
    chain.queue(admin(), provider, &Governance::setLendingPoolImplCall { pool: pool_impl });
    chain.queue(admin(), provider, &Governance::setLendingPoolConfiguratorImplCall { configurator: configurator_impl });
    chain.queue(admin(), provider, &Governance::setLendingPoolCollateralManagerCall { manager });
    chain.queue(admin(), provider, &Governance::setLendingRateOracleCall { oracle: rates });
    let data_provider = deploy.create("misc/AaveProtocolDataProvider", &provider.abi_encode())?;
    deploy.chain.queue(admin(), provider, &Governance::setAddressCall { id: data_provider_id(), at: data_provider });
    deploy.chain.mine().await?;

    let head = deploy.chain.head;
    let pool = deploy.chain.view(provider, &Governance::getLendingPoolCall {}, head).await?;
    let configurator = deploy.chain.view(provider, &Governance::getLendingPoolConfiguratorCall {}, head).await?;
    let mut token = |symbol: &str, decimals: u8| {
        let arguments = (symbol.to_owned(), symbol.to_owned(), U256::from(decimals)).abi_encode_params();
        Ok::<_, Error>(Reserve { asset: deploy.create("mocks/tokens/MintableERC20", &arguments)?, decimals })
    };
    let usdc = token("USDC", 6)?;
    let weth = Reserve { asset: deploy.create("mocks/tokens/WETH9Mocked", &[])?, decimals: 18 };
    let usdc_feed = deploy.chain.create(feed::creation_code(), "a price feed");
    let (a_weth, gateway) = (Address::ZERO, Address::ZERO);
    let mut market = Market { pool, weth, usdc, usdc_feed, a_weth, gateway, data_provider, provider };
    market.queue_price(deploy.chain, usdc_per_ether);
    let arguments = (vec![usdc.asset], vec![usdc_feed], Address::ZERO, weth.asset).abi_encode_params();
    let oracle = deploy.create("misc/AaveOracle", &arguments)?;
    deploy.chain.queue(admin(), provider, &Governance::setPriceOracleCall { oracle });
    let percent = |percent: u64| U256::from(percent) * U256::from(10).pow(U256::from(25));
    let strategy =
        (provider, percent(90), percent(0), percent(4), percent(60), percent(2), percent(60)).abi_encode_params();
    let strategy = deploy.create("protocol/lendingpool/DefaultReserveInterestRateStrategy", &strategy)?;
    for reserve in [weth, usdc] {
        deploy.chain.queue(
            admin(),
            rates,
            &Governance::setMarketBorrowRateCall { asset: reserve.asset, rate: percent(3) },
        );
        deploy.reserve(&market, configurator, reserve, strategy)?;
    }
    deploy.chain.mine().await?;
    market.gateway = deploy.create("misc/WETHGateway", &(weth.asset, pool).abi_encode_params())?;
    deploy.chain.mine().await?;
    let call = DataProvider::getReserveTokensAddressesCall { asset: weth.asset };
    market.a_weth = deploy.chain.view(data_provider, &call, deploy.chain.head).await?.aToken;
    // Minted wrapped ether has no ether as backing.
    let plenty = units_of_ether(1_000_000);
    let _: serde_json::Value =
        deploy.chain.rpc.request("anvil_setBalance", serde_json::json!([weth.asset, plenty])).await?;
    Ok(market)
}

impl Market {
    /// Queues a new price for the next block.
    pub fn queue_price(&self, chain: &mut Small, usdc_per_ether: u64) {
        let answer = I256::try_from(10_u64.pow(18) / usdc_per_ether).unwrap_or(I256::ZERO);
        chain.queue(admin(), self.usdc_feed, &feed::Feed::setCall { answer, updatedAt: U256::ZERO });
    }

    /// Queues a mint of tokens for `wallet` and an approval of all of them for the pool.
    pub fn queue_tokens(&self, chain: &mut Small, wallet: Address, reserve: Reserve, amount: U256) {
        chain.queue(wallet, reserve.asset, &Token::mintCall { value: amount });
        chain.queue(wallet, reserve.asset, &Token::approveCall { spender: self.pool, amount: U256::MAX });
    }

    /// Queues the removal of the data provider from the addresses registry.
    pub fn queue_no_data_provider(&self, chain: &mut Small) {
        chain.queue(admin(), self.provider, &Governance::setAddressCall { id: data_provider_id(), at: Address::ZERO });
    }

    /// The token of debt at the variable rate.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn debt_token(&self, chain: &Small, reserve: Reserve) -> Result<Address, Error> {
        let call = DataProvider::getReserveTokensAddressesCall { asset: reserve.asset };
        Ok(chain.view(self.data_provider, &call, chain.head).await?.variableDebt)
    }

    /// The supplied and borrowed amounts of one reserve at the newest block, in whole tokens.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn held(&self, chain: &Small, user: Address, reserve: Reserve) -> Result<(f64, f64), Error> {
        let call = DataProvider::getUserReserveDataCall { asset: reserve.asset, user };
        let held = chain.view(self.data_provider, &call, chain.head).await?;
        let whole = |amount: U256| f64::from(amount) / 10_f64.powi(reserve.decimals.into());
        Ok((whole(held.aTokenBalance), whole(held.stableDebt) + whole(held.variableDebt)))
    }

    /// The events of `wallet`, including withdrawals by the account that received its aTokens of wrapped ether.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn lived(&self, chain: &Small, wallet: Address) -> Result<LendingEvents, Error> {
        let mut lived = LendingEvents::default();
        for number in 1..=chain.head {
            let (time, logs) = chain.block(number).await?;
            let mut given = None;
            for log in logs.iter().filter(|log| log.address == self.pool || log.address == self.a_weth) {
                let from = log.topics.get(1) == Some(&wallet.into_word());
                if log.topics.first() == Some(&Token::Transfer::SIGNATURE_HASH) && from {
                    given = log.topics.get(2).copied();
                }
                let owner = |topic: usize| log.topics.get(topic) == Some(&wallet.into_word());
                let count = match log.topics.first().copied() {
                    Some(Pool::Deposit::SIGNATURE_HASH) if owner(2) => &mut lived.supply,
                    Some(Pool::Withdraw::SIGNATURE_HASH) if owner(2) => &mut lived.withdraw,
                    Some(Pool::Withdraw::SIGNATURE_HASH) if given.is_some() && log.topics.get(2) == given.as_ref() => {
                        &mut lived.withdraw
                    }
                    Some(Pool::Borrow::SIGNATURE_HASH) if owner(2) => &mut lived.borrow,
                    Some(Pool::Repay::SIGNATURE_HASH) if owner(2) => &mut lived.repay,
                    Some(Pool::LiquidationCall::SIGNATURE_HASH) if owner(3) => {
                        lived.last_liquidation = Some(time);
                        &mut lived.liquidation
                    }
                    _ => continue,
                };
                *count += 1;
                lived.first.get_or_insert(time);
                lived.last = Some(time);
            }
        }
        Ok(lived)
    }
}
