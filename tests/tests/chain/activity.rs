//! The search for the first and the last transaction on a chain as high as Ethereum: its depth, what a slow endpoint
//! leaves of it, and what is said where old state is missing.

use std::collections::HashSet;
use std::time::Duration;

use assay::config::Config;
use assay_chain::config::Spare;
use assay_domain::{Address, ChainSnapshot, Coverage, Part};
use assay_tests::devnet::Devnet;
use assay_tests::explorer::Flavour;
use assay_tests::proxy::{Call, Proxy, Reply};
use assay_tests::until::until;
use serde_json::{Value, json};
use tokio::{join, time::timeout};

use super::explorer::{of_chain, reader as explored};
use super::history::one_more_event;
use super::wallets::same_activity;
use super::{PATIENCE, Reader, alone, with};

pub(super) const HEIGHT: u64 = 25_000_000;
/// Blocks in which the wallet sent.
pub(super) const SENT: [u64; 3] = [11_111_111, 14_000_000, 24_222_222];
/// No account of the devnet.
pub(super) const WALLET: Address = Address::repeat_byte(0x77);
/// Read first, for what a reader learns of a chain. It never sent a transaction; a first round for it may be under way
/// after its read.
pub(super) const PRIMER: Address = Address::repeat_byte(0xee);
const BLOCK_TIME: u64 = 12;
const DAY: i64 = 86_400;

