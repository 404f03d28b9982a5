//! A stub of a Comet market. The events of a wallet are computed from the market's own principals and collateral before
//! and after each block; of logs, only the absorption of a debt is used.

use alloy::primitives::{Address, B256, U256, keccak256};
use alloy::sol;
use alloy::sol_types::SolValue;

use super::{Small, stubs};
use crate::devnet::receipts::LendingEvents;
use crate::devnet::{Error, actors};

sol! {
    interface Comet {
        function setPrice(address feed, uint256 price) external;
        function accrue(uint256 supplyIndex, uint256 borrowIndex) external;
        function accrueAccount(address account) external;
        function payRewards(bool pays) external;
        function supplyTo(address dst, address asset, uint256 amount) external;
        function withdrawTo(address to, address asset, uint256 amount) external;
        function transferAsset(address dst, address asset, uint256 amount) external;
        function absorb(address account) external;
        function isLiquidatable(address account) external view returns (bool liquidatable);
        function balanceOf(address account) external view returns (uint256 balance);
        function borrowBalanceOf(address account) external view returns (uint256 balance);
        function userCollateral(address account, address asset) external view returns (uint128 balance,
            uint128 reserved);
        function userBasic(address account) external view returns (int104 principal, uint64 index, uint64 accrued,
            uint16 assets, uint8 reserved);
    }
    interface Together {
        function run(address target, bytes[] calls) external;
    }
}

/// A deployed market.
#[derive(Debug, Clone)]
pub struct Market {
    pub comet: Address,
    pub base: Address,
    pub decimals: u8,
    /// Tokens with 18 decimals.
    pub collateral: Vec<Address>,
}

/// A wallet's position in a market at the end of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balances {
    pub supplied: U256,
    pub borrowed: U256,
    pub collateral: Vec<U256>,
}

/// Deploys one market for each of `bases` (decimals and price), with two collateral assets of the given prices. All
/// prices are in the quote currency of the market.
///
/// # Errors
/// When compiling or a transaction fails.
pub async fn deploy(chain: &mut Small, bases: &[(u8, f64, [f64; 2])]) -> Result<Vec<Market>, Error> {
    let code = stubs("Comet.sol").await?;
    let creation = |name: &str| code.get(name).cloned().ok_or_else(|| Error::Unknown(format!("the stub {name}")));
    let (token, comet) = (creation("TokenStub")?, creation("CometStub")?);
    let mut markets = Vec::new();
    for (decimals, price, prices) in bases {
        let mut create =
            |places: u8| chain.create([token.as_ref(), &U256::from(places).abi_encode()].concat(), "a token");
        let (base, collateral) = (create(*decimals), vec![create(18), create(18)]);
        let scale = U256::from(10).pow(U256::from(*decimals));
        let arguments = (base, scale, collateral.clone()).abi_encode_params();
        let at = chain.create([comet.as_ref(), &arguments].concat(), "a market");
        for (asset, price) in [base].iter().chain(&collateral).zip([price].into_iter().chain(prices)) {
            let price = U256::from((price * 1e8).round() as u64);
            chain.queue(actors::address(actors::DEPLOYER), at, &Comet::setPriceCall { feed: *asset, price });
        }
        markets.push(Market { comet: at, base, decimals: *decimals, collateral });
    }
    chain.mine().await?;
    Ok(markets)
}

/// Deploys the contract that makes several calls in one transaction.
///
/// # Errors
/// When compiling or the transaction fails.
pub async fn together(chain: &mut Small) -> Result<Address, Error> {
    let code = stubs("Comet.sol").await?.remove("Together");
    let at = chain.create(code.ok_or_else(|| Error::Unknown("the stub Together".to_owned()))?, "several calls in one");
    chain.mine().await?;
    Ok(at)
}

impl Market {
    /// # Errors
    /// When the node does not answer.
    pub async fn balances(&self, chain: &Small, account: Address, block: u64) -> Result<Balances, Error> {
        let supplied = chain.view(self.comet, &Comet::balanceOfCall { account }, block).await?;
        let borrowed = chain.view(self.comet, &Comet::borrowBalanceOfCall { account }, block).await?;
        let mut collateral = Vec::new();
        for asset in &self.collateral {
            let held = chain.view(self.comet, &Comet::userCollateralCall { account, asset: *asset }, block).await?;
            collateral.push(U256::from(held.balance));
        }
        Ok(Balances { supplied, borrowed, collateral })
    }

    /// Supply and debt before interest, and collateral.
    async fn held(&self, chain: &Small, account: Address, block: u64) -> Result<Held, Error> {
        let basic = chain.view(self.comet, &Comet::userBasicCall { account }, block).await?;
        let principal = i128::try_from(basic.principal).map_err(|e| Error::Rpc(e.to_string()))?;
        let Balances { collateral, .. } = self.balances(chain, account, block).await?;
        Ok(Held { supply: principal.max(0), debt: principal.min(0).abs(), collateral })
    }

    /// The events of `wallet`: what its position was before and after each block.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn lived(&self, chain: &Small, wallet: Address) -> Result<LendingEvents, Error> {
        let (named, absorbed) = (wallet.into_word(), keccak256("AbsorbDebt(address,address,uint256,uint256)"));
        let mut lived = LendingEvents::default();
        // The market exists from the first block on.
        let mut after = self.held(chain, wallet, 1).await?;
        for number in 2..=chain.head {
            let before = std::mem::replace(&mut after, self.held(chain, wallet, number).await?);
            if before == after {
                continue;
            }
            let (time, logs) = chain.block(number).await?;
            let is_absorbed = |topics: &[B256]| topics.first() == Some(&absorbed) && topics.get(2) == Some(&named);
            let gone =
                |b: &Held, a: &Held| a.supply < b.supply || a.collateral.iter().zip(&b.collateral).any(|(a, b)| a < b);
            if logs.iter().any(|log| log.address == self.comet && is_absorbed(&log.topics)) {
                lived.liquidation += 1;
                lived.last_liquidation = Some(time);
            } else {
                lived.repay += u64::from(after.debt < before.debt);
                lived.borrow += u64::from(after.debt > before.debt);
                lived.withdraw += u64::from(gone(&before, &after));
                lived.supply += u64::from(gone(&after, &before));
            }
            lived.first.get_or_insert(time);
            lived.last = Some(time);
        }
        Ok(lived)
    }
}

/// A position at the end of a block, which interest does not change.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    supply: i128,
    debt: i128,
    collateral: Vec<U256>,
}
