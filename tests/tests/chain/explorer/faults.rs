//! An explorer that misbehaves: each result is correct, or its coverage is incomplete.

use std::time::Duration;

use assay::config::Config;
use assay_domain::{ChainSnapshot, Coverage};
use assay_tests::devnet::{Devnet, ETHEREUM};
use assay_tests::explorer::{Asked, Explorer, Flavour, Reply};

use super::super::{chain, with};
use super::{Reader, of_chain, reader};

type Rule = Box<dyn FnMut(&Asked) -> Reply + Send>;

async fn read(reader: &Reader, devnet: &Devnet) -> ChainSnapshot {
    chain(&*reader.read(devnet.wallet("collector").address).await, ETHEREUM).clone()
}

/// A new reader of an explorer with the rule `rule`.
fn with_rule(devnet: &Devnet, explorer: &Explorer, rule: impl FnMut(&Asked) -> Reply + Send + 'static) -> Reader {
    explorer.rule(rule);
    explorer.take();
    reader(devnet, explorer)
}

async fn started(devnet: &Devnet, explorer: &Explorer, rule: impl FnMut(&Asked) -> Reply + Send + 'static) -> Reader {
    with_rule(devnet, explorer, rule).started().await
}

/// Applies `reply` to the first calls; later calls are correct.
fn at_first(calls: usize, reply: Reply) -> impl FnMut(&Asked) -> Reply + Send + 'static {
    let mut left = calls;
    move |_| {
        left = left.saturating_sub(1);
        if left > 0 { reply.clone() } else { Reply::Right }
    }
}

#[test]
fn what_passes_is_waited_for_and_what_is_odd_is_understood() {
    with(async |devnet| {
        let (explorer, other) = (
            of_chain(Flavour::Etherscan, &devnet.ethereum).await,
            of_chain(Flavour::Blockscout, &devnet.ethereum).await,
        );
        let right = read(&started(devnet, &explorer, |_| Reply::Right).await, devnet).await;
        assert_eq!(right.coverage, Coverage::Complete);
        let limit = "Max calls per sec rate limit reached (3/sec)";
        let large = "Result window is too large, PageNo x Offset size must be less than or equal to 10000";
        let mut rules: Vec<(&str, Rule)> = vec![
            ("limited", Box::new(at_first(3, Reply::No(limit)))),
            ("429", Box::new(at_first(2, Reply::Status(429)))),
            ("502", Box::new(at_first(3, Reply::Status(502)))),
            ("cut off", Box::new(at_first(2, Reply::Half))),
            ("silent once", Box::new(at_first(2, Reply::Silence))),
            ("too large", Box::new(move |asked| if asked.offset > 100 { Reply::No(large) } else { Reply::Right })),
        ];
        for (what, reply) in [
            ("numbers", Reply::Numbers),
            ("doubled", Reply::Doubled),
            ("foreign", Reply::Foreign),
            ("backwards", Reply::Backwards),
        ] {
            rules.push((what, Box::new(move |_| reply.clone())));
        }
        for (what, rule) in rules {
            let reader = with_rule(devnet, &other, rule);
            // Other replies come, however late.
            let hurried = |config: &mut Config| config.reading.explorer.timeout = Duration::from_secs(5);
            let reader = if what == "silent once" { reader.with(hurried) } else { reader };
            let read = read(&reader.started().await, devnet).await;
            assert_eq!((read.coverage, &read.activity), (Coverage::Complete, &right.activity), "{what}");
            assert_eq!(read.tokens, right.tokens, "{what}");
        }
    });
}

#[test]
fn what_does_not_pass_leaves_the_node_and_says_so() {
    with(async |devnet| {
        let explorer = of_chain(Flavour::Etherscan, &devnet.ethereum).await;
        let right = read(&started(devnet, &explorer, |_| Reply::Right).await, devnet).await;
        let plan =
            "Free API access is not supported for this chain. Please upgrade your api plan for full chain coverage";
        for (what, reply, most) in [
            ("wrong key", Reply::No("Invalid API Key"), 1),
            ("another plan", Reply::No(plan), 1),
            ("forbidden", Reply::Status(403), 1),
            ("502", Reply::Status(502), 5),
            ("behind", Reply::Behind, 8),
            ("damaged", Reply::Damaged, 8),
        ] {
            let reader = started(devnet, &explorer, move |_| reply.clone()).await;
            let first = read(&reader, devnet).await;
            let again = read(&reader, devnet).await;
            for read in [&first, &again] {
                assert_eq!(read.coverage, Coverage::Partial, "{what}");
                // All data of the node and of configured tokens is present.
                assert_eq!(read.activity.transactions, right.activity.transactions, "{what}");
                assert_eq!(read.activity.first_transaction, right.activity.first_transaction, "{what}");
                assert_eq!((&read.positions, &read.pools), (&right.positions, &right.pools), "{what}");
                assert!(read.activity.transfers <= right.activity.transfers, "{what}");
            }
            let asked = explorer.take();
            assert!(asked.len() <= most, "{what}: {} calls", asked.len());
        }
    });
}

#[test]
fn a_silent_explorer_does_not_keep_an_answer_waiting() {
    with(async |devnet| {
        let explorer = of_chain(Flavour::Etherscan, &devnet.ethereum).await;
        explorer.rule(|_| Reply::Silence);
        let hurried = |config: &mut Config| config.scoring.read_budget = Duration::from_secs(12);
        let reader = reader(devnet, &explorer).with(hurried).started().await;
        let read = read(&reader, devnet).await;
        assert_eq!(read.coverage, Coverage::Partial);
        assert!(read.activity.transactions > 0 && read.pools.iter().all(|pool| pool.coverage == Coverage::Complete));
    });
}

#[test]
fn a_wrong_chain_or_key_in_the_url_is_told_once_without_the_key() {
    with(async |devnet| {
        let explorer = of_chain(Flavour::Etherscan, &devnet.ethereum).await;
        let other = |config: &mut Config| {
            config.chains[0].explorer = Some(assay_domain::Secret::new(format!("{}&chainid=999", explorer.url)));
        };
        let reader = reader(devnet, &explorer).with(other).started().await;
        for _ in 0..3 {
            assert_eq!(read(&reader, devnet).await.coverage, Coverage::Partial);
        }
        assert_eq!(explorer.take().len(), 1);
    });
}
