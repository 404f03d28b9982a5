//! Nodes that hide one thing at a time: a snapshot is then the true one, or says that it is not complete.

use std::sync::Arc;

use alloy::primitives::{B256, Bytes};
use alloy::providers::bindings::IMulticall3::{aggregate3Call, getEthBalanceCall};
use alloy::sol;
use alloy::sol_types::{SolCall, SolEvent};
use assay::config::Config;
use assay_domain::{Address, Coverage, Secret, Snapshot};
use assay_tests::devnet::receipts::{Borrow, LiquidationCall, Repay, Supply, Withdraw};
use assay_tests::devnet::{Devnet, Market, Wallet};
use assay_tests::proxy::{Call, Reply};
use futures::future::join_all;
use serde_json::{Value, json};

use super::lies::first_of;
use super::{PATIENCE, Reader, remembering, with};

sol! {
    function balanceOf(address owner) external view returns (uint256 balance);
    function latestRoundData() external view returns (uint80 roundId, int256 answer, uint256 startedAt,
        uint256 updatedAt, uint80 answeredInRound);
    function decimals() external view returns (uint8 places);
    function getAssetPrice(address asset) external view returns (uint256 price);
    function getSourceOfAsset(address asset) external view returns (address source);
    function getAssetsPrices(address[] assets) external view returns (uint256[] prices);
    function getUserReserveData(address asset, address user) external view returns (uint256 first);
    function getUserAccountData(address user) external view returns (uint256 first);
    function getReserveTokensAddresses(address asset) external view returns (address aToken, address stableDebt,
        address variableDebt);
    function getAllReservesTokens() external view returns (bytes tokens);
    function getPriceOracle() external view returns (address oracle);
}

/// A kind of event, its signature, and the topic that names the wallet.
type Kind = (&'static str, B256, usize);
const KINDS: [Kind; 5] = [
    ("supply", Supply::SIGNATURE_HASH, 2),
    ("withdraw", Withdraw::SIGNATURE_HASH, 2),
    ("borrow", Borrow::SIGNATURE_HASH, 2),
    ("repay", Repay::SIGNATURE_HASH, 2),
    ("liquidation", LiquidationCall::SIGNATURE_HASH, 3),
];

type Rule = Box<dyn FnMut(&Call) -> Reply + Send>;
/// A wallet, and its undisturbed snapshot.
type Truth<'a> = (&'a Wallet, Arc<Snapshot>);
/// What a node hides, in words, and its rule.
type Hiding = (String, Rule);

/// Does not ask again for what is hidden, and has the time to read every wallet at once.
fn thorough(config: &mut Config) {
    config.reading.rpc.retries = 0;
    config.scoring.read_budget = PATIENCE;
}

/// Calls of contracts fail where `hidden` holds for their target and data, also within a Multicall3; they go to
/// `broken`, a contract without the function.
fn failing(broken: Address, hidden: impl Fn(Address, &[u8]) -> bool + Send + 'static) -> Rule {
    Box::new(move |call| {
        let Some((to, data)) = contract_call(call) else { return Reply::Pass };
        let Ok(mut many) = aggregate3Call::abi_decode(&data) else {
            let reverted = || Reply::Error { code: 3, message: "execution reverted".to_owned() };
            return if hidden(to, &data) { reverted() } else { Reply::Pass };
        };
        let inner = many.calls.iter_mut().filter(|inner| hidden(inner.target, &inner.callData));
        inner.for_each(|inner| (inner.target, inner.callData) = (broken, Bytes::from_static(&[0xff; 4])));
        let mut params = call.params.clone();
        params[0]["data"] = json!(Bytes::from(many.abi_encode()));
        Reply::Instead(params)
    })
}

fn contract_call(call: &Call) -> Option<(Address, Bytes)> {
    let field = |name: &str| call.params[0][name].as_str();
    (call.method == "eth_call").then(|| Some((field("to")?.parse().ok()?, field("data")?.parse().ok()?)))?
}

/// The requests for which `hidden` holds get `reply`.
fn refusing(reply: Reply, hidden: impl Fn(&Call) -> bool + Send + 'static) -> Rule {
    Box::new(move |call| if hidden(call) { reply.clone() } else { Reply::Pass })
}

