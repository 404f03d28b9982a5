//! Fluid on stubs: a factory of vaults of each type, and a factory of tokens that are shares of deposits. Positions are
//! those of the stubs' own view, which computes them from the same storage by the steps of the protocol's resolver.

use alloy::primitives::{Address, I256, U256};
use alloy::sol;
use alloy::sol_types::SolValue;

use super::{Small, stubs};
use crate::devnet::{Error, actors};

sol! {
    interface VaultFactory {
        event Transfer(address indexed from, address indexed to, uint256 indexed id);
        function deployVault(uint256 kind, address supply, address borrow, address deployer, uint256 oracle,
            uint256 threshold) external;
        function transferFrom(address from, address to, uint256 id) external;
        function ownerOf(uint256 id) external view returns (address owner);
    }
    interface Vault {
        function operate(uint256 id, int256 newCol, int256 newDebt, address to) external returns (uint256 nft);
        function liquidate(uint256 id, uint256 debt, uint256 collateral) external;
        function setPrices(uint256 supplyPrice, uint256 borrowPrice) external;
        #[derive(Debug)]
        function position(uint256 id) external view returns (uint256 collateral, uint256 debt);
        #[derive(Debug)]
        function rawPosition(uint256 id) external view returns (uint256 collateral, uint256 debt, bool isLiquidated);
    }
    interface Lending {
        function create(address asset) external;
        function allTokens() external view returns (address[] tokens);
    }
    interface Share {
        event Transfer(address indexed from, address indexed to, uint256 value);
        function deposit(uint256 assets, address receiver) external;
        function redeem(uint256 shares, address receiver, address owner) external;
        function transfer(address to, uint256 shares) external;
        function setPrice(uint256 price) external;
        function convertToAssets(uint256 shares) external view returns (uint256 assets);
        function balanceOf(address owner) external view returns (uint256 balance);
    }
    interface Oracle {
        function setRate(uint256 rate) external;
    }
    interface Deployer {
        function deploy() external;
    }
}

const DEPLOYER: &str = actors::DEPLOYER;
/// The address by which the protocol means the native currency.
pub const NATIVE: Address = Address::repeat_byte(0xee);

/// What a vault has on its sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Tokens,
    PoolSupply,
    PoolBorrow,
    Pools,
}

/// A vault, and how its oracle is set.
#[derive(Debug, Clone, Copy)]
pub struct VaultAt {
    pub address: Address,
    pub oracle: Address,
    /// Decimals of its sides.
    pub decimals: (u8, u8),
    /// The share that the debt may reach, in thousandths.
    pub threshold: u64,
}

/// All deployed contracts.
#[derive(Debug, Clone)]
pub struct Fluid {
    pub factory: Address,
    pub lending: Address,
    pub deployer: Address,
    pub usdc: Address,
    /// Shares of deposits of dollars, and of ether.
    pub shares: [Address; 2],
    pub weth: Address,
    vaults: u64,
    oracles: u64,
}

/// Deploys the factories, two tokens, and the tokens of their deposits.
///
/// # Errors
/// When compiling or a transaction fails.
pub async fn deploy(chain: &mut Small) -> Result<Fluid, Error> {
    let factory = chain.create(creation("FluidVaultFactoryStub").await?, "a vault factory");
    let lending = chain.create(creation("FluidLendingFactoryStub").await?, "a lending factory");
    let deployer = chain.create(creation("FluidDeployerStub").await?, "a deployer of oracles");
    let token = creation("FluidUnderlyingStub").await?;
    let mut token = |places: u8| chain.create([token.clone(), U256::from(places).abi_encode()].concat(), "a token");
    let (usdc, weth) = (token(6), token(18));
    let owner = actors::address(DEPLOYER);
    for asset in [usdc, weth] {
        chain.queue(owner, lending, &Lending::createCall { asset });
    }
    chain.mine().await?;
    // A factory's contracts have the addresses that follow from its own.
    let shares = [1, 2].map(|nonce| lending.create(nonce));
    Ok(Fluid { factory, lending, deployer, usdc, shares, weth, vaults: 0, oracles: 0 })
}

async fn creation(name: &str) -> Result<Vec<u8>, Error> {
    let code = stubs("Fluid.sol").await?.remove(name);
    Ok(code.ok_or_else(|| Error::Unknown(format!("the contract {name}")))?.to_vec())
}

