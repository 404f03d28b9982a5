//! Features of `wit/v1` from those of `wit/v2`, which leaves out what v1 lacks, and back, which leaves it unread.

use super::types;
use crate::types as v1;

/// Both directions for a record whose fields are the same in both.
macro_rules! same {
    ($name:ident { $($field:ident),* }) => {
        same!(types, v1, $name { $($field),* });
        same!(v1, types, $name { $($field),* });
    };
    ($from:ident, $to:ident, $name:ident { $($field:ident),* }) => {
        impl From<$from::$name> for $to::$name {
            fn from($from::$name { $($field),* }: $from::$name) -> Self {
                Self { $($field: $field.into()),* }
            }
        }
    };
}

/// Both directions for an enum.
macro_rules! cases {
    ($name:ident { $($case:ident),* }) => {
        cases!(types, v1, $name { $($case),* });
        cases!(v1, types, $name { $($case),* });
    };
    ($from:ident, $to:ident, $name:ident { $($case:ident),* }) => {
        impl From<$from::$name> for $to::$name {
            fn from(from: $from::$name) -> Self {
                match from { $($from::$name::$case => Self::$case),* }
            }
        }
    };
}

cases!(Coverage { Complete, Partial, Pending, Failed });
cases!(AssetClass { Native, Stablecoin, Token, Wrapped, Liquidity, Collateral });
cases!(types, v1, Rating { Low, Fair, Good, VeryGood, Excellent });
same!(types, v1, Factor { label, rating, description, points, possible });
same!(Holding { class, usd, assets });
same!(Attestation { provider, issued, expires, score });
same!(ChainFeatures {
    chain_id,
    coverage,
    first_transaction,
    last_transaction,
    transactions,
    transfers,
    counterparties,
    active_days,
    active_hours,
    median_gap,
    assets_usd,
    supplied_usd,
    borrowed_usd
});

/// Both directions for the features, and for a market, whose fields beyond v1 are given for the way back.
macro_rules! both {
    ($from:ident, $to:ident $(, $beyond:ident: $value:expr)*) => {
        impl From<$from::Features> for $to::Features {
            fn from(from: $from::Features) -> Self {
                Self {
                    as_of: from.as_of,
                    chains: from.chains.into_iter().map(Into::into).collect(),
                    markets: from.markets.into_iter().map(Into::into).collect(),
                    holdings: from.holdings.into_iter().map(Into::into).collect(),
                    identity: from.identity.into_iter().map(Into::into).collect(),
                }
            }
        }

        impl From<$from::MarketFeatures> for $to::MarketFeatures {
            fn from(from: $from::MarketFeatures) -> Self {
                Self {
                    chain_id: from.chain_id,
                    protocol: from.protocol,
                    market: from.market,
                    coverage: from.coverage.into(),
                    feeds_score: from.feeds_score,
                    supply: from.supply,
                    withdraw: from.withdraw,
                    borrow: from.borrow,
                    repay: from.repay,
                    liquidation: from.liquidation,
                    first_event: from.first_event,
                    last_event: from.last_event,
                    last_liquidation: from.last_liquidation,
                    supplied_usd: from.supplied_usd,
                    borrowed_usd: from.borrowed_usd,
                    $($beyond: $value,)*
                }
            }
        }
    };
}

both!(types, v1);
both!(
    v1,
    types,
    events_coverage: types::Coverage::Failed,
    events: Vec::new(),
    dollars: types::Dollars::default(),
    liquidation_days: None,
    position: None
);