/// One hiding for each call that a snapshot needs of the market, its tokens and their feeds.
fn contract_calls(market: &Market) -> Vec<Hiding> {
    // Feeds revert for a function that they do not have.
    let broken = market.native_feed;
    let mut hidings: Vec<Hiding> = Vec::new();
    let mut hide = |what: String, target: Option<Address>, start: Vec<u8>| {
        let hidden =
            move |to: Address, data: &[u8]| target.is_none_or(|target| target == to) && data.starts_with(&start);
        hidings.push((what, failing(broken, hidden)));
    };
    for token in &market.tokens {
        let (symbol, asset) = (token.asset.symbol, token.address);
        hide(format!("the balance of {symbol}"), Some(asset), balanceOfCall::SELECTOR.to_vec());
        let about = |selector: [u8; 4]| [selector.as_slice(), asset.into_word().as_slice()].concat();
        if token.asset.reserve {
            hide(format!("the oracle's price of {symbol}"), Some(market.oracle), about(getAssetPriceCall::SELECTOR));
            hide(format!("the position in {symbol}"), None, about(getUserReserveDataCall::SELECTOR));
            hide(format!("the tokens of the reserve {symbol}"), None, about(getReserveTokensAddressesCall::SELECTOR));
        } else if token.feed.is_some() {
            hide(format!("the feed of {symbol}"), token.feed, latestRoundDataCall::SELECTOR.to_vec());
        }
    }
    for (what, target, selector) in [
        ("all feeds", None, latestRoundDataCall::SELECTOR),
        ("the feed of ether", Some(market.native_feed), latestRoundDataCall::SELECTOR),
        ("the decimals of feeds and tokens", None, decimalsCall::SELECTOR),
        ("the oracle's prices of assets", None, getAssetPriceCall::SELECTOR),
        ("the oracle's sources", None, getSourceOfAssetCall::SELECTOR),
        ("the oracle's prices for positions", None, getAssetsPricesCall::SELECTOR),
        ("the oracle", None, getPriceOracleCall::SELECTOR),
        ("the position", None, getUserReserveDataCall::SELECTOR),
        ("the health factor", None, getUserAccountDataCall::SELECTOR),
        ("the reserves", None, getAllReservesTokensCall::SELECTOR),
        ("the balance of ether", None, getEthBalanceCall::SELECTOR),
    ] {
        hide(what.to_owned(), target, selector.to_vec());
    }
    hide("every call of the oracle".to_owned(), Some(market.oracle), Vec::new());
    hide("every call of the pool".to_owned(), Some(market.pool), Vec::new());
    hide("every call of the data provider".to_owned(), Some(market.data_provider), Vec::new());
    hidings
}

/// One hiding for each other kind of request.
fn requests() -> Vec<Hiding> {
    let error = |code, message: &str| Reply::Error { code, message: message.to_owned() };
    let (failed, old) = (error(-32603, "internal error"), error(-32000, "missing trie node 0123 (path )"));
    let method = |method: &'static str| move |call: &Call| call.method == method;
    let numbered = |call: &Call, at: usize| call.params[at].as_str().is_some_and(|block| block.starts_with("0x"));
    let old_nonce = move |call: &Call| call.method == "eth_getTransactionCount" && numbered(call, 1);
    let nonce = move |call: &Call| call.method == "eth_getTransactionCount" && !numbered(call, 1);
    let block = move |call: &Call| call.method == "eth_getBlockByNumber" && numbered(call, 0);
    let head = move |call: &Call| call.method == "eth_getBlockByNumber" && !numbered(call, 0);
    let hidings: Vec<(&str, Rule)> = vec![
        ("the nonce", refusing(failed.clone(), nonce)),
        ("every nonce", refusing(failed.clone(), method("eth_getTransactionCount"))),
        ("old nonces", refusing(failed.clone(), old_nonce)),
        ("old state", refusing(old, old_nonce)),
        ("old blocks", refusing(Reply::Result(Value::Null), block)),
        ("old blocks, with an error", refusing(failed.clone(), block)),
        ("the head", refusing(failed.clone(), head)),
        ("the code", refusing(failed.clone(), method("eth_getCode"))),
        ("contract calls", refusing(failed.clone(), method("eth_call"))),
        ("logs", refusing(failed, method("eth_getLogs"))),
        ("the whole chain", refusing(Reply::Status(502, None), |_| true)),
    ];
    hidings.into_iter().map(|(what, rule)| (what.to_owned(), rule)).collect()
}

/// The undisturbed snapshot of every wallet.
async fn truths(devnet: &Devnet) -> Vec<Truth<'_>> {
    let reader = Reader::of(devnet).with(thorough).started().await;
    let reads = join_all(devnet.wallets.iter().map(|wallet| reader.read(wallet.address))).await;
    let truths: Vec<Truth<'_>> = devnet.wallets.iter().zip(reads).collect();
    for (wallet, truth) in &truths {
        assert_eq!(truth.coverage(), Coverage::Complete, "{}", wallet.name);
    }
    truths
}

