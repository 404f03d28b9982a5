//! The logs of one span of blocks with the receipts that they point at. A span without its receipts counts as not read.

use futures::future::try_join_all;

use crate::{events::Found, plan::Plan, reader::Reader};
use assay_evm::{
    Fault, Span,
    logs::{Chunk, Stop, chunk},
};

impl Reader {
    /// The logs of `span`, in parts where it is dense.
    pub(super) async fn chunk(&self, plan: &Plan, span: Span) -> Chunk<Found> {
        let chunk = chunk(span, self.logs.range, |span| self.fetch(plan, span)).await;
        if let Some(Stop::Ceiling(width)) = chunk.stop {
            self.client.lower_log_ceiling(width);
        }
        chunk
    }

    async fn fetch(&self, plan: &Plan, span: Span) -> Result<Found, Fault> {
        metrics::counter!("assay_log_ranges_total", "chain" => self.chain.to_string()).increment(1);
        let asked = plan.queries.iter().map(|query| self.client.believed_logs(query, span));
        let logs: Vec<_> = try_join_all(asked).await?.into_iter().flatten().collect();
        let receipts = self.receipts(plan, &logs).await?;
        Ok(Found { logs, receipts })
    }
}
