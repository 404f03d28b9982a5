//! Deploys Aave v3 from the published artifacts: libraries, pool behind its proxy, oracle, reserves. The transactions
//! and the account are the same on every chain, so the pool has the same address on every chain, as on the real ones.

use std::collections::BTreeMap;
use std::path::Path;

use alloy::primitives::{Address, Bytes, U256, address};
use alloy::providers::bindings::IMulticall3;
use alloy::sol;
use alloy::sol_types::{SolCall, SolValue};
use serde_json::{Value, json};

use super::actors::{self, DEPLOYER, TREASURY};
use super::artifact::creation_code;
use super::rpc::Rpc;
use super::sender::{Sender, Tx};
use super::tokens::{ASSETS, Asset};
use super::{Error, feed};

sol! {
    struct InitReserveInput {
        address aTokenImpl;
        address stableDebtTokenImpl;
        address variableDebtTokenImpl;
        uint8 underlyingAssetDecimals;
        address interestRateStrategyAddress;
        address underlyingAsset;
        address treasury;
        address incentivesController;
        string aTokenName;
        string aTokenSymbol;
        string variableDebtTokenName;
        string variableDebtTokenSymbol;
        string stableDebtTokenName;
        string stableDebtTokenSymbol;
        bytes params;
    }

    interface Governance {
        function setACLAdmin(address admin) external;
        function setACLManager(address manager) external;
        function addPoolAdmin(address admin) external;
        function addAssetListingAdmin(address admin) external;
        function addRiskAdmin(address admin) external;
        function initialize(address provider) external;
        function setPoolImpl(address code) external;
        function setPoolConfiguratorImpl(address code) external;
        function setPoolDataProvider(address provider) external;
        function setPriceOracle(address oracle) external;
        function getPool() external view returns (address);
        function getPoolConfigurator() external view returns (address);
        function initReserves(InitReserveInput[] inputs) external;
        function configureReserveAsCollateral(address asset, uint256 ltv, uint256 threshold, uint256 bonus) external;
        function setReserveBorrowing(address asset, bool enabled) external;
        function setReserveFactor(address asset, uint256 factor) external;
    }
}

/// The address of Multicall3 on most chains.
pub const MULTICALL: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");

const LIBRARIES: [&str; 8] = [
    "SupplyLogic",
    "BorrowLogic",
    "LiquidationLogic",
    "EModeLogic",
    "BridgeLogic",
    "PoolLogic",
    "ConfiguratorLogic",
    // Links BorrowLogic, so it is deployed after it.
    "FlashLoanLogic",
];

/// A market, its tokens and its feeds.
#[derive(Debug, Clone)]
pub struct Market {
    pub pool: Address,
    /// The block that created the pool's proxy.
    pub pool_block: u64,
    pub addresses_provider: Address,
    pub data_provider: Address,
    pub oracle: Address,
    pub multicall: Address,
    /// Every token of the devnet, reserve or not.
    pub tokens: Vec<Token>,
    /// The feed of the native currency, in dollars.
    pub native_feed: Address,
}

/// A token on one chain.
#[derive(Debug, Clone)]
pub struct Token {
    pub asset: Asset,
    pub address: Address,
    /// The feed of its price in dollars.
    pub feed: Option<Address>,
}

impl Market {
    pub fn token(&self, symbol: &str) -> Option<&Token> {
        self.tokens.iter().find(|token| token.asset.symbol == symbol)
    }
}

/// Deploys everything in two blocks, a minute and two minutes after `genesis`.
///
/// # Errors
/// When an artifact is missing or a transaction fails.
pub async fn deploy(rpc: &Rpc, modules: &Path, sender: &mut Sender, genesis: u64) -> Result<Market, Error> {
    let mut deploy = Deployment { modules, sender, admin: actors::address(DEPLOYER), libraries: BTreeMap::new() };
    for library in LIBRARIES {
        let at = deploy.create(&format!("protocol/libraries/logic/{library}"), &[])?;
        deploy.libraries.insert(library.to_owned(), at);
    }
    let admin = deploy.admin;
    let provider = deploy
        .create("protocol/configuration/PoolAddressesProvider", &("Devnet".to_owned(), admin).abi_encode_params())?;
    deploy.call(provider, &Governance::setACLAdminCall { admin });
    let acl = deploy.create("protocol/configuration/ACLManager", &provider.abi_encode())?;
    deploy.call(provider, &Governance::setACLManagerCall { manager: acl });
    deploy.call(acl, &Governance::addPoolAdminCall { admin });
    deploy.call(acl, &Governance::addAssetListingAdminCall { admin });
    deploy.call(acl, &Governance::addRiskAdminCall { admin });
    let pool_impl = deploy.create("protocol/pool/Pool", &provider.abi_encode())?;
    deploy.call(pool_impl, &Governance::initializeCall { provider });
    let configurator_impl = deploy.create("protocol/pool/PoolConfigurator", &[])?;
    deploy.call(configurator_impl, &Governance::initializeCall { provider });
    deploy.call(provider, &Governance::setPoolImplCall { code: pool_impl });
    deploy.call(provider, &Governance::setPoolConfiguratorImplCall { code: configurator_impl });
    let data_provider = deploy.create("misc/AaveProtocolDataProvider", &provider.abi_encode())?;
    deploy.call(provider, &Governance::setPoolDataProviderCall { provider: data_provider });
    deploy.sender.mine(genesis + 60).await?;

    let pool = rpc.call(provider, Governance::getPoolCall {}).await?;
    let configurator = rpc.call(provider, Governance::getPoolConfiguratorCall {}).await?;
    let tokens = deploy.tokens()?;
    let (assets, sources): (Vec<_>, Vec<_>) =
        tokens.iter().filter(|t| t.asset.reserve).filter_map(|t| Some((t.address, t.feed?))).unzip();
    let unit = U256::from(10).pow(U256::from(feed::DECIMALS));
    let oracle_args = (provider, assets, sources, Address::ZERO, Address::ZERO, unit).abi_encode_params();
    let oracle = deploy.create("misc/AaveOracle", &oracle_args)?;
    deploy.call(provider, &Governance::setPriceOracleCall { oracle });
    deploy.reserves(provider, pool, configurator, &tokens)?;
    let native_feed = deploy.feed(super::tokens::WETH.dollars, "native");
    deploy.sender.mine(genesis + 120).await?;

    let multicall = set_multicall(rpc, deploy.sender, admin, genesis + 180).await?;
    Ok(Market {
        pool,
        pool_block: 1,
        addresses_provider: provider,
        data_provider,
        oracle,
        multicall,
        tokens,
        native_feed,
    })
}

