//! The column of the wallets.

use super::{Row, TableError};
use assay_domain::Subject;

/// The names that say it, in this order.
const NAMES: [&str; 3] = ["address", "wallet", "name"];
/// Rows that show what a column has.
const SHOWN: usize = 100;

/// The column that the caller names; else one of [`NAMES`] with a wallet in it; else the first whose cells are mostly
/// wallets.
pub(super) fn of_wallets(columns: &[String], rows: &[Row], named: Option<&str>) -> Result<usize, TableError> {
    let known = || columns.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let place = |name: &str| columns.iter().position(|column| column.eq_ignore_ascii_case(name));
    if let Some(name) = named {
        return place(name).ok_or_else(|| TableError::NoColumn { name: name.to_owned(), known: known() });
    }
    let told = NAMES.into_iter().filter_map(place).find(|at| share(rows, *at) > 0.0);
    let looks = || (0..columns.len()).find(|at| share(rows, *at) >= 0.5);
    // A column of that name in which nothing is a wallet: its rows are reported as invalid.
    let only_told = || NAMES.into_iter().find_map(place);
    told.or_else(looks).or_else(only_told).ok_or_else(|| TableError::NoWallets { known: known() })
}

/// The share of the cells with text that are wallets, in the first rows.
fn share(rows: &[Row], column: usize) -> f64 {
    let cells: Vec<&str> =
        rows.iter().take(SHOWN).map(|row| row.text(column)).filter(|text| !text.is_empty()).collect();
    let wallets = cells.iter().filter(|text| Subject::parse(text).is_ok()).count();
    if cells.is_empty() { 0.0 } else { wallets as f64 / cells.len() as f64 }
}
