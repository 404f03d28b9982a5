//! Checks that a lending market belongs to the configured protocol, and that its helper contracts answer.

use alloy::sol;

use super::ask;
use assay_domain::{Address, B256, Protocol};
use assay_evm::{
    client::{Block, Client},
    fault::Fault,
};
use assay_lending::config::{Dialect, MarketConfig};

sol! {
    struct TokenData { string symbol; address tokenAddress; }
    function ADDRESSES_PROVIDER() external view returns (address provider);
    function getAddressesProvider() external view returns (address provider);
    function getPool() external view returns (address pool);
    function getLendingPool() external view returns (address pool);
    function getPoolDataProvider() external view returns (address provider);
    function getReservesList() external view returns (address[] reserves);
    function getPriceOracle() external view returns (address oracle);
    function getAllReservesTokens() external view returns (TokenData[] tokens);
    function getAssetPrice(address asset) external view returns (uint256 price);
    function baseToken() external view returns (address token);
    function numAssets() external view returns (uint8 count);
    struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }
    function feeRecipient() external view returns (address recipient);
    function idToMarketParams(bytes32 id) external view returns (MarketParams params);
    function getProxyListLength() external view returns (uint256 number);
    function getAccountOwner(address account) external view returns (address owner);
    function getAddress(bytes32 key) external view returns (address contractAddress);
    function totalVaults() external view returns (uint256 count);
    function allTokens() external view returns (address[] tokens);
    function isCToken() external view returns (bool answer);
    function isVToken() external view returns (bool answer);
    function isQiToken() external view returns (bool answer);
    function isMToken() external view returns (bool answer);
    function comptroller() external view returns (address comptroller);
    function underlying() external view returns (address token);
    function symbol() external view returns (string symbol);
    function oracle() external view returns (address oracle);
}

/// # Errors
/// [`Fault`] when the endpoint does not answer.
pub(super) async fn check(client: &Client, market: &MarketConfig, head: Block) -> Result<Vec<String>, Fault> {
    let mut problems = match market.protocol {
        Protocol::LenderAV3 | Protocol::LenderAV2 => pool(client, market, head).await?,
        Protocol::LenderBV3 => comet(client, market.address, head).await?,
        Protocol::LenderBV2 => ctoken(client, market, head).await?,
        Protocol::MorphoBlue => morpho(client, market.address, head).await?,
        Protocol::MakerVaults => maker(client, market, head).await?,
        Protocol::Fluid => fluid(client, market, head).await?,
        Protocol::EulerV2 => euler(client, market, head).await?,
    };
    if market.from_block > head.number {
        problems.push(format!(
            "from_block {} is above the chain's head {}: no event would be found",
            market.from_block, head.number
        ));
    }
    Ok(problems)
}

async fn pool(client: &Client, market: &MarketConfig, head: Block) -> Result<Vec<String>, Fault> {
    let is_v3 = market.protocol == Protocol::LenderAV3;
    let provider = if is_v3 {
        ask(client, market.address, &ADDRESSES_PROVIDERCall {}, head).await?
    } else {
        ask(client, market.address, &getAddressesProviderCall {}, head).await?
    };
    let Some(provider) = provider.filter(|provider| *provider != Address::ZERO) else {
        return Ok(vec![format!("names no addresses provider, as a {} pool does", market.protocol.as_str())]);
    };
    let pool = if is_v3 {
        ask(client, provider, &getPoolCall {}, head).await?
    } else {
        ask(client, provider, &getLendingPoolCall {}, head).await?
    };
    let mut problems = Vec::new();
    match pool {
        Some(pool) if pool == market.address => {}
        Some(pool) => problems.push(format!("its addresses provider names another pool, {pool}")),
        None => problems.push(format!("its addresses provider {provider} names no pool")),
    }
    let reserve = if is_v3 {
        let data_provider = ask(client, provider, &getPoolDataProviderCall {}, head).await?.unwrap_or_default();
        let listed = ask(client, data_provider, &getAllReservesTokensCall {}, head).await?;
        listed.and_then(|reserves| reserves.first().map(|reserve| reserve.tokenAddress))
    } else {
        ask(client, market.address, &getReservesListCall {}, head).await?.and_then(|reserves| reserves.first().copied())
    };
    let Some(reserve) = reserve else {
        problems.push("lists no reserves".into());
        return Ok(problems);
    };
    let oracle = ask(client, provider, &getPriceOracleCall {}, head).await?.unwrap_or_default();
    if ask(client, oracle, &getAssetPriceCall { asset: reserve }, head).await?.is_none() {
        problems.push(format!("its price oracle {oracle} does not answer for its first reserve {reserve}"));
    }
    Ok(problems)
}

