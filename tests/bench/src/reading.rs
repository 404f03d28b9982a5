//! Reading through endpoints that are far away, limited or faulty: what a score costs, beside a script that reads the
//! same facts with a public client library; and which answers are wrong and final.

mod answer;
mod cost;
mod crowd;
mod faults;
mod names;
mod reads;
mod script;
mod world;

use tokio::runtime;

use super::{Effort, Failure, table::Row};
use world::World;

pub fn measure(effort: Effort) -> Result<Vec<Row>, Failure> {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let world = World::start().await?;
        let mut rows = reads::measure(&world, effort).await?;
        rows.extend(faults::measure(&world, effort).await?);
        Ok(rows)
    })
}
