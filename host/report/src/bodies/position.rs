//! The fields of a lending position.

use serde::Serialize;
use utoipa::ToSchema;

use crate::ReportedPosition;
use assay_domain::{AssetSide, ChainId, Delegation, LendingMode, PositionAsset};
use assay_http::values::Usd;

/// The current position of the wallet in a pool, in dollars.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = PoolPosition)]
pub struct PoolPositionBody {
    pub protocol: String,
    /// The name by which users know the protocol.
    #[schema(example = "Aave v3")]
    pub protocol_name: &'static str,
    pub market_address: String,
    /// Null when the protocol has one pool on the chain.
    pub market: Option<String>,
    #[schema(value_type = u64)]
    pub chain_id: ChainId,
    #[schema(value_type = f64)]
    pub supplied: Usd,
    #[schema(value_type = f64)]
    pub borrowed: Usd,
    /// Collateral times liquidation threshold over debt: below 1 it can be liquidated. Null without debt. For
    /// `lenderB_v2`, whose pools share their collateral, of all its pools together; for `morpho_blue`,
    /// `maker_vaults`, `fluid` and `euler_v2`, of the market, vault or account that is nearest to liquidation.
    pub health_factor: Option<f64>,
    /// The deposits and debts by token. Deposits without a price are not listed.
    pub assets: Vec<PositionAssetBody>,
    /// The category of e-mode that the wallet chose, in which assets have higher thresholds; null without one.
    pub e_mode: Option<EModeBody>,
    /// Whether the only collateral is an asset whose debts the pool limits.
    pub isolated: bool,
    /// Credit that the wallet gave to other addresses, or received from them. What was drawn is a debt of its owner:
    /// it is in the owner's `borrowed`, and in no sum of the delegate. Null if the events of the pool are not complete.
    pub delegations: Option<Vec<DelegationBody>>,
}

/// Credit of one address that another may draw.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Delegation)]
pub struct DelegationBody {
    /// Whose debt it is, and whose collateral secures it.
    pub owner: String,
    /// Who may draw the credit, and receives the money.
    pub delegate: String,
    #[schema(example = "USDC")]
    pub symbol: Option<String>,
    pub address: String,
    /// Whole tokens that may still be drawn, exact; null if there is no limit.
    #[schema(example = "400")]
    pub allowance: Option<String>,
    /// Null without a limit or a price.
    #[schema(value_type = Option<f64>)]
    pub allowance_usd: Option<Usd>,
    /// Whole tokens drawn so far, repaid or not, exact.
    #[schema(example = "100")]
    pub drawn: String,
    #[schema(value_type = Option<f64>)]
    pub drawn_usd: Option<Usd>,
}

impl From<Delegation> for DelegationBody {
    fn from(credit: Delegation) -> Self {
        Self {
            owner: credit.owner.to_checksum(None),
            delegate: credit.delegate.to_checksum(None),
            address: credit.token.to_checksum(None),
            allowance: credit.allowance_text(),
            allowance_usd: credit.allowance_usd().map(Usd),
            drawn: credit.drawn_text(),
            drawn_usd: credit.drawn_usd().map(Usd),
            symbol: credit.symbol,
        }
    }
}

/// A deposit or a debt in one token.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = PositionAsset)]
pub struct PositionAssetBody {
    /// Null for a token that is not configured and whose pool does not name it.
    #[schema(example = "WETH")]
    pub symbol: Option<String>,
    /// Null for the native currency.
    pub address: Option<String>,
    pub side: AssetSideName,
    /// Whole tokens, exact.
    #[schema(example = "1.25")]
    pub balance: String,
    #[schema(value_type = f64)]
    pub usd: Usd,
    /// Dollars for one token, by which the pool decides about liquidation. Null if the pool did not return it.
    pub price_usd: Option<f64>,
    /// The share of its value that the debt may reach, 0 to 1. Null for a deposit that secures no debt, for a debt, and
    /// if the pool did not return it.
    pub liquidation_threshold: Option<f64>,
    /// The price in dollars at which the position can be liquidated if no other price changes: below it for collateral,
    /// above it for a debt. Null if no price leads there, or if it is not known.
    pub liquidation_price: Option<f64>,
}

/// The part of a position that an asset belongs to: `collateral` secures the debt, a `deposit` does not.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AssetSide)]
pub enum AssetSideName {
    Collateral,
    Deposit,
    Debt,
}

/// A category of e-mode.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = EMode)]
pub struct EModeBody {
    pub category: u8,
    /// As the pool names it.
    #[schema(example = "ETH correlated")]
    pub label: Option<String>,
}

impl From<ReportedPosition> for PoolPositionBody {
    fn from(position: ReportedPosition) -> Self {
        let isolated = position.mode == Some(LendingMode::Isolation);
        let e_mode = match position.mode {
            Some(LendingMode::EMode { category, label }) => Some(EModeBody { category, label }),
            Some(LendingMode::Isolation) | None => None,
        };
        Self {
            protocol: position.protocol.as_str().to_owned(),
            protocol_name: position.protocol.display_name(),
            market_address: position.market_address.to_checksum(None),
            market: position.market,
            chain_id: position.chain_id,
            supplied: Usd(position.supplied_usd),
            borrowed: Usd(position.borrowed_usd),
            health_factor: position.health_factor,
            assets: position.assets.into_iter().map(PositionAssetBody::from).collect(),
            e_mode,
            isolated,
            delegations: position.delegations.map(|all| all.into_iter().map(DelegationBody::from).collect()),
        }
    }
}

impl From<(PositionAsset, Option<f64>)> for PositionAssetBody {
    fn from((asset, liquidation_price): (PositionAsset, Option<f64>)) -> Self {
        Self {
            balance: asset.balance_text(),
            symbol: asset.symbol,
            address: asset.token.map(|token| token.to_checksum(None)),
            side: asset.side.into(),
            usd: Usd(asset.usd),
            price_usd: asset.price_usd,
            liquidation_threshold: asset.liquidation_threshold,
            liquidation_price,
        }
    }
}

impl From<AssetSide> for AssetSideName {
    fn from(side: AssetSide) -> Self {
        match side {
            AssetSide::Collateral => Self::Collateral,
            AssetSide::Deposit => Self::Deposit,
            AssetSide::Debt => Self::Debt,
        }
    }
}
