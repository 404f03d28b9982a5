//! A server that dies during a first read: the next one continues from the stored progress.

use assay_tests::devnet::{actors, receipts};
use assay_tests::proxy::{Call, Proxy, Reply};
use assay_tests::service::{KEY, Service, plugins};

use super::{agents, devnet, run};

/// The node answers queries of at most ten blocks.
fn narrow(call: &Call) -> Reply {
    match call.span() {
        Some((from, to)) if to - from >= 10 => {
            Reply::Error { code: -32602, message: "range 1 exceeds limit of 10".into() }
        }
        _ => Reply::Pass,
    }
}

#[test]
fn a_killed_server_continues_a_first_read_where_it_was() {
    run(async {
        let chain = &devnet().await.ethereum;
        let proxy = Proxy::start(chain.url()).await;
        let config =
            devnet().await.config_toml("127.0.0.1:0", &plugins(), std::path::Path::new("{dir}/assay.redb"), KEY);
        // One range after another, so that the progress has one end.
        let config = format!(
            "{}\n[reading]\nlog_concurrency = 1\n[scoring]\nread_budget_ms = 25_000\n",
            config.replace(chain.url(), &proxy.url)
        );
        let mut answered = 0;
        proxy.rule(move |call| {
            let reply = narrow(call);
            answered += usize::from(call.span().is_some() && matches!(reply, Reply::Pass));
            // Twenty ranges of three queries each, more than are read before the first checkpoint.
            if answered > 60 && call.span().is_some() { Reply::Hold } else { reply }
        });
        let service = Service::start(&config);
        let (api, busy) = (service.keyed(), actors::address("busy"));
        let path = format!("/api/v2/report/address/{busy}");
        let asking = tokio::spawn({
            let path = path.clone();
            async move { api.request(reqwest::Method::GET, &path).send().await.is_ok() }
        });
        proxy.held().await;
        // Progress is written in the background, with a delay on a busy machine.
        agents::metric_reaches(&service.keyed(), "assay_lending_checkpoints_total{chain=\"1\"}", 1.0).await;
        // With SIGKILL, while the caller waits.
        let dir = service.kill();
        assert!(!asking.await.expect("the caller is told"), "nobody was left to answer");

        proxy.rule(narrow);
        proxy.take();
        let service = Service::start_in(dir, &config, &[]);
        let report = service.keyed().get(&path).await.ok();
        let asked: Vec<(u64, u64)> =
            proxy.take().iter().filter_map(Call::span).filter(|(from, to)| to - from < 10).collect();
        let from = asked.iter().map(|(from, _)| *from).min().expect("logs were asked for");
        // The first checkpoint holds one range at least; how many depends on the time that they take.
        assert!(from >= chain.market.pool_block + 10, "read again from block {from}");
        let (head, _) = chain.head().await.expect("the chain answers");
        let ranges = (head - from) / 10 + 1;
        assert!(asked.len() as u64 <= 2 * ranges + 4, "{} queries for {ranges} ranges", asked.len());
        let said = receipts::lending_events(chain, busy).await.expect("the chain answers");
        let pool = report["credit_events"]["pools"]
            .as_array()
            .and_then(|pools| pools.iter().find(|pool| pool["chain_id"] == chain.id));
        let counts = &pool.expect("a pool of chain 1")["counts"];
        assert_eq!((&counts["repay"], &counts["borrow"]), (&said.repay.into(), &said.borrow.into()));
        assert_eq!(report["credit_events"]["coverage"], "complete");
    });
}
