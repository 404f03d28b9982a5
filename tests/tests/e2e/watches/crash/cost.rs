//! What watches cost: the calls of one evaluation at a new block, quiet and in a crash, beside those of asking for the
//! score as often; and the time from a block to a delivery. `make soak PART=watches` prints the table for 10 to 10,000
//! watches, of at most 1,000 wallets.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use assay_tests::{
    proxy::{Proxy, Reply},
    receiver::{Consent, Receiver},
    service::Service,
    until::until,
};

use super::{Crash, is_soak, percentile, run};

/// Evaluations of a watch in a day, every five minutes; and if prices are far from its bound, every ten.
const A_DAY: f64 = 288.0;
const PACED: f64 = 144.0;
/// Wallets whose score is asked for.
const POLLED: usize = 10;

impl Crash {
    /// The sum of the metrics whose lines begin so.
    async fn sum(&self, name: &str) -> f64 {
        let metrics = self.api().get("/metrics").await.text;
        let lines = metrics.lines().filter(|line| line.starts_with(name));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    async fn evaluations(&self) -> f64 {
        self.sum("assay_watch_evaluations_total").await
    }

    /// Waits until each of `watches` watches was evaluated after this moment.
    async fn evaluated(&self, watches: usize) {
        // One evaluation of each may be in progress.
        let goal = self.evaluations().await + 2.0 * watches as f64;
        until(async || self.evaluations().await, |now| *now >= goal).await;
    }

    /// The calls of one evaluation of a watch that is not answered from the cache, while `work` is done. Those of a
    /// wallet share its `each`.
    async fn calls_of(&mut self, each: usize, work: impl AsyncFnOnce(&mut Self)) -> f64 {
        let (calls, reads) = (self.calls.load(SeqCst), self.sum("assay_snapshots_total{source=\"read\"}").await);
        work(self).await;
        let reads = self.sum("assay_snapshots_total{source=\"read\"}").await - reads;
        (self.calls.load(SeqCst) - calls) as f64 / (reads * each as f64)
    }

    /// The calls of asking for the score of a wallet that was read before, on a server that caches none.
    async fn calls_of_a_score(&self) -> f64 {
        let (proxy, calls) = (Proxy::start(self.market.chain.url()).await, Arc::<AtomicUsize>::default());
        let counted = calls.clone();
        proxy.rule(move |_| {
            counted.fetch_add(1, SeqCst);
            Reply::Pass
        });
        let service = Service::start(&self.market.config(&proxy.url, "[scoring]\ncache_ms = 1\n"));
        let api = service.keyed();
        let mut before = 0;
        for _ in 0..2 {
            before = calls.load(SeqCst);
            for wallet in self.wallets.iter().take(POLLED) {
                api.get(&format!("/api/v2/score/address/{}", wallet.address)).await.ok();
            }
        }
        (calls.load(SeqCst) - before) as f64 / POLLED as f64
    }
}

#[test]
fn a_watch_costs_less_than_asking_for_the_score_as_often() {
    run(async {
        // Wallets, and the watches of each.
        let sizes =
            if is_soak() { [(10, 1), (100, 1), (1_000, 1), (1_000, 10)].as_slice() } else { &[(10, 1), (40, 1)] };
        println!(
            "| watches | wallets | quiet | crash | day, quiet | day, paced | day, crash | day, scores | p50 | p99 |"
        );
        for (count, each) in sizes.iter().copied() {
            let receiver = Receiver::start(Consent::Allows).await;
            let mut crash = Crash::start(count, each, &receiver).await;
            crash.seen().await;
            let score = crash.calls_of_a_score().await;
            let quiet = async |crash: &mut Crash| {
                for _ in 0..3 {
                    crash.mine(1).await;
                    crash.evaluated(count * each).await;
                }
            };
            let quiet = crash.calls_of(each, quiet).await;
            let fall = async |crash: &mut Crash| {
                for price in [1_203.7, 805.3, 2_503.1] {
                    crash.hold(price, None).await;
                }
            };
            let falling = crash.calls_of(each, fall).await;
            let expected: usize = crash.wallets.iter().flat_map(|wallet| wallet.said.values()).map(Vec::len).sum();
            let expected = expected * each;
            let arrived = until(async || receiver.events(), |events| events.len() >= expected).await;
            let delays = crash.delays(&arrived);
            println!(
                "| {} | {count} | {quiet:.2} | {falling:.2} | {:.0} | {:.0} | {:.0} | {:.0} | {:.1?} | {:.1?} |",
                count * each,
                quiet * A_DAY,
                quiet * PACED,
                falling * A_DAY,
                score * A_DAY,
                percentile(&delays, 50),
                percentile(&delays, 99),
            );
            assert!(quiet < score && falling < 2.0 * score, "{quiet} and {falling} for a watch, {score} for a score");
        }
    });
}