struct Deployment<'a> {
    modules: &'a Path,
    sender: &'a mut Sender,
    admin: Address,
    libraries: BTreeMap<String, Address>,
}

impl Deployment<'_> {
    fn create(&mut self, path: &str, arguments: &[u8]) -> Result<Address, Error> {
        let code = creation_code(self.modules, "@aave/core-v3", path, &self.libraries)?;
        Ok(self.sender.create(self.admin, [&code, arguments].concat().into(), format!("deploying {path}")))
    }

    fn call<C: SolCall>(&mut self, to: Address, call: &C) {
        self.sender.queue(Tx::call(self.admin, to, call.abi_encode(), C::SIGNATURE));
    }

    fn feed(&mut self, dollars: f64, of: &str) -> Address {
        let feed = self.sender.create(self.admin, feed::creation_code(), format!("deploying the price feed of {of}"));
        self.sender.queue(Tx::call(self.admin, feed, feed::set(dollars, 0), "setting a price"));
        feed
    }

    fn tokens(&mut self) -> Result<Vec<Token>, Error> {
        let mut tokens = Vec::new();
        for asset in ASSETS {
            let address = if asset.wraps_native {
                self.create("mocks/tokens/WETH9Mocked", &[])?
            } else {
                let arguments =
                    (asset.name.to_owned(), asset.symbol.to_owned(), U256::from(asset.decimals)).abi_encode_params();
                self.create("mocks/tokens/MintableERC20", &arguments)?
            };
            let feed = (asset.dollars > 0.0).then(|| self.feed(asset.dollars, asset.symbol));
            tokens.push(Token { asset, address, feed });
        }
        Ok(tokens)
    }

    fn reserves(
        &mut self,
        provider: Address,
        pool: Address,
        configurator: Address,
        tokens: &[Token],
    ) -> Result<(), Error> {
        let a_token = self.create("protocol/tokenization/AToken", &pool.abi_encode())?;
        let stable_debt = self.create("protocol/tokenization/StableDebtToken", &pool.abi_encode())?;
        let variable_debt = self.create("protocol/tokenization/VariableDebtToken", &pool.abi_encode())?;
        let incentives = self.create("mocks/helpers/MockIncentivesController", &[])?;
        // At most 1 % a year in ordinary use, so that debts of years stay close to the borrowed amount.
        let percent = |percent: u64| U256::from(percent) * U256::from(10).pow(U256::from(25));
        let rates = (
            provider,
            percent(90),
            percent(0),
            percent(1),
            percent(4),
            percent(1),
            percent(4),
            percent(0),
            percent(1),
            percent(20),
        );
        let strategy = self.create("protocol/pool/DefaultReserveInterestRateStrategy", &rates.abi_encode_params())?;
        for token in tokens.iter().filter(|token| token.asset.reserve) {
            let (asset, symbol) = (token.address, token.asset.symbol);
            let input = InitReserveInput {
                aTokenImpl: a_token,
                stableDebtTokenImpl: stable_debt,
                variableDebtTokenImpl: variable_debt,
                underlyingAssetDecimals: token.asset.decimals,
                interestRateStrategyAddress: strategy,
                underlyingAsset: asset,
                treasury: actors::address(TREASURY),
                incentivesController: incentives,
                aTokenName: format!("Aave {symbol}"),
                aTokenSymbol: format!("a{symbol}"),
                variableDebtTokenName: format!("Aave Variable Debt {symbol}"),
                variableDebtTokenSymbol: format!("variableDebt{symbol}"),
                stableDebtTokenName: format!("Aave Stable Debt {symbol}"),
                stableDebtTokenSymbol: format!("stableDebt{symbol}"),
                params: Bytes::new(),
            };
            self.call(configurator, &Governance::initReservesCall { inputs: vec![input] });
            let (ltv, threshold, bonus) = (U256::from(8000), U256::from(8500), U256::from(10_500));
            self.call(configurator, &Governance::configureReserveAsCollateralCall { asset, ltv, threshold, bonus });
            self.call(configurator, &Governance::setReserveBorrowingCall { asset, enabled: true });
            self.call(configurator, &Governance::setReserveFactorCall { asset, factor: U256::from(1000) });
        }
        Ok(())
    }
}

/// Deploys Multicall3 and copies its code to its well-known address.
async fn set_multicall(rpc: &Rpc, sender: &mut Sender, admin: Address, time: u64) -> Result<Address, Error> {
    let deployed = sender.create(admin, IMulticall3::BYTECODE.clone(), "deploying Multicall3");
    sender.mine(time).await?;
    let code: Bytes = rpc.request("eth_getCode", json!([deployed, "latest"])).await?;
    let _: Value = rpc.request("anvil_setCode", json!([MULTICALL, code])).await?;
    Ok(MULTICALL)
}