pub(super) fn number(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

/// The block after which a call asks for a nonce.
pub(super) fn probed(call: &Call) -> Option<u64> {
    (call.method == "eth_getTransactionCount" && !is_of_primer(call)).then(|| number(&call.params[1]))?
}

fn is_of_primer(call: &Call) -> bool {
    call.params[0].as_str().is_some_and(|wallet| wallet.parse() == Ok(PRIMER))
}

fn is_head(call: &Call) -> bool {
    call.method == "eth_getBlockByNumber" && call.params[0] == "latest"
}

/// Holds a request of each round after the first one: each that begins below a block that was probed before it, and
/// besides the calls that `also` names. Where the requests of a round arrive in another order, two of it are held.
fn hold_rounds(proxy: &Proxy, mut also: impl FnMut(&Call) -> bool + Send + 'static) {
    let (mut requests, mut highest) = (HashSet::new(), 0);
    proxy.rule(move |call| {
        let begins = probed(call).is_some_and(|block| {
            let below = requests.insert(call.request) && block < highest;
            highest = if below { block } else { highest.max(block) };
            below
        });
        if begins || also(call) { Reply::Hold } else { Reply::Pass }
    });
}

pub(super) fn uncached(config: &mut Config) {
    config.scoring.cache_ttl = Duration::ZERO;
    config.scoring.incomplete_cache_ttl = Duration::ZERO;
}

/// A devnet's chain 1 that is as high as Ethereum, where the wallet has sent, and the proxy through which it is read.
pub(super) struct Tall {
    chain: Proxy,
    pub proxy: Proxy,
    head: (String, u64),
}

impl Tall {
    pub async fn start(devnet: &Devnet) -> Self {
        let block: Value = devnet.ethereum.rpc.request("eth_getBlockByNumber", json!(["latest", false])).await.unwrap();
        let head = (block["hash"].as_str().unwrap().to_owned(), number(&block["timestamp"]).unwrap());
        let chain = Proxy::start(devnet.ethereum.url()).await;
        let proxy = Proxy::start(&chain.url).await;
        let tall = Self { chain, proxy, head };
        tall.keeps_state_from(0);
        tall
    }

    /// Answers for blocks and nonces; nonces after blocks before `oldest` are missing.
    fn keeps_state_from(&self, oldest: u64) {
        let (hash, time) = self.head.clone();
        let block = move |number: u64| {
            let hash = if number == HEIGHT { hash.clone() } else { format!("{number:#066x}") };
            let time = time - (HEIGHT - number) * BLOCK_TIME;
            Reply::Result(json!({ "number": format!("{number:#x}"), "hash": hash, "timestamp": format!("{time:#x}") }))
        };
        self.chain.rule(move |call| match call.method.as_str() {
            "eth_getBlockByNumber" => block(number(&call.params[0]).unwrap_or(HEIGHT)),
            "eth_getTransactionCount" if call.params[0] != json!(WALLET) => Reply::Pass,
            "eth_getTransactionCount" | "eth_getBalance"
                if number(&call.params[1]).is_some_and(|block| block < oldest) =>
            {
                Reply::Error { code: -32000, message: "missing trie node 0123 (path )".into() }
            }
            "eth_getTransactionCount" => {
                let through = number(&call.params[1]).unwrap_or(HEIGHT);
                Reply::Result(json!(format!("{:#x}", SENT.iter().filter(|block| **block <= through).count())))
            }
            "eth_getBalance" => Reply::Result(json!("0x0")),
            _ => Reply::Pass,
        });
    }

    /// A reader that has seen the head and searches to the block in few round trips. Nothing is cached.
    async fn reader(&self, devnet: &Devnet, budget: Duration) -> Reader {
        let change = |config: &mut Config| {
            uncached(config);
            config.chains[0].markets.clear();
            config.scoring.read_budget = budget;
            config.reading.spare = Spare::Rounds;
        };
        let reader = Reader::of(devnet).ethereum().through(&[&self.proxy]).with(change).started().await;
        // Without a transaction there is nothing to search.
        reader.read(PRIMER).await;
        self.proxy.take();
        reader
    }

    pub fn dates(read: &ChainSnapshot) -> [Option<(u64, i64)>; 2] {
        let activity = &read.activity;
        [activity.first_transaction, activity.last_transaction]
            .map(|seen| seen.map(|seen| (seen.block, seen.time.timestamp())))
    }

    pub fn right(&self) -> [Option<(u64, i64)>; 2] {
        let time = |block| (self.head.1 - (HEIGHT - block) * BLOCK_TIME) as i64;
        [SENT[0], SENT[2]].map(|block| Some((block, time(block))))
    }

    /// Asserts that each date is the right one, or within a day of it or absent and said to be unread. A chain that was
    /// not read within the budget is pending and says so.
    fn is_right_or_said(&self, read: &ChainSnapshot) {
        if read.coverage == Coverage::Pending {
            return assert!(!read.unread.is_empty());
        }
        assert_eq!(read.activity.transactions, SENT.len() as u64);
        let parts = [Part::FirstTransaction, Part::LastTransaction];
        for ((date, right), part) in Self::dates(read).into_iter().zip(self.right()).zip(parts) {
            let near = date.zip(right).is_none_or(|(date, right)| (0..DAY).contains(&(date.1 - right.1)));
            let said = read.unread.iter().any(|unread| unread.part == part);
            assert!(near && (said || date == right), "{date:?} for {right:?}, unread {:?}", read.unread);
            assert!(!said || read.coverage == Coverage::Partial);
        }
    }
}

#[test]
fn a_cold_wallet_costs_five_round_trips_and_a_warm_one_two() {
    with(async |devnet| {
        let tall = Tall::start(devnet).await;
        let mut reader = tall.reader(devnet, PATIENCE).await;
        let (mut heads, mut pinned) = (0, 0);
        hold_rounds(&tall.proxy, move |call| {
            let count = call.method == "eth_getTransactionCount" && call.params[0] == json!(WALLET);
            let head = is_head(call) && std::mem::replace(&mut heads, 1) == 0;
            let state = count && call.params[1].is_object() && std::mem::replace(&mut pinned, 1) == 0;
            head || state || (count && call.params[1] == "latest")
        });
        let chains = reader.chains().clone();
        let reading = tokio::spawn(async move { chains.snapshot(WALLET).await.snapshot });
        // Each request of a round is under way before one of them is answered.
        for requests in [2, 2, 1, 1, 1] {
            for _ in 0..requests {
                timeout(PATIENCE, tall.proxy.held()).await.unwrap();
            }
            assert!(!reading.is_finished());
            tall.proxy.release(requests);
        }
        let read = timeout(PATIENCE, reading).await.unwrap().unwrap();
        assert_eq!((Tall::dates(&read.chains[0]), read.coverage()), (tall.right(), Coverage::Complete));
        let calls = tall.proxy.take();
        // A request that waits too long for the cores is sent again.
        let of_wallet = calls.iter().filter(|call| !is_of_primer(call));
        let different: HashSet<_> = of_wallet.map(|call| (&call.method, call.params.to_string())).collect();
        assert!(different.len() < 340, "{} calls: {different:?}", different.len());

        tall.proxy.rule(|_| Reply::Pass);
        for restarted in [false, true] {
            if restarted {
                reader.restart().await;
            }
            let again = reader.read(WALLET).await;
            assert_eq!((Tall::dates(&again.chains[0]), again.coverage()), (tall.right(), Coverage::Complete));
            let calls = tall.proxy.take();
            assert!(calls.iter().all(|call| probed(call).is_none()), "{calls:?}");
        }
    });
}

#[test]
fn calls_can_be_saved_instead_of_round_trips() {
    with(async |devnet| {
        let tall = Tall::start(devnet).await;
        let probes = async |change: fn(&mut Config)| {
            let also = |config: &mut Config| {
                config.chains[0].markets.clear();
                change(config);
            };
            let reader = Reader::of(devnet).ethereum().through(&[&tall.proxy]).with(also).started().await;
            reader.read(PRIMER).await;
            tall.proxy.take();
            let read = reader.read_for_a_score(WALLET).await;
            assert_eq!(read.coverage(), Coverage::Complete);
            tall.proxy.take().iter().filter(|call| probed(call).is_some()).count()
        };
        let rounds = probes(|config| config.reading.spare = Spare::Rounds).await;
        let calls = probes(|config| config.reading.spare = Spare::Calls).await;
        // An endpoint that is known to take few calls a second is spared in any case.
        let scarce = probes(|config| config.reading.rpc.per_second = 29).await;
        // The days of two transactions among 25 million blocks: 12 to 16 halvings each.
        assert!(rounds > 200 && (20..=34).contains(&calls) && (20..=34).contains(&scarce), "{rounds} {calls} {scarce}");
    });
}

#[test]
fn a_slow_endpoint_is_read_over_several_requests() {
    with(async |devnet| {
        let tall = Tall::start(devnet).await;
        let reader = tall.reader(devnet, Duration::from_secs(3)).await;
        hold_rounds(&tall.proxy, |_| false);
        let (mut rounds, mut estimated, mut late) = (0, false, 0);
        loop {
            let read = reader.read(WALLET).await;
            let chain = &read.chains[0];
            tall.is_right_or_said(chain);
            match chain.coverage {
                Coverage::Complete => break,
                // It continues in the background until the search, where it is held.
                Coverage::Pending => late += 1,
                _ => rounds += 1,
            }
            let words = chain.unread.iter().any(|unread| unread.to_string().contains("being searched, between 20"));
            estimated |= chain.activity.first_transaction.is_some() && words;
            assert!(rounds <= 12 && late <= 12, "{:?}, unread {:?}", chain.activity, chain.unread);
            // After the last round, a slow read goes on to its end.
            let complete = async || reader.read(WALLET).await.chains[0].coverage;
            tokio::select! {
                () = tall.proxy.held() => tall.proxy.release(1),
                _ = until(complete, |coverage| *coverage == Coverage::Complete) => {}
            }
        }
        assert!(estimated && rounds >= 4, "{rounds} rounds");
    });
}

#[test]
fn a_search_goes_on_after_a_restart() {
    with(async |devnet| {
        let tall = Tall::start(devnet).await;
        let mut reader = tall.reader(devnet, Duration::from_secs(3)).await;
        hold_rounds(&tall.proxy, |_| false);
        for _ in 0..2 {
            // A pending read continues in the background until the search, where it is held.
            let (read, held) = join!(reader.read(WALLET), timeout(PATIENCE, tall.proxy.held()));
            held.unwrap();
            tall.is_right_or_said(&read.chains[0]);
            tall.proxy.release(1);
        }
        // A later round is under way. The second one is kept, and the third once its last answer is.
        timeout(PATIENCE, tall.proxy.held()).await.unwrap();
        reader.restart().await;
        tall.proxy.rule(|_| Reply::Pass);
        tall.proxy.take();
        let near = |block: u64| [SENT[0], SENT[2]].into_iter().any(|sent| block.abs_diff(sent) < 25_000);
        // A read whose budget ends before the search leaves the search to the next read.
        let probes = async || {
            tall.is_right_or_said(&reader.read(WALLET).await.chains[0]);
            tall.proxy.take().iter().filter_map(probed).collect::<Vec<u64>>()
        };
        let probes = until(probes, |probes| !probes.is_empty()).await;
        assert!(probes.iter().copied().all(near), "{probes:?}");
    });
}

#[test]
fn a_transaction_that_is_sent_during_a_search_is_found() {
    alone(async |devnet| {
        let (on, wallet) = (&devnet.ethereum, devnet.wallet("saver").address);
        let here = on.snapshot().await.unwrap();
        let proxy = Proxy::start(on.url()).await;
        let brief = |config: &mut Config| config.scoring.read_budget = Duration::from_secs(15);
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(uncached).with(brief).started().await;
        reader.read(PRIMER).await;
        hold_rounds(&proxy, |_| false);
        // A pending read continues in the background until the search, where it is held.
        let (early, held) = join!(reader.read(wallet), timeout(PATIENCE, proxy.held()));
        held.unwrap();
        let early = &early.chains[0];
        assert!(matches!(early.coverage, Coverage::Partial | Coverage::Pending));
        assert!(early.activity.transactions > 0 || (early.coverage == Coverage::Pending && !early.unread.is_empty()));
        one_more_event(devnet, on).await;
        proxy.rule(|_| Reply::Pass);
        proxy.release(1);
        let read = reader.read(wallet).await;
        assert_eq!(read.coverage(), Coverage::Complete);
        same_activity(on, wallet, &read.chains[0].activity, "after the search").await;
        on.revert(here).await.unwrap();
    });
}

#[test]
fn missing_old_state_is_said_and_not_searched_again() {
    with(async |devnet| {
        let tall = Tall::start(devnet).await;
        tall.keeps_state_from(SENT[2] - 10_000);
        let reader = tall.reader(devnet, PATIENCE).await;
        let old_state = until(async || reader.chains().status()[0].old_state, Option::is_some).await;
        assert_eq!(old_state, Some(false));
        for searched in [true, false] {
            tall.proxy.take();
            let read = reader.read(WALLET).await;
            assert_eq!(read.coverage(), Coverage::Partial);
            // The last transaction is young enough, the first one is not.
            assert_eq!(Tall::dates(&read.chains[0]), [None, tall.right()[1]]);
            let said = read.chains[0].unread.iter().map(ToString::to_string);
            let said: Vec<String> = said.filter(|said| said.contains("transaction")).collect();
            let words = "first transaction: the endpoint keeps no state of that age; configure an archive endpoint or \
                         an explorer";
            assert_eq!(said, [words]);
            assert_eq!(tall.proxy.take().iter().any(|call| probed(call).is_some()), searched);
        }
    });
}

#[test]
fn a_list_that_is_whole_needs_no_search() {
    with(async |devnet| {
        let wallet = devnet.wallet("collector").address;
        let whole = Reader::of(devnet).ethereum().started().await.read(wallet).await;
        let explorer = of_chain(Flavour::Etherscan, &devnet.ethereum).await;
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let reader = explored(devnet, &explorer).through(&[&proxy]).started().await;
        let read = reader.read(wallet).await;
        assert_eq!(
            (Tall::dates(&read.chains[0]), read.coverage()),
            (Tall::dates(&whole.chains[0]), Coverage::Complete)
        );
        assert!(proxy.take().iter().all(|call| probed(call).is_none()));
    });
}