async fn comet(client: &Client, address: Address, head: Block) -> Result<Vec<String>, Fault> {
    let base = ask(client, address, &baseTokenCall {}, head).await?.filter(|base| *base != Address::ZERO);
    let assets = ask(client, address, &numAssetsCall {}, head).await?;
    Ok(match base.zip(assets) {
        Some(_) => vec![],
        None => vec!["does not answer baseToken and numAssets like a lenderB_v3 market".into()],
    })
}

async fn morpho(client: &Client, address: Address, head: Block) -> Result<Vec<String>, Fault> {
    let recipient = ask(client, address, &feeRecipientCall {}, head).await?;
    // The market of no id: a contract with other functions does not answer with five words.
    let market = ask(client, address, &idToMarketParamsCall { id: B256::ZERO }, head).await?;
    Ok(match recipient.zip(market) {
        Some(_) => vec![],
        None => vec!["does not answer feeRecipient and idToMarketParams like morpho_blue".into()],
    })
}

async fn maker(client: &Client, market: &MarketConfig, head: Block) -> Result<Vec<String>, Fault> {
    let (chainlog, key) = (market.chainlog.unwrap_or_default(), B256::right_padding_from(b"MCD_VAT"));
    Ok(match ask(client, chainlog, &getAddressCall { key }, head).await? {
        Some(vat) if vat == market.address => vec![],
        Some(vat) => vec![format!("the ChainLog has another Vat, {vat}")],
        None => vec![format!("chainlog {chainlog} does not answer getAddress for MCD_VAT")],
    })
}

async fn fluid(client: &Client, market: &MarketConfig, head: Block) -> Result<Vec<String>, Fault> {
    let lending = market.lending_factory.unwrap_or_default();
    let mut problems = Vec::new();
    if ask(client, market.address, &totalVaultsCall {}, head).await?.is_none() {
        problems.push("does not answer totalVaults like the vault factory of fluid".into());
    }
    if ask(client, lending, &allTokensCall {}, head).await?.is_none() {
        problems.push(format!("lending_factory {lending} does not answer allTokens"));
    }
    Ok(problems)
}

async fn euler(client: &Client, market: &MarketConfig, head: Block) -> Result<Vec<String>, Fault> {
    let connector = market.evc.unwrap_or_default();
    let mut problems = Vec::new();
    if ask(client, market.address, &getProxyListLengthCall {}, head).await?.is_none() {
        problems.push("does not answer getProxyListLength like the factory of euler_v2".into());
    }
    let owner = getAccountOwnerCall { account: Address::ZERO };
    if ask(client, connector, &owner, head).await?.is_none() {
        problems.push(format!("evc {connector} does not answer getAccountOwner like a vault connector"));
    }
    Ok(problems)
}

async fn ctoken(client: &Client, market: &MarketConfig, head: Block) -> Result<Vec<String>, Fault> {
    let address = market.address;
    let named = tokio::try_join!(
        ask(client, address, &isCTokenCall {}, head),
        ask(client, address, &isVTokenCall {}, head),
        ask(client, address, &isQiTokenCall {}, head),
        ask(client, address, &isMTokenCall {}, head)
    )?;
    if named.0.or(named.1).or(named.2).or(named.3) != Some(true) {
        return Ok(vec!["does not answer isCToken() like a lenderB_v2 market".into()]);
    }
    let mut problems = Vec::new();
    let comptroller = ask(client, address, &comptrollerCall {}, head).await?.unwrap_or_default();
    // The price of this market is not checked: a closed market has no price.
    if ask(client, comptroller, &oracleCall {}, head).await?.is_none_or(|oracle| oracle.is_zero()) {
        problems.push(format!("its comptroller {comptroller} names no price oracle"));
    }
    match (Dialect::find(client, comptroller, address, head.hash).await?, market.dialect) {
        (Some(found), Some(said)) if found != said => problems.push(format!(
            "has `dialect = \"{}\"`, and its comptroller answers like \"{}\"; correct or remove it",
            said.as_str(),
            found.as_str()
        )),
        (None, None) => problems.push(
            "its comptroller names rewards as no known fork of Compound v2 does, so its histories count as partial"
                .into(),
        ),
        _ => {}
    }
    let underlying = ask(client, address, &underlyingCall {}, head).await?;
    if underlying.is_none_or(|token| token.is_zero())
        && !ask(client, address, &symbolCall {}, head).await?.is_some_and(|symbol| Dialect::is_native(&symbol))
    {
        problems.push("names no underlying token, and is not the market of the native currency".into());
    }
    Ok(problems)
}