/// The parts in which `read` differs from `truth` though its score is final.
pub(super) fn falsehood(truth: &Snapshot, read: &Snapshot) -> Option<String> {
    let parts = truth.chains.iter().zip(&read.chains).flat_map(|(truth, read)| {
        [
            ("activity", truth.activity != read.activity),
            ("tokens", truth.tokens != read.tokens),
            ("positions", truth.positions != read.positions),
            ("pools", truth.pools != read.pools),
        ]
        .map(|(part, differs)| differs.then(|| format!("{part} on {}", truth.chain_id)))
    });
    let parts: Vec<String> = parts.flatten().collect();
    let pools = |snapshot: &Snapshot| snapshot.chains.iter().flat_map(|chain| chain.pools.clone()).collect::<Vec<_>>();
    let pairs = pools(truth).into_iter().zip(pools(read)).filter(|(truth, read)| truth != read);
    let pairs: Vec<String> = pairs.map(|(truth, read)| format!("{read:?} instead of {truth:?}")).collect();
    (is_final(read) && !parts.is_empty()).then(|| format!("{} ({})", parts.join(", "), pairs.join("; ")))
}

/// Whether neither the snapshot nor a score of it says that something is missing.
pub(super) fn is_final(read: &Snapshot) -> bool {
    read.coverage() == Coverage::Complete && !read.score_coverage().is_provisional()
}

/// What is false and final about any wallet while chain 1 or, with `second`, chain 8453 hides something. To hide it
/// must matter to some wallet.
async fn falsehoods(devnet: &Devnet, truths: &[Truth<'_>], (what, rule): Hiding, second: bool) -> Vec<String> {
    let chain = usize::from(second);
    let proxy = remembering(devnet.chains()[chain]).await;
    proxy.rule(rule);
    let url = Secret::new(&proxy.url);
    let hidden = |config: &mut Config| config.chains[chain].rpc = vec![url];
    let reader = Reader::of(devnet).with(hidden).with(thorough).started().await;
    let reads = join_all(truths.iter().map(|(wallet, _)| reader.read(wallet.address))).await;
    let wrong = truths.iter().zip(&reads).filter_map(|((wallet, truth), read)| {
        falsehood(truth, read).map(|parts| format!("{what}, {}: {parts}", wallet.name))
    });
    let wrong: Vec<String> = wrong.collect();
    let said = reads.iter().any(|read| !is_final(read));
    if said || !wrong.is_empty() { wrong } else { vec![format!("{what}: no snapshot is without it")] }
}

/// What is false and final where chain 1 leaves out the first log of a kind that names the wallet at a place.
async fn without_log(devnet: &Devnet, (wallet, truth): &Truth<'_>, (kind, signature, named): Kind) -> Option<String> {
    let proxy = remembering(&devnet.ethereum).await;
    proxy.forget(first_of(signature, named, wallet.address));
    let reader = Reader::of(devnet).through(&[&proxy]).with(thorough).started().await;
    let parts = falsehood(truth, &*reader.read(wallet.address).await)?;
    Some(format!("the first {kind}, {}: {parts}", wallet.name))
}

#[test]
fn a_contract_call_that_fails_makes_no_false_snapshot() {
    with(async |devnet| {
        let (truths, mut wrong) = (truths(devnet).await, Vec::new());
        for hiding in contract_calls(&devnet.ethereum.market) {
            wrong.extend(falsehoods(devnet, &truths, hiding, false).await);
        }
        assert!(wrong.is_empty(), "final and false:\n{}", wrong.join("\n"));
    });
}

#[test]
fn a_request_that_fails_makes_no_false_snapshot() {
    with(async |devnet| {
        let (truths, mut wrong) = (truths(devnet).await, Vec::new());
        for second in [false, true] {
            for hiding in requests() {
                wrong.extend(falsehoods(devnet, &truths, hiding, second).await);
            }
        }
        assert!(wrong.is_empty(), "final and false:\n{}", wrong.join("\n"));
    });
}

#[test]
fn a_log_that_is_left_out_makes_no_false_snapshot() {
    with(async |devnet| {
        let (truths, mut wrong) = (truths(devnet).await, Vec::new());
        for kind in KINDS {
            let reads = truths.iter().map(|truth| without_log(devnet, truth, kind));
            wrong.extend(join_all(reads).await.into_iter().flatten());
        }
        assert!(wrong.is_empty(), "final and false:\n{}", wrong.join("\n"));
    });
}
