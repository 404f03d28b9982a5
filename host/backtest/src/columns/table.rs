//! The columns of a features file, each with its field in the record.

use super::cell::{Cell, CellKind, Value};
use assay_domain::{
    Coverage,
    features::{AttestationFeature, ChainFeatures, Dollars, Holding, MarketFeatures},
};

/// A column: its name, its type, and whether it may be empty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub name: &'static str,
    pub kind: CellKind,
    pub optional: bool,
}

/// The columns of a plain record, or of the entries of a list.
pub(crate) trait Columns: Sized {
    fn columns() -> Vec<Column>;

    /// Reads cells in the order of [`Columns::columns`]; `None` for a missing column.
    ///
    /// # Errors
    /// Which column has a wrong value.
    fn read<'a>(cells: impl Iterator<Item = Option<&'a Cell>>) -> Result<Self, String>;

    fn write(&self) -> Vec<Cell>;
}

/// The plain columns of a wallet.
pub(crate) struct Wallet {
    pub id: Option<String>,
    pub outcome: Option<bool>,
    pub as_of: u64,
    pub cluster: Option<String>,
}

/// The lists of a wallet, in the order of their columns.
pub(crate) const LISTS: [&str; 4] = ["chains", "markets", "holdings", "identity"];

fn column<R, V: Value>(name: &'static str, _: fn(&R) -> &V, absent: Option<V>) -> Column {
    Column { name, kind: V::KIND, optional: V::OPTIONAL || absent.is_some() }
}

/// `absent` is the value of a column that may be empty or missing.
fn value<V: Value>(name: &str, cell: Option<Option<&Cell>>, absent: Option<V>) -> Result<V, String> {
    let cell = cell.flatten().unwrap_or(&Cell::Null);
    match absent {
        Some(absent) if *cell == Cell::Null => Ok(absent),
        _ => V::read(cell).map_err(|reason| format!("{name}: {reason}")),
    }
}

/// `field = value` is a column that may be empty or missing, and its value then.
macro_rules! columns {
    ($record:ident { $($field:ident $(= $absent:expr)?),* $(,)? }) => {
        impl Columns for $record {
            fn columns() -> Vec<Column> {
                vec![$(column(stringify!($field), |record: &Self| &record.$field, None$(.or(Some($absent)))?)),*]
            }

            fn read<'a>(mut cells: impl Iterator<Item = Option<&'a Cell>>) -> Result<Self, String> {
                Ok(Self { $($field: value(stringify!($field), cells.next(), None$(.or(Some($absent)))?)?),* })
            }

            fn write(&self) -> Vec<Cell> {
                vec![$(self.$field.write()),*]
            }
        }
    };
}

columns!(Wallet { id, outcome, as_of, cluster });
columns!(ChainFeatures {
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
    borrowed_usd,
});
columns!(MarketFeatures {
    chain_id,
    protocol,
    market,
    coverage,
    feeds_score,
    supply,
    withdraw,
    borrow,
    repay,
    liquidation,
    first_event,
    last_event,
    last_liquidation,
    supplied_usd,
    borrowed_usd,
    events_coverage = Coverage::Failed,
    events = Vec::new(),
    dollars = Dollars::default(),
    liquidation_days,
    position,
});
columns!(Holding { class, usd, assets });
columns!(AttestationFeature { provider, issued, expires, score });

/// Every column: the plain ones first, then those of each list.
pub(crate) fn all() -> Vec<(Option<&'static str>, Vec<Column>)> {
    let [chains, markets, holdings, identity] = LISTS;
    vec![
        (None, Wallet::columns()),
        (Some(chains), ChainFeatures::columns()),
        (Some(markets), MarketFeatures::columns()),
        (Some(holdings), Holding::columns()),
        (Some(identity), AttestationFeature::columns()),
    ]
}
