//! Venus, a fork of Compound v2 with different names: its package's contracts on a small chain.

use alloy::primitives::{Address, Bytes, U256, bytes};
use alloy::sol;
use alloy::sol_types::SolValue;
use assay_devnet::lenders::Small;
use assay_devnet::lenders::ctoken::Market;
use serde_json::{Value, json};

use crate::devnet::Error;
use crate::devnet::actors::{DEPLOYER, address};
use crate::packages::venus_packages;

sol! {
    interface Unitroller {
        function _setPendingImplementation(address implementation) external returns (uint256);
        function _become(address unitroller) external;
        function _setPriceOracle(address oracle) external returns (uint256);
        function _setCloseFactor(uint256 factor) external returns (uint256);
        function _setAccessControl(address manager) external returns (uint256);
        function _setLiquidationIncentive(uint256 incentive) external returns (uint256);
        function _setComptrollerLens(address lens) external returns (uint256);
        function _supportMarket(address market) external returns (uint256);
        function _setCollateralFactor(address market, uint256 factor) external returns (uint256);
        function _setMarketSupplyCaps(address[] markets, uint256[] caps) external;
        function _setMarketBorrowCaps(address[] markets, uint256[] caps) external;
        function enterMarkets(address[] markets) external returns (uint256[]);
    }
    interface Oracle {
        function setDirectPrice(address asset, uint256 price) external;
    }
    interface Faucet {
        function allocateTo(address owner, uint256 amount) external;
        function approve(address spender, uint256 amount) external returns (bool);
    }
    interface VToken {
        function mint(uint256 amount) external returns (uint256);
        function redeem(uint256 tokens) external returns (uint256);
        function borrow(uint256 amount) external returns (uint256);
        function repayBorrow(uint256 amount) external returns (uint256);
        function repayBorrowBehalf(address borrower, uint256 amount) external returns (uint256);
        function liquidateBorrow(address borrower, uint256 amount, address collateral) external returns (uint256);
    }
    /// The market of the native currency takes the value of the transaction.
    interface VBnb {
        function mint() external payable;
        function repayBorrow() external payable;
        function repayBorrowBehalf(address borrower) external payable;
        function liquidateBorrow(address borrower, address collateral) external payable;
    }
}

/// All deployed contracts. One unit of each currency is worth one dollar.
#[derive(Debug, Clone)]
pub struct Venus {
    pub comptroller: Address,
    pub oracle: Address,
    pub usdc: Market,
    pub dai: Market,
    /// The package contains the real chain's contract only as source. This one, from the package's own tests, is
    /// compiled.
    pub bnb: Market,
}

/// Code that answers every call with 1: an access manager that allows everything.
const ALLOWS: Bytes = bytes!("60015f5260205ff3");
const MANAGER: Address = Address::repeat_byte(0xac);

/// Returns the creation code of a contract in the package.
fn creation(path: &str) -> Result<Bytes, Error> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let file = venus_packages()?
        .join("@venusprotocol/venus-protocol/artifacts/contracts")
        .join(format!("{path}.sol/{name}.json"));
    let bad = |why: String| Error::Artifact { file: file.clone(), why };
    let text = std::fs::read(&file).map_err(|error| bad(error.to_string()))?;
    let artifact: Value = serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))?;
    let code = artifact["bytecode"].as_str().unwrap_or_default();
    code.parse().map_err(|error| bad(format!("{error}")))
}

/// # Errors
/// If the package is missing or a transaction fails.
pub async fn deploy(chain: &mut Small) -> Result<Venus, Error> {
    let admin = address(DEPLOYER);
    let units = |amount: u64, decimals: u64| U256::from(amount) * U256::from(10).pow(U256::from(decimals));
    let _: Value = chain.rpc.request("anvil_setCode", json!([MANAGER, ALLOWS])).await?;
    let comptroller = chain.create(creation("Comptroller/Unitroller")?, "the unitroller");
    let implementation = chain.create(creation("Comptroller/Comptroller")?, "the comptroller");
    let lens = chain.create(creation("Lens/ComptrollerLens")?, "the lens");
    let oracle = chain.create(creation("test/SimplePriceOracle")?, "an oracle");
    let arguments = (U256::ZERO, units(5, 16)).abi_encode_params();
    let code = [creation("InterestRateModels/WhitePaperInterestRateModel")?.as_ref(), &arguments].concat();
    let rates = chain.create(code, "interest rates");
    chain.mine().await?;
    chain.queue(admin, comptroller, &Unitroller::_setPendingImplementationCall { implementation });
    chain.queue(admin, implementation, &Unitroller::_becomeCall { unitroller: comptroller });
    chain.queue(admin, comptroller, &Unitroller::_setPriceOracleCall { oracle });
    chain.queue(admin, comptroller, &Unitroller::_setCloseFactorCall { factor: units(5, 17) });
    chain.queue(admin, comptroller, &Unitroller::_setAccessControlCall { manager: MANAGER });
    chain.queue(admin, comptroller, &Unitroller::_setLiquidationIncentiveCall { incentive: units(11, 17) });
    chain.queue(admin, comptroller, &Unitroller::_setComptrollerLensCall { lens });

    let mut markets = Vec::new();
    for (name, decimals) in [("USDC", 6_u8), ("DAI", 18)] {
        let arguments = (U256::ZERO, name.to_owned(), U256::from(decimals), name.to_owned()).abi_encode_params();
        let token = chain.create([creation("test/FaucetToken")?.as_ref(), &arguments].concat(), "a token");
        let rate = units(2, 8 + u64::from(decimals));
        let label = format!("v{name}");
        let arguments = (token, comptroller, rates, rate, label.clone(), label, U256::from(8), admin);
        let code = [creation("Tokens/VTokens/VBep20Immutable")?.as_ref(), &arguments.abi_encode_params()].concat();
        markets.push(Market { ctoken: chain.create(code, "a market"), underlying: token, decimals, dollars: 1.0 });
        let price = U256::from(10).pow(U256::from(36 - decimals));
        chain.queue(admin, oracle, &Oracle::setDirectPriceCall { asset: token, price });
    }
    let label = "vBNB".to_owned();
    let arguments = (comptroller, rates, units(2, 26), label.clone(), label, U256::from(8), admin).abi_encode_params();
    let ctoken = chain.create([creation("test/MockVBNB")?.as_ref(), &arguments].concat(), "the native market");
    markets.push(Market { ctoken, underlying: Address::ZERO, decimals: 18, dollars: 1.0 });
    chain.mine().await?;
    for market in &markets {
        chain.queue(admin, comptroller, &Unitroller::_supportMarketCall { market: market.ctoken });
        let factor = units(8, 17);
        chain.queue(admin, comptroller, &Unitroller::_setCollateralFactorCall { market: market.ctoken, factor });
    }
    let listed: Vec<_> = markets.iter().map(|market| market.ctoken).collect();
    let caps = vec![units(1, 30); listed.len()];
    let supply = Unitroller::_setMarketSupplyCapsCall { markets: listed.clone(), caps: caps.clone() };
    chain.queue(admin, comptroller, &supply);
    chain.queue(admin, comptroller, &Unitroller::_setMarketBorrowCapsCall { markets: listed, caps });
    chain.mine().await?;
    let [usdc, dai, bnb] = markets.try_into().map_err(|_| Error::Unknown("a market".to_owned()))?;
    Ok(Venus { comptroller, oracle, usdc, dai, bnb })
}

impl Venus {
    pub fn markets(&self) -> [&Market; 3] {
        [&self.usdc, &self.dai, &self.bnb]
    }
}
