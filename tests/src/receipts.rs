//! A mock node that answers from receipts of a public chain: the logs are what the real contracts logged. Calls of
//! contracts are answered from a table of their tokens, as far as a reader must know them; positions are not.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

use alloy::primitives::{Address, B256, Bytes, U64, U256, keccak256};
use alloy::providers::bindings::IMulticall3;
use alloy::sol;
use alloy::sol_types::{SolCall, SolValue};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::node::root;
use crate::proxy::{Call, Proxy, Reply};

sol! {
    struct TokenData { string symbol; address tokenAddress; }
    function ADDRESSES_PROVIDER() external view returns (address provider);
    function getAddressesProvider() external view returns (address provider);
    function getPoolDataProvider() external view returns (address provider);
    function getAddress(bytes32 id) external view returns (address contract_);
    function getPriceOracle() external view returns (address oracle);
    function getAllReservesTokens() external view returns (TokenData[] tokens);
    function BASE_CURRENCY() external view returns (address asset);
    function BASE_CURRENCY_UNIT() external view returns (uint256 unit);
    function decimals() external view returns (uint8 places);
    function getReserveTokensAddresses(address asset) external view returns (address aToken, address stableDebt,
        address variableDebt);
    function getReserveData(address asset) external view returns (uint256 first);
    function comptroller() external view returns (address comptroller);
    function underlying() external view returns (address token);
    function symbol() external view returns (string symbol);
    function oracle() external view returns (address oracle);
    function owner() external view returns (address owner);
    function feeRecipient() external view returns (address recipient);
    function baseToken() external view returns (address token);
    function baseTokenPriceFeed() external view returns (address feed);
    function baseScale() external view returns (uint256 scale);
    function numAssets() external view returns (uint8 assets);
}

