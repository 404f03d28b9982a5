//! A vault: its tokens, the prices of its raw amounts, its threshold and its oracle. There are two kinds of vaults by
//! their code, and four by their sides: each side is a token, or shares of a pool of two tokens.

use alloy::{primitives::Bytes, sol};

use super::math::{bits, small};
use assay_domain::{Address, B256, U256};
use assay_evm::{Call, returned};

sol! {
    struct Tokens { address token0; address token1; }
    /// Of a vault with tokens on both sides.
    struct PlainConstants {
        address liquidity; address factory; address adminImplementation; address secondaryImplementation;
        address supplyToken; address borrowToken; uint8 supplyDecimals; uint8 borrowDecimals; uint256 vaultId;
        bytes32 liquiditySupplyExchangePriceSlot; bytes32 liquidityBorrowExchangePriceSlot;
        bytes32 liquidityUserSupplySlot; bytes32 liquidityUserBorrowSlot;
    }
    /// Of a vault with shares of a pool on one side or both.
    struct PoolConstants {
        address liquidity; address factory; address operateImplementation; address adminImplementation;
        address secondaryImplementation; address deployer; address supply; address borrow; Tokens supplyToken;
        Tokens borrowToken; uint256 vaultId; uint256 vaultType; bytes32 supplyExchangePriceSlot;
        bytes32 borrowExchangePriceSlot; bytes32 userSupplySlot; bytes32 userBorrowSlot;
    }
    interface PlainVault { function constantsView() external view returns (PlainConstants constants); }
    interface PoolVault { function constantsView() external view returns (PoolConstants constants); }
    #[derive(Debug)]
    function updateExchangePrices(uint256 vaultVariables2) external view returns (
        uint256 liquiditySupply, uint256 liquidityBorrow, uint256 vaultSupply, uint256 vaultBorrow);
    function readFromStorage(bytes32 slot) external view returns (uint256 word);
    function getExchangeRateLiquidate() external view returns (uint256 rate);
    function getExchangeRate() external view returns (uint256 rate);
}

/// Where a vault keeps its parameters.
const PARAMETERS: u64 = 1;
/// One, in the exchange prices of a vault.
const PRICE: u64 = 1_000_000_000_000;
/// One, in thresholds.
const THOUSAND: u64 = 1_000;
/// Types of vaults with a token on both sides, and with shares of a pool as collateral, as debt, and as both.
const TYPES: [u64; 4] = [10_000, 20_000, 30_000, 40_000];

/// What a side of a vault is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Token(Address),
    /// Shares of this pool of two tokens, with 18 decimals.
    Pool(Address),
}

/// The contracts and parameters of a vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parameters {
    pub supply: Unit,
    pub borrow: Unit,
    /// As the vault keeps them.
    word: U256,
    oracle: Option<Address>,
}

/// A vault at a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Vault {
    pub supply: Unit,
    pub borrow: Unit,
    /// Share of the collateral that the debt may reach, in thousandths.
    threshold: U256,
    supply_price: U256,
    borrow_price: U256,
    /// Debt that is worth as much as a unit of collateral, in the smallest units, times 10^27; `None` if the oracle
    /// does not answer.
    rate: Option<U256>,
}

/// A call for a word in the storage of a contract.
pub(super) fn word(contract: Address, slot: B256) -> Call {
    Call::new(contract, &readFromStorageCall { slot })
}

/// The answer to [`word`].
pub(super) fn read(answer: Option<&Option<Bytes>>) -> Option<U256> {
    returned::<readFromStorageCall>(answer)
}

impl Parameters {
    /// The calls for [`read`](Self::read).
    pub(super) fn calls(vault: Address) -> [Call; 2] {
        [Call::new(vault, &PlainVault::constantsViewCall {}), word(vault, B256::from(U256::from(PARAMETERS)))]
    }

