//! The lists of the features and their fields. The places of lists and fields are part of the packed format: new ones go
//! to the end.

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    Number,
    /// True or false.
    Truth,
    /// One of these words, in the order of the WIT enum.
    Word(&'static [&'static str]),
    Text,
}

/// One field of the items of a list.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub name: &'static str,
    pub holds: Holds,
}

/// One list of the features.
#[derive(Debug, Clone, Copy)]
pub struct List {
    pub name: &'static str,
    pub fields: &'static [Field],
}

pub const CHAINS: u8 = 0;
pub const MARKETS: u8 = 1;
pub const HOLDINGS: u8 = 2;
pub const IDENTITY: u8 = 3;

const COVERAGE: Holds = Holds::Word(&["complete", "partial", "pending", "failed"]);
const CLASS: Holds = Holds::Word(&["native", "stablecoin", "token", "wrapped", "liquidity", "collateral"]);

const fn number(name: &'static str) -> Field {
    Field { name, holds: Holds::Number }
}

/// All lists, in the order of [`CHAINS`] and its neighbours.
pub const LISTS: &[List] = &[
    List {
        name: "chains",
        fields: &[
            number("chain_id"),
            Field { name: "coverage", holds: COVERAGE },
            number("first_transaction"),
            number("last_transaction"),
            number("transactions"),
            number("transfers"),
            number("counterparties"),
            number("active_days"),
            number("active_hours"),
            number("median_gap"),
            number("assets_usd"),
            number("supplied_usd"),
            number("borrowed_usd"),
        ],
    },
    List {
        name: "markets",
        fields: &[
            number("chain_id"),
            Field { name: "coverage", holds: COVERAGE },
            Field { name: "feeds_score", holds: Holds::Truth },
            number("supply"),
            number("withdraw"),
            number("borrow"),
            number("repay"),
            number("liquidation"),
            number("first_event"),
            number("last_event"),
            number("last_liquidation"),
            number("supplied_usd"),
            number("borrowed_usd"),
            Field { name: "protocol", holds: Holds::Text },
            Field { name: "market", holds: Holds::Text },
        ],
    },
    List { name: "holdings", fields: &[Field { name: "class", holds: CLASS }, number("usd"), number("assets")] },
    List {
        name: "identity",
        fields: &[number("issued"), number("expires"), number("score"), Field { name: "provider", holds: Holds::Text }],
    },
];