impl Fluid {
    /// A new vault, whose oracle says that a whole unit of collateral is worth `rate` of debt. `early` oracles have one
    /// rate for all purposes.
    ///
    /// # Errors
    /// When a transaction fails.
    pub async fn vault(
        &mut self,
        chain: &mut Small,
        kind: Kind,
        (supply, borrow): ((Address, u8), (Address, u8)),
        rate: f64,
        early: bool,
    ) -> Result<VaultAt, Error> {
        let owner = actors::address(DEPLOYER);
        self.vaults += 1;
        let (kind, oracle, word) = if kind == Kind::Tokens {
            let code = [creation("FluidOracleStub").await?, U256::from(early).abi_encode()].concat();
            let oracle = chain.create(code, "an oracle");
            (10_000, oracle, U256::from_be_slice(oracle.as_slice()))
        } else {
            self.oracles += 1;
            chain.queue(owner, self.deployer, &Deployer::deployCall {});
            let kind = if kind == Kind::PoolSupply {
                20_000
            } else if kind == Kind::PoolBorrow {
                30_000
            } else {
                40_000
            };
            (kind, self.deployer.create(self.oracles), U256::from(self.oracles))
        };
        let (deployer, threshold) = (self.deployer, 900);
        let call = VaultFactory::deployVaultCall {
            kind: U256::from(kind),
            supply: supply.0,
            borrow: borrow.0,
            deployer,
            oracle: word,
            threshold: U256::from(threshold),
        };
        chain.queue(owner, self.factory, &call);
        let address = self.factory.create(self.vaults);
        let vault = VaultAt { address, oracle, decimals: (supply.1, borrow.1), threshold };
        vault.queue_rate(chain, rate);
        chain.mine().await?;
        Ok(vault)
    }

    /// The shares of `wallet` in a token, and what they are worth.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn deposit(
        &self,
        chain: &Small,
        share: Address,
        owner: Address,
        block: u64,
    ) -> Result<(U256, U256), Error> {
        let shares = chain.view(share, &Share::balanceOfCall { owner }, block).await?;
        Ok((shares, chain.view(share, &Share::convertToAssetsCall { shares }, block).await?))
    }
}

impl VaultAt {
    pub fn queue_rate(&self, chain: &mut Small, rate: f64) {
        // Smallest units of debt for one of collateral, times 10^27.
        let places = 27 + u32::from(self.decimals.1) - u32::from(self.decimals.0);
        let rate = U256::from((rate * 1e6).round() as u64) * U256::from(10).pow(U256::from(places - 6));
        chain.queue(actors::address(DEPLOYER), self.oracle, &Oracle::setRateCall { rate });
    }

    /// Queues a change of a position, or the first use of a new one with the number 0. The least number means all.
    pub fn queue(&self, chain: &mut Small, from: Address, id: u64, collateral: i128, debt: i128) {
        let amount = |amount: i128| match amount {
            i128::MIN => I256::MIN,
            _ => I256::try_from(amount).unwrap_or_default(),
        };
        let call = Vault::operateCall {
            id: U256::from(id),
            newCol: amount(collateral),
            newDebt: amount(debt),
            to: Address::ZERO,
        };
        chain.queue(from, self.address, &call);
    }

    /// Queues a liquidation of the positions at the tick of one, of which these billionths are left.
    pub fn queue_liquidation(&self, chain: &mut Small, id: u64, debt: u64, collateral: u64) {
        let call =
            Vault::liquidateCall { id: U256::from(id), debt: U256::from(debt), collateral: U256::from(collateral) };
        chain.queue(actors::address(DEPLOYER), self.address, &call);
    }

    pub fn queue_prices(&self, chain: &mut Small, supply: u64, borrow: u64) {
        let call = Vault::setPricesCall { supplyPrice: U256::from(supply), borrowPrice: U256::from(borrow) };
        chain.queue(actors::address(DEPLOYER), self.address, &call);
    }

    /// Collateral and debt of a position.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn position(&self, chain: &Small, id: u64, block: u64) -> Result<(U256, U256), Error> {
        let answer = chain.view(self.address, &Vault::positionCall { id: U256::from(id) }, block).await?;
        Ok((answer.collateral, answer.debt))
    }

    /// Whether a position was liquidated after it was last used.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn is_liquidated(&self, chain: &Small, id: u64, block: u64) -> Result<bool, Error> {
        let answer = chain.view(self.address, &Vault::rawPositionCall { id: U256::from(id) }, block).await?;
        Ok(answer.isLiquidated)
    }

    /// The debt at which `collateral` is liquidated, by a rate in whole units.
    pub fn most_debt(&self, collateral: U256, rate: f64) -> f64 {
        let whole = 10_f64.powi(i32::from(self.decimals.1) - i32::from(self.decimals.0));
        f64::from(collateral) * rate * whole * self.threshold as f64 / 1_000.0
    }
}