    /// `None` for a vault of another factory or of an unknown type.
    pub(super) fn read(factory: Address, id: u32, answers: &[Option<Bytes>]) -> Option<Self> {
        let word = read(answers.get(1))?;
        // The longer answer is read first: the shorter one does not have its length.
        if let Some(constants) = returned::<PoolVault::constantsViewCall>(answers.first()) {
            let is_own = constants.factory == factory && constants.vaultId == U256::from(id);
            let kind = TYPES.iter().position(|kind| constants.vaultType == U256::from(*kind)).filter(|_| is_own)?;
            let pool = |is_pool, pool, token| if is_pool { Unit::Pool(pool) } else { Unit::Token(token) };
            let oracle = u64::from(small(word, 92, 30));
            return Some(Self {
                supply: pool(kind == 1 || kind == 3, constants.supply, constants.supplyToken.token0),
                borrow: pool(kind == 2 || kind == 3, constants.borrow, constants.borrowToken.token0),
                word,
                oracle: (oracle > 0).then(|| constants.deployer.create(oracle)),
            });
        }
        let constants = returned::<PlainVault::constantsViewCall>(answers.first())?;
        let (supply, borrow) = (Unit::Token(constants.supplyToken), Unit::Token(constants.borrowToken));
        let oracle = Address::from_word(B256::from(word >> 96_usize));
        let is_own = constants.factory == factory && constants.vaultId == U256::from(id);
        is_own.then_some(Self { supply, borrow, word, oracle: Some(oracle).filter(|oracle| !oracle.is_zero()) })
    }

    /// The calls for [`Vault::read`]. Oracles of early vaults have one rate for all purposes.
    pub(super) fn state_calls(&self, vault: Address) -> [Call; 3] {
        let oracle = self.oracle.unwrap_or_default();
        [
            Call::new(vault, &updateExchangePricesCall { vaultVariables2: self.word }),
            Call::new(oracle, &getExchangeRateLiquidateCall {}),
            Call::new(oracle, &getExchangeRateCall {}),
        ]
    }
}

impl Vault {
    pub(super) fn read(parameters: &Parameters, answers: &[Option<Bytes>]) -> Option<Self> {
        let prices = returned::<updateExchangePricesCall>(answers.first())?;
        let rate = returned::<getExchangeRateLiquidateCall>(answers.get(1));
        let rate = rate.or_else(|| returned::<getExchangeRateCall>(answers.get(2)));
        Some(Self {
            supply: parameters.supply,
            borrow: parameters.borrow,
            threshold: bits(parameters.word, 42, 10),
            supply_price: prices.vaultSupply,
            borrow_price: prices.vaultBorrow,
            rate: rate.filter(|rate| !rate.is_zero() && parameters.oracle.is_some()),
        })
    }

    /// The amounts of a position in the vault's units.
    pub(super) fn amounts(&self, supply: U256, borrow: U256) -> Option<(U256, U256)> {
        let of = |raw: U256, price| raw.checked_mul(price)?.checked_div(U256::from(PRICE));
        Some((of(supply, self.supply_price)?, of(borrow, self.borrow_price)?))
    }

    /// The share of the collateral that the debt may reach, 0 to 1.
    pub(super) fn threshold(&self) -> f64 {
        f64::from(self.threshold) / THOUSAND as f64
    }

    /// The debt that `collateral` is worth, in the smallest units of both, by the oracle.
    pub(super) fn rate(&self) -> Option<f64> {
        Some(f64::from(self.rate?) / 1e27)
    }

    /// The debt at which `collateral` is liquidated.
    pub(super) fn most_debt(&self, collateral: U256) -> Option<U256> {
        let one = U256::from(10).pow(U256::from(27));
        let worth = collateral.checked_mul(self.rate?)?.checked_div(one)?;
        worth.checked_mul(self.threshold)?.checked_div(U256::from(THOUSAND))
    }
}

#[cfg(test)]
impl Vault {
    /// A vault with exchange prices of one, a threshold in thousandths, and the rate of its oracle.
    pub(super) fn sample(supply: Unit, borrow: Unit, threshold: u64, rate: Option<U256>) -> Self {
        let one = U256::from(PRICE);
        Self { supply, borrow, threshold: U256::from(threshold), supply_price: one, borrow_price: one, rate }
    }
}
