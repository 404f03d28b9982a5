//! The reference: the same logs, asked for and decoded with the same client and as many requests at one time, and then
//! dropped.

use std::{sync::Arc, time::Instant};

use assay::config::Config;
use assay_evm::{
    Client, Span, endpoint,
    logs::{Stop, chunk},
};
use assay_lending::{Market, Scan, TermsCache, hints};
use futures::{StreamExt, future::try_join_all, stream};

use crate::Failure;

/// Logs that a range is to have, as where they are kept.
const LOGS_OF_RANGE: u64 = 2_000;

/// What was read.
pub struct Bare {
    pub seconds: f64,
    pub logs: usize,
}

/// Reads all settled logs of the first chain of `config`; each block has `density` logs.
pub async fn read(config: &Config, density: u64) -> Result<Bare, Failure> {
    let chain = config.chains.first().ok_or("no chain")?;
    let client = Client::new(&endpoint::http(), &chain.endpoints(), &config.reading.rpc);
    let markets: Arc<[Market]> = chain.markets.iter().cloned().map(Market::new).collect();
    let head = client.head().await?;
    let terms = TermsCache::default().current(&client, &markets, head).await?;
    let scan = Scan::new(markets.clone(), hints(&markets, Some(&terms)));
    let from = markets.iter().map(|market| market.config.from_block).min().unwrap_or(0);
    let span = Span { from, to: head.number - chain.finality };
    let width = LOGS_OF_RANGE / density;
    let started = Instant::now();
    let limits = config.reading.logs();
    let mut ranges = stream::iter(span.pieces(width.max(1)))
        .map(|span| {
            let (client, queries) = (&client, scan.queries());
            chunk(span, limits.range, move |span| async move {
                let answers = queries.iter().map(|query| client.believed_logs(query, span));
                Ok(try_join_all(answers).await?.iter().map(Vec::len).sum::<usize>())
            })
        })
        .buffered(limits.concurrency);
    let mut logs = 0;
    while let Some(range) = ranges.next().await {
        if let Some(Stop::Gap(fault)) = range.stop {
            return Err(fault.into());
        }
        logs += range.found.iter().sum::<usize>();
    }
    Ok(Bare { seconds: started.elapsed().as_secs_f64(), logs })
}
