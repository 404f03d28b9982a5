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
    /// The inputs behind it, as `describe` names them. Empty where they follow from list and name.
    reads: &'static [&'static str],
}

impl Field {
    /// The inputs that an expression with this field of `list` reads.
    pub fn inputs(&self, list: &List) -> Vec<String> {
        match self.reads {
            [] => vec![format!("{}.{}", list.name, self.name.replace('_', "-"))],
            reads => reads.iter().map(|input| (*input).to_owned()).collect(),
        }
    }
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
/// Lists of all markets, one market after the other.
pub const EVENTS: u8 = 4;
pub const COLLATERAL: u8 = 5;
pub const DEBT: u8 = 6;

const COVERAGE: Holds = Holds::Word(&["complete", "partial", "pending", "failed"]);
const CLASS: Holds = Holds::Word(&["native", "stablecoin", "token", "wrapped", "liquidity", "collateral"]);
const EXPOSURE: Holds = Holds::Word(&["stablecoin", "native", "bitcoin", "other"]);
const EVENT: Holds = Holds::Word(&["supply", "withdraw", "borrow", "repay", "liquidation"]);

const fn field(name: &'static str, holds: Holds) -> Field {
    Field { name, holds, reads: &[] }
}

const fn number(name: &'static str) -> Field {
    field(name, Holds::Number)
}

impl Field {
    const fn reading(self, reads: &'static [&'static str]) -> Self {
        Self { reads, ..self }
    }
}

/// All lists, in the order of [`CHAINS`] and its neighbours.
pub const LISTS: &[List] = &[
    List {
        name: "chains",
        fields: &[
            number("chain_id"),
            field("coverage", COVERAGE),
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
            field("coverage", COVERAGE),
            field("feeds_score", Holds::Truth),
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
            field("protocol", Holds::Text),
            field("market", Holds::Text),
            field("events_coverage", COVERAGE),
            number("dollars.supply"),
            number("dollars.withdraw"),
            number("dollars.borrow"),
            number("dollars.repay"),
            number("dollars.liquidation"),
            number("liquidation_days"),
            field("position.coverage", COVERAGE),
            number("position.health_factor"),
            number("position.liquidation_threshold"),
            number("position.utilisation"),
        ],
    },
    List { name: "holdings", fields: &[field("class", CLASS), number("usd"), number("assets")] },
    List {
        name: "identity",
        fields: &[number("issued"), number("expires"), number("score"), field("provider", Holds::Text)],
    },
    List {
        name: "events",
        fields: &[
            MARKET[0],
            MARKET[1],
            MARKET[2],
            field("market.events_coverage", COVERAGE).reading(&["markets.events-coverage"]),
            field("kind", EVENT).reading(&["markets.events.kind"]),
            number("days_ago").reading(&["as-of", "markets.events.time"]),
            number("usd").reading(&["markets.events.usd"]),
            field("class", EXPOSURE).reading(&["markets.events.class"]),
        ],
    },
    List {
        name: "collateral",
        fields: &[
            MARKET[0],
            MARKET[1],
            MARKET[2],
            MARKET[3],
            field("class", EXPOSURE).reading(&["markets.position.collateral.class"]),
            number("usd").reading(&["markets.position.collateral.usd"]),
        ],
    },
    List {
        name: "debt",
        fields: &[
            MARKET[0],
            MARKET[1],
            MARKET[2],
            MARKET[3],
            field("class", EXPOSURE).reading(&["markets.position.debt.class"]),
            number("usd").reading(&["markets.position.debt.usd"]),
        ],
    },
];

/// What the items of `events`, `collateral` and `debt` take from their market, at the same places.
const MARKET: [Field; 4] = [
    number("market.chain_id").reading(&["markets.chain-id"]),
    field("market.protocol", Holds::Text).reading(&["markets.protocol"]),
    field("market.feeds_score", Holds::Truth).reading(&["markets.feeds-score"]),
    field("market.position.coverage", COVERAGE).reading(&["markets.position.coverage"]),
];
