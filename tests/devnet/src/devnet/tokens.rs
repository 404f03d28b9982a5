//! The tokens of the devnet and amounts of them.

use alloy::primitives::U256;

/// A token. On every chain only its address differs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Asset {
    pub symbol: &'static str,
    pub name: &'static str,
    pub decimals: u8,
    /// First price in dollars; 0 without a price.
    pub dollars: f64,
    /// Whether the market lists it.
    pub reserve: bool,
    pub wraps_native: bool,
}

pub const WETH: Asset =
    Asset { symbol: "WETH", name: "Wrapped Ether", decimals: 18, dollars: 2_000.0, reserve: true, wraps_native: true };
pub const USDC: Asset = reserve("USDC", "USD Coin", 6, 1.0);
pub const WBTC: Asset = reserve("WBTC", "Wrapped Bitcoin", 8, 40_000.0);
pub const DAI: Asset = reserve("DAI", "Dai Stablecoin", 18, 1.0);
/// Priced only by its feed: no market lists it.
pub const LINK: Asset = Asset { reserve: false, ..reserve("LINK", "Chainlink Token", 18, 15.0) };
/// Has no price.
pub const MOON: Asset = Asset { reserve: false, ..reserve("MOON", "Moonshot", 18, 0.0) };

pub const ASSETS: [Asset; 6] = [WETH, USDC, WBTC, DAI, LINK, MOON];

const fn reserve(symbol: &'static str, name: &'static str, decimals: u8, dollars: f64) -> Asset {
    Asset { symbol, name, decimals, dollars, reserve: true, wraps_native: false }
}

/// The whole debt, or the whole balance.
pub const ALL: f64 = f64::INFINITY;

/// Tokens in their smallest unit, exact to a thousandth of a token.
pub fn units(tokens: f64, decimals: u8) -> U256 {
    if tokens.is_infinite() {
        return U256::MAX;
    }
    let thousandths = U256::from((tokens * 1000.0).round() as u128);
    thousandths * U256::from(10).pow(U256::from(decimals)) / U256::from(1000)
}