/// A transaction of a public chain, with its block.
#[derive(Debug, Clone, Deserialize)]
pub struct Transaction {
    pub chain_id: u64,
    block: Value,
    pub receipt: Receipt,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    pub from: Address,
    pub transaction_hash: B256,
    block_number: U64,
    pub logs: Vec<Value>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// What a wallet did in a transaction by the contract's own logs.
#[derive(Debug, Clone, Deserialize)]
pub struct Expected {
    pub chain_id: u64,
    pub transaction: B256,
    pub protocol: String,
    pub contract: Address,
    pub wallet: Address,
    pub kind: String,
    pub count: u64,
}

/// A token of a market.
#[derive(Debug, Clone, Deserialize)]
struct Token {
    protocol: String,
    chain_id: u64,
    market: Address,
    asset: Option<Address>,
    decimals: Option<u8>,
    supply_token: Option<Address>,
    debt_token: Option<Address>,
}

fn file(name: &str) -> PathBuf {
    root().join("mainnet").join(name)
}

/// All transactions.
///
/// # Panics
/// When the file cannot be read.
pub fn transactions() -> Vec<Transaction> {
    let mut text = String::new();
    let packed = std::fs::File::open(file("receipts.jsonl.gz")).unwrap_or_else(|e| panic!("{e}"));
    flate2::read::GzDecoder::new(packed).read_to_string(&mut text).unwrap_or_else(|e| panic!("{e}"));
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// What is expected; a transaction without a row expects nothing.
pub fn expected() -> Vec<Expected> {
    rows("expected.csv")
}

/// The rows of a table whose first line has the names of the fields. An empty field is absent.
fn rows<T: for<'a> Deserialize<'a>>(name: &str) -> Vec<T> {
    let text = std::fs::read_to_string(file(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut lines = text.lines().map(|line| line.split(','));
    let names: Vec<&str> = lines.next().into_iter().flatten().collect();
    let row = |fields: std::str::Split<'_, char>| {
        let number = |field: &str| field.parse::<u64>().map_or_else(|_| json!(field), |number| json!(number));
        let fields = names.iter().zip(fields).filter(|(_, field)| !field.is_empty());
        let row: Value =
            fields.map(|(name, field)| ((*name).to_owned(), number(field))).collect::<serde_json::Map<_, _>>().into();
        serde_json::from_value(row).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    lines.map(row).collect()
}

/// The node of one chain.
struct Node {
    chain: u64,
    transactions: Vec<Transaction>,
    tokens: Vec<Token>,
    /// Number and time of its newest block. It is later than all receipts by far, so that these are final.
    head: (u64, u64),
}

/// Starts the node of `chain`, whose newest block has the time `now`, in seconds since 1970.
pub async fn start(chain: u64, now: u64) -> Proxy {
    let transactions: Vec<_> = transactions().into_iter().filter(|known| known.chain_id == chain).collect();
    let newest = transactions.iter().map(|known| known.receipt.block_number.to::<u64>()).max().unwrap_or_default();
    let tokens = rows::<Token>("tokens.csv").into_iter().filter(|token| token.chain_id == chain).collect();
    let node = Node { chain, transactions, tokens, head: (newest + 100_000, now) };
    // All calls are answered here.
    let proxy = Proxy::start("http://127.0.0.1:9").await;
    proxy.rule(move |call| node.answer(call));
    proxy
}

impl Node {
    fn answer(&self, call: &Call) -> Reply {
        let at = |place: usize| call.params[place].as_str().unwrap_or_default();
        Reply::Result(match call.method.as_str() {
            "eth_chainId" => json!(U64::from(self.chain)),
            "eth_blockNumber" => json!(U64::from(self.head.0)),
            "eth_getBlockByNumber" => self.block(number(at(0)).unwrap_or(self.head.0)),
            "eth_getBalance" | "eth_getTransactionCount" => json!("0x0"),
            "eth_getCode" => json!("0x"),
            "eth_getStorageAt" => json!(B256::ZERO),
            "eth_getLogs" => self.logs(&call.params[0]),
            "eth_getTransactionReceipt" => {
                let is_it = |known: &&Transaction| known.receipt.transaction_hash.to_string() == at(0);
                self.transactions.iter().find(is_it).map_or(Value::Null, |known| known.receipt.whole())
            }
            "eth_call" if self.is_head(&call.params[1]) => {
                let to = call.params[0]["to"].as_str().and_then(|to| to.parse().ok()).unwrap_or_default();
                let data = call.params[0]["data"].as_str().or(call.params[0]["input"].as_str()).unwrap_or_default();
                match self.call(to, &data.parse::<Bytes>().unwrap_or_default()) {
                    Some(answer) => json!(answer),
                    None => return Reply::Error { code: 3, message: "execution reverted".to_owned() },
                }
            }
            "eth_call" => return Reply::Error { code: -32000, message: "missing trie node 0123 (path )".to_owned() },
            method => return Reply::Error { code: -32601, message: format!("the method {method} does not exist") },
        })
    }

    fn is_head(&self, block: &Value) -> bool {
        let hash = block["blockHash"].as_str().map(str::to_owned);
        hash.is_none_or(|hash| hash == hash_of(self.head.0).to_string())
            && block.as_str().and_then(number).is_none_or(|number| number == self.head.0)
    }

    /// A block of a receipt as it was; another is made up.
    fn block(&self, number: u64) -> Value {
        let real = self.transactions.iter().find(|known| known.receipt.block_number.to::<u64>() == number);
        let (head, now) = self.head;
        let time = if number >= head { now } else { now.saturating_sub(2 * (head - number)) };
        let mut block = json!({
            "number": U64::from(number), "hash": hash_of(number), "parentHash": hash_of(number.wrapping_sub(1)),
            "timestamp": U64::from(time), "transactions": [], "logsBloom": format!("0x{}", "0".repeat(512)),
        });
        if let Some(real) = real {
            for (field, value) in real.block.as_object().into_iter().flatten() {
                block[field] = value.clone();
            }
        }
        block
    }

    fn logs(&self, filter: &Value) -> Value {
        let (from, to) = (filter["fromBlock"].as_str().and_then(number), filter["toBlock"].as_str().and_then(number));
        let span = from.unwrap_or_default()..=to.unwrap_or(self.head.0);
        let named = |wanted: &Value, found: &Value| match wanted {
            Value::Null => true,
            Value::Array(wanted) => wanted.is_empty() || wanted.iter().any(|wanted| is_same(wanted, found)),
            wanted => is_same(wanted, found),
        };
        let topics = |log: &Value| {
            let wanted = filter["topics"].as_array().into_iter().flatten().enumerate();
            wanted.into_iter().all(|(at, wanted)| named(wanted, &log["topics"][at]))
        };
        let in_span = self.transactions.iter().filter(|known| span.contains(&known.receipt.block_number.to::<u64>()));
        let logs = in_span.flat_map(|known| &known.receipt.logs);
        logs.filter(|log| named(&filter["address"], &log["address"]) && topics(log)).cloned().collect()
    }

    /// The answer of a contract in the newest block; `None` if it reverts.
    fn call(&self, to: Address, data: &[u8]) -> Option<Bytes> {
        if let Ok(many) = IMulticall3::aggregate3Call::abi_decode(data) {
            let results = many.calls.iter().map(|inner| {
                let answer = self.call(inner.target, &inner.callData);
                IMulticall3::Result { success: answer.is_some(), returnData: answer.unwrap_or_default() }
            });
            return Some(IMulticall3::aggregate3Call::abi_encode_returns(&results.collect()).into());
        }
        let selector: [u8; 4] = data.get(..4)?.try_into().ok()?;
        let of = |protocol: &'static str| {
            self.tokens.iter().filter(move |token| token.protocol == protocol && token.market == to)
        };
        let asset = data.get(16..36).map(Address::from_slice);
        let reserve = || of("aave").find(|token| token.asset == asset);
        let unit = U256::from(100_000_000);
        Some(match selector {
            // The pool stands for its helper contracts.
            ADDRESSES_PROVIDERCall::SELECTOR
            | getAddressesProviderCall::SELECTOR
            | getPoolDataProviderCall::SELECTOR
            | getAddressCall::SELECTOR
            | getPriceOracleCall::SELECTOR
                if of("aave").next().is_some() =>
            {
                to.abi_encode().into()
            }
            getAllReservesTokensCall::SELECTOR => {
                let tokens = of("aave")
                    .filter_map(|token| Some(TokenData { symbol: "T".to_owned(), tokenAddress: token.asset? }));
                getAllReservesTokensCall::abi_encode_returns(&tokens.collect()).into()
            }
            BASE_CURRENCYCall::SELECTOR if of("aave").next().is_some() => Address::ZERO.abi_encode().into(),
            BASE_CURRENCY_UNITCall::SELECTOR if of("aave").next().is_some() => unit.abi_encode().into(),
            decimalsCall::SELECTOR => {
                let token = self.tokens.iter().find(|token| token.asset == Some(to) && token.decimals.is_some())?;
                U256::from(token.decimals?).abi_encode().into()
            }
            getReserveTokensAddressesCall::SELECTOR => {
                let token = reserve()?;
                (token.supply_token?, Address::ZERO, token.debt_token?).abi_encode().into()
            }
            // No interest yet.
            getReserveDataCall::SELECTOR if reserve().is_some() => [U256::ZERO; 12].abi_encode().into(),
            comptrollerCall::SELECTOR if of("ctoken").next().is_some() => COMPTROLLER.abi_encode().into(),
            underlyingCall::SELECTOR => of("ctoken").find_map(|token| token.asset)?.abi_encode().into(),
            symbolCall::SELECTOR if of("ctoken").any(|token| token.asset.is_none()) => "cETH".abi_encode().into(),
            oracleCall::SELECTOR if to == COMPTROLLER => COMPTROLLER.abi_encode().into(),
            ownerCall::SELECTOR | feeRecipientCall::SELECTOR => Address::with_last_byte(1).abi_encode().into(),
            baseTokenCall::SELECTOR | baseTokenPriceFeedCall::SELECTOR => to.abi_encode().into(),
            baseScaleCall::SELECTOR => unit.abi_encode().into(),
            numAssetsCall::SELECTOR => U256::ZERO.abi_encode().into(),
            _ => return None,
        })
    }
}

/// The Comptroller of Compound v2 on Ethereum, which logs rewards.
const COMPTROLLER: Address = alloy::primitives::address!("0x3d9819210A31b4961b30EF54bE2aeD79B9c9Cd3B");

impl Receipt {
    fn whole(&self) -> Value {
        let mut whole = json!(self.rest);
        whole["from"] = json!(self.from);
        whole["transactionHash"] = json!(self.transaction_hash);
        whole["blockNumber"] = json!(self.block_number);
        whole["logs"] = json!(self.logs);
        whole
    }
}

fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn hash_of(number: u64) -> B256 {
    keccak256(number.to_be_bytes())
}

fn is_same(one: &Value, other: &Value) -> bool {
    let text = |value: &Value| value.as_str().map(str::to_lowercase);
    text(one).is_some() && text(one) == text(other)
}
