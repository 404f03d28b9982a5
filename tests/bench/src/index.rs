//! The index of lending markets: reading a market of ten million events for all wallets, beside the bare download of
//! the same logs; many markets on many chains at once; and what a thousand new wallets cost an endpoint, with and
//! without it.

mod bare;
mod chains;
mod cold;
mod market;
mod node;

pub use node::serve;

use tokio::runtime;

use super::{Effort, Failure, table::Row};

pub fn measure(effort: Effort) -> Result<Vec<Row>, Failure> {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut rows = market::measure(effort).await?;
        rows.extend(chains::measure(effort).await?);
        rows.extend(cold::measure(effort).await?);
        Ok(rows)
    })
}
